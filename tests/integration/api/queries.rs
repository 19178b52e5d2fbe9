//! The query of a request: filters, parameters that JSON:API reserves, and unknown parameters.

use serde_json::json;

use crate::support::harness::{ROOT, Shop};

/// Texts that look like days and are not, percent-encoded.
const NO_DAYS: [&str; 16] = [
    "%2B2026-01-01",
    "-2026-01-01",
    "%2B026-01-01",
    "2026-1-1",
    "20260101",
    "2026-01-01T00:00:00",
    "2026-02-30",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "2026%20-01-01",
    "2026-01-%2B1",
    "0000-01-01",
    "10000-01-01",
    "%EF%BC%92026-01-01",
    "today",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_day_in_a_filter_must_be_in_the_calendar() {
    let shop = Shop::stocked().await;
    for list in [
        "/orders",
        "/customers/0/orders",
        "/reports/sales",
        "/reports/products",
        "/reports/customers",
        "/reports/inventory",
    ] {
        for day in NO_DAYS {
            for filter in ["filter[date_from]", "filter[date_to]"] {
                let answer = shop.get(&format!("{list}?{filter}={day}")).send().await.expect(422);
                let error = format!("422 invalid_filter parameter {filter}");
                assert_eq!(answer.errors(), [error], "{list} {day}");
            }
        }
        // Values are trimmed, and the first and the last representable day are valid.
        for query in [
            "filter[date_from]=%202026-01-01%20",
            "filter[date_from]=0001-01-01&filter[date_to]=0001-01-31",
            "filter[date_from]=9999-12-01&filter[date_to]=9999-12-31",
            "filter[date_to]=0001-01-01",
        ] {
            shop.get(&format!("{list}?{query}")).send().await.expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_records_with_some_keys() {
    let shop = Shop::stocked().await;
    let list = async |query: &str| shop.get(&format!("/products{query}")).send().await;
    let all = list("").await.expect(200).column("shop_product_id");
    assert!(all.len() > 1, "{all:?}");
    let (first, last) = (&all[0], &all[all.len() - 1]);
    // In the order of the list, each once; what is not there is left out.
    let some = format!("?filter[id]={last},{first},%20{last},999999999999999999");
    assert_eq!(list(&some).await.errors(), ["422 invalid_filter parameter filter[id]"]);
    let some = format!("?filter[id]=%20{last},{first},{last},999999999999999999%20");
    let answer = list(&some).await.expect(200);
    assert_eq!(
        (answer.total(), answer.column("shop_product_id")),
        (2, vec![first.clone(), last.clone()])
    );
    let answer = list(&format!("{some}&sort=-shop_product_id&page[limit]=1")).await.expect(200);
    assert_eq!((answer.total(), answer.column("shop_product_id")), (2, vec![last.clone()]));
    // Together with other filters, also that of what has changed.
    let none =
        list(&format!("?filter[id]={first}&filter[search]=no%20such%20text")).await.expect(200);
    assert_eq!(none.total(), 0);
    let since = format!("?filter[id]={first}&filter[modified_since]=2020-01-01");
    assert_eq!(
        list(&since).await.expect(200).column("shop_product_id"),
        std::slice::from_ref(first)
    );
    // Empty, it counts as not sent.
    assert_eq!(list("?filter[id]=%20").await.expect(200).total(), all.len() as i64);
    let hundred: Vec<String> = (1..=100).map(|key: i64| key.to_string()).collect();
    let hundred = hundred.join(",");
    assert_eq!(list(&format!("?filter[id]={hundred}")).await.expect(200).total(), all.len() as i64);
    for wrong in
        [&format!("{hundred},101"), "1,", ",", "-1", "1.0", "one", "1%202", "1000000000000000000"]
    {
        let answer = list(&format!("?filter[id]={wrong}")).await;
        assert_eq!(answer.errors(), ["422 invalid_filter parameter filter[id]"], "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_list_below_an_id_too_long_for_a_key_is_empty() {
    let shop = Shop::stocked().await;
    // A guest's records have the user id 0.
    let guest = json!({"first_name": "Ada", "last_name": "Berg", "email": "ada@example.com"});
    shop.create("/customers", guest).await;
    let below = |id: &str| {
        let nested = plugin::resources::REGISTRY.iter().flat_map(|resource| resource.nested);
        let path = |nested: &plugin::model::resource::Nested| {
            format!("/{}/{id}/{}", nested.parent, nested.segment)
        };
        nested.map(path).collect::<Vec<_>>()
    };
    for id in
        ["9223372036854775807", "9223372036854775808", "99999999999999999999", &"9".repeat(200)]
    {
        for path in below(id) {
            let none = shop.get(&path).send().await.expect(200).json();
            assert_eq!(none["data"], json!([]), "{path}");
            assert_eq!(none["meta"], json!({"total-pages": 0, "total": 0}), "{path}");
            assert_eq!(none["links"], json!({"self": format!("{ROOT}{path}")}));
            shop.get(&format!("{path}?page[limit]=0")).send().await.expect(400);
        }
    }
    for path in ["/customers/0/orders", "/customers/0/addresses"] {
        assert_eq!(shop.get(path).send().await.expect(200).total(), 1, "{path}");
    }
    // Such an id in a filter or in a body is refused.
    for query in ["filter[customer_id]=99999999999999999999", "filter[status]=99999999999999999999"]
    {
        shop.get(&format!("/orders?{query}")).send().await.expect(422);
    }
    for query in ["filter[category]", "filter[manufacturer]"] {
        shop.get(&format!("/products?{query}=99999999999999999999")).send().await.expect(422);
        let none = shop.get(&format!("/products?{query}=9223372036854775807")).send().await;
        assert_eq!(none.expect(200).total(), 0);
    }
    let long = "99999999999999999999";
    for (path, body) in [
        ("/orders", json!({"user_email": "ada@example.com", "user_id": long})),
        ("/products", json!({"product_name": "x", "category_id": long})),
        ("/categories", json!({"title": "x", "parent_id": long})),
        ("/inventory", json!({"shop_product_id": long})),
    ] {
        shop.post(path, body).send().await.expect(422);
    }
    let body = json!({"order_state_id": 1});
    shop.post(&format!("/orders/{long}/history"), body).send().await.expect(404);
    let body = json!({"adjustment_type": "credit", "amount": 1, "reason": "x"});
    shop.post(&format!("/vouchers/{long}/adjust"), body).send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
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
        ("page[%ff]=1", "400 invalid_parameter parameter page[\u{fffd}]"),
        ("%ff", "400 invalid_parameter parameter \u{fffd}"),
        ("utm=%ff", "400 invalid_parameter parameter utm"),
        ("page=2", "400 unknown_parameter parameter page"),
        ("page", "400 unknown_parameter parameter page"),
        ("page[]=2", "400 unknown_parameter parameter page[]"),
        ("filter=x", "400 unknown_parameter parameter filter"),
        ("include=zones", "400 invalid_parameter parameter include"),
        ("sort=-manufacturer_desc", "400 invalid_parameter parameter sort"),
        ("fields=a", "400 unknown_parameter parameter fields"),
        ("fields%5Bmanufacturers%5D=a", "400 invalid_parameter parameter fields[manufacturers]"),
    ];
    for (query, error) in cases {
        let answer = shop.get(&format!("/manufacturers?{query}")).send().await;
        let status = error[..3].parse().unwrap();
        assert_eq!(answer.expect(status).errors(), [*error], "{query}");
    }
    // A period may end on the day on which it begins.
    let period = "/orders?filter[date_from]=2026-01-05&filter[date_to]=2026-01-0";
    shop.get(&format!("{period}5")).send().await.expect(200);
    let reversed = shop.get(&format!("{period}4")).send().await.expect(422);
    assert_eq!(reversed.errors(), ["422 invalid_filter parameter filter[date_to]"]);
    let both = "/manufacturers?filter[enabled]=2&page[limit]=0";
    assert_eq!(shop.get(both).send().await.expect(400).errors().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn unknown_parameters_are_ignored_and_none_overrides_the_path() {
    let shop = Shop::open().await;
    let plain = shop.get("/countries/84/zones").send().await.expect(200);
    let query = "/countries/84/zones?country_id=1&id=1&utm=%zz&filters=x&pages=2&=";
    let other = shop.get(query).send().await.expect(200);
    assert_eq!(plain.body, other.body);
    shop.get("/countries/84/zones?filter[country_id]=1").send().await.expect(400);
    shop.get("/countries/84/zones?filter[enabled]=1").send().await.expect(400);
    shop.get("/countries/84?page[limit]=1").send().await.expect(400);
    shop.request("DELETE", "/countries/84?filter[x]=1").send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn query_members_reserved_by_json_api_are_never_ignored() {
    let shop = Shop::stocked().await;
    for route in plugin::app::describe().routes {
        let path = route.pattern.strip_prefix("v1/shop").unwrap().replace("{id:digits}", "1");
        let path = path.replace("{type}", "zones").replace("{refund_id:digits}", "1");
        for (member, name) in [
            ("page=2", "page"),
            ("filter=x", "filter"),
            ("include=nothing", "include"),
            ("sort=-nothing", "sort"),
            ("fields[orders]=nothing", "fields[orders]"),
            ("page[number]=2", "page[number]"),
            ("page[%ff]=2", "page[\u{fffd}]"),
        ] {
            let method = route.method.to_string();
            let ask = shop.request(&method, &format!("{path}?{member}"));
            let ask = if method == "GET" { ask } else { ask.text("{}") };
            let answer = ask.send().await.expect(400);
            let errors = answer.errors();
            assert!(errors[0].ends_with(&format!("_parameter parameter {name}")), "{errors:?}");
        }
    }
}
