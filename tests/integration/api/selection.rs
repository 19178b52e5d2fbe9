//! What a client selects of a document: `fields`, `include` and `sort`, as JSON:API defines them.

use example_host::Force;
use serde_json::{Value, json};

use crate::support::harness::{ROOT, Role, Shop};

/// The names of the members of an object, in order; none if there is no object.
fn names(object: &Value) -> Vec<&str> {
    object.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// The type and the id of each record in a list of resource objects or identifiers.
#[track_caller]
fn identities(list: &Value) -> Vec<String> {
    let records = list.as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    records.iter().map(|of| format!("{} {}", text(&of["type"]), text(&of["id"]))).collect()
}

/// An order whose items are its lines, with this many of them.
async fn order_of(shop: &Shop, lines: usize) -> i64 {
    let line = json!({"orderitem_name": "x", "orderitem_sku": "x", "orderitem_price": 1});
    let items = vec![line; lines];
    shop.create("/orders", json!({"user_email": "ada@example.com", "items": items})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_the_named_attributes_and_relationships_alone() {
    let shop = Shop::stocked().await;
    let named = "fields[products]=upc,sku,manufacturer,category";
    for (path, at) in [("/products", "/data/0"), ("/products/1", "/data")] {
        let document = shop.get(&format!("{path}?{named}")).send().await.expect(200).json();
        let product = document.pointer(at).unwrap();
        // Lists show detail fields too; the order is that of the resource.
        assert_eq!(product["attributes"], json!({"sku": "L-1", "upc": ""}), "{path}");
        assert_eq!(names(&product["relationships"]), ["manufacturer", "category"], "{path}");
        assert_eq!(product["relationships"]["category"]["data"]["id"], "2");
        assert_eq!(names(product), ["type", "id", "attributes", "relationships", "links", "meta"]);
        let none = shop.get(&format!("{path}?fields[products]=")).send().await.expect(200).json();
        let none = none.pointer(at).unwrap();
        assert_eq!(names(none), ["type", "id", "attributes", "links", "meta"], "{path}");
        assert_eq!(none["attributes"], json!({}));
        // The fields of another type change nothing.
        let plain = shop.get(path).send().await.expect(200).json();
        let other = shop.get(&format!("{path}?fields[orders]=order_id")).send().await.expect(200);
        assert_eq!(other.json().pointer(at), plain.pointer(at));
    }
    let below = "/products/1/variants?fields[variants]=shop_variant_id,weight";
    let variants = shop.get(below).send().await.expect(200).json();
    let alone = json!({"shop_variant_id": 1, "weight": null});
    assert_eq!(variants["data"][0]["attributes"], alone);
    let joined = "/orders?fields[orders]=order_state,created_on,orderstatus";
    let orders = shop.get(joined).send().await.expect(200).json();
    assert_eq!(names(&orders["data"][0]["attributes"]), ["created_on", "order_state"]);
    assert_eq!(names(&orders["data"][0]["relationships"]), ["orderstatus"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_that_is_named_alone_equals_that_of_the_whole_record() {
    let shop = Shop::filled().await;
    for resource in plugin::resources::REGISTRY.iter().filter(|known| !known.table.is_empty()) {
        let list = shop.list_of(resource.kind);
        let first = shop.get(&list).send().await.expect(200).json()["data"][0].clone();
        // An entry of a ledger is shown in its list only.
        let record = match first["links"]["self"].as_str() {
            Some(own) => {
                let own = own.strip_prefix(ROOT).unwrap();
                shop.get(own).send().await.expect(200).json()["data"].clone()
            }
            None => first.clone(),
        };
        let joint = if list.contains('?') { '&' } else { '?' };
        for (name, value) in record["attributes"].as_object().unwrap() {
            let query = format!("{list}{joint}page[limit]=1&fields[{}]={name}", resource.kind);
            let one = shop.get(&query).send().await.expect(200).json()["data"][0].clone();
            assert_eq!(one["attributes"], json!({name: value}), "{} {name}", resource.kind);
            assert_eq!(one.get("relationships"), None, "{} {name}", resource.kind);
        }
        for (name, value) in record["relationships"].as_object().into_iter().flatten() {
            let query = format!("{list}{joint}page[limit]=1&fields[{}]={name}", resource.kind);
            let one = shop.get(&query).send().await.expect(200).json()["data"][0].clone();
            assert_eq!(one["relationships"], json!({name: value}), "{} {name}", resource.kind);
            assert_eq!(one["attributes"], json!({}), "{} {name}", resource.kind);
        }
    }
}

/// Many clients send each member of a list in a parameter of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_selection_may_be_in_several_parameters() {
    let shop = Shop::filled().await;
    let once = "/products?page[limit]=2&include=variants,manufacturer&fields[products]=sku,price";
    let often = "/products?page[limit]=2&include=variants&fields[products]=sku&\
                 include=manufacturer&fields[products]=price";
    let once = shop.get(once).send().await.expect(200);
    assert_eq!(shop.get(often).send().await.expect(200).json(), once.json());
    for (query, parameter) in [
        ("include=variants&include=nothing", "include"),
        ("fields[products]=&fields[products]=sku", "fields[products]"),
    ] {
        let refused = shop.get(&format!("/products?{query}")).send().await.expect(400).json();
        assert_eq!(refused["errors"][0]["code"], "invalid_parameter", "{query}");
        assert_eq!(refused["errors"][0]["source"]["parameter"], parameter, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sort_names_one_field_and_a_minus_reverses_it() {
    let shop = Shop::filled().await;
    for (sort, listed) in [
        ("price", "list[ordering]=price&list[direction]=asc"),
        ("-price", "list[ordering]=price&list[direction]=desc"),
        ("shop_product_id", "list[ordering]=shop_product_id"),
        ("-shop_product_id", "list[ordering]=shop_product_id&list[direction]=desc"),
    ] {
        let path = format!("/products?sort={sort}&page[limit]=7&page[offset]=7");
        let sorted = shop.get(&path).send().await.expect(200).json();
        let path = format!("/products?{listed}&page[limit]=7&page[offset]=7");
        let expected = shop.get(&path).send().await.expect(200).json();
        assert_eq!(sorted["data"], expected["data"], "{sort}");
        let next = sorted["links"]["next"].as_str().unwrap();
        assert!(next.contains(&format!("?sort={sort}&page%5Boffset%5D=14")), "{next}");
    }
    let below = shop.get("/orders/1/items?sort=-orderitem_name").send().await.expect(200);
    let names = below.column("orderitem_name");
    assert!(names.windows(2).all(|pair| pair[0].as_str() >= pair[1].as_str()), "{names:?}");
    shop.get("/vouchers/mine?sort=-voucher_value").send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_related_record_is_included_once_and_linked() {
    let shop = Shop::stocked().await;
    let second = json!({"product_name": "Spot", "manufacturer_id": 1, "category_id": 2});
    shop.create("/products", second).await;
    let path = "/products?include=manufacturer,category.parent";
    let document = shop.get(path).send().await.expect(200).json();
    assert_eq!(names(&document), ["links", "data", "included", "meta"]);
    assert_eq!(
        identities(&document["included"]),
        ["manufacturers 1", "categories 2", "categories 1"]
    );
    // What is included has all of its fields and its own link.
    for included in document["included"].as_array().unwrap() {
        let own = included["links"]["self"].as_str().unwrap().strip_prefix(ROOT).unwrap();
        assert_eq!(shop.get(own).send().await.expect(200).json()["data"], *included);
    }
    // Apart from what is included, the answer is that of the plain list.
    let plain = shop.get("/products").send().await.expect(200).json();
    assert_eq!(document["data"], plain["data"]);
    assert_eq!(document["meta"], plain["meta"]);

    // A record of the list itself is not repeated.
    let tree = shop.get("/categories?include=parent").send().await.expect(200).json();
    assert_eq!(tree["included"], json!([]));
    let child = shop.get("/categories/2?include=parent").send().await.expect(200).json();
    assert_eq!(identities(&child["included"]), ["categories 1"]);
    // Nothing to include is an empty list, and so is an empty parameter.
    for path in ["/products/2?include=manufacturer", "/products?include=", "/products/1?include="] {
        let none = shop.get(path).send().await.expect(200).json();
        assert_eq!(none["included"], json!([]), "{path}");
    }
    let far = "/customers/99999999999999999999/orders?include=orderstatus";
    assert_eq!(shop.get(far).send().await.expect(200).json()["included"], json!([]));
    shop.get("/products/999999999?include=variants").send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relationship_that_lists_omit_is_shown_where_it_is_included() {
    let shop = Shop::stocked().await;
    let plain = shop.get("/customers").send().await.expect(200).json();
    assert_eq!(plain["data"][0].get("relationships"), None);
    let path = "/customers?include=zone.country,country";
    let document = shop.get(path).send().await.expect(200).json();
    let customer = &document["data"][0];
    assert_eq!(names(&customer["relationships"]), ["zone", "country"]);
    assert_eq!(customer["relationships"]["zone"]["data"], json!({"type": "zones", "id": "1"}));
    assert_eq!(customer["attributes"], plain["data"][0]["attributes"]);
    // The country of the zone is that of the customer.
    assert_eq!(identities(&document["included"]), ["zones 1", "countries 1"]);
    assert_eq!(document["included"][0]["relationships"]["country"]["data"]["id"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_an_order_are_included_with_their_order() {
    let shop = Shop::stocked().await;
    let first = order_of(&shop, 2).await;
    let second = order_of(&shop, 1).await;
    shop.post(&format!("/orders/{first}/history"), json!({"order_state_id": 7}))
        .send()
        .await
        .expect(201);
    let path = "/orders?sort=shop_order_id&include=items,history.orderstatus";
    let document = shop.get(path).send().await.expect(200).json();
    let orders = document["data"].as_array().unwrap();
    assert_eq!(identities(&document["data"]), ["orders 1", "orders 2", "orders 3"]);
    assert_eq!([first, second], [2, 3]);
    let linked =
        |order: usize, name: &str| identities(&orders[order]["relationships"][name]["data"]);
    // The first order has no items.
    assert_eq!(linked(0, "items"), [""; 0]);
    assert_eq!(linked(1, "items"), ["orderitems 1", "orderitems 2"]);
    assert_eq!(linked(2, "items"), ["orderitems 3"]);
    assert_eq!(linked(0, "history"), ["orderhistories 1"]);
    assert_eq!(linked(1, "history"), ["orderhistories 2", "orderhistories 4"]);
    assert_eq!(linked(2, "history"), ["orderhistories 3"]);
    let related = &orders[1]["relationships"]["items"]["links"]["related"];
    assert_eq!(*related, format!("{ROOT}/orders/2/items"));
    assert_eq!(
        identities(&document["included"]),
        [
            "orderitems 1",
            "orderitems 2",
            "orderitems 3",
            "orderhistories 1",
            "orderhistories 2",
            "orderhistories 4",
            "orderhistories 3",
            "orderstatuses 5",
            "orderstatuses 7",
        ]
    );
    let item = shop.get("/orderitems/3").send().await.expect(200).json();
    assert_eq!(document["included"][2], item["data"]);
    // A plain order has neither relationship; naming one as a field shows its link.
    let plain = shop.get("/orders/2").send().await.expect(200).json();
    assert_eq!(names(&plain["data"]["relationships"]), ["orderstatus"]);
    let named = shop.get("/orders/2?fields[orders]=items").send().await.expect(200).json();
    let link = json!({"items": {"links": {"related": format!("{ROOT}/orders/2/items")}}});
    assert_eq!(named["data"]["relationships"], link);
    // The path back leads to the order itself, which is not repeated.
    let back = shop.get("/orders/2?include=items.order").send().await.expect(200).json();
    assert_eq!(identities(&back["included"]), ["orderitems 1", "orderitems 2"]);
    let back = shop.get("/orders/2/items?include=order").send().await.expect(200).json();
    assert_eq!(identities(&back["included"]), ["orders 2"]);
    let variants = shop.get("/products/1?include=variants").send().await.expect(200).json();
    assert_eq!(identities(&variants["included"]), ["variants 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_narrow_what_is_included_and_never_what_is_followed() {
    let shop = Shop::stocked().await;
    order_of(&shop, 1).await;
    let path = "/orders/2?include=items,history.orderstatus\
        &fields[orders]=order_id&fields[orderitems]=orderitem_sku&fields[orderhistories]=comment";
    let document = shop.get(path).send().await.expect(200).json();
    assert_eq!(names(&document["data"]["attributes"]), ["order_id"]);
    assert_eq!(document["data"].get("relationships"), None);
    assert_eq!(
        identities(&document["included"]),
        ["orderitems 1", "orderhistories 2", "orderstatuses 5"]
    );
    assert_eq!(document["included"][0]["attributes"], json!({"orderitem_sku": "x"}));
    assert_eq!(document["included"][1]["attributes"], json!({"comment": ""}));
    assert_eq!(document["included"][1].get("relationships"), None);
    assert_eq!(document["included"][2]["attributes"]["orderstatus_name"], "New");
    // The link to the document has all that has selected it.
    let own = document["links"]["self"].as_str().unwrap();
    let again = shop.get(own.strip_prefix(ROOT).unwrap()).send().await.expect(200).json();
    assert_eq!(again, document);
    let list = shop.get("/products?include=variants&fields[products]=&page[limit]=1").send().await;
    let list = list.expect(200).json();
    let next = list["links"]["next"].as_str().unwrap();
    let next = shop.get(next.strip_prefix(ROOT).unwrap()).send().await.expect(200).json();
    assert_eq!(next["data"][0]["attributes"], json!({}));
    assert_eq!(identities(&next["included"]), ["variants 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_includes_at_most_5000_records() {
    let shop = Shop::open().await;
    order_of(&shop, 994).await;
    let five = "/orders?include=items,history,orderstatus&fields[orderitems]=order";
    for _ in 0..4 {
        order_of(&shop, 1_000).await;
    }
    // 4,994 items, 5 entries and 1 status.
    let document = shop.get(five).send().await.expect(200).json();
    assert_eq!(document["included"].as_array().unwrap().len(), 5_000);
    // The orders to which the items lead back are part of the list.
    let back = "/orders?include=items.order,history,orderstatus&fields[orderitems]=order";
    shop.get(back).send().await.expect(200);
    shop.post("/orders/1/history", json!({"order_state_id": 5})).send().await.expect(201);
    let refused = shop.get(five).send().await.expect(400);
    assert_eq!(refused.errors(), ["400 invalid_parameter parameter include"]);
    let page = format!("{five}&page[limit]=3");
    shop.get(&page).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_1000_items_includes_its_items_and_shipments() {
    let shop = Shop::open().await;
    let order = order_of(&shop, 1_000).await;
    for item in 1..=3 {
        let shipment = json!({"items": [{"orderitem_id": item, "quantity": 1}]});
        shop.create(&format!("/orders/{order}/shipments"), shipment).await;
    }
    let path = format!("/orders/{order}?include=items,shipments,history.orderstatus");
    let document = shop.get(&path).send().await.expect(200).json();
    let included = document["included"].as_array().unwrap();
    for (kind, number) in [("orderitems", 1_000), ("shipments", 3)] {
        assert_eq!(included.iter().filter(|one| one["type"] == kind).count(), number, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_is_included_needs_the_permission_to_view_it() {
    let shop = Shop::stocked().await;
    let deny = example_host::Setting::Deny;
    shop.site
        .set_rule("Manager", "store.view", "com_shop.orderitems", deny, Force::No)
        .await
        .unwrap();
    shop.site.set_rule("Manager", "store.view", "com_shop.zones", deny, Force::No).await.unwrap();
    for (path, missing) in [
        ("/orders?include=items", "orderitems"),
        ("/orders/1?include=history,items.order", "orderitems"),
        ("/customers?include=zone.country", "zones"),
        // It is checked before the syntax.
        ("/customers?include=zone,nothing&page[limit]=0", "zones"),
    ] {
        let answer = shop.get(path).by(Role::Manager).send().await.expect(403);
        let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert_eq!(detail, format!("You lack the permission store.view on com_shop.{missing}."));
    }
    for path in ["/orders?include=history", "/customers?include=country&fields[zones]=zone_code"] {
        shop.get(path).by(Role::Manager).send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn unknown_names_are_refused_with_the_nearest_known_one() {
    let shop = Shop::stocked().await;
    for (query, error, hint) in [
        ("fields[products]=skus", "invalid_parameter parameter fields[products]", "sku"),
        ("fields[products]=sku,,price", "invalid_parameter parameter fields[products]", ""),
        ("fields[products]=variant", "invalid_parameter parameter fields[products]", "variants"),
        (
            "fields[products]=category_id",
            "invalid_parameter parameter fields[products]",
            "category",
        ),
        ("fields[product]=sku", "unknown_parameter parameter fields[product]", "products"),
        ("fields[config]=x", "unknown_parameter parameter fields[config]", ""),
        ("fields[]=sku", "unknown_parameter parameter fields[]", ""),
        ("fields=sku", "unknown_parameter parameter fields", "fields[<type>]"),
        ("include=variant", "invalid_parameter parameter include", "variants"),
        ("include=variants,", "invalid_parameter parameter include", ""),
        ("include=manufacturer.product", "invalid_parameter parameter include", ""),
        ("include=variants.product.category", "invalid_parameter parameter include", "2 relations"),
        ("include[x]=variants", "unknown_parameter parameter include[x]", ""),
        ("sort=name", "invalid_parameter parameter sort", "product_name"),
        ("sort=upc", "invalid_parameter parameter sort", ""),
        ("sort=", "invalid_parameter parameter sort", ""),
        ("sort=-", "invalid_parameter parameter sort", ""),
        ("sort=price,sku", "invalid_parameter parameter sort", "one field"),
        ("sort[x]=price", "unknown_parameter parameter sort[x]", ""),
        ("sort=price&list[ordering]=sku", "invalid_parameter parameter sort", "list[ordering]"),
        ("sort=price&list[direction]=asc", "invalid_parameter parameter sort", "list[direction]"),
        ("sort=price&sort=sku", "repeated_parameter parameter sort", ""),
        ("filter=x", "unknown_parameter parameter filter", "filter[<name>]"),
        ("page=2", "unknown_parameter parameter page", "page[offset]"),
    ] {
        let answer = shop.get(&format!("/products?{query}")).send().await.expect(400);
        assert_eq!(answer.errors(), [format!("400 {error}")], "{query}");
        let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(hint), "{query}: {detail}");
    }
    // All faults are reported together.
    let all = "/products?include=x,y&fields[products]=x&sort=x&page[limit]=0&filter[x]=1";
    assert_eq!(shop.get(all).send().await.expect(400).errors().len(), 6);
    let many = format!("/products?include={}", vec!["x"; 500].join(","));
    assert_eq!(shop.get(&many).send().await.expect(400).errors().len(), 101);
    // A single record has no order.
    let one = shop.get("/products/1?sort=price").send().await.expect(400);
    assert_eq!(one.errors(), ["400 unknown_parameter parameter sort"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn computed_records_show_the_named_attributes_and_include_nothing() {
    let shop = Shop::filled().await;
    let own = json!({"voucher_value": 1, "email_to": "administrator@example.com"});
    shop.create("/vouchers", own).await;
    for (path, kind, name) in [
        ("/vouchers/mine", "vouchers", "masked_code"),
        ("/reports/sales?filter[period]=month", "reports", "net_sales"),
        ("/reports/products?filter[date_from]=2020-01-01", "reports", "sku"),
        ("/reports/customers?filter[date_from]=2020-01-01", "reports", "total_spent"),
        ("/reports/inventory", "reports", "stock_value"),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        let plain = shop.get(path).send().await.expect(200).json();
        let named = format!("{path}{joint}fields[{kind}]={name}");
        let answer = shop.get(&named).send().await.expect(200).json();
        let (rows, whole) = (answer["data"].as_array().unwrap(), plain["data"].as_array().unwrap());
        assert!(!rows.is_empty() && rows.len() == whole.len(), "{path}");
        for (row, whole) in rows.iter().zip(whole) {
            assert_eq!(row["attributes"], json!({name: whole["attributes"][name]}), "{path}");
            assert_eq!(row["id"], whole["id"]);
        }
        assert_eq!(answer["meta"], plain["meta"]);
        let link = answer["links"]["self"].as_str().unwrap();
        assert!(link.ends_with(&format!("fields%5B{kind}%5D={name}")), "{link}");
        for wrong in
            ["include=order", "fields[orders]=order_id", &format!("fields[{kind}]=voucher_code")]
        {
            shop.get(&format!("{path}{joint}{wrong}")).send().await.expect(400);
        }
    }
    shop.get("/reports/sales?sort=net_sales").send().await.expect(400);
    let refused = shop.get("/reports/inventory?include=order").send().await.expect(400).json();
    let detail = "reports has no related records to include.";
    assert_eq!(refused["errors"][0]["detail"], detail);
    let config = shop.get("/config?fields[config]=default_currency").send().await.expect(200);
    assert_eq!(config.json()["data"]["attributes"], json!({"default_currency": "EUR"}));
    assert_eq!(config.json()["data"]["links"]["self"], format!("{ROOT}/config"));
    let link = format!("{ROOT}/config?fields%5Bconfig%5D=default_currency");
    assert_eq!(config.json()["links"]["self"], link);
    for wrong in ["fields[config]=nothing", "include=x", "sort=default_currency"] {
        shop.get(&format!("/config?{wrong}")).send().await.expect(400);
    }
}
