//! The pages about the records of extensions: lists, single records and the search, made from what an extension
//! publishes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use example_host::{Force, Setting};
use serde_json::json;

use crate::support::filled::Filled;
use crate::support::harness::Shop;
use crate::support::visitor::{Seen, Visitor, beside};

const LIST: &str = "/records/webservices-shop";

/// The names of the records in the first table of a page, from top to bottom.
fn names(html: &str) -> Vec<String> {
    let rows = html.split("<th scope=\"row\"").skip(1);
    let names = rows.map(|row| {
        let (name, _) = row.split_once("</bdi>").expect("a name");
        name.rsplit_once("<bdi>").expect("a name").1.to_owned()
    });
    names.collect()
}

/// The values of a column.
fn column(html: &str, head: &str) -> Vec<String> {
    let begin = format!("<td data-label=\"{head}\"");
    let cells = html.split(&begin).skip(1).map(|cell| {
        let (_, cell) = cell.split_once('>').unwrap();
        let (cell, _) = cell.split_once("</td>").unwrap();
        let mut text = String::new();
        for piece in cell.split('<') {
            text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        }
        text
    });
    cells.collect()
}

/// The path of a link with this text.
fn link(html: &str, text: &str) -> Option<String> {
    let (before, _) = html.split_once(&format!(">{text}</a>"))?;
    let (_, link) = before.rsplit_once("href=\"/administrator")?;
    Some(link.split_once('"')?.0.replace("&#38;", "&").replace("&amp;", "&"))
}

#[tokio::test]
async fn a_list_shows_the_columns_of_the_document_with_names_in_place_of_keys() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get(&format!("{LIST}/products")).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    assert_eq!(names(&seen.html), ["Lamp", "Bulb"]);
    assert_eq!(column(&seen.html, "Price"), ["19.99", "2.00"]);
    assert_eq!(column(&seen.html, "Manufacturer"), ["Birch", ""]);
    seen.says("<a href=\"manufacturers/1\"><bdi>Birch</bdi></a>");
    assert_eq!(column(&seen.html, "Enabled"), ["Yes", "Yes"]);
    seen.says("1–2 of 2");
    seen.says("<a href=\"products/1\"><bdi>Lamp</bdi></a>");
    seen.says("<option value=\"2\">Desk lamps</option>");
}

#[tokio::test]
async fn a_list_is_filtered_and_sorted_by_its_address() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let list = format!("{LIST}/products");
    for (query, expected) in [
        ("filter[search]=LAM", &["Lamp"][..]),
        ("filter[manufacturer]=1", &["Lamp"]),
        // A name is as good as a key.
        ("filter[manufacturer]=birch", &["Lamp"]),
        ("filter[enabled]=0", &[]),
        ("filter[enabled]=&filter[sku]=b-", &["Bulb"]),
        ("sort=product_name", &["Bulb", "Lamp"]),
        ("sort=-product_name", &["Lamp", "Bulb"]),
        // The number of rows is one of those that are offered, and what is unknown is ignored.
        ("page[limit]=1&nothing=1&include=variants", &["Lamp", "Bulb"]),
    ] {
        let seen = ann.get(&format!("{list}?{query}")).await;
        assert_eq!(seen.status, 200, "{query}: {}", seen.html);
        assert_eq!(names(&seen.html), expected, "{query}");
    }
    // The head of a column turns its order round, and keeps the filter.
    let seen = ann.get(&format!("{list}?filter[enabled]=1")).await;
    let first = link(&seen.html, "Price").unwrap();
    let seen = ann.get(&first).await;
    assert_eq!(names(&seen.html), ["Bulb", "Lamp"]);
    seen.says("aria-sort=\"ascending\"");
    seen.says("<option value=\"1\" selected>Yes</option>");
    let seen = ann.get(&link(&seen.html, "Price").unwrap()).await;
    assert_eq!(names(&seen.html), ["Lamp", "Bulb"]);
    seen.says("aria-sort=\"descending\"");
    // What the API refuses is told in its words, and the form keeps it.
    let seen = ann.get(&format!("{list}?filter[enabled]=7")).await;
    assert_eq!(seen.status, 422);
    seen.says("role=\"alert\"");
    seen.says("<option value=\"7\" selected>7</option>");
    seen.says("Nothing matches.");
}

#[tokio::test]
async fn the_pages_of_a_long_list_lead_to_each_other_and_keep_what_is_asked() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let total = shop.get("/products").send().await.expect(200).total();
    let mut page = format!("{LIST}/products?sort=-price&filter[visibility]=1");
    let mut all: Vec<String> = Vec::new();
    loop {
        let seen = ann.get(&page).await;
        assert_eq!(seen.status, 200);
        seen.says("aria-sort=\"descending\"");
        all.extend(column(&seen.html, "SKU"));
        match beside(&seen.html, "next") {
            Some(next) => page = next,
            None => break,
        }
    }
    let asked = "/products?sort=-price&filter[visibility]=1&page[limit]=100";
    let expected = shop.get(asked).send().await.expect(200).column("sku");
    assert!(total > 50 && all.len() > 25, "there are several pages");
    assert_eq!(all.iter().map(|sku| json!(sku)).collect::<Vec<_>>(), expected);
    assert!(beside(&ann.html, "prev").is_some());
}

#[tokio::test]
async fn what_is_filtered_is_exported() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get(&format!("{LIST}/products?filter[search]=lamp&sort=price")).await;
    let file = seen.html.split("\" download>Export as CSV").next().unwrap();
    let file = file.rsplit_once("href=\"/administrator").unwrap().1.replace("&#38;", "&");
    let seen = ann.get(&file).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    assert!(seen.html.contains("Lamp") && !seen.html.contains("Bulb"), "{}", seen.html);
    assert_eq!(seen.html.lines().count(), 2);
}

#[tokio::test]
async fn what_is_ticked_is_exported() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get(&format!("{LIST}/products?sort=-price")).await;
    seen.says("<form method=\"get\" action=\"/administrator/export/file\">");
    seen.says("type=\"checkbox\" name=\"filter[id]\"");
    let file =
        "/export/file?extension=webservices-shop&type=products&ticked=1&sort=-price&format=csv";
    let all = ann.get(&format!("{file}&filter[id]=1&filter[id]=2")).await;
    assert_eq!(all.status, 200, "{}", all.html);
    assert_eq!(all.html.lines().count(), 3);
    let one = ann.get(&format!("{file}&filter[id]=2")).await;
    assert_eq!(one.html.lines().count(), 2);
    // A form without a tick must not export everything.
    let none = ann.get(file).await;
    assert_eq!(none.status, 422);
    none.says("Tick the records");
    // A type that the API does not export has a file, and nothing to tick.
    let seen = ann.get(&format!("{LIST}/reports-sales")).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    seen.says("download>Export as CSV</a>");
    assert!(!seen.html.contains("type=\"checkbox\""), "{}", seen.html);
}

#[tokio::test]
async fn a_record_is_shown_in_groups_with_tabs_for_what_belongs_to_it() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let seen = ann.get(&format!("{LIST}/orders/3")).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    let order = shop.get("/orders/3").send().await.expect(200);
    let total = order.attribute("order_total");
    let total = total.as_str().unwrap();
    seen.says(&host_interface::with_separators(total));
    seen.says(&format!("{}/api/index.php/v1/shop/orders/3", ann.origin));
    seen.says("<time datetime=\"");
    let status = order.attribute("order_state_id");
    let name = order.attribute("orderstatus_name");
    seen.says(&format!("href=\"../orderstatuses/{status}\"><bdi>{}</bdi>", name.as_str().unwrap()));
    let items = shop.get("/orders/3/items").send().await.expect(200);
    let seen = ann.get(&format!("{LIST}/orders/3?tab=items")).await;
    assert_eq!(column(&seen.html, "Order item SKU").len(), items.column("orderitem_sku").len());
    for tab in ["fulfilment", "history", "refunds", "shipments"] {
        let seen = ann.get(&format!("{LIST}/orders/3?tab={tab}")).await;
        assert_eq!(seen.status, 200, "{tab}: {}", seen.html);
    }
    assert_eq!(ann.get(&format!("{LIST}/orders/3?tab=nothing")).await.status, 404);
    // A panel of the extension about such a record is a tab too.
    let seen = ann.get(&format!("{LIST}/products/1")).await;
    let panel = link(&seen.html, "Stock movements").expect("a tab with the panel");
    ann.get(&panel).await.says("aria-labelledby=\"webservices-shop-stock_movements\"");
}

#[tokio::test]
async fn who_changed_a_record_last_is_shown_to_those_who_may_read_the_trail() {
    let shop = Shop::stocked().await;
    shop.patch("/manufacturers/1", json!({"manufacturer_name": "Oak"})).send().await.expect(200);
    let page = format!("{LIST}/manufacturers/1");
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    super::audit_trail::audited(&mut ann, "type=manufacturers&id=1", 2).await;
    let seen = ann.get(&page).await;
    seen.says("Last changes");
    seen.says("administrator <code>manufacturers.update</code>");
    seen.says("/administrator/audit?type=manufacturers&#38;id=1");
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let seen = bob.get(&page).await;
    assert_eq!(seen.status, 200);
    assert!(!seen.html.contains("Last changes"), "{}", seen.html);
}

#[tokio::test]
async fn every_type_of_the_document_has_a_list_and_its_first_record_a_page() {
    let shop = Shop::filled().await;
    shop.create("/vouchers", json!({"voucher_value": "50", "email_to": "ada@example.com"})).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let seen = ann.get("/").await;
    let links = seen.html.split("href=\"/administrator/records/webservices-shop/").skip(1);
    let links = links.map(|link| link.split_once('"').unwrap().0.to_owned());
    // Panels link to single records, too, and to parts of lists.
    let mut kinds: Vec<String> = links.filter(|link| !link.contains(['/', '?'])).collect();
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(kind.clone()));
    let document: serde_json::Value =
        serde_json::from_str(&shop.site.openapi().unwrap().remove(0)).unwrap();
    let lists = document["paths"].as_object().unwrap().iter().filter(|(path, methods)| {
        let many = &methods["get"]["responses"]["200"]["description"];
        !path.contains('{') && many.as_str().is_some_and(|many| many.starts_with("A page of r"))
    });
    // A list of a user's own records is a list of the same type.
    let lists = lists.filter(|(path, _)| *path != "/vouchers/mine").count();
    assert_eq!(kinds.len(), lists, "{kinds:?}");
    for kind in &kinds {
        // Some lists have a filter by default.
        let filter = match kind.as_str() {
            "orderfulfilments" => "?filter[state]=fulfilled",
            _ => "",
        };
        let seen = ann.get(&format!("{LIST}/{kind}{filter}")).await;
        assert_eq!(seen.status, 200, "{kind}: {}", seen.html);
        let row =
            seen.html.split_once("<th scope=\"row\"").unwrap_or_else(|| panic!("no {kind}")).1;
        let Some((_, record)) = row.split_once("</th>").unwrap().0.split_once("href=\"") else {
            assert!(kind.starts_with("reports-"), "{kind} has a record without a page");
            continue;
        };
        let seen = ann.get(&format!("{LIST}/{}", record.split_once('"').unwrap().0)).await;
        assert_eq!(seen.status, 200, "{record}: {}", seen.html);
        assert!(seen.html.len() <= 60 * 1024, "{kind}: {} bytes", seen.html.len());
    }
}

/// Whether a page has a sign of a type.
fn has_sign(seen: &Seen, kind: &str) -> bool {
    seen.html.contains(&format!("webservices-shop/{kind}"))
        || seen.html.contains(&format!("href=\"{kind}/"))
}

#[tokio::test]
async fn a_type_that_a_user_may_not_view_leaves_no_sign() {
    let shop = Shop::stocked().await;
    let deny = async |kind: &str| {
        let asset = format!("com_shop.{kind}");
        let set =
            shop.site.set_rule("Administrator", "store.view", &asset, Setting::Deny, Force::No);
        set.await.unwrap();
    };
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let seen = ann.get(&format!("{LIST}/products")).await;
    assert!(has_sign(&seen, "manufacturers"), "{}", seen.html);
    assert!(link(&seen.html, "Manufacturers").is_some());
    deny("manufacturers").await;
    for page in ["/", "/records/webservices-shop/products", "/search?q=birch"] {
        let seen = ann.get(page).await;
        assert_eq!(seen.status, 200, "{page}");
        assert!(!has_sign(&seen, "manufacturers"), "{page}: {}", seen.html);
        assert!(!seen.html.contains("Birch"), "{page}: {}", seen.html);
    }
    for page in ["manufacturers", "manufacturers/1", "manufacturers?sort=enabled"] {
        assert_eq!(ann.get(&format!("{LIST}/{page}")).await.status, 404, "{page}");
    }
    deny("orders").await;
    let seen = ann.get("/search?q=ada@example.com").await;
    assert!(seen.to().ends_with("/customers/1"), "{} {}", seen.to(), seen.html);

    // Without access to the API there is nothing at all.
    let login = ("core.login.api", "root");
    shop.site.set_rule("Administrator", login.0, login.1, Setting::Deny, Force::No).await.unwrap();
    let seen = ann.get("/").await;
    assert!(!seen.html.contains("/administrator/records/"), "{}", seen.html);
    assert!(!seen.html.contains("/administrator/search"), "{}", seen.html);
    assert_eq!(ann.get("/search?q=x").await.status, 404);
    assert_eq!(ann.get(&format!("{LIST}/products")).await.status, 404);
}

#[tokio::test]
async fn a_disabled_extension_has_no_pages() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    assert_eq!(ann.get(&format!("{LIST}/products")).await.status, 200);
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    assert_eq!(ann.get(&format!("{LIST}/products")).await.status, 404);
    assert!(!ann.get("/").await.html.contains("/administrator/records/"));
    for nothing in ["/records/nothing/products", "/records/webservices-shop/nothing"] {
        assert_eq!(ann.get(nothing).await.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn a_record_that_is_gone_has_a_page_that_tells_so() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for page in ["products/999", "products/x%2F..%2F1", "products/%7Bid%7D", "orders/%00"] {
        let seen = ann.get(&format!("{LIST}/{page}")).await;
        assert_eq!(seen.status, 404, "{page}: {}", seen.html);
    }
    ann.get(&format!("{LIST}/products/999")).await.says("it has been deleted");
}

#[tokio::test]
async fn the_search_finds_records_of_all_types_and_leads_to_a_single_exact_one() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let order = shop.get("/orders/1").send().await.expect(200).attribute("order_id");
    for (sought, page) in [
        ("lamp", "products/1"),
        ("L-1", "products/1"),
        ("l-1", "products/1"),
        (order.as_str().unwrap(), "orders/1"),
        ("SPRING", "coupons/1"),
        ("Berg", "customers/1"),
    ] {
        let seen = ann.get(&format!("/search?q={}", sought.replace(' ', "+"))).await;
        assert_eq!(seen.status, 303, "{sought}: {}", seen.html);
        assert!(
            seen.to().ends_with(&format!("/webservices-shop/{page}")),
            "{sought}: {}",
            seen.to()
        );
    }
    // An address of a customer and of an order.
    let seen = ann.get("/search?q=ada@example.com").await;
    assert_eq!(seen.status, 200);
    seen.says("/administrator/records/webservices-shop/customers/1");
    seen.says("/administrator/records/webservices-shop/orders/1");
    seen.says("value=\"ada@example.com\"");
    let seen = ann.get("/search?q=nowhere+to+be+found").await;
    seen.says("Nothing was found.");
    ann.get("/search").await.says("in the field at the head of the page");
    let seen = ann.get("/search?q=%3Cb%3E%22").await;
    seen.says("“<bdi>&#60;b&#62;&#34;</bdi>”");
}

#[tokio::test]
async fn hostile_texts_are_texts_and_pages_stay_small() {
    let shop = Shop::stocked().await;
    let hostile = "<script>alert(1)</script>\u{202e}{{ 7919 * 7919 }}\"'&".repeat(6);
    let name: String = hostile.chars().take(255).collect();
    let long = "<&\"'>".repeat(13_000);
    for _ in 0..110 {
        let body = json!({"manufacturer_name": name, "manufacturer_desc": long});
        shop.create("/manufacturers", body).await;
    }
    let body = json!({
        "product_name": name, "sku": "x<y", "manufacturer_id": 2,
        "main_image": "https://elsewhere.example/<img>.png",
    });
    let product = shop.create("/products", body).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for page in [
        "/records/webservices-shop/manufacturers?page[limit]=100".to_owned(),
        "/records/webservices-shop/manufacturers/2".to_owned(),
        format!("/records/webservices-shop/products/{product}"),
        "/records/webservices-shop/products".to_owned(),
        "/search?q=script".to_owned(),
    ] {
        let seen = ann.get(&page).await;
        assert_eq!(seen.status, 200, "{page}: {}", seen.html);
        assert!(seen.html.len() <= 60 * 1024, "{page}: {} bytes", seen.html.len());
        assert!(!seen.html.contains("<script>") && !seen.html.contains("62710561"), "{page}");
        assert!(!seen.html.contains("src=\"https:"), "{page}");
        seen.says("&#60;");
    }
}

#[tokio::test]
async fn a_list_of_a_hundred_records_is_small() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for kind in ["products", "orders", "currencies", "countries"] {
        let seen = ann.get(&format!("{LIST}/{kind}?page[limit]=100")).await;
        assert!(names(&seen.html).len() >= 40, "{kind}");
        assert!(seen.html.len() <= 60 * 1024, "{kind}: {} bytes", seen.html.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "the guestbook knows no other engine")]
async fn an_extension_without_a_document_has_no_records() {
    let (_place, served, mut ann) = Visitor::of_fixture("guestbook", &[]).await;
    let seen = ann.get("/").await;
    assert!(!seen.html.contains("/administrator/records/"), "{}", seen.html);
    assert_eq!(ann.get("/records/guestbook/entries").await.status, 404);
    assert_eq!(ann.get("/search?q=x").await.status, 404);
    ann.get("/extensions/guestbook").await.says("publishes no OpenAPI document");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_without_members_of_its_own_has_pages_too() {
    let (_place, served, mut ann) = Visitor::of_fixture("library", &[]).await;
    let seen = ann.get("/").await;
    seen.says("<summary>library</summary>");
    let seen = ann.get("/records/library/books").await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    assert_eq!(names(&seen.html), ["&#60;b&#62;Faust&#60;/b&#62;", "Emma"]);
    assert_eq!(column(&seen.html, "Pages"), ["1,464", "12"]);
    assert_eq!(column(&seen.html, "Lent"), ["Yes", "No"]);
    seen.says("name=\"title\"");
    let seen = ann.get("/records/library/books/3%2D16").await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    seen.says("&#34;shelf&#34;: 7");
    ann.get("/records/library/books/a%2Fb").await.says("it has been deleted");
    served.stop().await;
}

#[tokio::test]
async fn rows_of_panels_lead_to_what_they_are_about() {
    let shop = Shop::filled().await;
    let items = json!([{"product_id": 1, "orderitem_quantity": 1}]);
    let order = json!({"user_email": "ada@example.com", "is_shippable": 1, "items": items});
    let order = shop.create("/orders", order).await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let seen = bob.get("/").await;
    let panel = seen.html.split_once("To be shipped</h2>").unwrap().1;
    let panel = panel.split_once("</section>").unwrap().0;
    let links: Vec<&str> = panel
        .split("href=\"/administrator")
        .skip(1)
        .map(|link| link.split_once('"').unwrap().0)
        .collect();
    assert_eq!(links.len(), 2, "{panel}");
    assert_eq!(links[0], format!("{LIST}/orderfulfilments"));
    assert_eq!(links[1], format!("{LIST}/orders/{order}"));
    for link in links {
        assert_eq!(bob.get(link).await.status, 200, "{link}");
    }
}

#[tokio::test]
async fn the_figures_of_sales_lead_to_the_orders_of_these_days() {
    let shop = Shop::open().await;
    for day in ["2019-02-03T04:05:06", ""] {
        let mut order = json!({"user_email": "ada@example.com", "order_state_id": 7,
            "items": [{"orderitem_name": "Lamp", "orderitem_price": "5.00"}]});
        if !day.is_empty() {
            order["created_on"] = json!(day);
        }
        shop.create("/orders", order).await;
    }
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let seen = bob.get("/").await;
    let panel = seen.html.split_once("Sales of the last 30 days</h2>").unwrap().1;
    let panel = panel.split_once("</section>").unwrap().0;
    assert!(panel.contains("<td data-label=\"Orders\">1</td>"), "{panel}");
    let link = panel.split_once("href=\"/administrator").unwrap().1.split_once('"').unwrap().0;
    let orders = bob.get(&link.replace("&#38;", "&")).await;
    assert_eq!(orders.status, 200, "{link}");
    orders.says("1–1 of 1");
}

#[tokio::test]
async fn the_product_of_a_row_is_chosen_by_its_name_and_leads_to_it() {
    let shop = Shop::open().await;
    let lamp = shop.create("/products", json!({"product_name": "Birch lamp", "sku": "L-1"})).await;
    shop.create("/products", json!({"product_name": "Oak lamp", "sku": "L-2"})).await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    bob.get(&format!("{LIST}/orders/new")).await;
    let order = Filled::on(&bob).with("/user_email", "ada@example.com");
    let seen = order.clone().with("/items/0/product_id", "birch lamp").send(&mut bob).await;
    assert_eq!(seen.status, 303, "{}", seen.html);
    let made = seen.to().rsplit('/').next().unwrap().to_owned();
    let items = shop.get(&format!("/orders/{made}/items")).send().await.expect(200).json();
    assert_eq!(items["data"][0]["attributes"]["orderitem_name"], "Birch lamp");
    let item = items["data"][0]["id"].as_str().unwrap();
    let page = bob.get(&format!("{LIST}/orderitems/{item}")).await;
    page.says(&format!("products/{lamp}\""));

    let seen = order.with("/items/0/product_id", "lamp").send(&mut bob).await;
    assert_eq!(seen.status, 422);
    seen.says("Several records match “lamp”: choose one of them.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_of_hostile_shape_has_pages_that_are_bounded() {
    let (_place, served, mut ann) = Visitor::of_fixture("thorny", &[]).await;
    let page = |of: &str| format!("/records/thorny/{of}");
    let forms = ["things/new", "things/%3C1%3E/edit"];
    for of in ["things", "things/%3C1%3E", "orphans"].into_iter().chain(forms) {
        let begun = Instant::now();
        let seen = ann.get(&page(of)).await;
        assert_eq!(seen.status, 200, "{of}: {}", seen.html);
        assert!(begun.elapsed() < Duration::from_secs(10), "{of}: {:?}", begun.elapsed());
        assert!(seen.html.len() <= 60 * 1024, "{of}: {} bytes", seen.html.len());
        for markup in ["<script>", "<b>name", "<b>Group", "<b>All", "<i>", "62710561"] {
            assert!(!seen.html.contains(markup), "{markup} in {of}: {}", seen.html);
        }
        seen.says("&#60;");
    }
    for of in forms {
        ann.get(&page(of)).await;
        let seen = Filled::on(&ann).send(&mut ann).await;
        assert!(matches!(seen.status, 303 | 422), "{of}: {} {}", seen.status, seen.html);
    }
    // Without a route for single records there is no page of one.
    assert_eq!(ann.get(&page("orphans/1")).await.status, 404);
    assert_eq!(ann.get(&page("%3Cb%3E")).await.status, 404);
    served.stop().await;
}
