//! Jobs: what runs, when, and on which of several hosts of a site.

use std::time::Duration;

use crate::support::databases::Database;
use crate::support::harness::{Answer, fixture};
use crate::support::process::{Lines, Place, Served};
use crate::support::waiting::eventually;

/// A site whose extension has jobs.
fn place() -> Place {
    let place = Place::with([fixture("listens")]);
    std::fs::write(place.data("jobs"), "").unwrap();
    place
}

/// How many lines of these logs have this message.
fn count(logs: &[&Lines], text: &str) -> usize {
    let message = format!("plugin: {text} source=");
    logs.iter().flat_map(|log| log.all()).filter(|line| line.contains(&message)).count()
}

async fn until(logs: &[&Lines], text: &str, times: usize) {
    let what = format!("{times} times {text}");
    eventually(&what, async || (count(logs, text) >= times).then_some(())).await;
}

async fn wake(served: &Served, job: &str) -> Answer {
    let path = format!("/api/index.php/v1/listens/wake/{job}");
    Answer::to(served.bare("POST", &path)).await
}

#[tokio::test]
async fn jobs_run_at_intervals_or_when_they_are_woken_and_a_failure_is_tried_again() {
    let place = place();
    let served = place.serve_with(&[("HOST_METRICS", "127.0.0.1:0")]).await;
    let log = &[&served.log];
    until(log, "job often", 3).await;
    until(log, "job seldom", 1).await;
    until(log, "job fails", 2).await;
    served.log.wait_for("the work is too hard").await;
    assert_eq!(wake(&served, "seldom").await.status, 204);
    until(log, "job seldom", 2).await;
    let unknown = wake(&served, "unknown").await;
    assert!(String::from_utf8_lossy(&unknown.body).contains("there is no job"));

    let line = served.log.wait_for("metrics at ").await;
    let metrics = line.split_once("metrics at ").unwrap().1;
    let text = Answer::to(reqwest::Client::new().get(metrics)).await.body;
    let text = String::from_utf8(text).unwrap();
    for series in [
        "host_job_runs_total{extension=\"listens\",job=\"often\",result=\"done\"} ",
        "host_job_runs_total{extension=\"listens\",job=\"fails\",result=\"failed\"} ",
        "host_job_runs_total{extension=\"listens\",job=\"seldom\",result=\"done\"} 2\n",
        "host_job_last_run_seconds{extension=\"listens\",job=\"often\"} 0.",
    ] {
        assert!(text.contains(series), "{series} in {text}");
    }

    place.run("extension disable listens").await;
    served.log.wait_for("switched").await;
    // A run that has begun may still end.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = count(log, "job often");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(count(log, "job often"), before, "jobs of a disabled extension do not run");
    std::fs::write(place.data("release"), "").unwrap();
    served.stop().await;
}

#[tokio::test]
async fn a_job_that_a_command_wakes_is_run_by_a_host_now_or_at_the_next_start() {
    let place = place();
    std::fs::write(place.data("release"), "").unwrap();
    place.user("ann", "Manager").await;
    place.user("bob", "Manager").await;
    let served = place.serve().await;
    let log = &[&served.log];
    until(log, "job seldom", 1).await;
    let waking = place.call("user remove ann").finish().await;
    waking.succeeds();
    assert!(!waking.err().contains("job seldom"), "a command runs no jobs: {}", waking.err());
    until(log, "job seldom", 2).await;
    served.stop().await;

    place.run("user remove bob").await;
    let served = place.serve().await;
    until(&[&served.log], "job seldom", 1).await;
    served.stop().await;
}

#[tokio::test]
async fn jobs_of_a_copied_site_run_when_they_are_due_and_one_that_was_interrupted_at_once() {
    let place = place();
    let mut served = place.serve().await;
    let log = &[&served.log];
    until(log, "job seldom", 1).await;
    until(log, "job slow", 1).await;
    until(log, "job often", 3).await;
    served.signal("KILL").await;
    served.ended().await;

    let copy = Database::new().await;
    let url = copy.url();
    let copied = place.call("copy --from").word(place.site_url()).word("--to").word(&url);
    copied.finish().await.succeeds();
    // Where the fixture looks for its files, on a server and on SQLite.
    for folder in [place.path("data"), copy.folder.path().to_owned()] {
        for file in ["jobs", "release"] {
            std::fs::write(folder.join(file), "").unwrap();
        }
    }
    let call = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", &url);
    let served = call.start().await;
    let log = &[&served.log];
    until(log, "job slow is done", 1).await;
    until(log, "job often", 3).await;
    assert_eq!(count(log, "job seldom"), 0, "it is due in an hour");
    assert_eq!(wake(&served, "seldom").await.status, 204);
    until(log, "job seldom", 1).await;
    served.stop().await;
}

#[tokio::test]
async fn a_job_runs_on_one_host_at_a_time() {
    let place = place();
    let (one, other) = tokio::join!(place.serve(), place.serve());
    let logs = &[&one.log, &other.log];
    until(logs, "job slow", 1).await;
    for served in [&one, &other] {
        assert_eq!(wake(served, "slow").await.status, 204);
    }
    // Both hosts look several times.
    until(logs, "job often", 6).await;
    assert_eq!((count(logs, "job slow"), count(logs, "job seldom")), (1, 1));
    std::fs::write(place.data("release"), "").unwrap();
    // It was woken while it ran, so it runs once more.
    until(logs, "job slow is done", 2).await;
    until(logs, "job often", 12).await;
    assert_eq!(count(logs, "job slow"), 2, "two wakes during one run are one");
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_a_job_within_its_time_limit() {
    let place = place();
    let mut served = place.serve().await;
    served.log.wait_for("job slow").await;
    served.signal("TERM").await;
    served.log.wait_for("stopping; requests").await;
    std::fs::write(place.data("release"), "").unwrap();
    assert_eq!(served.ended().await, Some(0));
    served.log.wait_for("job slow is done").await;

    std::fs::remove_file(place.data("release")).unwrap();
    let mut served = place.serve_with(&[("HOST_STOP_TIMEOUT", "2")]).await;
    assert_eq!(wake(&served, "slow").await.status, 204);
    served.log.wait_for("job slow").await;
    served.signal("TERM").await;
    assert_eq!(served.ended().await, Some(0));
    served.log.wait_for("jobs that took too long to finish were aborted").await;

    // What was aborted is begun again by the next host.
    std::fs::write(place.data("release"), "").unwrap();
    let served = place.serve().await;
    served.log.wait_for("job slow is done").await;
    served.stop().await;
}

#[tokio::test]
async fn another_host_takes_the_job_of_a_host_that_was_killed() {
    let place = place();
    let mut one = place.serve().await;
    one.log.wait_for("job slow").await;
    let other = place.serve().await;
    one.signal("KILL").await;
    one.ended().await;
    other.log.wait_for("job slow").await;
    std::fs::write(place.data("release"), "").unwrap();
    other.log.wait_for("job slow is done").await;
    other.stop().await;
}
