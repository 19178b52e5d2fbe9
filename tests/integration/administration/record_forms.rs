//! The forms that change the records of an extension: they do what the API does, as the signed-in user, and nothing else.

use std::collections::BTreeSet;

use example_host::{Force, Setting};
use serde_json::{Value, json};

use super::audit_trail::audited;
use crate::support::filled::Filled;
use crate::support::harness::{Role, Shop};
use crate::support::visitor::{Seen, Visitor};

/// The address of a page about records of the store.
fn page(of: &str) -> String {
    format!("/records/webservices-shop/{of}")
}

/// The form on a page.
async fn form(visitor: &mut Visitor, of: &str) -> Filled {
    let seen = visitor.get(&page(of)).await;
    assert_eq!(seen.status, 200, "{of}: {}", seen.html);
    Filled::on(visitor)
}

/// Sends a form that is accepted, and returns the message on the page that follows.
async fn accepted(visitor: &mut Visitor, form: Filled) -> (String, String) {
    let seen = form.send(visitor).await;
    assert_eq!(seen.status, 303, "{}: {}", form.to, seen.html);
    let to = seen.to().strip_prefix("/administrator").unwrap().to_owned();
    let notice = visitor.cookies.remove("administration-notice").unwrap();
    let notice = format!("={notice}");
    let (_, message) = url::form_urlencoded::parse(notice.as_bytes()).next().unwrap();
    (to, message.into_owned())
}

/// What is said at a field.
#[track_caller]
fn fault_at<'a>(html: &'a str, field: &str) -> &'a str {
    let (_, fault) = html
        .split_once(&format!("id=\"{field}-fault\">"))
        .unwrap_or_else(|| panic!("no fault at {field}: {html}"));
    let (_, tag) = html.split_once(&format!("name=\"{field}\"")).unwrap();
    let tag = tag.split_once('>').unwrap().0;
    assert!(tag.contains("aria-invalid=\"true\""), "{tag}");
    assert!(tag.contains(&format!("aria-describedby=\"{field}-fault")), "{tag}");
    fault.split_once('<').unwrap().0
}

async fn version(shop: &Shop, path: &str) -> i64 {
    let answer = shop.get(path).by(Role::SuperUser).send().await.expect(200);
    answer.json()["data"]["meta"]["version"].as_i64().unwrap()
}

#[tokio::test]
async fn a_record_is_added_with_a_form_and_recorded_as_any_other_change() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let new = form(&mut ann, "manufacturers/new").await;
    let new = new.with("/manufacturer_name", "Birch & Sons").with("/ordering", "7");
    let sent = accepted(&mut ann, new).await;
    assert_eq!(sent, (page("manufacturers/1"), "+Birch & Sons was added.".to_owned()));
    let made = shop.get("/manufacturers/1").send().await.expect(200);
    assert_eq!(made.attribute("manufacturer_name"), "Birch & Sons");
    assert_eq!((made.attribute("ordering"), made.attribute("enabled")), (json!(7), json!(1)));
    assert_eq!(
        audited(&mut ann, "origin=administration&type=manufacturers", 1).await,
        ["superuser session: Add manufacturers.create: manufacturers 1"]
    );
}

#[tokio::test]
async fn a_fault_is_shown_at_its_field_and_what_was_entered_stays() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let new = form(&mut ann, "coupons/new").await;
    let new = new
        .with("/coupon_name", "Spring <b>")
        .with("/coupon_code", "SPRING")
        .with("/value", "a lot")
        .with("/valid_from", "2026-05-01T00:00")
        .with("/max_uses", "-1");
    let seen = new.send(&mut ann).await;
    assert_eq!(seen.status, 422, "{}", seen.html);
    seen.says("Nothing was changed. See below.");
    assert!(fault_at(&seen.html, "/value").starts_with("value must be"), "the words of the API");
    assert!(fault_at(&seen.html, "/max_uses").starts_with("max_uses must be"));
    let again = Filled::on(&ann);
    for (field, text) in [
        ("/coupon_name", "Spring <b>"),
        ("/value", "a lot"),
        ("/valid_from", "2026-05-01T00:00:00"),
    ] {
        assert_eq!(again.value(field), text);
    }
    assert_eq!(shop.get("/coupons").send().await.expect(200).total(), 0);
    // The same form can be corrected: what was refused has not used its key up.
    let corrected = again.with("/value", "12.50").with("/max_uses", "3");
    accepted(&mut ann, corrected).await;
    let made = shop.get("/coupons/1").send().await.expect(200);
    assert_eq!((made.attribute("value"), made.attribute("max_uses")), (json!("12.5"), json!(3)));
    assert_eq!(made.attribute("valid_from"), "2026-05-01T00:00:00");

    let empty = form(&mut ann, "coupons/new").await.send(&mut ann).await;
    assert_eq!(fault_at(&empty.html, "/coupon_name"), "coupon_name is required.");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_is_done_once() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let new = form(&mut ann, "manufacturers/new").await.with("/manufacturer_name", "Birch");
    for _ in 0..2 {
        assert_eq!(
            new.send(&mut ann).await.to(),
            format!("/administrator{}", page("manufacturers/1"))
        );
    }
    assert_eq!(shop.get("/manufacturers").send().await.expect(200).total(), 1);
    let edit = form(&mut ann, "manufacturers/1/edit").await.with("/manufacturer_name", "Beech");
    for _ in 0..2 {
        assert_eq!(edit.send(&mut ann).await.status, 303);
    }
    assert_eq!(version(&shop, "/manufacturers/1").await, 2);
    // A form that is used for something else gets another key.
    let other = new.with("/manufacturer_name", "Oak");
    let seen = other.send(&mut ann).await;
    assert_eq!(seen.status, 422);
    let again = Filled::on(&ann);
    assert_ne!(again.value("key"), other.value("key"));
    assert_eq!(accepted(&mut ann, again).await.0, page("manufacturers/2"));
    let gone = form(&mut ann, "manufacturers/2/delete").await;
    for _ in 0..2 {
        assert_eq!(gone.send(&mut ann).await.status, 303);
    }
    assert_eq!(shop.get("/manufacturers").send().await.expect(200).total(), 1);
}

#[tokio::test]
async fn only_what_was_changed_is_saved() {
    let shop = Shop::open().await;
    let body = json!({"product_name": "Lamp", "sku": "L-1", "price": "19.90", "upc": "1"});
    let lamp = shop.create("/products", body).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let path = format!("/products/{lamp}");
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    assert_eq!((edit.value("/price"), edit.value("/sale_price")), ("19.90", ""));
    let (to, message) = accepted(&mut ann, edit).await;
    assert_eq!(to, page(&format!("products/{lamp}")));
    assert_eq!(message, "+Nothing has changed, so nothing was saved.");
    assert_eq!(version(&shop, &path).await, 1);

    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    let edit = edit.with("/price", "0.10").with("/sale_price", "0.05").with("/upc", "");
    assert_eq!(accepted(&mut ann, edit).await.1, "+Lamp was saved.");
    let saved = shop.get(&path).send().await.expect(200);
    assert_eq!(saved.attribute("price"), "0.10");
    assert_eq!((saved.attribute("sale_price"), saved.attribute("upc")), (json!("0.05"), json!("")));
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await.with("/sale_price", "");
    accepted(&mut ann, edit).await;
    let saved = shop.get(&path).send().await.expect(200);
    assert_eq!(saved.attribute("sale_price"), Value::Null);
    assert_eq!(audited(&mut ann, "origin=administration&type=products", 2).await.len(), 2);

    let wrong = form(&mut ann, &format!("products/{lamp}/edit")).await.with("/product_name", "");
    let seen = wrong.send(&mut ann).await;
    assert_eq!(seen.status, 422);
    assert!(fault_at(&seen.html, "/product_name").starts_with("product_name must"));
}

#[tokio::test]
async fn a_record_that_was_changed_meanwhile_is_asked_about() {
    let shop = Shop::open().await;
    let body = json!({"manufacturer_name": "Birch", "manufacturer_desc": "Old", "ordering": 1});
    let made = shop.create("/manufacturers", body).await;
    let path = format!("/manufacturers/{made}");
    let edit_page = format!("manufacturers/{made}/edit");
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let mine = form(&mut ann, &edit_page).await;
    let mine = mine.with("/manufacturer_name", "Mine").with("/manufacturer_desc", "Also mine");
    let theirs = json!({"manufacturer_name": "Theirs", "ordering": 2});
    shop.patch(&path, theirs).send().await.expect(200);

    let seen = mine.send(&mut ann).await;
    assert_eq!(seen.status, 422, "{}", seen.html);
    seen.says("Birch has changed".replace("Birch", "Theirs").as_str());
    for (title, mine, theirs) in
        [("Manufacturer name", "Mine", "Theirs"), ("Manufacturer description", "Also mine", "Old")]
    {
        seen.says(&format!("<legend>{title}</legend>"));
        seen.says(&format!("Keep mine: <bdi class=\"value\">{mine}</bdi>"));
        seen.says(&format!("Take theirs: <bdi class=\"value\">{theirs}</bdi>"));
    }
    seen.says("<dt>Ordering</dt><dd><bdi class=\"value\">2</bdi></dd>");
    assert_eq!(shop.get(&path).send().await.expect(200).attribute("manufacturer_name"), "Theirs");

    // A question that is left open is asked again.
    let half = Filled::on(&ann).and("take/manufacturer_name", "theirs");
    let seen = half.send(&mut ann).await;
    assert_eq!(seen.status, 422);
    let decided = Filled::on(&ann);
    let decided = decided.and("take/manufacturer_desc", "mine");
    let decided = if decided.names().contains(&"take/manufacturer_name") {
        decided
    } else {
        decided.and("take/manufacturer_name", "theirs")
    };
    accepted(&mut ann, decided).await;
    let saved = shop.get(&path).send().await.expect(200);
    assert_eq!(saved.attribute("manufacturer_name"), "Theirs");
    assert_eq!(saved.attribute("manufacturer_desc"), "Also mine");
    assert_eq!(version(&shop, &path).await, 3);
}

#[tokio::test]
async fn deleting_asks_first_and_a_refusal_is_in_the_words_of_the_api() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let country =
        json!({"country_name": "Atlantis", "country_isocode_2": "QQ", "country_isocode_3": "QQQ"});
    let country = shop.create("/countries", country).await;
    let zone = json!({"zone_name": "North", "zone_code": "N", "country_id": country});
    shop.create("/zones", zone).await;
    let ask = form(&mut ann, &format!("countries/{country}/delete")).await;
    let seen = ask.send(&mut ann).await;
    assert_eq!(seen.status, 422);
    let refused = shop.delete(&format!("/countries/{country}")).send().await;
    assert!(refused.status >= 400, "the API refuses it too");
    let words = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
    seen.says(&words.replace('"', "&#34;").replace('\'', "&#39;"));

    let made = shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let ask = form(&mut ann, &format!("manufacturers/{made}/delete")).await;
    let path = format!("/manufacturers/{made}");
    shop.patch(&path, json!({"manufacturer_name": "Beech"})).send().await.expect(200);
    let seen = ask.send(&mut ann).await;
    assert_eq!(seen.status, 422);
    seen.says("The manufacturer has changed since this page was opened.");
    shop.get(&path).send().await.expect(200);
    let ask = Filled::on(&ann);
    assert_eq!(accepted(&mut ann, ask).await.0, page("manufacturers"));
    shop.get(&path).send().await.expect(404);
    assert_eq!(ann.get(&page(&format!("manufacturers/{made}/edit"))).await.status, 404);
}

/// Opens the form of an action, fills it in and sends it.
async fn act(visitor: &mut Visitor, action: &str, fields: &[(&str, &str)]) -> Seen {
    let mut filled = form(visitor, action).await;
    for (name, value) in fields {
        filled = filled.with(name, value);
    }
    filled.send(visitor).await
}

#[tokio::test]
async fn every_action_of_the_store_has_a_form() {
    let shop = Shop::open().await;
    shop.fill().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let lamp = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "quantity": 5});
    let lamp = shop.create("/products", lamp).await;
    let items = json!([{"product_id": lamp, "orderitem_quantity": 2}]);
    let order = json!({"user_email": "ada@example.com", "items": items});
    let order = shop.create("/orders", order).await;
    let item = shop.get(&format!("/orders/{order}/items")).send().await.expect(200).ids()[0];
    let item = item.to_string();
    let done = |seen: Seen| assert_eq!(seen.status, 303, "{}", seen.html);

    let of_order = |action: &str| format!("orders/{order}/do/{action}");
    let status = [("/status_id", "2"), ("/comment", "Packed."), ("/notify", "0")];
    done(act(&mut ann, &of_order("status"), &status).await);
    done(act(&mut ann, &of_order("history"), &[("/order_state_id", "7")]).await);
    let shipped =
        [("/tracking_id", "PP1"), ("/items/0/orderitem_id", &*item), ("/items/0/quantity", "1")];
    done(act(&mut ann, &of_order("shipments"), &shipped).await);
    done(act(&mut ann, &of_order("tracking"), &[("/tracking_id", "PP2")]).await);
    let refund =
        [("/reason", "Damaged"), ("/items/0/orderitem_id", &*item), ("/items/0/amount", "1.25")];
    done(act(&mut ann, &of_order("refunds"), &refund).await);
    let refund = shop.get(&format!("/orders/{order}/refunds")).send().await.expect(200);
    assert_eq!(refund.column("amount"), ["1.25"]);
    let refund = refund.ids()[0];
    done(
        act(&mut ann, &format!("orderrefunds/{refund}/do/reverse"), &[("/reason", "Found")]).await,
    );
    let refunds = shop.get(&format!("/orders/{order}/refunds")).send().await.expect(200);
    assert_eq!(refunds.total(), 2, "the reversal is one more");

    let adjust = [("/quantity_delta", "-1"), ("/reason", "Broken")];
    done(act(&mut ann, &format!("inventory/{lamp}/do/adjust"), &adjust).await);
    let options = [("/options", "{\"colour\": \"red\"}"), ("/sku", "L-1-R")];
    done(act(&mut ann, &format!("products/{lamp}/do/variants"), &options).await);
    let voucher = shop.create("/vouchers", json!({"voucher_value": "50"})).await;
    let debit = [("/adjustment_type", "debit"), ("/amount", "12.34"), ("/reason", "Paid")];
    done(act(&mut ann, &format!("vouchers/{voucher}/do/adjust"), &debit).await);
    let ledger = shop.get(&format!("/vouchers/{voucher}/ledger")).send().await.expect(200);
    assert_eq!(ledger.total(), 1);

    let webhook = shop.add_webhook().await;
    let export = shop.get("/exports/manufacturers").send().await.expect(200);
    let cursor = export.header("export-cursor");
    let seen = act(&mut ann, &format!("webhooks/{webhook}/do/test"), &[]).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    seen.says("<h2 id=\"result\">Result</h2>");
    done(act(&mut ann, &format!("webhooks/{webhook}/do/replay"), &[("/cursor", cursor)]).await);

    let wrong =
        act(&mut ann, &format!("inventory/{lamp}/do/adjust"), &[("/quantity_delta", "-99")]).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(fault_at(&wrong.html, "/reason"), "reason is required.");
}

#[tokio::test]
async fn a_secret_is_shown_once() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let new = form(&mut ann, "webhooks/new").await.with("/url", "https://erp.invalid/hooks");
    let seen = new.with("/enabled", "0").send(&mut ann).await;
    assert_eq!(seen.status, 200, "{}", seen.html);
    seen.says("Shown only once");
    let secret = |seen: &Seen| {
        let (_, secret) = seen.html.split_once("<code id=\"once-1\">").unwrap();
        secret.split_once('<').unwrap().0.to_owned()
    };
    let first = secret(&seen);
    let webhook = shop.get("/webhooks").by(Role::SuperUser).send().await.expect(200).ids()[0];
    let rotate = form(&mut ann, &format!("webhooks/{webhook}/do/rotate")).await;
    let second = secret(&rotate.send(&mut ann).await);
    assert!(first.len() > 20 && second.len() > 20 && first != second);
    for of in ["", "/edit", "/do/rotate"] {
        let html = ann.get(&page(&format!("webhooks/{webhook}{of}"))).await.html;
        assert!(!html.contains(&first) && !html.contains(&second), "{of}");
    }
}

#[tokio::test]
async fn rows_are_added_to_a_list_without_a_script() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let new = form(&mut ann, "orders/new").await;
    let new = new
        .with("/user_email", "ada@example.com")
        .with("/items/0/orderitem_name", "Lamp")
        .with("/items/0/orderitem_price", "1.50");
    let seen = new.and("add", "/items").send(&mut ann).await;
    assert_eq!(seen.status, 200);
    assert_eq!(shop.get("/orders").send().await.expect(200).total(), 0, "nothing is sent yet");
    let two = Filled::on(&ann);
    assert_eq!(two.value("/items/0/orderitem_name"), "Lamp");
    assert_eq!(two.value("/items/1/orderitem_name"), "");
    let seen = two.with("/items/1/orderitem_quantity", "none").send(&mut ann).await;
    assert!(fault_at(&seen.html, "/items/1/orderitem_quantity").contains("must be"));
    let three = Filled::on(&ann).and("add", "/items").send(&mut ann).await;
    assert_eq!(three.status, 200);
    let three = Filled::on(&ann)
        .with("/items/1/orderitem_quantity", "")
        .with("/items/2/orderitem_name", "Bulb")
        .with("/items/2/orderitem_price", "0.05");
    accepted(&mut ann, three).await;
    let items = shop.get("/orders/1/items").send().await.expect(200);
    assert_eq!(items.column("orderitem_name"), ["Lamp", "Bulb"], "an empty row is left out");
}

#[tokio::test]
async fn forms_of_others_are_refused_and_change_nothing() {
    let shop = Shop::open().await;
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    for of in ["manufacturers/new", "manufacturers/1/edit"] {
        let filled = form(&mut ann, of).await.with("/manufacturer_name", "Forged");
        // Without the token, with another one, from the session of another user, and from another site.
        for token in ["", "forged"] {
            let forged = filled.clone().with("csrf_token", token);
            assert_eq!(forged.send(&mut ann).await.status, 403, "{of}");
        }
        assert_eq!(filled.send(&mut bob).await.status, 403, "{of}");
        let mut foreign = Visitor::of(&shop.url("")).with("origin", "http://evil.example");
        foreign.cookies.clone_from(&ann.cookies);
        assert_eq!(filled.send(&mut foreign).await.status, 403, "{of}");
    }
    let all = shop.get("/manufacturers").send().await.expect(200);
    assert_eq!(all.column("manufacturer_name"), ["Birch"]);
}

#[tokio::test]
async fn a_right_that_is_taken_between_form_and_answer_is_missing() {
    let shop = Shop::open().await;
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let edit = form(&mut bob, "manufacturers/1/edit").await.with("/manufacturer_name", "Beech");
    let new = form(&mut bob, "manufacturers/new").await.with("/manufacturer_name", "Oak");
    let delete = form(&mut bob, "manufacturers/1/delete").await;
    for action in ["store.edit", "store.create", "store.delete"] {
        deny(&shop, action).await;
    }
    for filled in [&edit, &new, &delete] {
        let seen = filled.send(&mut bob).await;
        assert_eq!(seen.status, 422, "{}", filled.to);
        seen.says("You lack the permission store.");
        assert_eq!(bob.get(&filled.to).await.status, 404, "the page is not there any more");
    }
    // Whoever may not view a type sees no sign of it.
    deny(&shop, "store.view").await;
    assert_eq!(edit.send(&mut bob).await.status, 404);
    let all = shop.get("/manufacturers").by(Role::SuperUser).send().await.expect(200);
    assert_eq!(all.column("manufacturer_name"), ["Birch"]);
}

async fn deny(shop: &Shop, action: &str) {
    let asset = "com_shop.manufacturers";
    let rule = shop.site.set_rule("Administrator", action, asset, Setting::Deny, Force::No);
    rule.await.unwrap();
}

#[tokio::test]
async fn forms_are_there_for_users_with_the_permission_of_their_route() {
    let shop = Shop::open().await;
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let mut bob = Visitor::signed_in(&shop, "administrator").await;
    let forms = [("store.create", "new"), ("store.edit", "1/edit"), ("store.delete", "1/delete")];
    for (action, of) in forms {
        let of = page(&format!("manufacturers/{of}"));
        assert_eq!(bob.get(&of).await.status, 200, "{of}");
        deny(&shop, action).await;
        assert_eq!(bob.get(&of).await.status, 404, "{of}");
    }
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for nothing in [
        "nothing/new",
        "manufacturers/99/edit",
        "manufacturers/99/delete",
        "manufacturers/1/do/nothing",
        "manufacturers/..%2F..%2Fconfig/edit",
        "orderitems/1/edit",
        "config/new",
    ] {
        assert_eq!(ann.get(&page(nothing)).await.status, 404, "{nothing}");
    }
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    assert_eq!(ann.get(&page("manufacturers/new")).await.status, 404);
}

#[tokio::test]
async fn hostile_text_is_text() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let hostile =
        "</textarea><script>alert(1)</script>{{ 7*7 }}{% raw %}\"'&amp;\u{202e}evil\u{2066}";
    let new = form(&mut ann, "manufacturers/new").await;
    let new = new.with("/manufacturer_name", hostile).with("/manufacturer_desc", hostile);
    accepted(&mut ann, new).await;
    let made = shop.get("/manufacturers/1").send().await.expect(200);
    assert_eq!(made.attribute("manufacturer_name"), hostile);
    for of in ["manufacturers/1/edit", "manufacturers/1/delete"] {
        let html = ann.get(&page(of)).await.html;
        assert!(!html.contains("<script>") && html.contains("{{ 7*7 }}"), "{of}");
    }
    let edit = form(&mut ann, "manufacturers/1/edit").await;
    assert_eq!(edit.value("/manufacturer_name"), hostile);
    assert_eq!(accepted(&mut ann, edit).await.1, "+Nothing has changed, so nothing was saved.");
    let edit = form(&mut ann, "manufacturers/1/edit").await.with("/manufacturer_name", "Birch");
    accepted(&mut ann, edit).await;

    let huge = "x".repeat(1024 * 1024);
    let edit = form(&mut ann, "manufacturers/1/edit").await.with("/manufacturer_desc", &huge);
    assert_eq!(edit.send(&mut ann).await.status, 413);
    assert_eq!(version(&shop, "/manufacturers/1").await, 2);

    // What is too long for a page is left out of the form, and kept.
    let long = json!({"manufacturer_desc": "y<".repeat(30_000)});
    shop.patch("/manufacturers/1", long.clone()).send().await.expect(200);
    let edit = form(&mut ann, "manufacturers/1/edit").await.with("/manufacturer_name", "Beech");
    assert!(!edit.names().contains(&"/manufacturer_desc") && ann.html.len() < 60 * 1024);
    accepted(&mut ann, edit).await;
    let saved = shop.get("/manufacturers/1").send().await.expect(200);
    assert_eq!(saved.attribute("manufacturer_desc"), long["manufacturer_desc"]);
    assert_eq!(saved.attribute("manufacturer_name"), "Beech");
}

#[tokio::test]
async fn a_record_is_chosen_by_its_name() {
    let shop = Shop::open().await;
    for name in ["Birch", "Birch and Oak", "Beech"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let lamp =
        shop.create("/products", json!({"product_name": "Lamp", "manufacturer_id": 3})).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    // Of few records, all are offered.
    ann.html.contains("<option value=\"3\" selected>Beech</option>").then_some(()).unwrap();
    accepted(&mut ann, edit.with("/manufacturer_id", "2")).await;
    let path = format!("/products/{lamp}");
    let saved = shop.get(&path).send().await.expect(200);
    assert_eq!(saved.attribute("manufacturer_id"), 2);

    // Of many, one is found by its name.
    for number in 0..50 {
        let name = json!({"manufacturer_name": format!("Maker {number}")});
        shop.create("/manufacturers", name).await;
    }
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    assert_eq!(edit.value("/manufacturer_id"), "Birch and Oak #2");
    accepted(&mut ann, edit.with("/manufacturer_id", "beech")).await;
    let saved = shop.get(&path).send().await.expect(200);
    assert_eq!(saved.attribute("manufacturer_id"), 3);
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    let seen = edit.with("/manufacturer_id", "Maker 1").send(&mut ann).await;
    assert_eq!(seen.status, 303, "the exact name comes before others that contain it");
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    let seen = edit.with("/manufacturer_id", "Birc").send(&mut ann).await;
    assert_eq!(
        fault_at(&seen.html, "/manufacturer_id"),
        "Several records match “Birc”: choose one of them."
    );
    let chosen = Filled::on(&ann).with("/manufacturer_id", "1");
    accepted(&mut ann, chosen).await;
    let edit = form(&mut ann, &format!("products/{lamp}/edit")).await;
    let seen = edit.with("/manufacturer_id", "nobody").send(&mut ann).await;
    assert_eq!(fault_at(&seen.html, "/manufacturer_id"), "No manufacturer has this name.");
}

#[tokio::test]
async fn every_type_of_the_store_is_opened_and_saved_without_a_new_version() {
    let shop = Shop::filled().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let document: Value = serde_json::from_str(&shop.site.openapi().unwrap()[0]).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let routes = paths.values().flat_map(|path| path.as_object().unwrap().values());
    let names = routes.map(|route| route["operationId"].as_str().unwrap());
    let names: BTreeSet<&str> = names.collect();
    let has = |kind: &str, route: &str| names.contains(&*format!("{kind}.{route}"));
    let kinds = names.iter().filter_map(|name| name.split_once('.'));
    let kinds = kinds.filter(|(_, route)| route.starts_with("list") || *route == "show");
    let kinds: BTreeSet<&str> = kinds.map(|(kind, _)| kind).collect();
    assert!(kinds.len() > 25, "{kinds:?}");
    // The configuration is neither listed nor has it a key.
    for kind in kinds.into_iter().filter(|kind| *kind != "config") {
        let list = shop.get(&shop.list_of(kind)).by(Role::SuperUser).send().await.expect(200);
        let id = *list.ids().first().unwrap_or_else(|| panic!("there is no record of {kind}"));
        let mut opened = vec![];
        opened.extend(has(kind, "list").then(|| page(kind)));
        opened.extend(has(kind, "show").then(|| page(&format!("{kind}/{id}"))));
        // The forms of what belongs to another record are actions of that record.
        let is_listed = has(kind, "list") && paths.contains_key(&format!("/{kind}"));
        let is_new = is_listed && paths[&format!("/{kind}")].get("post").is_some();
        opened.extend((is_new && kind != "imports").then(|| page(&format!("{kind}/new"))));
        for of in opened {
            let seen = ann.get(&of).await;
            assert_eq!(seen.status, 200, "{of}: {}", seen.html);
            assert!(seen.html.len() < 60 * 1024, "{of}: {}", seen.html.len());
        }
        let edited = format!("{kind}/{id}/edit");
        if !has(kind, "update") {
            assert_eq!(ann.get(&page(&edited)).await.status, 404, "{kind}");
            continue;
        }
        let path = format!("/{kind}/{id}");
        let before = version(&shop, &path).await;
        let edit = form(&mut ann, &edited).await;
        assert!(ann.html.len() < 60 * 1024, "{kind}: {}", ann.html.len());
        let (to, message) = accepted(&mut ann, edit).await;
        assert_eq!(to, page(&format!("{kind}/{id}")));
        assert_eq!(message, "+Nothing has changed, so nothing was saved.", "{kind}");
        assert_eq!(version(&shop, &path).await, before, "{kind}");
    }
}
