//! The parameters of `subscriptions/listen` (Z10): which kinds of change a client asks to be told of. What it
//! is granted is the endpoint's.

use std::collections::BTreeSet;

use super::admitted::ListenFilter;
use super::members::{self, Member};
use super::message::Params;
use crate::reject::Refusal;

/// The members of `params.notifications` that we know. Others are kinds of change that we never tell of.
#[derive(Default)]
struct Wanted<'a> {
    tools: Member<'a>,
    prompts: Member<'a>,
    resources: Member<'a>,
    uris: Member<'a>,
}

/// Reads the filter; it may ask for at most `uris_max` different URIs.
pub(crate) fn filter(params: &Params<'_>, uris_max: usize) -> Result<ListenFilter, Refusal> {
    let Member::Once(text) = params.notifications else { return Err(NEEDS_FILTER) };
    if !text.starts_with('{') {
        return Err(NEEDS_FILTER);
    }
    let mut wanted = Wanted::default();
    let read = members::of_object(text, |name, value| match name {
        "toolsListChanged" => wanted.tools.put(value),
        "promptsListChanged" => wanted.prompts.put(value),
        "resourcesListChanged" => wanted.resources.put(value),
        "resourceSubscriptions" => wanted.uris.put(value),
        _ => {}
    });
    debug_assert!(read.is_ok(), "the filter was checked with the message");
    Ok(ListenFilter {
        tools: flag(wanted.tools)?,
        prompts: flag(wanted.prompts)?,
        resources: flag(wanted.resources)?,
        uris: uris(wanted.uris, uris_max)?,
    })
}

const NEEDS_FILTER: Refusal = Refusal::InvalidParams(
    "subscriptions/listen needs params.notifications, an object such as {\"toolsListChanged\":true}, given once",
);
const BAD_FLAG: Refusal = Refusal::InvalidParams(
    "toolsListChanged, promptsListChanged and resourcesListChanged must be true or false, given once",
);
const BAD_URIS: Refusal =
    Refusal::InvalidParams("resourceSubscriptions must be an array of strings, given once");
const TOO_MANY_URIS: Refusal =
    Refusal::InvalidParams("resourceSubscriptions has too many URIs; listen to fewer at a time");

fn flag(member: Member<'_>) -> Result<bool, Refusal> {
    match member {
        Member::Absent | Member::Once("false") => Ok(false),
        Member::Once("true") => Ok(true),
        Member::Once(_) | Member::Twice => Err(BAD_FLAG),
    }
}

/// Each URI once, in the order in which they came.
fn uris(member: Member<'_>, max: usize) -> Result<Vec<Box<str>>, Refusal> {
    let text = match member {
        Member::Absent => return Ok(Vec::new()),
        Member::Once(text) if text.starts_with('[') => text,
        Member::Once(_) | Member::Twice => return Err(BAD_URIS),
    };
    let (mut seen, mut uris, mut refusal) = (BTreeSet::new(), Vec::new(), None);
    let read = members::of_array(text, |element| match members::string(element) {
        None => refusal = Some(BAD_URIS),
        Some(uri) if refusal.is_some() || seen.contains(&uri) => {}
        Some(_) if uris.len() == max => refusal = Some(TOO_MANY_URIS),
        Some(uri) => {
            uris.push(Box::from(&*uri));
            seen.insert(uri);
        }
    });
    debug_assert!(read.is_ok(), "the URIs were checked with the message");
    refusal.map_or(Ok(uris), Err)
}
