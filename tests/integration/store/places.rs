//! Countries, zones, currencies and addresses.

use serde_json::json;

use crate::support::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn an_exchange_rate_is_exact_to_eight_places() {
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_default_currency_cannot_be_deleted() {
    let shop = Shop::open().await;
    let (euro, franc) = (shop.currency("EUR").await, shop.currency("CHF").await);
    let refused = shop.delete(&format!("/currencies/{euro}")).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    // The next request already uses the new parameter.
    shop.set_default_currency("CHF").await;
    shop.delete(&format!("/currencies/{franc}")).send().await.expect(422);
    shop.delete(&format!("/currencies/{euro}")).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_can_neither_disable_the_default_currency_nor_change_its_code() {
    let shop = Shop::open().await;
    let euro = format!("/currencies/{}", shop.currency("EUR").await);
    let both = json!({"currency_code": "EUX", "enabled": 0});
    let refused = shop.patch(&euro, both).send().await.expect(422);
    assert_eq!(
        refused.errors(),
        ["422 refused pointer /currency_code", "422 refused pointer /enabled"]
    );
    // The present values may be sent back, and other fields may change.
    let change = json!({"currency_code": "EUR", "enabled": 1, "currency_title": "The euro"});
    shop.patch(&euro, change).send().await.expect(200);

    shop.set_default_currency("CHF").await;
    let franc = format!("/currencies/{}", shop.currency("CHF").await);
    shop.patch(&franc, json!({"enabled": 0})).send().await.expect(422);
    shop.patch(&euro, json!({"currency_code": "EUX", "enabled": 0})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_of_the_default_currency_is_one() {
    let shop = Shop::open().await;
    let [euro, franc] = [shop.currency("EUR").await, shop.currency("CHF").await]
        .map(|key| format!("/currencies/{key}"));
    let rate = async |path: &str, rate: &str| {
        let change = json!({"currency_value": rate, "enabled": 1});
        shop.patch(path, change).send().await
    };
    let refused = rate(&euro, "2").await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /currency_value"]);
    rate(&euro, "1.00").await.expect(200);
    rate(&franc, "0.935").await.expect(200);
    let franc_by_default = async || {
        let set = shop.site.set_parameter("default_currency", &json!("CHF")).await;
        set.map_err(|error| error.to_string())
    };
    let why = franc_by_default().await.unwrap_err();
    assert!(why.contains("set the currency_value of CHF to 1 first"), "{why}");
    rate(&franc, "1").await.expect(200);
    franc_by_default().await.unwrap();
    rate(&franc, "0.935").await.expect(422);
    rate(&euro, "1.07").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn zones_are_listed_by_country_and_a_missing_country_has_none() {
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
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

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_customer_and_the_addresses_of_a_user() {
    let shop = Shop::stocked().await;
    let customer = shop.get("/customers/1").send().await.expect(200);
    assert_eq!(customer.attribute("country_name"), "Afghanistan");
    assert!(!customer.attribute("zone_name").as_str().unwrap().is_empty());
    let guest = json!({
        "first_name": "Cleo", "last_name": "Dahl", "email": "cleo@example.com",
        "type": "shipping", "country_name": "ignored",
    });
    let guest = shop.post("/customers", guest).send().await.expect(201);
    assert_eq!(guest.attribute("country_name"), "");
    assert_eq!(guest.attribute("user_id"), 0);

    let addresses = shop.get("/customers/1/addresses").send().await.expect(200);
    assert_eq!(addresses.column("type"), ["billing"]);
    let address = shop.get("/addresses/1").send().await.expect(200);
    assert_eq!([address.attribute("country_id"), address.attribute("zone_id")], [1, 1]);
    assert_eq!(shop.get("/customers/2/addresses").send().await.expect(200).total(), 0);

    for (wrong, error) in [
        (json!({"email": "nobody"}), "422 invalid_value pointer /email"),
        (json!({"email": ""}), "422 invalid_value pointer /email"),
        (json!({"user_id": 999}), "422 missing_reference pointer /user_id"),
        (json!({"country_id": 2}), "422 missing_reference pointer /zone_id"),
        (json!({"country_id": null}), "422 missing_reference pointer /zone_id"),
        (json!({"type": "home"}), "422 invalid_value pointer /type"),
    ] {
        let answer = shop.patch("/customers/1", wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    let free = json!({"country_id": null, "zone_id": null});
    let moved = shop.patch("/customers/1", free).send().await.expect(200);
    assert_eq!(moved.attribute("zone_name"), "");

    let search = async |text: &str| {
        shop.get(&format!("/customers?filter[search]={text}")).send().await.expect(200).ids()
    };
    assert_eq!(search("BERG").await, [1]);
    assert_eq!(search("cleo@").await, [2]);
    assert_eq!(shop.get("/customers?filter[country]=1").send().await.expect(200).total(), 0);
}
