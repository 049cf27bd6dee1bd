//! How the tests of the stateless era make requests. No rule is written here.

use std::sync::Arc;

use mcp_http_core::config::{Config, Eras, SessionMode};
use mcp_http_core::intake::{Intake, ListenFilter, Stateless};
use mcp_http_core::param_headers::ParamHeaders;

use super::{Ask, Kind, Refusal, Reject, id, intake, post};

pub(crate) const VERSION: &str = "2026-07-28";

/// What Z3 asks for, without its braces.
pub(crate) const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;

/// A request of the stateless era with the fields that every one needs. `params` are the parameters without
/// braces and `_meta`.
pub(crate) fn request(method: &str, params: &str) -> Ask {
    with_meta(method, META, params)
}

pub(crate) fn with_meta(method: &str, meta: &str, params: &str) -> Ask {
    let comma = if params.is_empty() { "" } else { "," };
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{{meta}}}{comma}{params}}}}}"#
    );
    post(body).without("mcp-session-id").set("mcp-protocol-version", VERSION).with("mcp-method", method)
}

pub(crate) fn list() -> Ask {
    request("tools/list", "")
}

/// `tools/call`; `name` is a JSON string without quotes, and also what `Mcp-Name` says.
pub(crate) fn call(name: &str, arguments: &str) -> Ask {
    request("tools/call", &format!(r#""name":"{name}","arguments":{arguments}"#)).with("mcp-name", name)
}

/// `subscriptions/listen` with these `notifications`.
pub(crate) fn listen(notifications: &str) -> Ask {
    request("subscriptions/listen", &format!(r#""notifications":{notifications}"#))
}

pub(crate) fn notice() -> Ask {
    post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .without("mcp-session-id")
        .set("mcp-protocol-version", VERSION)
}

/// Every server that serves the stateless era.
pub(crate) fn servers() -> [Intake; 3] {
    [(Eras::Both, SessionMode::On), (Eras::Both, SessionMode::Off), (Eras::Stateless, SessionMode::On)]
        .map(|(eras, mode)| intake(|config| (config.eras, config.sessions) = (eras, mode)))
}

pub(crate) fn stateless_only() -> Intake {
    intake(|config| config.eras = Eras::Stateless)
}

/// A judge for these tools.
pub(crate) fn with_tools(tools: ParamHeaders) -> Intake {
    Intake::new(Arc::new(Config::default())).with_params(Arc::new(tools))
}

/// The request is admitted by every server, without a session.
#[track_caller]
pub(crate) fn check_admitted(ask: &Ask) -> Option<ListenFilter> {
    servers().map(|intake| check_admitted_by(&intake, ask))[0].clone()
}

#[track_caller]
pub(crate) fn check_admitted_by(intake: &Intake, ask: &Ask) -> Option<ListenFilter> {
    let admitted = ask.admitted(intake);
    assert_eq!(admitted.session(), None, "{ask:?}");
    assert!(!admitted.opens_session());
    match admitted.kind() {
        Kind::Stateless(Stateless { request, listen }) => {
            assert_eq!(request.id.literal(), b"7");
            listen.clone()
        }
        other => panic!("no stateless request: {ask:?}\n{other:?}"),
    }
}

/// The refusal of a request, the same of every server but for what it lists, with the request's id.
#[track_caller]
pub(crate) fn refused(ask: &Ask) -> Refusal {
    servers().map(|intake| refused_by(&intake, ask))[0].clone()
}

#[track_caller]
pub(crate) fn refused_by(intake: &Intake, ask: &Ask) -> Refusal {
    let reject = ask.reject(intake);
    assert_eq!(id(&reject), Some("7"), "{ask:?} {reject:?}");
    reject.refusal
}

/// Status and code of a refusal, as they are sent.
#[track_caller]
pub(crate) fn status_and_code(refusal: Refusal) -> (u16, i64) {
    let answer = Reject::new(refusal).into_answer();
    (answer.status.as_u16(), super::json(&answer)["error"]["code"].as_i64().unwrap())
}

/// 400 -32020, with a sentence about `field`.
#[track_caller]
pub(crate) fn check_mismatch(ask: &Ask, field: &str, says: &str) {
    let refusal = refused(ask);
    let Refusal::HeaderMismatch(why) = refusal else { panic!("{ask:?} {refusal:?}") };
    assert!(why.starts_with(field) && why.contains(says), "{ask:?} {why}");
    assert_eq!(status_and_code(refusal), (400, -32020));
}

/// 400 -32602, with a sentence about `says`.
#[track_caller]
pub(crate) fn check_invalid_params(ask: &Ask, says: &str) {
    let refusal = refused(ask);
    let Refusal::InvalidParams(why) = refusal else { panic!("{ask:?} {refusal:?}") };
    assert!(why.contains(says), "{ask:?} {why}");
    assert_eq!(status_and_code(refusal), (400, -32602));
}
