//! Hosts that are killed at random moments.

use crate::support::process::Served;

/// How often hosts are killed in a test, unless `TEST_KILLS` has another number.
pub fn kills(usual: usize) -> usize {
    std::env::var("TEST_KILLS").map_or(usual, |kills| kills.parse().unwrap())
}

/// Random numbers. What a test prints is shown when it fails, so that its numbers can be had again.
pub fn randomness() -> fastrand::Rng {
    let rng = fastrand::Rng::new();
    println!("the seed is {}", rng.get_seed());
    rng
}

/// Kills hosts, all of them before any has ended, and waits for the end.
pub async fn kill(hosts: impl IntoIterator<Item = Served>) {
    let hosts: Vec<Served> = hosts.into_iter().collect();
    for host in &hosts {
        host.signal("KILL").await;
    }
    for mut host in hosts {
        assert_eq!(host.ended().await, None, "the host was killed");
    }
}
