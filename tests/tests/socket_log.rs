//! What a server tells its log (X3): each turn of a session's life with its reason, each refusal with its, and of a
//! host or an origin that is not allowed so much as can do no harm. Not its form, which is the subscriber's.

mod socket_support;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use socket_support::ask::{Ask, delete, initialize};
use socket_support::wire::Wire;

const REFUSED_HERE: &str = "mcp_http_driver::admission:";

/// The demo server, listened to.
struct Logged {
    child: Child,
    addr: SocketAddr,
}

impl Logged {
    fn start() -> Logged {
        let mut child = Command::new(env!("CARGO_BIN_EXE_everything"))
            .args(["--addr", "127.0.0.1:0"])
            .env("RUST_LOG", "mcp_http_driver=debug")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        child.stdout = Some(stdout.into_inner());
        let (_, rest) = line.split_once("http://").expect("a URL");
        let addr = rest.split_once("/mcp").expect("a URL").0.parse().unwrap();
        Logged { child, addr }
    }

    /// Ends the server and returns what it logged, each line from its level on.
    fn read(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said.lines().map(|line| line.split_once("Z ").expect("a time").1.trim().to_owned()).collect()
    }
}

#[test]
fn x3_a_host_or_origin_that_is_refused_is_logged_short_and_escaped() {
    let server = Logged::start();
    let mut wire = Wire::to(server.addr);
    let long = format!("http://{}.example", "a".repeat(100));
    assert_eq!(wire.ask(&initialize().set("origin", &long)).status(), 403);
    assert_eq!(wire.ask(&initialize().set("origin", "http://h\u{e9}\"")).status(), 403);
    assert_eq!(wire.ask(&initialize().set("host", "evil.example")).status(), 421);
    let short = &long[..64];
    let expected = [
        format!(r#"WARN {REFUSED_HERE} refused: not on the allow-list field="origin" value={short}"#),
        format!(r#"DEBUG {REFUSED_HERE} refused reason="origin_not_allowed""#),
        format!(
            r#"WARN {REFUSED_HERE} refused: not on the allow-list field="origin" value=http://h\xc3\xa9\""#
        ),
        format!(r#"DEBUG {REFUSED_HERE} refused reason="origin_not_allowed""#),
        format!(r#"WARN {REFUSED_HERE} refused: not on the allow-list field="host" value=evil.example"#),
        format!(r#"DEBUG {REFUSED_HERE} refused reason="host_not_allowed""#),
    ];
    assert_eq!(server.read(), expected);
}

/// The place of an id is shown, and nothing of its secret (I11).
#[test]
fn x3_each_turn_of_a_sessions_life_is_logged_with_its_reason() {
    let server = Logged::start();
    let mut wire = Wire::to(server.addr);
    let id = wire.ask(&initialize()).session_id().expect("a session").to_owned();
    let own = |ask: Ask| ask.set("mcp-session-id", &id);
    assert_eq!(wire.ask(&own(delete())).status(), 204);
    assert_eq!(wire.ask(&own(delete())).status(), 404);
    let session = format!("Session({}..)", &id[..20]);
    let expected = [
        format!("DEBUG mcp_http_driver::service: session session={session} change=Created"),
        format!("DEBUG mcp_http_driver::service: session session={session} change=Committed"),
        format!("DEBUG mcp_http_driver::service: session session={session} change=Ended(Deleted)"),
        format!(r#"DEBUG {REFUSED_HERE} refused reason="unknown_session""#),
    ];
    assert_eq!(server.read(), expected);
}
