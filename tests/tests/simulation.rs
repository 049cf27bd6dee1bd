//! Whole courses of a server under faults, each from one number. `SIM_SEED=n` plays that one and prints every step;
//! `SIM_SEEDS=n` plays as many instead of 256, from `SIM_FIRST` on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use mcp_http_tests::sim::{Play, Seen, run};

const WORKERS: u64 = 2;

fn said(name: &str) -> Option<u64> {
    #[expect(clippy::disallowed_methods, reason = "a longer run of the same test, or one with a trace")]
    let said = std::env::var(name).ok();
    said.map(|number| number.parse().expect("a number"))
}

#[test]
fn every_course_ends_with_nothing_left() {
    let play = Play { trace: said("SIM_SEED").is_some() };
    if let Some(seed) = said("SIM_SEED") {
        println!("{:?}", run(seed, play));
        return;
    }
    let (first, seeds) = (said("SIM_FIRST").unwrap_or(0), said("SIM_SEEDS").unwrap_or(256));
    let work = |worker: u64| {
        let (mut seen, mut failed) = (Seen::default(), Vec::new());
        for seed in (first + worker..first + seeds).step_by(WORKERS as usize) {
            match catch_unwind(AssertUnwindSafe(|| run(seed, play))) {
                Ok(more) => seen.add(&more),
                Err(_) => {
                    println!("that was SIM_SEED={seed}");
                    failed.push(seed);
                }
            }
        }
        (seen, failed)
    };
    let all = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(|worker| worker.join().expect("caught")).collect::<Vec<_>>()
    });
    let (mut seen, mut failed) = (Seen::default(), Vec::new());
    for (more, bad) in all {
        seen.add(&more);
        failed.extend(bad);
    }
    println!("{seeds} seeds: {seen:?}");
    assert_eq!(failed, [0; 0], "play one of these with SIM_SEED");
    assert_eq!(seen.missing(), [""; 0], "never seen in {seeds} seeds");
}
