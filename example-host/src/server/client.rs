//! The address of the client of a request. A proxy sends it in a header. The header is used only
//! from trusted proxies, because any client can send it.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

/// The header to which each proxy appends the address of its client.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The remote address of the connection, stored in the extensions of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(super) IpAddr);

/// Whether the peer is a trusted proxy.
pub(crate) fn is_trusted(peer: Peer, proxies: &[IpNet]) -> bool {
    let peer = peer.0.to_canonical();
    proxies.iter().any(|proxy| proxy.contains(&peer))
}

/// The client: the peer, or the nearest address in the header that is not a trusted proxy.
pub(crate) fn of(peer: Peer, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let values = headers.get_all(FORWARDED_FOR);
    let values: Vec<&str> = values.iter().map(|value| value.to_str().unwrap_or_default()).collect();
    let mut hops = values.iter().rev().flat_map(|value| value.rsplit(',')).map(address);
    let mut client = peer.0.to_canonical();
    while proxies.iter().any(|proxy| proxy.contains(&client)) {
        match hops.next().flatten() {
            Some(asked_by) => client = asked_by.to_canonical(),
            None => break,
        }
    }
    client
}

/// Parses an address from the header; some proxies add the port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    text.parse().ok().or_else(with_port).or_else(bracketed)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    /// The client of a request from `peer` with these headers, with two trusted proxies.
    fn client(peer: &str, forwarded: &[&'static str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
        }
        let proxies: Vec<IpNet> =
            ["10.0.0.0/8", "fd00::1/128"].iter().filter_map(|net| net.parse().ok()).collect();
        Some(of(Peer(peer.parse().ok()?), &headers, &proxies).to_string())
    }

    #[test]
    fn the_header_is_used_only_from_trusted_proxies() {
        for (peer, forwarded, expected) in [
            ("192.0.2.7", &[][..], "192.0.2.7"),
            ("192.0.2.7", &["203.0.113.5"], "192.0.2.7"),
            ("10.1.2.3", &["203.0.113.5"], "203.0.113.5"),
            ("::ffff:10.1.2.3", &["203.0.113.5:4711"], "203.0.113.5"),
            ("fd00::1", &["[2001:db8::5]:4711"], "2001:db8::5"),
            ("10.1.2.3", &["[2001:db8::5]"], "2001:db8::5"),
            // Values that the client sent itself are further left.
            ("10.1.2.3", &["198.51.100.9, 203.0.113.5"], "203.0.113.5"),
            ("10.1.2.3", &["198.51.100.9", "203.0.113.5"], "203.0.113.5"),
            ("10.1.2.3", &["198.51.100.9, 203.0.113.5, 10.9.9.9"], "203.0.113.5"),
            // The last trusted proxy, if the next value is missing or not an address.
            ("10.1.2.3", &[], "10.1.2.3"),
            ("10.1.2.3", &["10.9.9.9"], "10.9.9.9"),
            ("10.1.2.3", &["203.0.113.5, unknown"], "10.1.2.3"),
            ("10.1.2.3", &[""], "10.1.2.3"),
        ] {
            assert_eq!(client(peer, forwarded).as_deref(), Some(expected), "{peer} {forwarded:?}");
        }
    }
}
