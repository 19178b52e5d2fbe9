//! Records: what each resource takes, refuses, and shows.

use serde_json::{Value, json};

use crate::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn a_manufacturer_from_creation_to_removal() {
    let shop = Shop::open().await;
    let created = shop.post("/manufacturers", json!({"manufacturer_name": "Birch"}));
    let created = created.send().await.expect(201);
    let path = format!("/manufacturers/{}", created.id());
    assert_eq!(created.header("location"), format!("{}{path}", crate::harness::ROOT));
    insta::assert_json_snapshot!(created.json(), @r#"
    {
      "links": {
        "self": "/api/index.php/v1/shop/manufacturers/1"
      },
      "data": {
        "type": "manufacturers",
        "id": "1",
        "attributes": {
          "shop_manufacturer_id": 1,
          "manufacturer_name": "Birch",
          "enabled": 1,
          "ordering": 0,
          "manufacturer_desc": ""
        },
        "links": {
          "self": "/api/index.php/v1/shop/manufacturers/1"
        }
      }
    }
    "#);
    let change = json!({"enabled": false, "ordering": "-7", "manufacturer_desc": "Wood.\n"});
    let changed = shop.patch(&path, change).send().await.expect(200);
    assert_eq!(changed.attribute("manufacturer_name"), "Birch");
    assert_eq!(changed.attribute("enabled"), 0);
    assert_eq!(changed.attribute("ordering"), -7);
    assert_eq!(changed.json(), shop.get(&path).send().await.expect(200).json());
    let unchanged = shop.patch(&path, json!({})).send().await.expect(200);
    assert_eq!(unchanged.json(), changed.json());

    let list = shop.get("/manufacturers?filter[enabled]=0").send().await.expect(200);
    assert_eq!(list.ids(), [created.id()]);
    assert_eq!(shop.get("/manufacturers?filter[enabled]=1").send().await.expect(200).total(), 0);

    let gone = shop.delete(&path).send().await.expect(204);
    assert!(gone.body.is_empty());
    shop.get(&path).send().await.expect(404);
    shop.delete(&path).send().await.expect(404);
    // A key is never given twice.
    let next = shop.create("/manufacturers", json!({"manufacturer_name": "Oak"})).await;
    assert!(next > created.id());
}

#[tokio::test(flavor = "multi_thread")]
async fn values_beyond_a_fields_limits_are_422_and_change_nothing() {
    let shop = Shop::open().await;
    let cases: &[(&str, &str, Value)] = &[
        ("/manufacturers", "manufacturer_name", json!("")),
        ("/manufacturers", "manufacturer_name", json!("  ")),
        ("/manufacturers", "manufacturer_name", json!(null)),
        ("/manufacturers", "manufacturer_name", json!(7)),
        ("/manufacturers", "manufacturer_name", json!("x".repeat(256))),
        ("/manufacturers", "manufacturer_name", json!("a\u{0}b")),
        ("/manufacturers", "manufacturer_desc", json!("x".repeat(65_536))),
        ("/manufacturers", "manufacturer_desc", json!(null)),
        ("/manufacturers", "enabled", json!(2)),
        ("/manufacturers", "enabled", json!("yes")),
        ("/manufacturers", "enabled", json!(null)),
        ("/manufacturers", "ordering", json!(1.5)),
        ("/manufacturers", "ordering", json!("")),
        ("/manufacturers", "ordering", json!(2_147_483_648_i64)),
        ("/currencies", "currency_code", json!("eur")),
        ("/currencies", "currency_code", json!("EURO")),
        ("/currencies", "currency_code", json!("ÄÖÜ")),
        ("/currencies", "currency_value", json!(0)),
        ("/currencies", "currency_value", json!("-1")),
        ("/currencies", "currency_value", json!("0.123456789")),
        ("/currencies", "currency_value", json!("1e3")),
        ("/currencies", "currency_value", json!("10000000000")),
        ("/currencies", "currency_value", json!(true)),
        ("/currencies", "currency_position", json!("between")),
        ("/currencies", "currency_num_decimals", json!(9)),
        ("/currencies", "currency_num_decimals", json!(-1)),
        ("/currencies", "currency_decimal", json!("12345")),
        ("/countries", "country_isocode_2", json!("D")),
        ("/countries", "country_isocode_3", json!("deu")),
        ("/zones", "zone_code", json!("x".repeat(33))),
        ("/zones", "country_id", json!(null)),
        ("/zones", "country_id", json!(0)),
        ("/zones", "country_id", json!("one")),
    ];
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    for (path, field, value) in cases {
        let path = format!("{path}/1");
        let before = shop.get(&path).send().await.expect(200).json();
        let answer = shop.patch(&path, json!({*field: value})).send().await.expect(422);
        let errors = answer.errors();
        assert!(errors[0].ends_with(&format!(" pointer /{field}")), "{field} {value}: {errors:?}");
        assert_eq!(before, shop.get(&path).send().await.expect(200).json());
    }
    // The longest that fits does.
    let long =
        json!({"manufacturer_name": "ü".repeat(255), "manufacturer_desc": "ü".repeat(65_535)});
    shop.patch("/manufacturers/1", long).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_of_exchange_is_exact_to_eight_places() {
    let shop = Shop::open().await;
    // (literal as sent, as shown)
    let cases = [
        ("\"1\"", "1"),
        ("1", "1"),
        ("\"1.10\"", "1.1"),
        ("0.00000001", "0.00000001"),
        ("1e-8", "0.00000001"),
        ("12.5E+2", "1250"),
        ("9999999999.99999999", "9999999999.99999999"),
        ("\"0.1\"", "0.1"),
        ("0.30000000", "0.3"),
        ("1.000000000000", "1"),
        ("-0e5", ""),
        ("0", ""),
    ];
    for (sent, shown) in cases {
        let body = format!("{{\"currency_value\":{sent}}}");
        let answer = shop.request("PATCH", "/currencies/1").text(&body).send().await;
        match shown {
            "" => answer.expect(422).errors().clear(),
            _ => assert_eq!(answer.expect(200).attribute("currency_value"), shown, "{sent}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_unique() {
    let shop = Shop::open().await;
    let body = json!({"currency_title": "Another euro", "currency_code": "EUR"});
    let answer = shop.post("/currencies", body).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 duplicate pointer /currency_code"]);

    let body = json!({
        "country_name": "Twin", "country_isocode_2": "DE", "country_isocode_3": "FRA",
    });
    let answer = shop.post("/countries", body).send().await.expect(422);
    assert_eq!(
        answer.errors(),
        ["422 duplicate pointer /country_isocode_2", "422 duplicate pointer /country_isocode_3"]
    );

    // A zone's code is unique within its country.
    let zone =
        |country: i64| json!({"zone_name": "New", "zone_code": "NEW", "country_id": country});
    let first = shop.create("/zones", zone(1)).await;
    let answer = shop.post("/zones", zone(1)).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 duplicate pointer /zone_code"]);
    let second = shop.create("/zones", zone(2)).await;
    let path = format!("/zones/{second}");
    shop.patch(&path, json!({"country_id": 1})).send().await.expect(422);
    // A record does not stand in its own way.
    shop.patch(&format!("/zones/{first}"), zone(1)).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_parallel_posts_of_one_code_one_is_created() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let posts = (0..32).map(|number| {
        let shop = shop.clone();
        tokio::spawn(async move {
            let body = json!({
                "zone_name": format!("Twin {number}"), "zone_code": "TWIN", "country_id": 1,
            });
            shop.post("/zones", body).send().await.status
        })
    });
    let mut statuses = Vec::new();
    for post in posts.collect::<Vec<_>>() {
        statuses.push(post.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses[0], 201);
    assert!(statuses[1..].iter().all(|status| *status == 422), "{statuses:?}");
    let found = shop.get("/countries/1/zones?filter[search]=twin").send().await.expect(200);
    assert_eq!(found.total(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_country_that_zones_refer_to_cannot_be_deleted() {
    let shop = Shop::open().await;
    let body = json!({
        "country_name": "Newland", "country_isocode_2": "XX", "country_isocode_3": "XXX",
    });
    let country = shop.create("/countries", body).await;
    let path = format!("/countries/{country}");
    let zone = |code: &str| json!({"zone_name": code, "zone_code": code, "country_id": country});
    let first = shop.create("/zones", zone("A")).await;
    let second = shop.create("/zones", zone("B")).await;
    let refused = shop.delete(&path).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    assert!(refused.json()["errors"][0]["detail"].as_str().unwrap().contains("2 zones"));
    for zone in [first, second] {
        shop.delete(&format!("/zones/{zone}")).send().await.expect(204);
    }
    shop.delete(&path).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_currency_cannot_be_deleted() {
    let shop = Shop::open().await;
    let list = shop.get("/currencies?page[limit]=100").send().await.expect(200);
    let codes = list.column("currency_code");
    let id_of = |code: &str| {
        let position = codes.iter().position(|known| known == code).unwrap();
        list.ids()[position]
    };
    let (euro, franc) = (id_of("EUR"), id_of("CHF"));
    let refused = shop.delete(&format!("/currencies/{euro}")).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    // The next request already knows what the site has set.
    shop.site.set_parameter("default_currency", &json!("CHF")).await.unwrap();
    shop.delete(&format!("/currencies/{franc}")).send().await.expect(422);
    shop.delete(&format!("/currencies/{euro}")).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_of_a_country_are_its_own_and_none_for_a_missing_one() {
    let shop = Shop::open().await;
    let germany = shop.get("/countries?filter[search]=deu").send().await.expect(200).ids()[0];
    let zones = shop.get(&format!("/countries/{germany}/zones?page[limit]=100"));
    let zones = zones.send().await.expect(200);
    assert_eq!(zones.total(), 16);
    assert!(zones.column("country_id").iter().all(|id| *id == germany));
    let codes = zones.column("zone_code");
    assert!(codes.contains(&json!("BY")), "codes stand without the country: {codes:?}");
    let bavaria = &zones.json()["data"][0];
    assert_eq!(
        bavaria["relationships"]["country"],
        json!({
            "links": {"related": format!("/api/index.php/v1/shop/countries/{germany}")},
            "data": {"type": "countries", "id": germany.to_string()},
        })
    );
    for id in ["999999999", "99999999999999999999999"] {
        let none = shop.get(&format!("/countries/{id}/zones")).send().await.expect(200);
        assert_eq!(none.json()["data"], json!([]));
        assert_eq!(none.json()["meta"], json!({"total-pages": 0, "total": 0}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_store_has_the_countries_zones_and_currencies_of_iso() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/countries").send().await.expect(200).total(), 249);
    assert!(shop.get("/zones").send().await.expect(200).total() > 3_000);
    let yen = shop.get("/currencies?page[limit]=100&list[ordering]=currency_code");
    let codes = yen.send().await.expect(200).column("currency_code");
    assert!(codes.contains(&json!("EUR")) && !codes.contains(&json!("XTS")));
    let decimals = async |code: &str| {
        let all = shop.get("/currencies?page[limit]=100&list[ordering]=currency_code");
        let mut all = all.send().await.expect(200);
        if !all.column("currency_code").contains(&json!(code)) {
            let rest = "/currencies?page[limit]=100&page[offset]=100&list[ordering]=currency_code";
            all = shop.get(rest).send().await.expect(200);
        }
        let position = all.column("currency_code").iter().position(|known| known == code);
        let path = format!("/currencies/{}", all.ids()[position.unwrap()]);
        shop.get(&path).send().await.expect(200).attribute("currency_num_decimals")
    };
    assert_eq!(decimals("EUR").await, 2);
    assert_eq!(decimals("JPY").await, 0);
    assert_eq!(decimals("KWD").await, 3);
}
