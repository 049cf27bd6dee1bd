//! I1 to I5, I10, I11, I13: what a head leads to. The oracle judges by the rules on its own (`rules`); where they need a
//! grammar that is not in it, it has no opinion. Beside that: no panic, the same verdict for the same head whatever the
//! order of its fields, no session but through one door (R3), and refusals as all of them are (I13).

mod rules;
mod words;

use std::cell::OnceCell;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use mcp_http_core::config::{AllowedHosts, Config, Eras, SessionMode};
use mcp_http_core::h1::Body;
use mcp_http_core::intake::{Admitted, Intake, Kind, Verdict};
use mcp_http_core::reject::{Refusal, Reject};

use crate::heads::Head;
use crate::input::Input;
use crate::judge::refusal;
use rules::{Expected, Setting};

/// The most of a body that is taken.
const BODY_MAX: usize = 300;

thread_local! {
    static SERVERS: OnceCell<Vec<(Setting, Intake)>> = const { OnceCell::new() };
}

/// Reads: a byte that picks a configuration, then a request as text, or what puts one together out of `words`.
pub fn run(data: &[u8]) {
    let Some((pick, text)) = data.split_first() else { return };
    let composed = (*pick >= 128).then(|| words::compose(&mut Input::new(text)));
    let Some(head) = Head::read(composed.as_ref().map_or(text, |text| text.as_bytes())) else { return };
    SERVERS.with(|servers| {
        let servers = servers.get_or_init(servers_of);
        let (setting, intake) = &servers[usize::from(*pick) % servers.len()];
        check(&head, *setting, intake);
    });
}

fn servers_of() -> Vec<(Setting, Intake)> {
    let settings = Setting::all();
    settings.into_iter().map(|setting| (setting, Intake::new(Arc::new(config(setting))))).collect()
}

fn config(setting: Setting) -> Config {
    let mut config = Config::default();
    config.body_bytes_max = BODY_MAX;
    config.health_path = Some("/health".into());
    config.stats_path = Some("/stats".into());
    config.allowed_origins = vec!["https://app.example".into()];
    config.sessions = if setting.sessions { SessionMode::On } else { SessionMode::Off };
    config.eras = setting.eras;
    config.cors = setting.eras != Eras::Handshake;
    if setting.any_host {
        config.allowed_hosts = AllowedHosts::Any;
    }
    config.check().expect("a possible configuration");
    config
}

fn check(head: &Head<'_>, setting: Setting, intake: &Intake) {
    let parts = head.parts(&head.fields);
    let verdict = intake.head(&parts);
    assert_eq!(verdict, intake.head(&parts), "R10: the same head");
    let reordered = head.parts(&reordered(&head.fields));
    assert_eq!(verdict, intake.head(&reordered), "the order of fields decides: {head:?}");
    compare(&verdict, &rules::judge(head, setting), head);
    let refused = intake.refuse(&parts, Refusal::Forbidden);
    assert_eq!(refusal(refused, texts(head)).status, 403);
    match verdict {
        Verdict::Reject(reject) => {
            let refused = refusal(reject, texts(head));
            assert_eq!(refused.id, None, "I13: no id was read of {head:?}");
        }
        Verdict::Answer(answer) => {
            assert_eq!((answer.status.as_u16(), &answer.body), (204, &Body::Empty), "I5");
            for (_, value) in &answer.fields {
                assert_ne!(value, "*", "I5: the origin is named");
            }
        }
        Verdict::Health | Verdict::Stats => {}
        Verdict::Admit(admitted) => check_admitted(head, &admitted),
        Verdict::Body(needs) => {
            assert_eq!(needs.limit(), BODY_MAX);
            let sessions = head.values("mcp-session-id").len();
            assert!(needs.session().is_none() || sessions == 1 && setting.sessions, "S12: {head:?}");
            let judged = needs.body(Bytes::copy_from_slice(head.body));
            check_body(head, judged);
        }
    }
}

fn check_body(head: &Head<'_>, judged: Result<Admitted, Reject>) {
    match judged {
        Err(reject) => {
            let too_large = matches!(reject.refusal, Refusal::BodyTooLarge { .. });
            assert_eq!(too_large, head.body.len() > BODY_MAX, "L1");
            refusal(reject, texts(head));
        }
        Ok(admitted) => {
            assert!(head.body.len() <= BODY_MAX, "L1");
            check_admitted(head, &admitted);
        }
    }
}

fn check_admitted(head: &Head<'_>, admitted: &Admitted) {
    let fits = match admitted.kind() {
        Kind::Open { .. } => head.method == "GET",
        Kind::Delete => head.method == "DELETE",
        Kind::Initialize(_)
        | Kind::Call(_)
        | Kind::Notice(_)
        | Kind::Reply(_)
        | Kind::Batch(_)
        | Kind::Stateless(_)
        | Kind::StatelessNotice(_) => head.method == "POST",
    };
    assert!(fits, "R3: {admitted:?} of {head:?}");
    let initializes = matches!(admitted.kind(), Kind::Initialize(_));
    assert!(!admitted.opens_session() || initializes, "R3: {admitted:?}");
    assert!(!initializes || memmem(head.body, b"\"initialize\""), "R3: {admitted:?} of {head:?}");
    refusal(admitted.refuse(Refusal::ShuttingDown), texts(head));
}

fn compare(verdict: &Verdict, expected: &Expected, head: &Head<'_>) {
    let fits = match (verdict, expected) {
        (_, Expected::Unsaid) => true,
        (Verdict::Reject(reject), Expected::Refused(status)) => {
            reject.clone().into_answer().status.as_u16() == *status
        }
        (Verdict::Answer(answer), Expected::Options { granted }) => {
            let origin = answer.fields.iter().find(|(name, _)| name == "access-control-allow-origin");
            origin.map(|(_, value)| value.as_bytes()) == granted.as_deref()
        }
        (Verdict::Health, Expected::Health) | (Verdict::Stats, Expected::Stats) => true,
        (Verdict::Admit(_), Expected::Admitted) => true,
        (Verdict::Body(needs), Expected::Body { grant }) => needs.grant().is_some() == *grant,
        _ => false,
    };
    assert!(fits, "{verdict:?}\n  expected {expected:?}\n  of {head:?}");
}

/// The fields in another order; the lines of one field stay in theirs.
fn reordered(fields: &[(HeaderName, HeaderValue)]) -> Vec<(HeaderName, HeaderValue)> {
    let mut names: Vec<&HeaderName> = fields.iter().map(|(name, _)| name).collect();
    names.sort_by(|a, b| b.as_str().cmp(a.as_str()));
    names.dedup();
    let lines = |name| fields.iter().filter(move |(other, _)| other == name).cloned();
    let mut reordered: Vec<_> = names.into_iter().flat_map(lines).collect();
    reordered.push((HeaderName::from_static("x-nobody-knows"), HeaderValue::from_static("1")));
    reordered
}

/// All that came from outside.
fn texts<'a>(head: &'a Head<'_>) -> impl Iterator<Item = &'a [u8]> {
    let fields = head.fields.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]);
    let path = head.uri.path().as_bytes();
    fields.chain([head.method.as_str().as_bytes(), path, head.body])
}

fn memmem(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part) || text.contains(&b'\\')
}
