//! Fills one endpoint with so many idle sessions, then does each thing once, in a function of its own that
//! callgrind can be told to count; `flat.sh` does. Prints the allocations of each, which need no valgrind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use mcp_http_core::intake::Admitted;
use mcp_http_core::session_id::SessionId;

use bare::{Bare, Pending};

#[path = "../../../tests/attack_support/bare.rs"]
mod bare;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: everything is the system allocator's; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size() as isize, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How often each thing is done: a table that grows within so many shows.
const TIMES: usize = 64;

const IDLE: Duration = Duration::from_secs(30 * 60);
const EVICT_AFTER: Duration = Duration::from_secs(60);

fn main() {
    let sessions: usize =
        std::env::args().nth(1).and_then(|size| size.parse().ok()).expect("a number of sessions");
    judge_long_bodies(sessions);

    let before = BYTES.load(Relaxed);
    // Room for those that come one by one, and no more: then the cap is met.
    let mut bare = Bare::with_room(sessions + TIMES);
    let mut ids: Vec<SessionId> = (0..sessions).map(|_| bare.used()).collect();
    let held = BYTES.load(Relaxed) - before - (ids.capacity() * size_of::<SessionId>()) as isize;
    println!("bytes_each {}", held / sessions as isize);

    // A table that is full grows by a chunk; the second time it has the room.
    for first in [true, false] {
        let asks: Vec<Admitted> = (0..TIMES).map(|_| bare.initialize()).collect();
        if first {
            count("open_and_maybe_grow", asks, |ask| drop(black_box(open_and_maybe_grow(&mut bare, ask))));
        } else {
            count("open", asks, |ask| drop(black_box(open(&mut bare, ask))));
        }
        // Those were pending only; the places go back.
        bare.wait(Duration::from_secs(30));
        reap_all(&mut bare);
    }
    ids.extend((0..TIMES).map(|_| bare.used()));

    let id = ids[sessions / 2].clone();
    let asks: Vec<Admitted> = (0..TIMES).map(|_| bare.ping(&id)).collect();
    count("call", asks, |ask| call(&mut bare, ask));
    count("poll_timeout", (0..TIMES).collect(), |_| poll_timeout(&bare));
    count("idle_timeout", (0..TIMES).collect(), |_| idle_timeout(&mut bare));

    // At the cap, with everybody idle for long enough: each new one takes the place of one of them.
    bare.wait(EVICT_AFTER);
    let asks: Vec<Admitted> = (0..TIMES).map(|_| bare.initialize()).collect();
    count("open_at_cap", asks, |ask| drop(black_box(open_at_cap(&mut bare, ask))));
    bare.wait(Duration::from_secs(30));
    reap_all(&mut bare);

    // The same after everybody came back once: the deadlines that stand are all outdated.
    for id in &ids {
        let ask = bare.ping(id);
        bare.call(ask);
        bare.out.drain().for_each(drop);
    }
    bare.wait(EVICT_AFTER);
    let asks: Vec<Admitted> = (0..1).map(|_| bare.initialize()).collect();
    count("open_at_cap_all_used", asks, |ask| drop(black_box(open_at_cap_all_used(&mut bare, ask))));
    bare.wait(Duration::from_secs(30));
    reap_all(&mut bare);

    // At the cap, when half as many were asked for and are not answered: each has a victim of its own.
    for _ in 0..sessions / 2 {
        let ask = bare.initialize();
        drop(bare.open(ask));
    }
    let asks: Vec<Admitted> = (0..TIMES).map(|_| bare.initialize()).collect();
    count("open_at_cap_reserved", asks, |ask| drop(black_box(open_at_cap_reserved(&mut bare, ask))));

    bare.wait(IDLE);
    count("timeout_step", (0..1).collect(), |_| timeout_step(&mut bare));
    reap_all(&mut bare);
    assert!(bare.endpoint.stats().is_drained());
}

/// I6: judging a body costs the same for each of its octets, however many there are and whatever they say. Named
/// as many times as there are octets, so that the cost of one is what is compared.
fn judge_long_bodies(octets: usize) {
    let bare = Bare::with_room(1);
    let judge = |name: &str, judge: fn(&Bare, Bytes), body: String| {
        let times = body.len();
        let before = ALLOCATIONS.load(Relaxed);
        judge(&bare, Bytes::from(body));
        let made = ALLOCATIONS.load(Relaxed) - before;
        println!("allocations {name} times {times} sum {made} most {made}");
    };
    let call = |params: String| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{{params}}}}}"#);
    let with = |members: String| format!(r#"{{{members}"jsonrpc":"2.0","id":1,"method":"m"}}"#);
    judge("judge_letters", judge_letters, call(format!(r#""a":"{}""#, "x".repeat(octets))));
    judge("judge_escapes", judge_escapes, call(format!(r#""a":"{}""#, "\\n".repeat(octets / 2))));
    judge("judge_members", judge_members, call(format!(r#"{}"b":1"#, r#""_meta":{},"#.repeat(octets / 11))));
    judge("judge_ids", judge_ids, with(r#""id":1,"#.repeat(octets / 7)));
    judge("judge_escaped_ids", judge_escaped_ids, with(r#""\u0069d":1,"#.repeat(octets / 12)));
    judge("judge_depth", judge_depth, "[".repeat(octets));
}

/// Functions of one name each, all of which judge a body.
macro_rules! judges {
    ($($name:ident)*) => {
        $(
            #[inline(never)]
            fn $name(bare: &Bare, body: Bytes) {
                black_box(stringify!($name));
                let _ = black_box(bare.judge(None, body));
            }
        )*
    };
}

judges! { judge_letters judge_escapes judge_members judge_ids judge_escaped_ids judge_depth }

// The things that are counted. Their bodies differ (the name is in them), so that no two become one function.

#[inline(never)]
fn open(bare: &mut Bare, ask: Admitted) -> Pending {
    black_box("open");
    bare.open(ask)
}

#[inline(never)]
fn open_and_maybe_grow(bare: &mut Bare, ask: Admitted) -> Pending {
    black_box("open_and_maybe_grow");
    bare.open(ask)
}

#[inline(never)]
fn open_at_cap(bare: &mut Bare, ask: Admitted) -> Pending {
    black_box("open_at_cap");
    bare.open(ask)
}

#[inline(never)]
fn open_at_cap_all_used(bare: &mut Bare, ask: Admitted) -> Pending {
    black_box("open_at_cap_all_used");
    bare.open(ask)
}

#[inline(never)]
fn open_at_cap_reserved(bare: &mut Bare, ask: Admitted) -> Pending {
    black_box("open_at_cap_reserved");
    bare.open(ask)
}

#[inline(never)]
fn call(bare: &mut Bare, ask: Admitted) {
    black_box("call");
    bare.call(ask);
    bare.out.drain().for_each(drop);
}

#[inline(never)]
fn poll_timeout(bare: &Bare) {
    black_box("poll_timeout");
    black_box(bare.endpoint.poll_timeout());
}

#[inline(never)]
fn idle_timeout(bare: &mut Bare) {
    black_box("idle_timeout");
    bare.endpoint.handle_timeout(bare.now, &mut bare.out);
}

#[inline(never)]
fn timeout_step(bare: &mut Bare) {
    black_box("timeout_step");
    bare.endpoint.handle_timeout(bare.now, &mut bare.out);
    bare.out.drain().for_each(drop);
}

/// Does it with each of these; prints the most and the sum of allocations.
fn count<T>(name: &str, all: Vec<T>, mut does: impl FnMut(T)) {
    let (mut most, mut sum, times) = (0, 0, all.len());
    for one in all {
        let before = ALLOCATIONS.load(Relaxed);
        does(one);
        let made = ALLOCATIONS.load(Relaxed) - before;
        (most, sum) = (most.max(made), sum + made);
    }
    println!("allocations {name} times {times} sum {sum} most {most}");
}

fn reap_all(bare: &mut Bare) {
    while bare.endpoint.poll_timeout().is_some_and(|due| due <= bare.now) {
        bare.endpoint.handle_timeout(bare.now, &mut bare.out);
        bare.out.drain().for_each(drop);
    }
}
