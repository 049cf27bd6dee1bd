//! All that was sent on one stream, and what must come of it.

use std::collections::BTreeMap;

use mcp_http_core::endpoint::{Pulled, Stats};

/// More than a frame has beside its message.
const FRAME_BYTES_MAX: usize = 120;

/// The ring's.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) frames: usize,
    pub(super) bytes: usize,
}

/// A message that was taken to be sent.
#[derive(Debug)]
pub(super) struct Sent {
    text: String,
    droppable: bool,
}

/// A frame that was pulled.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) id: Option<String>,
    pub(super) text: Option<String>,
}

#[derive(Debug)]
pub(super) struct Oracle {
    limits: Limits,
    pub(super) standalone: bool,
    pub(super) sent: Vec<Sent>,
    finished: bool,
    reader: Option<Reader>,
    /// The carrier's head is out.
    pub(super) has_head: bool,
    waiting: bool,
    /// Where the latest reader was.
    pulled: usize,
    /// What each event id stands for: so many messages, and whether some behind these may be missing.
    ids: BTreeMap<String, (usize, bool)>,
    order: Vec<String>,
    /// Notices that the one reader there has been did not get, unless there were more.
    skipped: Option<u64>,
}

#[derive(Debug)]
struct Reader {
    /// The next message it is to get.
    next: usize,
    /// Some before the first may be missing.
    gap: bool,
    /// There were so many messages when it came.
    there: usize,
    /// Of those it got so many.
    replayed: usize,
    idle: bool,
}

impl Oracle {
    pub(super) fn new(limits: Limits, standalone: bool) -> Self {
        Oracle {
            limits,
            standalone,
            sent: Vec::new(),
            finished: false,
            reader: None,
            has_head: false,
            waiting: false,
            pulled: 0,
            ids: BTreeMap::new(),
            order: Vec::new(),
            skipped: Some(0),
        }
    }

    pub(super) fn took(&mut self, text: String, droppable: bool) {
        self.sent.push(Sent { text, droppable });
    }

    pub(super) fn took_last(&mut self, text: String) {
        self.took(text, false);
        self.finished = true;
        self.waiting = false;
    }

    /// The answer was the whole response.
    pub(super) fn gone_whole(&mut self) {
        self.finished = true;
        self.has_head = false;
        self.waiting = false;
    }

    /// C11: only what is not read yet can fill a ring, and only if it is that much.
    pub(super) fn was_full(&mut self, len: usize, droppable: bool) {
        assert!(!droppable, "C11: what may be dropped is never full");
        let reader = self.reader.as_ref().expect("C7: nobody is waited for");
        let unread = &self.sent[reader.next..];
        let bytes: usize = unread.iter().map(|sent| sent.text.len() + FRAME_BYTES_MAX).sum();
        let full = unread.len() >= self.limits.frames || bytes + len + FRAME_BYTES_MAX > self.limits.bytes;
        assert!(full && !unread.is_empty(), "R8: full with {unread:?}");
        self.waiting = true;
    }

    pub(super) fn writable(&mut self) {
        assert!(std::mem::take(&mut self.waiting), "R9: nobody was told to wait");
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waiting
    }

    /// The carrier of a call's stream: its head waits for the first message.
    pub(super) fn attach_new(&mut self) {
        self.attach(Reader { next: 0, gap: false, there: 0, replayed: 0, idle: true });
        self.has_head = false;
    }

    /// GET without an event: what nobody has got yet.
    pub(super) fn attach_open(&mut self) {
        let next = self.pulled;
        self.attach(Reader { next, gap: true, there: self.sent.len(), replayed: 0, idle: true });
    }

    /// C7: what followed.
    pub(super) fn attach_after(&mut self, (after, loose): (usize, bool), counted: bool) {
        let gap = counted || loose;
        assert!(!counted || self.standalone && self.overflowed(after), "C7: a gap without cause");
        self.skipped = None;
        self.pulled = after;
        self.attach(Reader { next: after, gap, there: self.sent.len(), replayed: 0, idle: true });
    }

    fn attach(&mut self, reader: Reader) {
        self.reader = Some(reader);
        self.has_head = true;
    }

    pub(super) fn detach(&mut self) {
        self.skipped = None;
        self.reader = None;
    }

    /// C7: a resume was refused.
    pub(super) fn is_lost(&self, (after, _): (usize, bool), why: &str) {
        assert_eq!(why, "events_lost", "C7");
        assert!(!self.standalone, "C7: a standalone stream is always resumed");
        let gone_before = self.finished && self.sent.is_empty();
        assert!(self.overflowed(after) || gone_before, "C7: lost without cause after {after}");
    }

    /// C7: there is nothing more.
    pub(super) fn is_over(&self, (after, _): (usize, bool)) {
        assert!(self.finished && after == self.sent.len(), "C7: 204, and {after} is not the last");
    }

    /// Whether all that was sent could not be kept together.
    fn overflowed(&self, after: usize) -> bool {
        let all = self.sent.len();
        let bytes: usize = self.sent.iter().map(|sent| sent.text.len() + FRAME_BYTES_MAX).sum();
        all > after && (all > self.limits.frames || bytes > self.limits.bytes)
    }

    pub(super) fn head(&mut self) {
        self.has_head = true;
    }

    /// R9: one order to pull, for a reader that was told that there is nothing.
    pub(super) fn woken(&mut self) {
        let reader = self.reader.as_mut().expect("R9: nobody is there");
        assert!(std::mem::replace(&mut reader.idle, false), "R9: told twice to pull");
    }

    pub(super) fn pulled(&mut self, came: &[Came], pulled: Pulled, stats: &Stats) {
        let mut reader = self.reader.take().expect("R9: nobody is there");
        for Came { id, text } in came {
            if let Some(text) = text {
                self.got(&mut reader, text);
            }
            if let Some(id) = id {
                let stands_for = match text {
                    Some(_) => (reader.next, false),
                    None => self.primed(id, &reader),
                };
                let known = self.ids.insert(id.clone(), stands_for);
                assert!(
                    known.is_none_or(|known| known == stands_for && text.is_some()),
                    "C5: {id} is given twice"
                );
                if known.is_none() {
                    self.order.push(id.clone());
                }
            }
        }
        self.pulled = reader.next;
        if pulled != Pulled::More {
            reader.idle = true;
            self.skip(&mut reader, self.sent.len());
            self.pulled = reader.next;
        }
        if let Some(skipped) = self.skipped.filter(|_| pulled != Pulled::More) {
            assert_eq!(skipped, stats.total.dropped_notices, "X3: notices left out");
        }
        self.reader = Some(reader);
    }

    /// A priming event means the place where its reader begins.
    fn primed(&self, id: &str, reader: &Reader) -> (usize, bool) {
        assert!(!self.ids.contains_key(id), "C6: the id of a priming event is new");
        (reader.next, reader.gap)
    }

    /// R6: the next message, or a later one if those between may be missing.
    fn got(&mut self, reader: &mut Reader, text: &str) {
        let rest = self.sent[reader.next..].iter().position(|sent| sent.text == text);
        let at =
            rest.unwrap_or_else(|| panic!("R6: {text} is not what follows {}", reader.next)) + reader.next;
        self.skip(reader, at);
        if at < reader.there {
            reader.replayed += 1;
            let bound = self.limits.frames + usize::from(self.finished);
            assert!(reader.replayed <= bound, "R8: {} frames were kept", reader.replayed);
        }
        reader.next = at + 1;
        reader.gap = false;
    }

    /// What is passed over may be missing.
    fn skip(&mut self, reader: &mut Reader, until: usize) {
        for (at, sent) in self.sent[..until].iter().enumerate().skip(reader.next) {
            let was_there = at < reader.there;
            assert!(sent.droppable || reader.gap && was_there, "R6: {} is lost: {reader:?}", sent.text);
        }
        if let Some(skipped) = &mut self.skipped {
            *skipped += (until - reader.next) as u64;
        }
        if reader.gap && until > reader.next {
            assert!(self.overflowed(reader.next), "C11: lost without cause");
            self.skipped = None;
        }
        reader.next = until;
    }

    /// An event that a client could name, and how many messages it stands behind.
    pub(super) fn pick(&self, pick: usize) -> Option<(String, (usize, bool))> {
        let id = self.order.get(self.order.len().checked_sub(1 + pick % self.order.len().max(1))?)?;
        Some((id.clone(), self.ids[id]))
    }

    /// R8: the ring's limit, or one message that is larger alone, and the last frame.
    pub(super) fn bytes_bound(&self) -> u64 {
        let largest = self.sent.iter().map(|sent| sent.text.len() + FRAME_BYTES_MAX).max().unwrap_or(0);
        let last = self.sent.last().map_or(0, |sent| sent.text.len() + FRAME_BYTES_MAX);
        let held = if self.finished { last + 512 } else { 0 };
        (self.limits.bytes.max(largest) + held) as u64
    }
}
