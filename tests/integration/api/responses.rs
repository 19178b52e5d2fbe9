//! Responses to reads: HEAD, revalidation, compression, and many requests at the same time.

use std::io::Read;

use serde_json::json;

use crate::support::harness::{Answer, MEDIA_TYPE, ROOT, Role, Shop};

#[tokio::test(flavor = "multi_thread")]
async fn head_is_answered_like_get() {
    let shop = Shop::open().await;
    for path in ["/countries", "/countries/1", "/countries/999999999"] {
        let get = shop.get(path).send().await;
        let head = shop.request("HEAD", path).send().await;
        assert_eq!(head.status, get.status);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-length"), get.body.len().to_string());
        assert_eq!(head.header("content-type"), get.header("content-type"));
    }
}

/// Whatever the kind of the answer is, and whether it is compressed or not.
#[tokio::test(flavor = "multi_thread")]
async fn head_has_the_headers_of_get() {
    let shop = Shop::stocked().await;
    let long = json!({"manufacturer_name": "Birch", "manufacturer_desc": "wood ".repeat(1_000)});
    let long = shop.create("/manufacturers", long).await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    let headers = async |method: &str, path: &str, encoding: &str, known: Option<&str>| {
        let request = client.request(method.parse().unwrap(), shop.url(path));
        let request = request.bearer_auth(shop.token(Role::Administrator));
        let request = request.header("accept", MEDIA_TYPE).header("accept-encoding", encoding);
        let request = match known {
            Some(tag) => request.header("if-none-match", tag),
            None => request,
        };
        let answer = Answer::to(request).await;
        assert!(method == "GET" || answer.body.is_empty(), "{path}");
        // These differ from one answer to the next, or are about how its body is sent.
        let own = ["date", "x-request-id", "transfer-encoding"];
        let kept = answer.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        let kept = kept.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
        let mut kept: Vec<String> = kept.collect();
        kept.sort();
        (answer.status, kept)
    };
    for path in [
        format!("{ROOT}/countries?page[limit]=100"),
        format!("{ROOT}/countries/1"),
        format!("{ROOT}/manufacturers/{long}"),
        format!("{ROOT}/reports/sales?page[limit]=100"),
        format!("{ROOT}/changes"),
        format!("{ROOT}/countries/999999999"),
        format!("{ROOT}/nothing"),
        "/health".to_owned(),
        "/livez".to_owned(),
        "/nowhere".to_owned(),
        "/administrator/".to_owned(),
        "/administrator/style.css".to_owned(),
    ] {
        for encoding in ["gzip", "identity"] {
            let get = headers("GET", &path, encoding, None).await;
            assert_eq!(headers("HEAD", &path, encoding, None).await, get, "{path} {encoding}");
            let tag = get.1.iter().find_map(|header| header.strip_prefix("etag: "));
            if let Some(tag) = tag {
                let get = headers("GET", &path, encoding, Some(tag)).await;
                assert_eq!(get.0, 304, "{path} {encoding}");
                let head = headers("HEAD", &path, encoding, Some(tag)).await;
                assert_eq!(head, get, "{path} {encoding}");
            }
        }
    }
    let compressed = headers("HEAD", &format!("{ROOT}/manufacturers/{long}"), "gzip", None).await;
    let of = |begin: &str| compressed.1.iter().filter(|header| header.starts_with(begin)).count();
    assert_eq!([of("content-encoding: gzip"), of("content-length"), of("etag")], [1, 0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_parallel_requests_are_all_answered() {
    let shop = Shop::open().await;
    let clients = (0..8).map(async |_| {
        for _ in 0..50 {
            shop.get("/countries?page[limit]=1").send().await.expect(200);
        }
    });
    futures_util::future::join_all(clients).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_resource_is_not_sent_again() {
    let shop = Shop::stocked().await;
    let tag_of = async |path: &str| {
        let answer = shop.get(path).send().await.expect(200);
        assert_eq!(answer.header("cache-control"), "private, no-cache");
        answer.header("etag").to_owned()
    };
    for path in ["/products", "/products/1", "/products?filter[search]=lamp", "/reports/sales"] {
        let tag = tag_of(path).await;
        assert_eq!(tag.starts_with("W/"), path != "/products/1", "{path}: {tag}");
        for known in [tag.as_str(), &format!("\"x\", {tag}"), &tag.replace("W/", ""), "*"] {
            for method in ["GET", "HEAD"] {
                let ask = shop.request(method, path).header("if-none-match", known);
                let unchanged = ask.send().await;
                assert_eq!(unchanged.status, 304, "{method} {path} {known}");
                assert!(unchanged.body.is_empty());
                assert_eq!(unchanged.header("etag"), tag);
                assert!(unchanged.headers.get("content-type").is_none());
            }
        }
        shop.get(path).header("if-none-match", "W/\"x\"").send().await.expect(200);
    }

    let (list, other) = (tag_of("/products").await, tag_of("/products/2").await);
    let mine = tag_of("/products/1").await;
    let changed = shop.patch("/products/1", json!({"price": "20"})).header("if-none-match", "*");
    let changed = changed.send().await.expect(200);
    assert_eq!(changed.header("etag"), tag_of("/products/1").await);
    for (path, tag) in [("/products", &list), ("/products/1", &mine)] {
        shop.get(path).header("if-none-match", tag).send().await.expect(200);
        assert_ne!(&tag_of(path).await, tag, "{path}");
    }
    assert_eq!(tag_of("/products/2").await, other);

    // A user without the permission gets a 403, even with a valid tag.
    let ask = shop.get("/products").header("if-none-match", &list);
    ask.by(Role::Registered).send().await.expect(403);
    let missing = shop.get("/products/999").header("if-none-match", "*").send().await.expect(404);
    assert!(missing.headers.get("etag").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_compressed_if_the_client_asks() {
    let shop = Shop::open().await;
    let path = "/countries?page[limit]=100";
    let plain = shop.get(path).send().await.expect(200);
    let ask = shop.get(path).header("accept-encoding", "br;q=1.0, gzip;q=0.8");
    let compressed = ask.send().await.expect(200);
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(compressed.body.len() * 4 < plain.body.len(), "{}", compressed.body.len());
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.body);
    assert_eq!(compressed.header("etag"), plain.header("etag"));
    for answer in [&plain, &compressed] {
        let vary = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap());
        let vary = vary.collect::<Vec<_>>().join(", ").to_lowercase();
        assert_eq!(vary, "accept, authorization, accept-encoding");
    }
    // A strong tag is that of one form of the content; each is known by its own.
    let long = json!({"manufacturer_name": "Birch", "manufacturer_desc": "wood ".repeat(1_000)});
    let path = format!("/manufacturers/{}", shop.create("/manufacturers", long).await);
    let plain = shop.get(&path).send().await.expect(200).header("etag").to_owned();
    let compressed = shop.get(&path).header("accept-encoding", "gzip").send().await.expect(200);
    assert_eq!(compressed.header("content-encoding"), "gzip");
    let compressed = compressed.header("etag").to_owned();
    assert_eq!(compressed, format!("{}-gzip\"", plain.strip_suffix('"').unwrap()));
    for known in [&plain, &compressed] {
        let ask = shop.get(&path).header("if-none-match", known).header("accept-encoding", "gzip");
        assert_eq!(ask.send().await.expect(304).header("etag"), known);
        let change = shop.patch(&path, json!({})).header("if-match", known).send().await;
        assert_eq!(change.expect(200).header("etag"), plain);
    }
    // Neither small responses nor those to clients that cannot decompress them are compressed.
    let path = "/countries?page[limit]=100";
    for (path, encoding) in [("/countries/1", "gzip"), (path, "gzip;q=0"), (path, "identity")] {
        let answer = shop.get(path).header("accept-encoding", encoding).send().await.expect(200);
        assert!(answer.headers.get("content-encoding").is_none(), "{path} {encoding}");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    }
}
