//! The host that a request is for. A request that names no host, or two of them, may mean one thing to
//! one program on its way and another to the next, so it is refused whatever it asks for.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Request, Version, header};

use crate::api::problem::Refusal;

/// Refuses a request that does not name one host. What stands in the target itself counts in place
/// of the header, which then says the same.
pub(crate) fn settle<B>(request: &mut Request<B>) -> Result<(), Refusal> {
    let named = of_header(request.headers(), request.version())?;
    let uri = request.uri();
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Ok(());
    };
    let known = *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS;
    if !known || !is_host(authority.as_str()) {
        return Err(Refusal::BadHost);
    }
    let authority = HeaderValue::from_str(authority.as_str()).map_err(|_| Refusal::BadHost)?;
    if named || request.version() == Version::HTTP_10 {
        request.headers_mut().insert(header::HOST, authority);
    }
    Ok(())
}

/// Whether there is a header; only clients of HTTP/1.0 need not send one.
fn of_header(headers: &HeaderMap, version: Version) -> Result<bool, Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version <= Version::HTTP_10 => Ok(false),
        (Some(host), None) if host.to_str().is_ok_and(is_host) => Ok(true),
        _ => Err(Refusal::BadHost),
    }
}

/// Whether a text is the name or address of a host, with a port or without. What a name may have by
/// the letter and none has is refused as well: a comma is what two headers become that are put
/// together.
fn is_host(text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    let host = authority.host();
    // What does not begin with the host begins with a user.
    let Some(port) = text.strip_prefix(host) else { return false };
    let ported =
        port.is_empty() || port == ":" || (port.starts_with(':') && authority.port_u16().is_some());
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    !host.is_empty() && ported && (host.starts_with('[') || host.bytes().all(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(version: Version, target: &str, hosts: &[&str]) -> Option<String> {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let mut request = request.body(()).ok()?;
        settle(&mut request).ok()?;
        let host = request.headers().get(header::HOST);
        Some(host.and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned())
    }

    #[test]
    fn a_request_names_one_host() {
        let settled = |hosts: &[&str]| settled(Version::HTTP_11, "/health", hosts);
        for host in ["shop.example", "shop.example:8080", "127.0.0.1", "[::1]:80", "shop:"] {
            assert_eq!(settled(&[host]).as_deref(), Some(host));
        }
        for host in [
            "", " ", "a b", "a/b", "a@b", "b@b:80", "a:b", "a:99999", "[::1", "a,b", "a;b", ":80",
            "ä",
        ] {
            assert_eq!(settled(&[host]), None, "{host:?}");
        }
        assert_eq!(settled(&[]), None);
        assert_eq!(settled(&["a", "a"]), None);
    }

    #[test]
    fn clients_of_the_first_http_need_name_none() {
        let settled = |hosts: &[&str]| settled(Version::HTTP_10, "/health", hosts);
        assert_eq!(settled(&[]).as_deref(), Some(""));
        assert_eq!(settled(&["a"]).as_deref(), Some("a"));
        assert_eq!(settled(&["a", "b"]), None);
        assert_eq!(settled(&["a b"]), None);
    }

    #[test]
    fn a_target_that_names_the_host_counts_more_than_the_header() {
        let settled = |target: &str, hosts: &[&str]| settled(Version::HTTP_11, target, hosts);
        assert_eq!(settled("http://shop.example/x", &["other"]).as_deref(), Some("shop.example"));
        assert_eq!(settled("http://shop.example/x", &[]), None, "it is sent all the same");
        assert_eq!(settled("http://a@shop.example/x", &["shop.example"]), None);
        assert_eq!(settled("ftp://shop.example/x", &["shop.example"]), None);
    }
}
