//! Signals: what a host completes, and how long it waits.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::fixture::{HELD, request, serve};
use crate::support::process::exchange;
use crate::support::waiting::eventually;

/// Stops the program while a request is in progress, and returns the outcome of the request.
async fn stops_by(signal: &str) {
    let (place, mut served, token) = serve(&[]).await;
    let mut flying = served.connect().await;
    let held = request(&token, HELD, "in-flight");
    flying.write_all(held.as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    let idle: TcpStream = served.connect().await;

    served.signal(signal).await;
    eventually("new connections are refused", async || {
        TcpStream::connect(served.address).await.is_err().then_some(())
    })
    .await;
    std::fs::write(place.data("release"), "").unwrap();
    let answer = exchange(&mut flying, b"").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\"released\""), "{answer}");
    assert_eq!(served.ended().await, Some(0));
    drop(idle);
}

#[tokio::test]
async fn a_request_in_flight_is_finished_when_the_program_is_terminated() {
    stops_by("TERM").await;
}

#[tokio::test]
async fn a_request_in_flight_is_finished_when_the_program_is_interrupted() {
    stops_by("INT").await;
}

#[tokio::test]
async fn a_request_in_flight_is_finished_when_the_program_is_told_to_quit() {
    stops_by("QUIT").await;
}

#[tokio::test]
async fn a_hang_up_ends_neither_the_program_nor_a_request() {
    let (place, mut served, token) = serve(&[]).await;
    let mut flying = served.connect().await;
    let held = request(&token, HELD, "in-flight").replace("connection: keep-alive", "");
    flying.write_all(held.as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    for _ in 0..3 {
        served.signal("HUP").await;
    }
    served.is_alive().await;
    std::fs::write(place.data("release"), "").unwrap();
    served.log.wait_for("status=200").await;
    // One that is stopping is not stopped at once by it, as it is by a second signal.
    served.signal("TERM").await;
    served.signal("HUP").await;
    assert_eq!(served.ended().await, Some(0));
    assert!(!served.log.all().iter().any(|line| line.contains("immediately")));
}

#[tokio::test]
async fn an_endless_request_does_not_prevent_a_stop() {
    let (_place, mut served, token) = serve(&[("HOST_STOP_TIMEOUT", "2")]).await;
    let mut flying = served.connect().await;
    flying.write_all(request(&token, HELD, "for-ever").as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    served.signal("TERM").await;
    assert_eq!(served.ended().await, Some(0));
}

#[tokio::test]
async fn a_second_signal_stops_the_program_at_once() {
    let (_place, mut served, token) = serve(&[]).await;
    let mut flying = served.connect().await;
    flying.write_all(request(&token, HELD, "for-ever").as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    served.signal("TERM").await;
    served.log.wait_for("stopping").await;
    served.signal("TERM").await;
    assert_eq!(served.ended().await, Some(0));
    assert!(served.log.all().iter().any(|line| line.contains("immediately")));
}
