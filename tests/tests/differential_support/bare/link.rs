//! The wire between a client and the bare server: two queues. The server's end is a part of the world; the client's
//! waits by letting time go by.

use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Arc, Mutex};

use http::HeaderValue;
use http::request::Parts;
use mcp_http_core::config::Config;
use mcp_http_core::endpoint::{Actions, Budget, Endpoint, Event, Frames, Principal, Pulled};
use mcp_http_core::intake::{Admitted, Intake};
use mcp_http_core::reject::Refusal;
use mcp_http_core::time::Timestamp;
use mcp_http_tests::socket::{Around, At, Order, Parcel};

use super::{Asked, World, app};
use crate::socket_support::wire::Other;

/// What the server may write without the client reading.
const WINDOW: usize = 64 * 1024;

/// The client's end.
pub(super) struct Link {
    world: Arc<Mutex<World>>,
    conn: usize,
}

impl Link {
    pub(super) fn to(world: &Arc<Mutex<World>>) -> Link {
        let conn = world.lock().unwrap().connect();
        Link { world: Arc::clone(world), conn }
    }
}

impl Other for Link {
    fn write(&mut self, bytes: &[u8]) {
        let mut world = self.world.lock().unwrap();
        world.arrive(self.conn, Parcel::Bytes(bytes.to_vec()));
        world.run();
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.lock().unwrap();
        let there = |world: &World| {
            let conn = &world.conns[self.conn];
            (!conn.down.is_empty() || conn.over).then_some(())
        };
        world.wait(there).ok_or(ErrorKind::TimedOut)?;
        let conn = &mut world.conns[self.conn];
        conn.due = true;
        io::Read::read(&mut conn.down, into)
    }

    fn reset(self: Box<Self>) {
        let mut world = self.world.lock().unwrap();
        world.conns[self.conn].left = true;
        world.arrive(self.conn, Parcel::Reset);
        world.run();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The world may be what panics.
        let Ok(mut world) = self.world.try_lock() else { return };
        if !std::mem::replace(&mut world.conns[self.conn].left, true) {
            world.arrive(self.conn, Parcel::Eof);
            world.run();
        }
    }
}

/// The server's end.
pub(super) struct There<'a> {
    pub(super) world: &'a mut World,
    pub(super) conn: usize,
}

impl Around for There<'_> {
    fn config(&self) -> &Arc<Config> {
        &self.world.config
    }

    fn intake(&self) -> &Intake {
        &self.world.intake
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.world.budget
    }

    fn shards(&mut self) -> &mut [Endpoint] {
        &mut self.world.shards
    }

    fn now(&mut self) -> Timestamp {
        self.world.now
    }

    fn exact(&self) -> Timestamp {
        self.world.now
    }

    fn date(&self) -> Option<HeaderValue> {
        Some(HeaderValue::from_static("Thu, 01 Jan 1970 00:00:00 GMT"))
    }

    fn next_order(&mut self) -> Option<Order> {
        self.world.conns[self.conn].orders.pop_front()
    }

    fn read(&mut self) -> Option<Parcel> {
        self.world.conns[self.conn].up.pop_front()
    }

    fn is_reset(&self) -> bool {
        matches!(self.world.conns[self.conn].up.front(), Some(Parcel::Reset))
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> Option<(usize, Timestamp)> {
        let now = self.world.now;
        let there = &mut self.world.conns[self.conn];
        let room = WINDOW.saturating_sub(there.down.len());
        if there.left {
            // Nobody is there: the answer is a reset.
            self.world.arrive(self.conn, Parcel::Reset);
            return Some((slices.iter().map(|slice| slice.len()).sum(), now));
        }
        let before = there.down.len();
        there.down.extend(slices.iter().flat_map(|slice| slice.iter()).take(room));
        let written = there.down.len() - before;
        (written > 0).then_some((written, now))
    }

    fn shut(&mut self) {
        self.world.conns[self.conn].over = true;
    }

    fn authorize(&mut self, head: &Parts) -> Result<Option<Principal>, Refusal> {
        app::authorize(head)
    }

    fn may_open_session(&mut self, head: &Parts) -> bool {
        app::may_open_session(head)
    }

    fn admit(&mut self, admitted: Admitted, head: &Parts, who: Option<Principal>) -> At {
        let There { world, conn } = self;
        let named = admitted.session().and_then(|session| session.shard()).map(|shard| usize::from(shard.0));
        let shard = named.filter(|shard| *shard < world.shards.len()).unwrap_or_else(|| {
            world.turn += 1;
            world.turn % world.shards.len()
        });
        let mut out = Actions::new();
        let at = (shard, world.shards[shard].admit(admitted, who.clone(), world.now, &mut out));
        world.exchanges.insert(at, Asked { conn: *conn, method: head.method.clone(), who });
        world.carry_out(shard, &mut out);
        at
    }

    fn tell(&mut self, shard: usize, event: Event) {
        self.world.tell(shard, event);
    }

    fn pull(&mut self, (shard, exchange): At, budget: usize, into: &mut Frames) -> Pulled {
        self.world.with(shard, |endpoint, now, out| endpoint.pull(exchange, budget, into, now, out))
    }

    fn refused(&mut self, refusal: &Refusal) {
        *self.world.refusals.entry(refusal.name()).or_default() += 1;
    }
}
