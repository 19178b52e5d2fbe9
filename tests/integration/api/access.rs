//! Permissions: every role is tested on every route of the table in `support/rights.rs`. A route that the plugin
//! registers and the table lacks fails the test.

use std::collections::{BTreeMap, BTreeSet};

use example_host::{Force, NewToken};
use host_interface::Method;
use serde_json::json;

use crate::support::harness::{Role, Shop};
use crate::support::rights::Needs::{
    self, Configuration, Delete, Pack, Person, Refund, See, Token,
};
use crate::support::rights::{ROUTES, permitted, real};

fn may(role: Role, needs: Needs) -> bool {
    match role {
        Role::Nobody | Role::Public => false,
        Role::Registered => needs == Token,
        Role::Manager => !matches!(needs, Delete | Refund | Person | Configuration),
        Role::Administrator | Role::SuperUser => true,
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
