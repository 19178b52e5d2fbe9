//! The store against a model of it: random requests to all types, whose answers a map of records and some lines of
//! query in memory must predict. They find what no single test looks for: combinations.
//!
//! A walk is a list of steps, and all of a step follows from one number, so that each part of a walk can be taken
//! again: of one that fails, the steps that are not needed for it are left out. No library of model tests is used,
//! because these make all steps before the store has given any record its key. The model is kept through the feed of
//! changes; the feed, the answers to writes, the records and the lists must therefore agree, and on all engines to
//! the byte.

use std::fmt::Write;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use sha2::{Digest, Sha256};

use super::walk::{Deed, Step, Walk};

/// How many steps a walk has.
const STEPS: usize = 250;
/// How many steps there are in all, unless `TEST_STEPS` has another number.
const ALL: usize = 2_000;
/// How many shorter walks are tried after one that fails.
const TRIES: usize = 100;
/// After how many steps all records are compared.
const REST: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_of_the_store_are_those_of_its_model() {
    let all = std::env::var("TEST_STEPS").map_or(ALL, |steps| steps.parse().unwrap());
    let first: u64 = std::env::var("TEST_FIRST").map_or(0, |first| first.parse().unwrap());
    let mut report = String::new();
    for number in first..first + all.div_ceil(STEPS) as u64 {
        let mut rng = fastrand::Rng::with_seed(number);
        let steps: Vec<Step> = (0..STEPS).map(|_| (Deed::random(&mut rng), rng.u64(..))).collect();
        match take(&steps).await {
            Ok(line) => writeln!(report, "{number}: {line}").unwrap(),
            Err(failure) => {
                let (steps, failure) = shortened(steps, failure).await;
                panic!("walk {number}, of which these steps suffice: {steps:?}\n{failure}");
            }
        }
    }
    if all == ALL && first == 0 {
        insta::assert_snapshot!("walks", report);
    } else {
        println!("{report}");
    }
}

/// Takes the steps of a walk, and returns a line about it, which must be the same on each engine; or else why one
/// of the steps fails.
async fn take(steps: &[Step]) -> Result<String, String> {
    let mut walk = Walk::begin().await;
    for (number, step) in steps.iter().enumerate() {
        let step = async {
            walk.step(*step).await;
            if number % REST == REST - 1 || number == steps.len() - 1 {
                walk.compare_all().await;
            }
        };
        AssertUnwindSafe(step).catch_unwind().await.map_err(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or(panic.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned()
        })?;
    }
    if let Ok(folder) = std::env::var("TEST_TRANSCRIPTS") {
        let first = steps.first().map_or(0, |(_, number)| *number);
        std::fs::write(format!("{folder}/{first}"), &walk.transcript).unwrap();
    }
    let digest = Sha256::digest(&walk.transcript);
    let digest: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let Walk { sent, done, refused, .. } = walk;
    Ok(format!("{sent} requests, {done} writes done, {refused} refused, answers {digest}"))
}

/// A walk that fails, without as many steps as is found out soon.
async fn shortened(mut steps: Vec<Step>, mut failure: String) -> (Vec<Step>, String) {
    let (mut size, mut from) = (steps.len() / 2, 0);
    for _ in 0..TRIES {
        if from >= steps.len() {
            (size, from) = (size / 2, 0);
        }
        if size == 0 {
            break;
        }
        let mut fewer = steps.clone();
        fewer.drain(from..(from + size).min(steps.len()));
        match take(&fewer).await {
            Ok(_) => from += size,
            Err(again) => (steps, failure) = (fewer, again),
        }
    }
    (steps, failure)
}
