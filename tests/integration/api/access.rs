//! Permissions: a table of all routes, with which every role is tested on every route. A route that
//! the plugin registers and the table lacks fails the test.

use std::collections::{BTreeMap, BTreeSet};

use example_host::{Force, NewToken};
use host_interface::Method;
use serde_json::json;

use crate::support::harness::{Role, Shop};

use Needs::{Configuration, Create, Delete, Edit, Pack, Person, Refund, See, Token, View};

/// The permission that a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    View,
    Create,
    Edit,
    Delete,
    /// The permission to see orders, or that to fulfil them.
    See,
    /// The permission to edit orders, or that to fulfil them.
    Pack,
    /// The permission to record refunds, which those who edit orders do not have.
    Refund,
    /// The permission to view the store's configuration, which a rule on the store does not cover.
    Configuration,
    /// The permission to copy and erase everything about a person.
    Person,
    /// Only a valid token.
    Token,
}

/// All routes: method, path with `{id}`, permission.
pub(super) const ROUTES: &[(&str, &str, Needs)] = &[
    ("GET", "/addresses/{id}", View),
    ("GET", "/categories", View),
    ("POST", "/categories", Create),
    ("GET", "/categories/{id}", View),
    ("PATCH", "/categories/{id}", Edit),
    ("DELETE", "/categories/{id}", Delete),
    // Of each type that is named, or of at least one.
    ("GET", "/changes", View),
    ("GET", "/countries", View),
    ("POST", "/countries", Create),
    ("GET", "/countries/{id}", View),
    ("PATCH", "/countries/{id}", Edit),
    ("DELETE", "/countries/{id}", Delete),
    ("GET", "/countries/{id}/zones", View),
    ("GET", "/coupons", View),
    ("POST", "/coupons", Create),
    ("GET", "/coupons/{id}", View),
    ("PATCH", "/coupons/{id}", Edit),
    ("DELETE", "/coupons/{id}", Delete),
    ("GET", "/currencies", View),
    ("POST", "/currencies", Create),
    ("GET", "/currencies/{id}", View),
    ("PATCH", "/currencies/{id}", Edit),
    ("DELETE", "/currencies/{id}", Delete),
    ("GET", "/customers", View),
    ("POST", "/customers", Create),
    ("GET", "/customers/{id}", View),
    ("PATCH", "/customers/{id}", Edit),
    ("DELETE", "/customers/{id}", Delete),
    ("GET", "/customers/{id}/addresses", View),
    ("GET", "/customers/{id}/orders", View),
    ("GET", "/exports/{type}", View),
    ("GET", "/fulfilments", See),
    // Of the types that can be viewed.
    ("GET", "/imports", View),
    // With the mode that creates.
    ("POST", "/imports", Create),
    ("GET", "/imports/{id}", View),
    ("GET", "/imports/{id}/faults", View),
    ("GET", "/inventory", View),
    ("POST", "/inventory", Create),
    ("GET", "/inventory/{id}", View),
    ("PATCH", "/inventory/{id}", Edit),
    ("DELETE", "/inventory/{id}", Delete),
    ("POST", "/inventory/{id}/adjust", Edit),
    ("GET", "/inventory/{id}/ledger", View),
    ("POST", "/inventory/adjust", Edit),
    ("GET", "/manufacturers", View),
    ("POST", "/manufacturers", Create),
    ("GET", "/manufacturers/{id}", View),
    ("PATCH", "/manufacturers/{id}", Edit),
    ("DELETE", "/manufacturers/{id}", Delete),
    ("GET", "/orders", View),
    ("POST", "/orders", Create),
    ("GET", "/orders/{id}", View),
    ("PATCH", "/orders/{id}", Edit),
    ("DELETE", "/orders/{id}", Delete),
    ("GET", "/orders/{id}/fulfilment", See),
    ("GET", "/orders/{id}/items", View),
    ("GET", "/orders/{id}/history", View),
    ("POST", "/orders/{id}/history", Edit),
    ("GET", "/orders/{id}/refunds", View),
    ("POST", "/orders/{id}/refunds", Refund),
    ("POST", "/orders/{id}/refunds/{refund_id}/reverse", Refund),
    ("GET", "/orders/{id}/shipments", See),
    ("POST", "/orders/{id}/shipments", Pack),
    ("POST", "/orders/{id}/status", Pack),
    ("POST", "/orders/{id}/tracking", Pack),
    ("GET", "/orderhistories/{id}", View),
    ("GET", "/orderitems/{id}", View),
    ("GET", "/orderrefunds", View),
    ("GET", "/orderrefunds/{id}", View),
    ("GET", "/orderstatuses", View),
    ("POST", "/orderstatuses", Create),
    ("GET", "/orderstatuses/{id}", View),
    ("PATCH", "/orderstatuses/{id}", Edit),
    ("DELETE", "/orderstatuses/{id}", Delete),
    ("GET", "/paymentmethods", View),
    ("POST", "/paymentmethods", Create),
    ("GET", "/paymentmethods/{id}", View),
    ("PATCH", "/paymentmethods/{id}", Edit),
    ("DELETE", "/paymentmethods/{id}", Delete),
    ("POST", "/privacy/export", Person),
    ("POST", "/privacy/erase", Person),
    ("GET", "/products", View),
    ("POST", "/products", Create),
    ("GET", "/products/{id}", View),
    ("PATCH", "/products/{id}", Edit),
    ("DELETE", "/products/{id}", Delete),
    ("GET", "/products/{id}/variants", View),
    ("POST", "/products/{id}/variants", Create),
    ("GET", "/reports/customers", View),
    ("GET", "/reports/inventory", View),
    ("GET", "/reports/products", View),
    ("GET", "/reports/sales", View),
    ("GET", "/shipments/{id}", See),
    ("PATCH", "/shipments/{id}", Pack),
    ("DELETE", "/shipments/{id}", Pack),
    ("GET", "/shippingmethods", View),
    ("POST", "/shippingmethods", Create),
    ("GET", "/shippingmethods/{id}", View),
    ("PATCH", "/shippingmethods/{id}", Edit),
    ("DELETE", "/shippingmethods/{id}", Delete),
    ("GET", "/taxprofiles", View),
    ("POST", "/taxprofiles", Create),
    ("GET", "/taxprofiles/{id}", View),
    ("PATCH", "/taxprofiles/{id}", Edit),
    ("DELETE", "/taxprofiles/{id}", Delete),
    ("GET", "/taxrates", View),
    ("POST", "/taxrates", Create),
    ("GET", "/taxrates/{id}", View),
    ("PATCH", "/taxrates/{id}", Edit),
    ("DELETE", "/taxrates/{id}", Delete),
    ("GET", "/variants", View),
    ("GET", "/variants/{id}", View),
    ("PATCH", "/variants/{id}", Edit),
    ("DELETE", "/variants/{id}", Delete),
    ("GET", "/variants/{id}/ledger", View),
    ("GET", "/vouchers", View),
    ("POST", "/vouchers", Create),
    ("GET", "/vouchers/{id}", View),
    ("PATCH", "/vouchers/{id}", Edit),
    ("DELETE", "/vouchers/{id}", Delete),
    ("GET", "/webhooks", View),
    ("POST", "/webhooks", Create),
    ("GET", "/webhooks/{id}", View),
    ("PATCH", "/webhooks/{id}", Edit),
    ("DELETE", "/webhooks/{id}", Delete),
    ("GET", "/webhooks/{id}/deliveries", View),
    ("POST", "/webhooks/{id}/replay", Edit),
    ("POST", "/webhooks/{id}/rotate", Edit),
    ("POST", "/webhooks/{id}/test", Edit),
    ("GET", "/zones", View),
    ("POST", "/zones", Create),
    ("GET", "/zones/{id}", View),
    ("PATCH", "/zones/{id}", Edit),
    ("DELETE", "/zones/{id}", Delete),
    ("POST", "/vouchers/{id}/adjust", Edit),
    ("GET", "/vouchers/{id}/ledger", View),
    ("GET", "/vouchers/mine", Token),
    ("GET", "/config", Configuration),
];

/// An id without a record.
pub(super) const NO_RECORD: &str = "999999999";

/// A path of the table with an id without a record, and with a type.
pub(super) fn real(path: &str) -> String {
    let query = if path == "/imports" { "?type=zones&mode=create" } else { "" };
    let path = path.replace("{id}", NO_RECORD).replace("{refund_id}", NO_RECORD);
    path.replace("{type}", "zones") + query
}

fn may(role: Role, needs: Needs) -> bool {
    match role {
        Role::Nobody | Role::Public => false,
        Role::Registered => needs == Token,
        Role::Manager => !matches!(needs, Delete | Refund | Person | Configuration),
        Role::Administrator | Role::SuperUser => true,
    }
}

/// The status of a permitted request with an empty body for a missing record.
pub(super) fn permitted(method: &str, path: &str) -> u16 {
    match method {
        // A list below a record that does not exist is empty.
        "GET" if !path.ends_with("{id}") && !path.ends_with("/fulfilment") => 200,
        // A missing record is reported before a missing field.
        "POST" if path.contains("{id}") => 404,
        "POST" => 400,
        _ => 404,
    }
}

#[test]
fn every_registered_route_is_in_the_table() {
    let table: BTreeSet<(String, String)> =
        ROUTES.iter().map(|(method, path, _)| (method.to_string(), path.to_string())).collect();
    assert_eq!(table.len(), ROUTES.len(), "the table has no duplicates");
    let registered: BTreeSet<(String, String)> = plugin::app::describe()
        .routes
        .iter()
        .map(|route| {
            assert!(!route.public, "{}: every route needs authentication", route.name);
            let path = route.pattern.strip_prefix("v1/shop").unwrap();
            (route.method.to_string(), path.replace(":digits}", "}"))
        })
        .collect();
    assert_eq!(registered, table);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_is_answered_by_its_permissions() {
    let shop = Shop::open().await;
    for role in Role::ALL {
        for (method, path, needs) in ROUTES {
            let expected = match role {
                Role::Nobody | Role::Public => 401,
                _ if may(role, *needs) => permitted(method, path),
                _ => 403,
            };
            let mut ask = shop.request(method, &real(path)).by(role);
            if matches!(*method, "POST" | "PATCH") {
                ask = ask.json(json!({}));
            }
            let answer = ask.send().await;
            assert_eq!(answer.status, expected, "{method} {path} as {role:?}");
            if expected == 401 {
                assert_eq!(answer.header("www-authenticate"), "Bearer");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_not_offered_on_a_known_path_is_405_with_allow() {
    let shop = Shop::open().await;
    let mut offered: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (method, path, _) in ROUTES {
        offered.entry(path).or_default().insert(method);
    }
    for (path, methods) in offered {
        let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
        for method in all.map(Method::as_str).into_iter().chain(["OPTIONS"]) {
            if methods.contains(method) {
                continue;
            }
            // This precedes all other checks: neither Accept nor a token is sent.
            let ask = shop.request(method, &real(path));
            let answer = ask.without("accept").by(Role::Nobody).send().await.expect(405);
            let allow: BTreeSet<&str> = answer.header("allow").split(", ").collect();
            let mut expected = methods.clone();
            if methods.contains("GET") {
                expected.insert("HEAD");
            }
            assert_eq!(allow, expected, "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accept_is_checked_before_the_token() {
    let shop = Shop::open().await;
    for (method, path, _) in ROUTES {
        for accept in ["*/*", "application/json", "application/vnd.api+json; charset=utf-8"] {
            let ask = shop.request(method, &real(path));
            ask.header("accept", accept).by(Role::Nobody).send().await.expect(406);
        }
        let ask = shop.request(method, &real(path));
        ask.without("accept").send().await.expect(406);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_path_is_404_before_anything_else() {
    let shop = Shop::open().await;
    let wrong = [
        "",
        "/",
        "/products1",
        "/manufacturers/",
        "/manufacturers/abc",
        "/manufacturers/1/zones",
        "/manufacturers/-1",
        "/manufacturers/1.0",
        "/countries/x/zones",
        "/Manufacturers",
        "/countries/1/zones/1",
        "/manufacturers/%31a",
    ];
    for path in wrong {
        let ask = shop.get(path).without("accept").by(Role::Nobody);
        let answer = ask.send().await.expect(404);
        assert_eq!(answer.errors(), ["404 not_found"], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permission_is_checked_before_syntax_and_existence() {
    let shop = Shop::open().await;
    let ask = shop.request("PATCH", "/manufacturers/999999999?filter[x]=1");
    ask.text("{").by(Role::Registered).send().await.expect(403);
    let ask = shop.request("DELETE", "/manufacturers/999999999");
    ask.by(Role::Manager).send().await.expect(403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_on_an_asset_applies_to_that_asset_only() {
    let shop = Shop::open().await;
    let deny = example_host::Setting::Deny;
    shop.site.set_rule("Manager", "store.view", "com_shop.zones", deny, Force::No).await.unwrap();
    shop.get("/zones").by(Role::Manager).send().await.expect(403);
    // The asset is that of the returned type, and not that of the beginning of the path.
    shop.get("/countries/1/zones").by(Role::Manager).send().await.expect(403);
    shop.get("/countries").by(Role::Manager).send().await.expect(200);
    // A denial applies to the groups below; core.admin overrides it.
    shop.get("/zones").by(Role::Administrator).send().await.expect(403);
    shop.get("/zones").by(Role::SuperUser).send().await.expect(200);
    let inherit = example_host::Setting::Inherit;
    shop.site
        .set_rule("Manager", "store.view", "com_shop.zones", inherit, Force::No)
        .await
        .unwrap();
    shop.get("/zones").by(Role::Manager).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_an_extension_disables_its_routes_or_all_tokens() {
    let shop = Shop::open().await;
    shop.site.set_enabled("webservices-shop", false).await.unwrap();
    shop.get("/zones").send().await.expect(404);
    shop.site.set_enabled("webservices-shop", true).await.unwrap();
    shop.get("/zones").send().await.expect(200);
    shop.site.set_enabled("token-auth", false).await.unwrap();
    shop.get("/zones").send().await.expect(401);
    shop.site.set_enabled("token-auth", true).await.unwrap();
    shop.get("/zones").send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_works_until_it_is_replaced_or_revoked_or_its_user_is_blocked() {
    let shop = Shop::open().await;
    let ask = async |token: &str| {
        let ask = shop.get("/zones").header("authorization", &format!("Bearer {token}"));
        ask.send().await.status
    };
    let first = shop.token(Role::Manager).to_owned();
    assert_eq!(ask(&first).await, 200);
    let second = shop.site.generate_token("manager").await.unwrap();
    assert_eq!((ask(&first).await, ask(&second).await), (401, 200));
    shop.site.block_user("manager", Force::No).await.unwrap();
    assert_eq!(ask(&second).await, 401);
    shop.site.unblock_user("manager").await.unwrap();
    assert_eq!(ask(&second).await, 200);
    shop.site.revoke_token("manager", "default").await.unwrap();
    assert_eq!(ask(&second).await, 401);
    let third = shop.site.generate_token("manager").await.unwrap();
    shop.site.remove_user("manager", Force::No).await.unwrap();
    assert_eq!(ask(&third).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_at_most_fifty_tokens_and_each_works() {
    let shop = Shop::open().await;
    let named = |number: usize| NewToken { name: format!("of {number}"), ..NewToken::default() };
    let mut tokens = vec![shop.token(Role::Manager).to_owned()];
    for number in 1..50 {
        tokens.push(shop.site.create_token("manager", &named(number)).await.unwrap());
    }
    let refused = shop.site.create_token("manager", &named(50)).await;
    assert!(refused.is_err_and(|error| error.to_string().contains("at most 50 tokens")));
    // Generating replaces only the token called default.
    let generated = shop.site.generate_token("manager").await.unwrap();
    let before = std::mem::replace(&mut tokens[0], generated);
    for (token, status) in tokens.iter().map(|token| (token, 200)).chain([(&before, 401)]) {
        let ask = shop.get("/zones").header("authorization", &format!("Bearer {token}"));
        ask.send().await.expect(status);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_varies_by_accept_and_authorization_and_has_a_request_id() {
    let shop = Shop::open().await;
    let answers = [
        shop.get("/zones").send().await.expect(200),
        shop.get("/zones/999999999").send().await.expect(404),
        shop.get("/nothing").send().await.expect(404),
        shop.get("/zones").without("accept").send().await.expect(406),
        shop.get("/zones").by(Role::Nobody).send().await.expect(401),
        shop.request("PUT", "/zones").send().await.expect(405),
    ];
    for answer in answers {
        let vary = answer.header("vary").to_lowercase();
        assert!(vary.contains("accept") && vary.contains("authorization"), "{vary}");
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_right_to_fulfil_is_enough_for_the_warehouse_and_for_nothing_else() {
    let shop = Shop::stocked().await;
    let scanner = shop.packer().await;
    let plain = shop.site.generate_token("packer").await.unwrap();
    for (method, path, needs) in ROUTES {
        let allowed = matches!(needs, See | Pack);
        for token in [&scanner, &plain] {
            let ask = shop.request(method, &real(path));
            let ask = match *method {
                "POST" | "PATCH" => ask.json(json!({})),
                _ => ask,
            };
            let answer = ask.with(token).send().await;
            let expected = match *path {
                "/changes" => 200,
                // It needs no permission, but a token with scopes needs one of them.
                "/vouchers/mine" if token == &plain => 200,
                _ if allowed => permitted(method, path),
                _ => 403,
            };
            assert_eq!(answer.status, expected, "{method} {path}");
        }
    }
    // What is included beside it needs its own permission.
    for include in ["orderstatus", "items.order"] {
        let path = format!("/fulfilments?include={include}");
        shop.get(&path).with(&plain).send().await.expect(403);
    }
    let fields = "/fulfilments?include=items&fields[orderitems]=orderitem_price";
    shop.get(fields).with(&plain).send().await.expect(400);
    // A customer of the API without it sees nothing.
    shop.get("/fulfilments").by(Role::Registered).send().await.expect(403);
}
