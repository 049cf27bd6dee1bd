//! What a run has met with, so that one which meets with nothing is noticed.

/// How much was seen, so that a run which looks at nothing is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Seen {
    pub steps: u64,
    pub sessions: u64,
    pub discarded: u64,
    pub calls: u64,
    pub answered: u64,
    pub refused: u64,
    pub resumed: u64,
    pub replayed: u64,
    pub drained_streams: u64,
    pub lost_streams: u64,
    pub gaps: u64,
    pub full: u64,
    pub dropped: u64,
    pub replies: u64,
    pub cancelled: u64,
    pub cuts: u64,
    pub solo: u64,
    pub announced: u64,
}

impl Seen {
    /// Both together.
    pub fn add(&mut self, other: &Seen) {
        let Seen { steps, sessions, discarded, calls, answered, refused, resumed, replayed, .. } = other;
        let Seen { drained_streams, lost_streams, gaps, full, dropped, replies, cancelled, .. } = other;
        let Seen { cuts, solo, announced, .. } = other;
        for (sum, more) in [
            (&mut self.steps, steps),
            (&mut self.sessions, sessions),
            (&mut self.discarded, discarded),
            (&mut self.calls, calls),
            (&mut self.answered, answered),
            (&mut self.refused, refused),
            (&mut self.resumed, resumed),
            (&mut self.replayed, replayed),
            (&mut self.drained_streams, drained_streams),
            (&mut self.lost_streams, lost_streams),
            (&mut self.gaps, gaps),
            (&mut self.full, full),
            (&mut self.dropped, dropped),
            (&mut self.replies, replies),
            (&mut self.cancelled, cancelled),
            (&mut self.cuts, cuts),
            (&mut self.solo, solo),
            (&mut self.announced, announced),
        ] {
            *sum += more;
        }
    }

    /// What was never seen.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let Seen { sessions, discarded, answered, refused, resumed, replayed, drained_streams, .. } = *self;
        let Seen { lost_streams, gaps, full, dropped, replies, cancelled, cuts, solo, announced, .. } = *self;
        let all = [
            ("sessions", sessions),
            ("discarded", discarded),
            ("answered", answered),
            ("refused", refused),
            ("resumed", resumed),
            ("replayed", replayed),
            ("drained streams", drained_streams),
            ("lost streams", lost_streams),
            ("gaps", gaps),
            ("full", full),
            ("dropped", dropped),
            ("replies", replies),
            ("cancelled", cancelled),
            ("cuts", cuts),
            ("solo", solo),
            ("announced", announced),
        ];
        all.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
    }
}
