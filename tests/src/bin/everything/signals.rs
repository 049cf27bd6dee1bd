//! Ctrl-C and, where there is one, SIGTERM: the two ways in which a person or a supervisor asks to stop.

use std::io;

use tokio::sync::watch;

/// Hears every signal from the moment it listens.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        Ok(Signals { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}

impl Signals {
    /// Counts them in the background. A runtime merges signals that nobody has heard yet, so somebody always
    /// listens.
    pub(crate) fn count(mut self) -> watch::Receiver<u32> {
        let (heard, receiver) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                self.next().await;
                heard.send_modify(|count| *count += 1);
            }
        });
        receiver
    }
}

/// Returns when so many signals were heard.
pub(crate) async fn reaches(mut heard: watch::Receiver<u32>, count: u32) {
    // The counting task ends with the program.
    let _ = heard.wait_for(|heard| *heard >= count).await;
}
