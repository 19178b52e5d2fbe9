//! The rules of requests: headers, query, body, and what is said of each fault.

use std::io::Read;

use serde_json::{Value, json};

use crate::harness::{Role, Shop};

#[tokio::test(flavor = "multi_thread")]
async fn a_write_needs_content_type_json_and_has_no_effect_without() {
    let shop = Shop::open().await;
    let id = shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let path = format!("/manufacturers/{id}");
    for wrong in [
        "text/plain",
        "application/vnd.api+json",
        "application/json; charset=latin-1",
        "application/json; version=1",
        "application/jsonx",
        "nonsense",
    ] {
        let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
        let answer = ask.header("content-type", wrong).send().await.expect(400);
        assert_eq!(answer.errors(), ["400 invalid_header header Content-Type"], "{wrong}");
    }
    let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
    ask.without("content-type").send().await.expect(400);
    let name = shop.get(&path).send().await.expect(200).attribute("manufacturer_name");
    assert_eq!(name, "Birch");
    for right in ["application/json", "application/json;charset=UTF-8", "Application/JSON"] {
        let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
        ask.header("content-type", right).send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_one_json_object_whose_names_stand_once() {
    let shop = Shop::open().await;
    let before = shop.get("/manufacturers").send().await.expect(200).total();
    for body in [
        "",
        " ",
        "{",
        "[]",
        "1",
        "null",
        "\"text\"",
        r#"{"a":1}{"b":2}"#,
        r#"{"a":1,}"#,
        r#"{"manufacturer_name":"a","manufacturer_name":"b"}"#,
        "{\"manufacturer_name\":\"\u{1}\"}",
        r#"{'manufacturer_name':'a'}"#,
        r#"{"data":[]}"#,
        r#"{"data":null}"#,
        r#"{"data":{"attributes":[]}}"#,
        r#"{"data":{"attributes":{"enabled":1,"enabled":0}}}"#,
    ] {
        let answer = shop.request("POST", "/manufacturers").text(body).send().await.expect(400);
        let errors = answer.errors();
        assert!(errors[0].starts_with("400 malformed_body pointer "), "{body}: {errors:?}");
    }
    let after = shop.get("/manufacturers").send().await.expect(200).total();
    assert_eq!(before, after);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_a_body_are_reported_together() {
    let shop = Shop::open().await;
    let body = json!({
        "zone_nam": "x", "zone_code": 7, "country_id": 999_999, "enabled": 2,
    });
    let answer = shop.post("/zones", body).send().await.expect(400);
    assert_eq!(
        answer.errors(),
        [
            "422 unknown_field pointer /zone_nam",
            "422 invalid_value pointer /zone_code",
            "422 invalid_value pointer /enabled",
            "400 missing_field pointer /zone_name",
            "422 missing_reference pointer /country_id",
        ]
    );
    assert!(answer.json()["errors"][0]["detail"].as_str().unwrap().contains("zone_name"));
    // Without the missing field it is a 422.
    let body = json!({"zone_name": "x", "zone_code": 7, "country_id": 999_999, "enabled": 2});
    shop.post("/zones", body).send().await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_api_document_is_accepted_too() {
    let shop = Shop::open().await;
    let document = |id: Option<&str>, kind: &str| {
        let mut document = json!({"data": {
            "type": kind, "attributes": {"manufacturer_name": "Birch", "ordering": "3"},
        }});
        if let Some(id) = id {
            document["data"]["id"] = json!(id);
        }
        document
    };
    let sent = shop.post("/manufacturers", document(None, "manufacturers"));
    let id = sent.send().await.expect(201).id();
    let path = format!("/manufacturers/{id}");
    let right = document(Some(&id.to_string()), "manufacturers");
    shop.patch(&path, right).send().await.expect(200);
    let answer = shop.patch(&path, document(Some("1000"), "zones")).send().await.expect(422);
    assert_eq!(
        answer.errors(),
        ["422 invalid_value pointer /data/type", "422 invalid_value pointer /data/id"]
    );
    let wrong = json!({"data": {"type": "manufacturers", "attributes": {"ordering": "x"}}});
    let answer = shop.patch(&path, wrong).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 invalid_value pointer /data/attributes/ordering"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_can_be_sent_back() {
    let shop = Shop::open().await;
    for path in ["/currencies/1", "/countries/1", "/zones/1"] {
        let read = shop.get(path).send().await.expect(200).json();
        let again = shop.patch(path, read.clone()).send().await.expect(200).json();
        assert_eq!(read, again);
        let flat = read["data"]["attributes"].clone();
        let again = shop.patch(path, flat).send().await.expect(200).json();
        assert_eq!(read, again);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_record_is_said_before_wrong_values_and_after_wrong_syntax() {
    let shop = Shop::open().await;
    for id in ["999999999", "99999999999999999999999999", "0"] {
        let path = format!("/manufacturers/{id}");
        let wrong = json!({"enabled": 7, "unheard_of": 1});
        let answer = shop.patch(&path, wrong).send().await.expect(404);
        assert_eq!(answer.errors(), ["404 record_not_found"]);
        shop.request("PATCH", &path).text("{").send().await.expect(400);
        shop.get(&path).send().await.expect(404);
        shop.delete(&path).send().await.expect(404);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_query_name_the_parameter() {
    let shop = Shop::open().await;
    let cases: &[(&str, &str)] = &[
        ("page[limit]=0", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=-1", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=ten", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=1.5", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=", "400 invalid_parameter parameter page[limit]"),
        ("page[offset]=-1", "400 invalid_parameter parameter page[offset]"),
        ("page[size]=1", "400 unknown_parameter parameter page[size]"),
        ("page[limit]=1&page[limit]=2", "400 repeated_parameter parameter page[limit]"),
        ("list[ordering]=nothing", "400 invalid_parameter parameter list[ordering]"),
        ("list[ordering]=manufacturer_desc", "400 invalid_parameter parameter list[ordering]"),
        ("list[direction]=up", "400 invalid_parameter parameter list[direction]"),
        ("list[sort]=x", "400 unknown_parameter parameter list[sort]"),
        ("filter[enable]=1", "400 unknown_parameter parameter filter[enable]"),
        ("filter[search][x]=1", "400 unknown_parameter parameter filter[search][x]"),
        ("filter%5Benabled%5D=yes", "422 invalid_filter parameter filter[enabled]"),
        ("filter[enabled]=2", "422 invalid_filter parameter filter[enabled]"),
        ("filter[enabled]=1&filter[enabled]=1", "400 repeated_parameter parameter filter[enabled]"),
        ("filter[search]=%ff", "400 invalid_parameter parameter filter[search]"),
    ];
    for (query, error) in cases {
        let answer = shop.get(&format!("/manufacturers?{query}")).send().await;
        let status = error[..3].parse().unwrap();
        assert_eq!(answer.expect(status).errors(), [*error], "{query}");
    }
    let both = "/manufacturers?filter[enabled]=2&page[limit]=0";
    assert_eq!(shop.get(both).send().await.expect(400).errors().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_parameters_are_ignored_and_none_overrides_the_path() {
    let shop = Shop::open().await;
    let plain = shop.get("/countries/84/zones").send().await.expect(200);
    let query = "/countries/84/zones?country_id=1&id=1&include=zones&utm=%ff&filter=x&page=2&=";
    let other = shop.get(query).send().await.expect(200);
    assert_eq!(plain.body, other.body);
    shop.get("/countries/84/zones?filter[country_id]=1").send().await.expect(400);
    shop.get("/countries/84/zones?filter[enabled]=1").send().await.expect(400);
    shop.get("/countries/84?page[limit]=1").send().await.expect(400);
    shop.request("DELETE", "/countries/84?filter[x]=1").send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_link_to_each_other_and_count() {
    let shop = Shop::open().await;
    for number in 1..=7 {
        let body = json!({"manufacturer_name": format!("Birch {number}"), "enabled": number % 2});
        shop.create("/manufacturers", body).await;
    }
    let at = "/api/index.php/v1/shop/manufacturers";
    let page = shop.get("/manufacturers?page[offset]=2&page[limit]=2").send().await.expect(200);
    let link = |offset: i64| format!("{at}?page%5Boffset%5D={offset}&page%5Blimit%5D=2");
    assert_eq!(
        page.json()["links"],
        json!({
            "self": link(2), "first": link(0), "prev": link(0), "next": link(4), "last": link(6),
        })
    );
    assert_eq!(page.json()["meta"], json!({"total-pages": 4, "total": 7}));

    let past = shop.get("/manufacturers?page[offset]=99&page[limit]=2").send().await.expect(200);
    assert_eq!(past.json()["data"], json!([]));
    assert_eq!(past.json()["links"]["prev"], link(6));
    assert_eq!(past.json()["links"].get("next"), None);
    let far = "/manufacturers?page[offset]=99999999999999999999&page[limit]=99999999999999999999";
    assert_eq!(shop.get(far).send().await.expect(200).json()["data"], json!([]));

    let none = shop.get("/manufacturers?filter[search]=zzz").send().await.expect(200).json();
    assert_eq!(none["links"], json!({"self": format!("{at}?filter%5Bsearch%5D=zzz")}));
    assert_eq!(none["meta"], json!({"total-pages": 0, "total": 0}));

    let all = shop.get("/manufacturers").send().await.expect(200).json();
    assert_eq!(all["links"]["self"], at);
    assert_eq!(all["meta"], json!({"total-pages": 1, "total": 7}));
}

#[tokio::test(flavor = "multi_thread")]
async fn following_next_meets_every_record_once() {
    let shop = Shop::open().await;
    let mut path =
        "/zones?page[limit]=100&list[ordering]=enabled&list[direction]=desc&filter[search]=A"
            .to_owned();
    let mut met = Vec::new();
    let mut pages = 0;
    let total = loop {
        let answer = shop.get(&path).send().await.expect(200);
        met.extend(answer.ids());
        pages += 1;
        let json = answer.json();
        match json["links"]["next"].as_str() {
            Some(next) => path = next.strip_prefix(crate::harness::ROOT).unwrap().to_owned(),
            None => {
                assert_eq!(json["meta"]["total-pages"], pages);
                break answer.total();
            }
        }
    };
    assert_eq!(met.len(), usize::try_from(total).unwrap());
    // All have the same value in the ordering column: the key breaks the tie the same way.
    assert!(met.windows(2).all(|pair| pair[0] > pair[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_page_has_20_records_and_the_largest_100() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/zones").send().await.expect(200).ids().len(), 20);
    assert_eq!(shop.get("/zones?page[limit]=100").send().await.expect(200).ids().len(), 100);
    let more = shop.get("/zones?page[limit]=5000").send().await.expect(200);
    assert_eq!(more.ids().len(), 100);
    let total = more.total();
    assert_eq!(more.json()["meta"]["total-pages"], Value::from((total + 99) / 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn search_takes_text_plainly_anywhere_and_in_any_case() {
    let shop = Shop::open().await;
    for name in ["100% Wolle", "under_score", r"back\slash", "ŁĄKA Straße", "Ünïcode 'quoted'"]
    {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let search = async |text: &str| {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/manufacturers?filter[search]={query}");
        shop.get(&path).send().await.expect(200).column("manufacturer_name")
    };
    assert_eq!(search("%").await, ["100% Wolle"]);
    assert_eq!(search("_").await, ["under_score"]);
    assert_eq!(search(r"\").await, [r"back\slash"]);
    assert_eq!(search("0% w").await, ["100% Wolle"]);
    assert_eq!(search("łąka").await, ["ŁĄKA Straße"]);
    assert_eq!(search("STRASSE").await, ["ŁĄKA Straße"]);
    assert_eq!(search("üNÏ").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("'QUOTED'").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("  \u{1}back  ").await, [r"back\slash"]);
    assert_eq!(search("   ").await.len(), 5, "an empty filter counts as not sent");
    assert_eq!(search("nothing").await, Vec::<Value>::new());
    let plus = shop.get("/manufacturers?filter[search]=100%25+w").send().await.expect(200);
    assert_eq!(plus.column("manufacturer_name"), ["100% Wolle"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_sorts_by_code_point_of_the_folded_value() {
    let shop = Shop::open().await;
    for name in ["b", "A", "ä", "Z", "a", "B", "Ä", "é", "1", "ß", "st"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let path = "/manufacturers?list[ordering]=manufacturer_name";
    let sorted = shop.get(path).send().await.expect(200).column("manufacturer_name");
    assert_eq!(sorted, ["1", "A", "a", "b", "B", "ß", "st", "Z", "ä", "Ä", "é"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn get_answers_head_too() {
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

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_are_all_answered() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let asking = (0..8).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                shop.get("/countries?page[limit]=1").send().await.expect(200);
            }
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_changed_is_not_sent_again() {
    let shop = Shop::stocked().await;
    let tag_of = async |path: &str| {
        let answer = shop.get(path).send().await.expect(200);
        assert_eq!(answer.header("cache-control"), "private, no-cache");
        answer.header("etag").to_owned()
    };
    for path in ["/products", "/products/1", "/products?filter[search]=lamp", "/reports/sales"] {
        let tag = tag_of(path).await;
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
    assert!(changed.headers.get("etag").is_none(), "what is written has no tag");
    for (path, tag) in [("/products", &list), ("/products/1", &mine)] {
        shop.get(path).header("if-none-match", tag).send().await.expect(200);
        assert_ne!(&tag_of(path).await, tag, "{path}");
    }
    assert_eq!(tag_of("/products/2").await, other);

    // Who may not read is told so, whatever is known.
    let ask = shop.get("/products").header("if-none-match", &list);
    ask.by(Role::Registered).send().await.expect(403);
    let missing = shop.get("/products/999").header("if-none-match", "*").send().await.expect(404);
    assert!(missing.headers.get("etag").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_compressed_when_the_client_asks() {
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
    // Not what is small already, and not for who cannot read it.
    for (path, encoding) in [("/countries/1", "gzip"), (path, "gzip;q=0"), (path, "identity")] {
        let answer = shop.get(path).header("accept-encoding", encoding).send().await.expect(200);
        assert!(answer.headers.get("content-encoding").is_none(), "{path} {encoding}");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    }
}

/// What a text costs that is searched for does not grow with what a stranger sends.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_longer_than_any_that_is_searched_is_refused() {
    let shop = Shop::open().await;
    for (kind, filter) in [("products", "search"), ("products", "sku"), ("zones", "search")] {
        let search = |text: &str| format!("/{kind}?filter[{filter}]={text}");
        let longest = "ä".repeat(255);
        let found = shop.get(&search(&longest)).send().await.expect(200);
        assert_eq!(found.total(), 0);
        let refused = shop.get(&search(&format!("{longest}0"))).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 invalid_filter parameter filter[{filter}]")]);
        let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("255"), "{detail}");
        // What nobody can see does not count.
        shop.get(&search(&format!("+{longest}+%00"))).send().await.expect(200);
    }
}

/// Long texts are found by a part of them, and must be there as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_found_as_a_whole() {
    let shop = Shop::open().await;
    let letters =
        |from: u32| (from..from + 80).map(|n| char::from_u32('a' as u32 + n * 7 % 26).unwrap());
    let long: String = letters(0).chain(letters(1)).chain(letters(3)).collect();
    for (name, sku) in [
        (long.clone(), "0".repeat(255)),
        // The same at both ends.
        (
            long.replacen(&long[100..110], "##########", 1),
            format!("{}1{}", "0".repeat(99), "0".repeat(99)),
        ),
    ] {
        shop.create("/products", json!({"product_name": name, "sku": sku})).await;
    }
    let found = async |query: String| {
        let found = shop.get(&format!("/products?{query}")).send().await.expect(200);
        (found.ids(), found.total())
    };
    for length in [3, 17, 18, 19, 20, 40, 150, 240] {
        let whole = found(format!("filter[search]={}", &long[..length])).await;
        let expected = if length > 100 { (vec![1], 1) } else { (vec![1, 2], 2) };
        assert_eq!(whole, expected, "{length}");
        let none =
            found(format!("filter[search]={}!{}", &long[..length / 2], &long[length / 2..length]));
        assert_eq!(none.await, (vec![], 0), "{length}");
    }
    for (zeros, expected) in [(99, vec![1, 2]), (100, vec![1]), (255, vec![1])] {
        let ids = found(format!("filter[sku]={}", "0".repeat(zeros))).await.0;
        assert_eq!(ids, expected, "{zeros} zeros");
    }
}
