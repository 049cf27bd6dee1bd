//! What the simulation found: the seeds, and each fault as the shortest sequence to it.

use std::time::Duration;

use mcp_http_core::endpoint::{Action, Target};
use mcp_http_tests::script::{Script, note};
use mcp_http_tests::sim::{Play, run};

/// Seeds under which somebody once waited for ever.
const STARVING: [u64; 4] = [4, 62, 86, 165];

#[test]
fn r9_nobody_waits_for_ever_when_memory_is_short() {
    for seed in STARVING {
        println!("SIM_SEED={seed}");
        let _ = run(seed, Play::default());
    }
}

/// R8, R9: what a reader has taken is behind its cursor and may be evicted, for its own sender at the least. So it
/// is too where it is the server's memory and not the ring that is full.
#[test]
fn r9_a_sender_whose_reader_has_taken_all_has_room_when_memory_is_short() {
    let mut s = Script::with(|config| {
        config.memory_max = 4096;
        config.message_bytes_max = 4096;
        config.body_bytes_max = 4096;
    });
    let session = s.open();
    let own = Target::Session(session.key);
    let get = s.get().with(&session.id).admit().exchange;
    for number in 0..100 {
        let mut sent = s.try_send(own, note(number));
        if sent.is_err() {
            s.pull(get);
            let told = s.advance(Duration::from_secs(1));
            assert_eq!(told, [Action::Writable { target: own }], "R9");
            sent = s.try_send(own, note(number));
        }
        assert!(sent.is_ok(), "R9: all {number} before it were taken: {sent:?}");
        s.pull(get);
    }
    s.finish();
}

/// R8, R9: nor may what another reader has taken, and what is kept only in case it comes back, hold up everybody
/// else for ever.
#[test]
fn r9_what_another_reader_has_taken_makes_room_when_memory_is_short() {
    let mut s = Script::with(|config| {
        config.memory_max = 4096;
        config.message_bytes_max = 4096;
        config.body_bytes_max = 4096;
    });
    let (first, second) = (s.open(), s.open());
    let get = s.get().with(&first.id).admit().exchange;
    let other = s.get().with(&second.id).admit().exchange;
    s.pull(other);
    for number in 0..1000 {
        if s.try_send(Target::Session(first.key), note(number)).is_err() {
            break;
        }
        s.pull(get);
    }
    let own = Target::Session(second.key);
    let mut sent = s.try_send(own, note(0));
    if sent.is_err() {
        let told = s.advance(Duration::from_secs(1));
        assert!(told.contains(&Action::Writable { target: own }), "R9: {told:?}");
        sent = s.try_send(own, note(0));
    }
    assert!(sent.is_ok(), "R9: all there is was taken: {sent:?}");
    s.pull(other);
    s.finish();
}
