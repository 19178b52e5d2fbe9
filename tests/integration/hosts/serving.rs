//! Common behaviour of every request: methods, paths, hosts, origins, credentials, and limits of
//! bodies.

use reqwest::header::HeaderMap;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::fixture::{BELIEVED, ECHO, HELD, echo, serve};
use crate::support::harness::{Answer, MEDIA_TYPE};
use crate::support::process::{Raw, exchange};
use crate::support::waiting::{eventually, patiently};

#[tokio::test]
async fn every_request_must_name_exactly_one_host() {
    let (_place, served, _) = serve(&[]).await;
    let ask = async |line: &str, hosts: &[&str]| {
        let mut head = format!("{line}\r\nconnection: close\r\n");
        for host in hosts {
            head.push_str(&format!("host: {host}\r\n"));
        }
        Raw(exchange(&mut served.connect().await, format!("{head}\r\n").as_bytes()).await)
    };
    for (path, status) in
        [("/health", 200), ("/nowhere", 404), (ECHO, 406), ("/administrator/", 303)]
    {
        let line = format!("GET {path} HTTP/1.1");
        for hosts in [&["localhost"][..], &["shop.example:8080"], &["[::1]:80"]] {
            assert_eq!(ask(&line, hosts).await.status(), status, "{path} {hosts:?}");
        }
        for hosts in [&[][..], &[""], &["a", "a"], &["a b"], &["a@b"], &["a:x"], &["a/b"]] {
            let answer = ask(&line, hosts).await;
            assert_eq!(answer.status(), 400, "{path} {hosts:?}");
            assert!(answer.0.contains("\"source\":{\"header\":\"Host\"}"), "{}", answer.0);
        }
        // Clients of HTTP/1.0 need not name one.
        let first = format!("GET {path} HTTP/1.0");
        let known = |answer: &Raw| answer.0.get(9..12).map(str::to_owned).unwrap_or_default();
        assert_eq!(known(&ask(&first, &[]).await), status.to_string());
        assert_eq!(known(&ask(&first, &["a", "a"]).await), "400");
    }
    // A proxy may send the whole URL, which takes precedence over the header.
    let whole = ask("GET http://shop.example/health HTTP/1.1", &["other.example"]).await;
    assert_eq!(whole.status(), 200);
    assert_eq!(ask("GET http://shop.example/health HTTP/1.1", &[]).await.status(), 400);
    assert_eq!(ask("GET ftp://shop.example/health HTTP/1.1", &["a"]).await.status(), 400);
    served.stop().await;
}

#[tokio::test]
async fn the_limit_of_bodies_holds_however_they_are_sent() {
    let (_place, served, token) = serve(&[("HOST_BODY_LIMIT", "1000")]).await;
    let accept = format!("accept: {MEDIA_TYPE}");
    let authorization = format!("authorization: Bearer {token}");
    let chunks = |count: usize| {
        let mut chunks = format!("64\r\n{}\r\n", "x".repeat(100)).repeat(count);
        chunks.push_str("0\r\n\r\n");
        chunks.into_bytes()
    };
    let line = format!("POST {ECHO} HTTP/1.1");
    let post = async |framing: &str, body: &[u8]| {
        served.raw(&[&line, &accept, &authorization, framing], body).await
    };
    let whole = post("content-length: 1000", &[b'x'; 1000]).await;
    assert!(whole.status() == 200 && whole.0.contains("\"body\":1000"), "{}", whole.0);
    let whole = post("transfer-encoding: chunked", &chunks(10)).await;
    assert!(whole.status() == 200 && whole.0.contains("\"body\":1000"), "{}", whole.0);

    let by_length = post("content-length: 1001", &[b'x'; 1001]).await;
    let by_chunks = post("transfer-encoding: chunked", &chunks(11)).await;
    let waiting = post("content-length: 1001\r\nexpect: 100-continue", b"").await;
    let endless = post("content-length: 99999999999999999999", b"").await;
    for answer in [by_length, by_chunks, waiting] {
        assert_eq!(answer.status(), 413, "{}", answer.0);
        assert!(answer.0.contains("\"code\":\"body_too_large\""), "{}", answer.0);
        assert!(answer.0.contains("1000 bytes"), "{}", answer.0);
    }
    assert!([400, 413].contains(&endless.status()), "{}", endless.0);

    // Without permission the body is not validated.
    let stranger = served.raw(&[&line, &accept, "content-length: 1001"], &[b'x'; 1001]).await;
    assert_eq!(stranger.status(), 401);
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn the_default_limit_of_bodies_is_one_mebibyte() {
    let (_place, served, token) = serve(&[]).await;
    let post = async |length: usize| {
        Answer::to(served.ask("POST", ECHO, &token).body(vec![b'x'; length])).await
    };
    post(1024 * 1024).await.expect(200);
    let refused = post(1024 * 1024 + 1).await.expect(413);
    assert_eq!(refused.errors(), ["413 body_too_large"]);
    served.stop().await;
}

#[tokio::test]
async fn a_connection_without_a_complete_head_is_closed() {
    let (_place, served, _) = serve(&[("HOST_HEADER_TIMEOUT", "1")]).await;
    for start in ["GET /health HTTP/1.1\r\nhost: local", ""] {
        let mut connection = served.connect().await;
        let answer = exchange(&mut connection, start.as_bytes()).await;
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_given_up() {
    let (_place, served, token) = serve(&[("HOST_REQUEST_TIMEOUT", "1")]).await;
    let line = format!("POST {ECHO} HTTP/1.1");
    let accept = format!("accept: {MEDIA_TYPE}");
    let authorization = format!("authorization: Bearer {token}");
    let head = [&*line, &*accept, &*authorization, "content-length: 10"];
    for sent in [&b""[..], b"five."] {
        let answer = served.raw(&head, sent).await;
        assert_eq!(answer.status(), 408, "{}", answer.0);
        assert!(answer.0.contains("\"code\":\"body_timeout\""), "{}", answer.0);
    }
    Answer::to(echo(&served, &token)).await.expect(200);
    served.stop().await;
}

/// What is sent after the answer fits into no buffer, so the host has to read it.
const AFTERWARDS: usize = 16 * 1024 * 1024;

#[tokio::test]
async fn a_client_that_is_still_sending_receives_its_answer() {
    let (_place, served, token) = serve(&[]).await;
    let start = format!("POST {ECHO} HTTP/1.1\r\nhost: local\r\n");
    let head = format!(
        "{start}accept: {MEDIA_TYPE}\r\nauthorization: Bearer {token}\r\ncontent-length: 99999999\r\n\r\n"
    );
    // A body that is too large, more of it than is read before the answer; and a head that is too large.
    for (start, more, status) in [(head, 17, "413"), (format!("{start}x-long: "), 1, "431")] {
        let mut connection = served.connect().await;
        connection.write_all(start.as_bytes()).await.unwrap();
        connection.write_all(&vec![b'x'; more * 1024 * 1024]).await.unwrap();
        let mut answer = String::new();
        let read = connection.read_to_string(&mut answer);
        patiently("an answer", read).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        connection.write_all(&vec![b'x'; AFTERWARDS]).await.unwrap();
        connection.shutdown().await.unwrap();
        assert_eq!(connection.read(&mut [0]).await.unwrap(), 0);
    }
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_stop_sending_is_cut_off() {
    let (_place, served, _) = serve(&[]).await;
    let mut connection = served.connect().await;
    connection.write_all(b"GET /health HTTP/1.1\r\nx-long: ").await.unwrap();
    let sends = async { while connection.write_all(&[b'x'; 1024]).await.is_ok() {} };
    patiently("the connection to be closed", sends).await;
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn malformed_http_does_no_harm() {
    let (_place, served, token) = serve(&[]).await;
    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    ] {
        let answer = exchange(&mut served.connect().await, garbage).await;
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 400");
        assert!(refused, "{:?}: {answer}", String::from_utf8_lossy(garbage));
    }
    Answer::to(echo(&served, &token)).await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn no_origin_is_allowed_by_default() {
    let (_place, served, token) = serve(&[]).await;
    let origin = "https://shop.example.com";
    let answer = Answer::to(echo(&served, &token).header("origin", origin)).await.expect(200);
    let preflight = served.bare("OPTIONS", ECHO).header("origin", origin);
    let preflight = preflight.header("access-control-request-method", "GET");
    let preflight = Answer::to(preflight).await.expect(405);
    for answer in [answer, preflight] {
        let grants = |name: &str| name.starts_with("access-control-");
        assert!(!answer.headers.keys().any(|name| grants(name.as_str())), "{:?}", answer.headers);
    }
    served.stop().await;
}

#[tokio::test]
async fn pages_of_an_allowed_origin_may_call_the_api() {
    let allowed = ["https://shop.example.com", "http://localhost:3000"];
    let (_place, served, token) = serve(&[("HOST_CORS_ORIGINS", &allowed.join(", "))]).await;
    let names = |headers: &HeaderMap, name: &str| {
        let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap());
        values.collect::<Vec<_>>().join(",").to_ascii_lowercase()
    };
    for origin in allowed {
        // A preflight has neither a token nor an Accept header.
        let preflight = Answer::to(
            (served.bare("OPTIONS", ECHO).header("origin", origin))
                .header("access-control-request-method", "PATCH")
                .header("access-control-request-headers", "authorization,content-type"),
        )
        .await
        .expect(200);
        assert_eq!(preflight.header("access-control-allow-origin"), origin);
        let methods = names(&preflight.headers, "access-control-allow-methods");
        for method in ["get", "post", "put", "patch", "delete"] {
            assert!(methods.contains(method), "{method}: {methods}");
        }
        let headers = names(&preflight.headers, "access-control-allow-headers");
        for header in
            ["authorization", "content-type", "accept", "prefer", "import-of", "content-encoding"]
        {
            assert!(headers.contains(header), "{header}: {headers}");
        }

        let answer = Answer::to(echo(&served, &token).header("origin", origin)).await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), origin);
        let exposed = names(&answer.headers, "access-control-expose-headers");
        for header in ["x-request-id", "location", "preference-applied", "export-cursor"] {
            assert!(exposed.contains(header), "{header}: {exposed}");
        }
        let vary = names(&answer.headers, "vary");
        for name in ["accept", "authorization", "origin"] {
            assert!(vary.contains(name), "{name}: {vary}");
        }
        // A page must be able to read the reason of a refusal.
        let refused =
            Answer::to(served.bare("GET", ECHO).header("origin", origin)).await.expect(406);
        assert_eq!(refused.header("access-control-allow-origin"), origin);
    }
    for origin in ["https://evil.example.com", "https://shop.example.com.evil.com", "null"] {
        let answer = Answer::to(echo(&served, &token).header("origin", origin)).await.expect(200);
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{origin}");
    }
    served.stop().await;
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (_place, served, token) = serve(&[BELIEVED]).await;
    let comparable = |answer: &Answer| {
        let mut headers = answer.headers.clone();
        headers.remove("x-request-id");
        headers.remove("date");
        let mut headers: Vec<_> =
            headers.into_iter().map(|(name, value)| (name.unwrap(), value)).collect();
        headers.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
        headers
    };
    let large = "/api/index.php/v1/misbehaves/illegal-header";
    for (path, status) in [(ECHO, 200), (large, 200), ("/health", 200), ("/nowhere", 404)] {
        let ask = |method| served.ask(method, path, &token).header("x-request-id", "the-same");
        let get = Answer::to(ask("GET")).await;
        let head = Answer::to(ask("HEAD")).await;
        assert_eq!((get.status, head.status), (status, status), "{path}");
        assert_eq!(comparable(&get), comparable(&head), "{path}");
        assert!(!get.body.is_empty() && head.body.is_empty(), "{path}");
        assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
    }
    served.stop().await;
}

#[tokio::test]
async fn an_unknown_path_is_a_404_before_any_other_check() {
    let (_place, served, _) = serve(&[]).await;
    for path in [
        "/",
        "/favicon.ico",
        "/health/",
        "/api",
        "/api/index.php",
        "/api/index.php/",
        "/api/index.php/v1/misbehaves",
        "/api/index.php/v1/misbehaves/public/",
        "/api/index.php//v1/misbehaves/public",
        "/API/index.php/v1/misbehaves/public",
        "/api/index.php/v1/misbehaves/../misbehaves/public%2F",
    ] {
        for method in ["GET", "POST", "DELETE", "OPTIONS"] {
            let answer = Answer::to(served.bare(method, path)).await.expect(404);
            assert_eq!(answer.errors(), ["404 not_found"], "{method} {path}");
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn an_unsupported_method_is_a_405_with_the_supported_ones() {
    let (_place, served, _) = serve(&[]).await;
    for (path, method, allow) in [
        (ECHO, "OPTIONS", "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (ECHO, "TRACE", "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (HELD, "POST", "GET, HEAD"),
        (HELD, "BREW", "GET, HEAD"),
        ("/api/index.php/v1/misbehaves/mail", "HEAD", "POST"),
        ("/health", "POST", "GET, HEAD"),
    ] {
        // Neither Accept nor the token is checked.
        let answer = Answer::to(served.bare(method, path)).await.expect(405);
        assert_eq!(answer.header("allow"), allow, "{method} {path}");
    }
    served.stop().await;
}

#[tokio::test]
async fn the_media_type_must_be_accepted_by_name() {
    let (_place, served, token) = serve(&[]).await;
    let authorization = format!("authorization: Bearer {token}");
    let line = format!("GET {ECHO} HTTP/1.1");
    let ask = async |accepts: &[&str]| {
        let accepts = accepts.iter().map(|accept| format!("accept: {accept}")).collect::<Vec<_>>();
        let mut lines = vec![line.as_str(), authorization.as_str()];
        lines.extend(accepts.iter().map(String::as_str));
        served.raw(&lines, b"").await
    };
    for accepts in [
        &["application/vnd.api+json"][..],
        &["Application/VND.API+JSON"],
        &["application/vnd.api+json; ext=\"https://jsonapi.org/ext/atomic\""],
        &["application/vnd.api+json;profile=\"https://example.com/a https://example.com/b\""],
        &["application/vnd.api+json;q=0.001"],
        &["application/vnd.api+json ; q=1.000 ; profile=x"],
        &["text/html, application/vnd.api+json;q=0.5, */*;q=0.1"],
        &["application/vnd.api+json;charset=utf-8, application/vnd.api+json"],
        &["text/html", "application/vnd.api+json"],
    ] {
        let answer = ask(accepts).await;
        assert_eq!(answer.status(), 200, "{accepts:?}");
    }
    for accepts in [
        &[][..],
        &[""],
        &["*/*"],
        &["application/*"],
        &["application/json"],
        &["text/html", "*/*"],
        &["application/vnd.api+json;q=0"],
        &["application/vnd.api+json;q=0.000"],
        &["application/vnd.api+json;q=high"],
        &["application/vnd.api+json;charset=utf-8"],
        &["application/vnd.api+json;version=1;q=1"],
        &["application/vnd.api+jsonp"],
        &["text/html;x=\"application/vnd.api+json\""],
    ] {
        let answer = ask(accepts).await;
        assert_eq!(answer.status(), 406, "{accepts:?}");
        assert!(answer.0.contains("\"source\":{\"header\":\"Accept\"}"), "{}", answer.0);
        assert!(
            answer.0.to_lowercase().contains("vary: accept, authorization\r\n"),
            "{}",
            answer.0
        );
    }
    served.stop().await;
}

#[tokio::test]
async fn a_token_must_be_sent_as_a_bearer_token() {
    let (place, served, token) = serve(&[]).await;
    place.user("bob", "Manager").await;
    let revoked = place.run("token generate bob").await;
    place.run("token revoke bob").await;
    place.user("eve", "Public").await;
    let stranger = place.run("token generate eve").await;
    let ask = async |headers: &[String]| {
        let mut request = served.bare("GET", ECHO).header("accept", MEDIA_TYPE);
        for header in headers {
            request = request.header("authorization", header.as_str());
        }
        Answer::to(request).await
    };
    for scheme in ["Bearer", "bearer", "BEARER"] {
        ask(&[format!("{scheme} {token}")]).await.expect(200);
    }
    eventually("the token has been revoked", async || {
        (ask(&[format!("Bearer {}", revoked.trim())]).await.status == 401).then_some(())
    })
    .await;
    let (head, tail) = token.split_at(20);
    for headers in [
        vec![],
        vec![String::new()],
        vec!["Bearer".to_owned()],
        vec!["Bearer ".to_owned()],
        vec![token.clone()],
        vec![format!("Basic {token}")],
        vec![format!("Token {token}")],
        vec![format!("Bearer{token}")],
        vec![format!("Bearer {token}x")],
        vec![format!("Bearer {head} {tail}")],
        vec![format!("Bearer {head}")],
        vec![format!("Bearer {}", token.to_uppercase())],
        vec![format!("Bearer {token}, Bearer {token}")],
        vec![format!("Bearer \"{token}\"")],
        vec![format!("Bearer {token}"), format!("Bearer {token}")],
        vec!["Basic eDp5".to_owned(), format!("Bearer {token}")],
        vec!["Bearer '; DROP TABLE host_tokens; --".to_owned()],
        vec![format!("Bearer {}", "x".repeat(4000))],
        vec![format!("Bearer {}", revoked.trim())],
        vec![format!("Bearer {}", stranger.trim())],
    ] {
        let answer = ask(&headers).await.expect(401);
        assert_eq!(answer.errors(), ["401 unauthorised header Authorization"], "{headers:?}");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{headers:?}");
        assert_eq!(answer.header("vary"), "Accept, Authorization", "{headers:?}");
    }
    ask(&[format!("Bearer {token}")]).await.expect(200);
    served.stop().await;
}

#[tokio::test]
async fn anyone_can_read_the_health_of_the_site() {
    let (place, served, _) = serve(&[]).await;
    let health = || Answer::to(served.bare("GET", "/health"));
    let well = health().await;
    assert_eq!((well.status, well.json()), (200, json!({ "status": "ok" })));
    assert_eq!(well.header("content-type"), "application/json");

    std::fs::write(place.data("ill"), "").unwrap();
    let ill = health().await;
    assert_eq!(ill.status, 503);
    assert_eq!(ill.json(), json!({ "status": "unavailable", "failing": ["misbehaves"] }));
    assert!(ill.headers.contains_key("retry-after"));
    served.log.wait_for("the secret of the illness").await;

    std::fs::remove_file(place.data("ill")).unwrap();
    assert_eq!(health().await.status, 200);
    served.stop().await;
}
