//! The demo server as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use super::stats::{Stats, Tables};
use super::wait::until;

/// A running demo server. It must not have panicked when it goes.
pub(crate) struct Everything {
    child: Child,
    pub(crate) addr: SocketAddr,
    /// Kept open, so that the server can go on to speak.
    stdout: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
}

impl Everything {
    pub(crate) fn start(flags: &[&str]) -> Everything {
        let mut child = Command::new(env!("CARGO_BIN_EXE_everything"))
            .args(["--addr", "127.0.0.1:0", "--stats"])
            .args(flags)
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut stderr = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut said = String::new();
            // What is no text is no panic either.
            _ = stderr.read_to_string(&mut said);
            said
        });
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let addr = line.split_once("http://").and_then(|(_, rest)| rest.split_once("/mcp"));
        let Some((addr, _)) = addr else {
            _ = child.kill();
            panic!("no URL in {line:?}; stderr: {}", stderr.join().unwrap());
        };
        let addr = addr.parse().unwrap();
        Everything { child, addr, stdout, stderr: Some(stderr) }
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats::of(self.addr)
    }

    /// Waits until the tables are as given; returns the reading.
    #[track_caller]
    pub(crate) fn settle(&self, tables: Tables) -> Stats {
        Stats::until(self.addr, &format!("tables as {tables:?}"), |stats| stats.tables == tables)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM, or another signal by its name.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        // The shell has a `kill` of its own, where the system has none.
        let line = format!("kill -{name} {}", self.pid());
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success(), "{line}");
    }

    pub(crate) fn has_exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end. Returns how it ended and the last line it said.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> (ExitStatus, String) {
        let status = until("the server's end", || self.child.try_wait().unwrap(), Option::is_some).unwrap();
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        (status, said.lines().last().unwrap_or_default().to_owned())
    }

    /// Open descriptors.
    #[cfg(target_os = "linux")]
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    /// Resident memory, in KiB.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        // One that has ended already needs no ending.
        _ = self.child.kill();
        _ = self.child.wait();
        let said = self.stderr.take().map(|reader| reader.join().unwrap_or_default()).unwrap_or_default();
        if std::thread::panicking() {
            // Captured with the test's output; the failure at hand is the one to tell.
            println!("the server's stderr: {said}");
        } else {
            assert!(!said.contains("panicked"), "the server panicked: {said}");
        }
    }
}
