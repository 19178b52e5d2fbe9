//! Panels of extensions on the page of the audit trail: what a request has moved, and why a record is as it
//! is.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::audit_trail::audited;
use crate::support::harness::{Answer, Role, Shop};
use crate::support::process::Place;
use crate::support::visitor::{PASSWORD, Visitor, id};

const STOCK: &str = "webservices-shop-stock_movements";
const VOUCHERS: &str = "webservices-shop-voucher_movements";
const REFUNDS: &str = "webservices-shop-refunds";

/// The rows of a panel on a page, without their times; `None` if the page does not have the panel.
fn rows(html: &str, panel: &str) -> Option<Vec<Vec<String>>> {
    let (_, section) =
        html.split_once(&format!("<section class=\"card\" aria-labelledby=\"{panel}\">"))?;
    let (section, _) = section.split_once("</section>").unwrap();
    let rows = section.split("<tr>").skip(2).map(|row| {
        let (time, cells) = row.split_once("</th>").unwrap();
        assert!(time.starts_with("<th scope=\"row\">") && time.ends_with(" UTC"), "{time}");
        let cells = cells.split("<td").skip(1).map(|cell| {
            let (_, text) = cell.split_once('>').unwrap();
            text.split_once("</td>").unwrap().0.to_owned()
        });
        cells.collect()
    });
    Some(rows.collect())
}

/// The pages that the links with this text lead to, from top to bottom.
fn links(html: &str, text: &str) -> Vec<String> {
    let end = format!("\">{text}<span class=\"unseen\"> of this request</span></a>");
    let before: Vec<&str> = html.split(&end).collect();
    let link = |html: &&str| html.rsplit_once("href=\"/administrator").unwrap().1.to_owned();
    before[..before.len() - 1].iter().map(link).collect()
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_entry_of_a_request_leads_to_what_it_moved() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let manager = id(&shop.site, "manager").await.to_string();
    let sell = async |delta: i64, till: &str| {
        let body = json!({"quantity_delta": delta, "reason": "<b>Sold</b>", "reference": till});
        let sell = shop.post("/inventory/1/adjust", body).by(Role::Manager);
        sell.header("x-request-id", till).send().await.expect(200)
    };
    let sold = sell(-2, "till-4").await;
    audited(&mut ann, "type=inventory&id=1", 1).await;
    let found = links(&ann.html, "Stock movements");
    assert_eq!(found, [format!("/audit?request={}", sold.header("x-request-id"))]);
    let seen = ann.get(&found[0]).await;
    let moved =
        ["1", "L-1", "-2", "5", "3", "&#60;b&#62;Sold&#60;/b&#62;", "till-4", &manager, "default"];
    assert_eq!(rows(&seen.html, STOCK).unwrap(), [moved]);
    assert_eq!(rows(&seen.html, VOUCHERS), None, "the route does not move vouchers");
    assert_eq!(links(&seen.html, "Stock movements"), [""; 0], "they are on this page");
    // The client knows only the id that it has sent.
    assert_eq!(rows(&ann.get("/audit?request=till-4").await.html, STOCK).unwrap(), [moved]);
    sell(-1, "till-4").await;
    audited(&mut ann, "request=till-4", 2).await;
    assert_eq!(rows(&ann.html, STOCK), None, "it is the id of two requests");
    let found = links(&ann.html, "Stock movements");
    let seen = ann.get(&found[0]).await;
    assert_eq!(rows(&seen.html, STOCK).unwrap()[0][2..5], ["-1", "3", "2"]);

    // A request that was refused has no entry, and moved nothing.
    let body = json!({"quantity_delta": -9, "reason": "Sold"});
    let refused = shop.post("/inventory/1/adjust", body).send().await.expect(422);
    let seen = ann.get(&format!("/audit?request={}", refused.header("x-request-id"))).await;
    seen.says("Nothing was moved.");
    seen.says("No entries match.");
}

#[tokio::test]
async fn each_route_that_moves_something_and_no_other_has_the_link() {
    let shop = Shop::stocked().await;
    let lamp = json!({"product_name": "Desk lamp", "sku": "D-1", "price": "5", "quantity": 8});
    let sale = json!({"product_id": 3, "orderitem_quantity": 1, "take_stock": 1});
    let step = json!({"quantity_delta": 1, "reason": "Found"});
    let steps = json!({"adjustments": [{"sku": "D-1", "quantity_delta": 1, "reason": "Found"}]});
    let order = json!({"user_email": "ada@example.com", "items": [sale]});
    let credit = json!({"adjustment_type": "credit", "amount": "12.5", "reason": "Sorry"});
    let back = json!({"orderitem_id": 1, "quantity": 1, "restock": 1});
    let back = json!({"reason": "Returned", "items": [back]});
    let none = Value::Null;
    let size = |size: &str| json!({"options": {"Size": size}, "quantity": 3});
    for (method, path, body) in [
        ("POST", "/products", lamp),
        ("PATCH", "/products/3", json!({"quantity": 9})),
        ("PATCH", "/inventory/3", json!({"quantity": 7})),
        ("POST", "/inventory/3/adjust", step),
        ("POST", "/inventory/adjust", steps),
        ("POST", "/orders", order),
        ("POST", "/orders/2/refunds", back),
        ("POST", "/orders/2/refunds/1/reverse", json!({"reason": "Wrong order"})),
        ("DELETE", "/inventory/3", none.clone()),
        ("POST", "/inventory", json!({"shop_product_id": 3, "quantity": 3})),
        ("DELETE", "/products/3", none.clone()),
        ("POST", "/vouchers/1/adjust", credit),
        ("POST", "/manufacturers", json!({"manufacturer_name": "Oak"})),
        ("POST", "/products", json!({"product_name": "Shirt", "variants": [size("M")]})),
        ("POST", "/products/4/variants", size("L")),
        ("PATCH", "/variants/6", json!({"quantity": 1})),
        ("DELETE", "/variants/6", none),
    ] {
        let request = match body {
            Value::Null => shop.delete(path),
            body => shop.request(method, path).json(body),
        };
        let answer = request.header("x-request-id", "of-the-test").send().await;
        assert!(answer.status < 300, "{method} {path}: {}", answer.status);
    }
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    audited(&mut ann, "request=of-the-test", 17).await;
    let page = ann.html.clone();
    let mut routes = BTreeSet::new();
    for (text, panel) in [
        ("Stock movements", STOCK),
        ("Voucher movements", VOUCHERS),
        ("Stock movements, Refunds", REFUNDS),
    ] {
        for link in links(&page, text) {
            let html = ann.get(&link).await.html;
            assert_eq!(rows(&html, panel).map(|rows| rows.len()), Some(1), "{link}");
            let (_, entry) = html.split_once("<span class=\"detail\"><code>").unwrap();
            let route = entry.split_once("</code>").unwrap().0;
            routes.insert(route.split_once(' ').unwrap().1.to_owned());
        }
    }
    let declared = plugin::app::describe().detail_panels.into_iter().flat_map(|of| of.routes);
    assert_eq!(routes, declared.collect::<BTreeSet<String>>());
    // The audit trail of an order has its refunds, and the first page the latest of all.
    let refunds = rows(&ann.get("/audit?type=orders&id=2").await.html, REFUNDS).unwrap();
    let amounts: Vec<&str> = refunds.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(amounts, ["-5.00", "5.00"]);
    ann.get("/").await.says("Wrong order");
}

#[tokio::test]
async fn a_record_is_shown_with_its_ledger_the_newest_first() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let boss = id(&shop.site, "administrator").await.to_string();
    let who = [boss.as_str(), "default"];
    shop.patch("/products/1", json!({"quantity": 7})).send().await.expect(200);
    let body = json!({"quantity_delta": -2, "reason": "Sold", "reference": "R-7"});
    shop.post("/inventory/1/adjust", body).send().await.expect(200);
    for kind in ["products", "inventory"] {
        let html = ann.get(&format!("/audit?type={kind}&id=1")).await.html;
        assert_eq!(
            rows(&html, STOCK).unwrap(),
            [
                [&["1", "L-1", "-2", "7", "5", "Sold", "R-7"][..], &who].concat(),
                [&["1", "L-1", "2", "5", "7", "quantity set", ""][..], &who].concat(),
                [&["1", "L-1", "5", "0", "5", "product created", ""][..], &who].concat(),
            ],
            "{kind}"
        );
        assert_eq!(rows(&html, VOUCHERS), None);
    }
    let adjust = |body: Value| shop.post("/vouchers/1/adjust", body).send();
    let spend = json!({"adjustment_type": "debit", "amount": "0.1", "reason": "Spent"});
    adjust(spend).await.expect(200);
    let credit = json!({"adjustment_type": "credit", "amount": "12.34567", "reason": "Sorry"});
    adjust(credit).await.expect(200);
    let code = shop.get("/vouchers/1").send().await.expect(200).attribute("voucher_code");
    let code = code.as_str().unwrap();
    let html = ann.get("/audit?type=vouchers&id=1").await.html;
    assert_eq!(
        rows(&html, VOUCHERS).unwrap(),
        [
            [&[code, "credit", "12.34567", "49.90", "62.24567", "Sorry"][..], &who].concat(),
            [&[code, "debit", "-0.10", "50.00", "49.90", "Spent"][..], &who].concat(),
        ]
    );
    assert_eq!(rows(&html, STOCK), None);
    for other in ["type=products&id=12345", "type=products&id=1%27", "type=vouchers&id=-1"] {
        ann.get(&format!("/audit?{other}")).await.says("Nothing was moved.");
    }
    // Neither a kind nor an id alone is a record, and not each kind has a ledger.
    for other in ["", "type=products", "id=1", "type=manufacturers&id=1"] {
        let html = ann.get(&format!("/audit?{other}")).await.html;
        assert_eq!((rows(&html, STOCK), rows(&html, VOUCHERS)), (None, None), "{other}");
    }
    // The extension decides what is seen of it here as elsewhere.
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    let seen = ann.get("/audit?type=products&id=1").await;
    seen.says("The extension webservices-shop is disabled.");
    assert_eq!(rows(&seen.html, STOCK).unwrap(), [[""; 0]; 0]);
}

#[tokio::test]
async fn of_a_long_ledger_the_newest_hundred_movements_are_shown() {
    let shop = Shop::stocked().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let deliver = async |count: usize| {
        let step = json!({"sku": "L-1", "quantity_delta": 1, "reason": "Delivered"});
        let steps = json!({"adjustments": vec![step; count]});
        shop.post("/inventory/adjust", steps).send().await.expect(200);
    };
    let more = "These are the newest 100; there are more.";
    let mut see = async || {
        let html = ann.get("/audit?type=inventory&id=1").await.html;
        (rows(&html, STOCK).unwrap(), html.contains(more))
    };
    deliver(99).await;
    let (shown, has_more) = see().await;
    assert_eq!((shown.len(), &*shown[0][4], has_more), (100, "104", false));
    deliver(1).await;
    let (shown, has_more) = see().await;
    assert_eq!((shown.len(), &*shown[0][4], has_more), (100, "105", true));
    assert_eq!(shown[99][5], "Delivered", "the creation of the product is older");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn panels_of_any_extension_are_drawn_and_none_spoils_the_page() {
    let place = Place::of_the_fixture();
    place.add_administrator("ann", PASSWORD).await;
    let token = place.user("bob", "Manager").await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let path = "/api/index.php/v1/misbehaves/echo/7/word";
    Answer::to(served.ask("POST", path, &token)).await.expect(200);
    audited(&mut ann, "type=echo&id=7", 1).await;
    let html = ann.html.clone();
    for expected in [
        "<h2 id=\"misbehaves-visits\">The &#60;b&#62;visits&#60;/b&#62;</h2>",
        "<td data-label=\"What\" class=\"words\">a &#60;i&#62;walk&#60;/i&#62;</td><td data-label=\"Times\">2</td>",
        "<p class=\"hint\">About echo 7.</p>",
        "<p class=\"hint\">You lack the permission fixture.touch on com_fixture.</p>",
    ] {
        assert!(html.contains(expected), "{expected:?} is not in {html}");
    }
    let failed = "<p class=\"hint\">The extension misbehaves cannot show this now.</p>";
    assert_eq!(html.matches(failed).count(), 2, "{html}");
    assert!(!html.contains("the secret of") && !html.contains("misbehaves-everything"), "{html}");
    served.log.wait_for("the secret of the panel").await;

    // Panels about this route, and about all of the extension's.
    let link = links(&html, "The &#60;b&#62;visits&#60;/b&#62;, Everything");
    let seen = ann.get(&link[0]).await;
    let about = format!("About the request {}.", link[0].split_once('=').unwrap().1);
    assert_eq!(seen.html.matches(&about).count(), 2, "{}", seen.html);

    // The page waits for one that hangs, for some seconds, and is then complete.
    let began = Instant::now();
    let seen = ann.get("/audit?type=pending&id=1").await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    seen.says("About pending 1.");
    seen.says(failed);
    seen.says("No entries match.");
    served.stop().await;
}
