//! Whole courses of a server under faults, each from one number: 256 of them, and one more that is another with every
//! commit. `SIM_SEED=n` plays that one, and with `--nocapture` every step is printed; `SIM_SEEDS=n` plays as many
//! instead of 256, from `SIM_FIRST` on. `SIM_COMMIT` or `GITHUB_SHA` name the commit where there is no repository.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::thread;

use mcp_http_tests::sim::{Play, Seen, run};

const WORKERS: u64 = 2;
const SEEDS: u64 = 256;

#[test]
fn every_course_ends_with_nothing_left() {
    if let Some(seed) = number("SIM_SEED") {
        println!("{:?}", run(seed, Play { trace: true }));
        return;
    }
    let (first, seeds) = (number("SIM_FIRST").unwrap_or(0), number("SIM_SEEDS").unwrap_or(SEEDS));
    let work = |worker: u64| {
        let (mut seen, mut failed) = (Seen::default(), Vec::new());
        for seed in (first + worker..first + seeds).step_by(WORKERS as usize) {
            match catch_unwind(AssertUnwindSafe(|| run(seed, Play::default()))) {
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

/// So that every commit looks where none before it has looked.
#[test]
fn the_course_of_this_commit_ends_with_nothing_left() {
    let seed = commit().as_deref().and_then(seed_of).unwrap_or(SEEDS);
    println!("the commit's course is SIM_SEED={seed}");
    let seen = run(seed, Play::default());
    println!("{seen:?}");
    assert!(seen.steps > 0 && seen.calls + seen.refused > 0, "it meets with something: {seen:?}");
}

#[test]
fn a_commit_has_one_seed_and_what_is_none_has_none() {
    assert_eq!(seed_of("e09d5bd0123456789abcdef0123456789abcdef0\n"), Some(0x0e09_d5bd_0123_4567));
    for none in ["", "\n", "e09d5bd", "fatal: not a git repository", "ééééééééé"] {
        assert_eq!(seed_of(none), None, "{none:?}");
    }
}

/// What is built here: by the environment, else by the repository, if there is one.
fn commit() -> Option<String> {
    said("SIM_COMMIT").or_else(|| said("GITHUB_SHA")).or_else(|| {
        let git =
            Command::new("git").args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        git.ok().filter(|git| git.status.success()).and_then(|git| String::from_utf8(git.stdout).ok())
    })
}

/// The first fifteen digits of a commit's name, so that it is short enough to be typed.
fn seed_of(commit: &str) -> Option<u64> {
    u64::from_str_radix(commit.get(..15)?, 16).ok()
}

fn number(name: &str) -> Option<u64> {
    said(name).map(|number| number.parse().expect("a number"))
}

fn said(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a longer run of the same test, or one with a trace")]
    let said = std::env::var(name).ok();
    said.filter(|said| !said.is_empty())
}
