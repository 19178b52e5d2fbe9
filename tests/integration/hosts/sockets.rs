//! The connections of a host to its database server.

use std::net::{SocketAddr, TcpStream};

use host_interface::Method;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::json;

use super::faults::{bare_behind_a_proxy, create_manufacturer};

/// A connection that keeps packets back waits for 40 ms at each statement that is longer than one.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file has no connections")]
async fn what_is_written_to_a_server_is_sent_at_once() {
    let (store, proxy) = bare_behind_a_proxy().await;
    assert_eq!(create_manufacturer(&store).await.status(), 201);
    assert_eq!(store.ask(Method::Get, "/manufacturers", json!(null)).await.status(), 200);
    let connections = connections_to(proxy.address);
    assert!(!connections.is_empty());
    for connection in connections {
        assert!(connection.nodelay().unwrap());
    }
}

/// The connections of this process to an address, each a copy of its socket.
fn connections_to(address: SocketAddr) -> Vec<TcpStream> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let sockets = open.filter(|path| {
        std::fs::read_link(path).is_ok_and(|of| of.to_string_lossy().starts_with("socket:"))
    });
    let copies = sockets.filter_map(|path| {
        let number = path.file_name()?.to_str()?.parse().ok()?;
        pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).map(TcpStream::from).ok()
    });
    copies.filter(|socket| socket.peer_addr().is_ok_and(|peer| peer == address)).collect()
}
