//! The judge at the edges of its grammars, where a neighbouring reading would pass every other test (I1, I2).

mod intake_support;

use intake_support::{intake, ping, sessions_on};
use mcp_http_core::config::AllowedHosts;
use mcp_http_core::reject::Refusal;

/// I2: who repeats itself has said where it stands the first time.
#[test]
fn i2_a_range_that_is_named_again_keeps_its_first_place() {
    for (accept, prefers) in [
        ("text/event-stream, application/json, text/event-stream", true),
        ("application/json, text/event-stream, application/json", false),
    ] {
        let admitted = ping().set("accept", accept).admitted(&sessions_on());
        assert_eq!(admitted.accept().prefers_event_stream, prefers, "{accept}");
    }
}

/// I1: a port is left out only where the scheme has one.
#[test]
fn i1_an_absolute_target_of_another_scheme_has_no_default_port() {
    let judge = intake(|config| config.allowed_hosts = AllowedHosts::Listed(vec!["a.example:443".into()]));
    let asked = |target: &str| ping().target(target).head_refusal(&judge);
    assert_eq!(asked("https://a.example/mcp"), None);
    assert_eq!(asked("wss://a.example:443/mcp"), None);
    for other in ["http://a.example/mcp", "wss://a.example/mcp"] {
        assert_eq!(asked(other), Some(Refusal::HostNotAllowed), "{other}");
    }
}

/// I1: what is no scheme is no origin, even if the list has the same text.
#[test]
fn i1_an_origin_has_a_well_formed_scheme() {
    let origins = ["1x://app", "x_y://app", "x1+-.://app"];
    let judge = intake(|config| config.allowed_origins = origins.map(String::from).to_vec());
    let asked = |origin: &str| ping().with("origin", origin).head_refusal(&judge);
    assert_eq!(origins.map(asked), [Some(Refusal::OriginNotAllowed), Some(Refusal::OriginNotAllowed), None]);
}
