//! What a server holds while nobody wants anything of it, and whether it holds no more after an attack.

use crate::socket_support::binary::Everything;
use crate::socket_support::stats::{Stats, Tables};
use crate::socket_support::wait::until;

/// What the process may have grown by since a first round of the same attack, in KiB. An allocator gives memory
/// back in whole pages and keeps a reserve for each thread that asked (glibc keeps up to 128 KiB at the top of each
/// arena, and more where one live block sits above much that was freed), so that even a server without state
/// wavers by this much. A leak is told from it by its size: each attack says what its allowance is per peer.
pub(crate) const GROWTH_KIB_MAX: u64 = 4 * 1024;

/// A reading of a server that is at rest.
#[derive(Debug)]
pub(crate) struct Before {
    tables: Tables,
    descriptors: usize,
    pub(crate) resident_kib: u64,
}

impl Before {
    /// Waits for the rest: these tables, and no connection but the one that asks.
    #[track_caller]
    pub(crate) fn of(server: &Everything, tables: Tables) -> Before {
        rest(server, tables);
        Before { tables, descriptors: server.descriptors(), resident_kib: server.resident_kib() }
    }

    /// Waits until the server is as it was: tables, connections, descriptors; then its memory must be, too.
    #[track_caller]
    pub(crate) fn is_back(&self, server: &Everything, what: &str, peers: usize) -> Stats {
        self.is_back_within(server, what, peers, GROWTH_KIB_MAX)
    }

    #[track_caller]
    fn is_back_within(&self, server: &Everything, what: &str, peers: usize, growth_kib_max: u64) -> Stats {
        let stats = rest(server, self.tables);
        until("descriptors as before", || server.descriptors(), |open| *open <= self.descriptors);
        let grown_kib = server.resident_kib().saturating_sub(self.resident_kib);
        println!("{what}: {grown_kib} KiB more after {peers} peers, {} KiB before", self.resident_kib);
        assert!(grown_kib <= growth_kib_max, "{what}: {grown_kib} KiB more after {peers} peers");
        stats
    }
}

/// One round of an attack to fill what is filled once (caches, buffers of threads, an allocator's reserve for so
/// many at a time), then as many again as said, after which all is as it was after the first.
#[track_caller]
pub(crate) fn rounds(server: &Everything, what: &str, times: usize, attack: impl FnMut() -> usize) {
    rounds_within(server, what, times, GROWTH_KIB_MAX, attack);
}

/// The same with another allowance for what the allocator keeps.
#[track_caller]
pub(crate) fn rounds_within(
    server: &Everything,
    what: &str,
    times: usize,
    growth_kib_max: u64,
    mut attack: impl FnMut() -> usize,
) {
    attack();
    let before = Before::of(server, Tables::EMPTY);
    let peers = (0..times).map(|_| attack()).sum();
    before.is_back_within(server, what, peers, growth_kib_max);
}

#[track_caller]
fn rest(server: &Everything, tables: Tables) -> Stats {
    let at_rest = |stats: &Stats| stats.tables == tables && stats.connections == 1;
    Stats::until(server.addr, &format!("no connection, and tables as {tables:?}"), at_rest)
}
