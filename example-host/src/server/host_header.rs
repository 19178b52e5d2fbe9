//! The host of a request. Programs on the way may interpret a request with no host, or with two,
//! differently, so such a request is refused.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderValue, Request, Version, header};
use host_service::Refusal;

/// Refuses a request that does not name exactly one host. A host in the request target takes
/// precedence and replaces the header.
pub(crate) fn validate<B>(request: &mut Request<B>) -> Result<(), Refusal> {
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

/// Whether there is a header; it is optional only in HTTP/1.0.
fn of_header(headers: &HeaderMap, version: Version) -> Result<bool, Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version <= Version::HTTP_10 => Ok(false),
        (Some(host), None) if host.to_str().is_ok_and(is_host) => Ok(true),
        _ => Err(Refusal::BadHost),
    }
}

/// Whether a text is the name or address of a host, with or without a port. Characters that the
/// syntax allows but no host name contains are refused too: a comma, for example, results from
/// joining two headers.
fn is_host(text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    let host = authority.host();
    // A text that does not begin with the host begins with user information.
    let Some(port) = text.strip_prefix(host) else { return false };
    let ported =
        port.is_empty() || port == ":" || (port.starts_with(':') && authority.port_u16().is_some());
    let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    !host.is_empty() && ported && (host.starts_with('[') || host.bytes().all(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validated(version: Version, target: &str, hosts: &[&str]) -> Option<String> {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let mut request = request.body(()).ok()?;
        validate(&mut request).ok()?;
        let host = request.headers().get(header::HOST);
        Some(host.and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned())
    }

    #[test]
    fn a_request_names_one_host() {
        let validated = |hosts: &[&str]| validated(Version::HTTP_11, "/health", hosts);
        for host in ["shop.example", "shop.example:8080", "127.0.0.1", "[::1]:80", "shop:"] {
            assert_eq!(validated(&[host]).as_deref(), Some(host));
        }
        for host in [
            "", " ", "a b", "a/b", "a@b", "b@b:80", "a:b", "a:99999", "[::1", "a,b", "a;b", ":80",
            "ä",
        ] {
            assert_eq!(validated(&[host]), None, "{host:?}");
        }
        assert_eq!(validated(&[]), None);
        assert_eq!(validated(&["a", "a"]), None);
    }

    #[test]
    fn the_host_is_optional_in_http_1_0() {
        let validated = |hosts: &[&str]| validated(Version::HTTP_10, "/health", hosts);
        assert_eq!(validated(&[]).as_deref(), Some(""));
        assert_eq!(validated(&["a"]).as_deref(), Some("a"));
        assert_eq!(validated(&["a", "b"]), None);
        assert_eq!(validated(&["a b"]), None);
    }

    #[test]
    fn a_host_in_the_target_takes_precedence_over_the_header() {
        let validated = |target: &str, hosts: &[&str]| validated(Version::HTTP_11, target, hosts);
        assert_eq!(validated("http://shop.example/x", &["other"]).as_deref(), Some("shop.example"));
        assert_eq!(validated("http://shop.example/x", &[]), None, "the header is still required");
        assert_eq!(validated("http://a@shop.example/x", &["shop.example"]), None);
        assert_eq!(validated("ftp://shop.example/x", &["shop.example"]), None);
    }
}
