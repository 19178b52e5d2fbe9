//! The layout of what crosses: compatible with that of 1.0 in both directions, and no longer after any
//! breaking change.

use std::time::{Duration, Instant};

use host_interface::export::{LAYOUT, compare};

/// The breaking changes that were made, see `tests/fixtures/contract-mutants`.
#[path = "../../fixtures/contract-mutants/mutants.rs"]
mod mutants;

#[test]
fn the_layout_of_1_0_fits_today_in_either_direction() {
    let first = contract_1_0::export::LAYOUT;
    let began = Instant::now();
    for (ours, theirs) in [(LAYOUT, first), (first, LAYOUT), (LAYOUT, LAYOUT)] {
        compare(ours, theirs).unwrap();
        contract_1_0::export::compare(ours, theirs).unwrap();
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(1), "six comparisons took {took:?}");
}

#[test]
fn the_layout_of_a_contract_with_additions_fits_in_either_direction() {
    let later = contract_tomorrow::export::LAYOUT;
    for other in [contract_1_0::export::LAYOUT, LAYOUT] {
        compare(other, later).unwrap();
        compare(later, other).unwrap();
        contract_tomorrow::export::compare(other, later).unwrap();
    }
    // The order in which contracts were compared before does not matter.
    compare(contract_1_0::export::LAYOUT, LAYOUT).unwrap();
}

#[test]
fn each_breaking_change_of_a_layout_is_refused_and_described_in_less_than_a_screenful() {
    let mutants = contract_mutants::layouts();
    let names: Vec<&str> = mutants.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, mutants::LAYOUTS.map(|(name, _)| name));
    for (name, layout) in mutants {
        for first in [contract_1_0::export::LAYOUT, LAYOUT] {
            for (ours, theirs) in [(first, layout), (layout, first)] {
                let Err(details) = compare(ours, theirs) else { panic!("{name} is accepted") };
                // As a terminal of 80 columns shows it.
                let lines: usize = details.lines().map(|line| 1 + line.len() / 80).sum();
                assert!((1..=24).contains(&lines), "{name}: {lines} lines:\n{details}");
            }
        }
    }
}
