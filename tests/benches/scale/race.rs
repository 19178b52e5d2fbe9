//! Two programs that answer the same request, measured alternately at full speed, to compare their
//! costs.

use std::time::Duration;

use crate::machine::median;

use super::load::{Ask, Client, rate};
use super::stores::Host;
use super::verdict;

const CONNECTIONS: usize = 8;
const ROUND: Duration = Duration::from_secs(3);

/// The head of a table with a row for each comparison of these two.
pub fn head(runners: [&str; 2], rounds: usize) {
    println!(
        "{CONNECTIONS} connections, median of {rounds} rounds of {ROUND:?}; CPU for a request\n"
    );
    let [first, second] = runners;
    println!(
        "| what | {first}/s | {second}/s | ratio | bar | {first} CPU | {second} CPU | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}

/// A row: the second program must answer at least this share of the requests of the first.
pub async fn row(path: &str, runners: [&Host; 2], rounds: usize, bar: f64) {
    let ask = Ask::get(path);
    same_answer(&ask, runners).await;
    let (mut rates, mut costs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for runner in runners {
        rate(&runner.door, &ask, CONNECTIONS, ROUND / 3).await;
    }
    for round in 0..rounds {
        // The order changes with each round, so that neither is always first.
        for which in [round % 2, (round + 1) % 2] {
            let before = runners[which].cpu();
            let rate = rate(&runners[which].door, &ask, CONNECTIONS, ROUND).await;
            let used = runners[which].cpu() - before;
            rates[which].push(rate);
            costs[which].push(used / (rate * ROUND.as_secs_f64()) * 1e6);
        }
    }
    let [first, second] = rates.map(median);
    let [cost, other_cost] = costs.map(median);
    let ratio = second / first;
    println!(
        "| `{path}` | {first:.0} | {second:.0} | {ratio:.3} | {bar}{} | {cost:.1} us | {other_cost:.1} us | {:.3} |",
        verdict(ratio >= bar),
        other_cost / cost,
    );
}

/// A comparison is valid only if both send the same answer.
async fn same_answer(ask: &Ask, runners: [&Host; 2]) {
    let mut bodies = Vec::new();
    for runner in runners {
        bodies.push(Client::of(runner.door.clone()).await.ask(ask).await.body);
    }
    assert!(bodies[0] == bodies[1], "{bodies:#?}");
}
