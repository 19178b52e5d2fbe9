//! Scopes of tokens: what `access` checks for each role, on every route with every scope. Which scope a
//! route needs follows from its row in that table.

use std::collections::BTreeSet;

use example_host::{Error, NewToken};
use futures_util::{StreamExt, stream};
use plugin::resources::REGISTRY;
use serde_json::json;

use crate::support::harness::{Answer, Role, Shop};
use crate::support::rights::{Needs, ROUTES, permitted, real};

/// How many requests are sent at the same time.
const AT_ONCE: usize = 8;

/// The scopes of which a route needs one; the first is the one that a refusal names.
fn scopes_of(path: &str, needs: Needs) -> Vec<String> {
    match needs {
        Needs::See => vec!["orders:fulfil".to_owned(), "orders:view".to_owned()],
        Needs::Pack => vec!["orders:fulfil".to_owned(), "orders:edit".to_owned()],
        _ => vec![scope_of(path, needs)],
    }
}

/// The only scope that a route needs.
fn scope_of(path: &str, needs: Needs) -> String {
    let kind = match (path, needs) {
        // Of what is returned, and not of what the path begins with.
        ("/countries/{id}/zones", _) => "zones",
        ("/customers/{id}/orders", _) => "orders",
        ("/customers/{id}/addresses", _) => "addresses",
        ("/products/{id}/variants", _) => "variants",
        ("/variants/{id}/ledger", _) => "inventory",
        ("/orders/{id}/items", _) => "orderitems",
        ("/orders/{id}/history", Needs::View) => "orderhistories",
        ("/orderrefunds" | "/orderrefunds/{id}", _) => "orders",
        // Of the store as a whole.
        ("/privacy/export" | "/privacy/erase", _) => "store",
        // Of the type that the tests export and import.
        ("/exports/{type}" | "/imports", _) => "zones",
        _ => path.split('/').nth(1).unwrap(),
    };
    let action = match needs {
        Needs::View | Needs::Configuration | Needs::Token => "view",
        Needs::Create => "create",
        Needs::Edit => "edit",
        Needs::Delete => "delete",
        Needs::Person => "privacy",
        Needs::Refund => "refund",
        Needs::See | Needs::Pack => unreachable!("one of two is enough"),
    };
    format!("{kind}:{action}")
}

/// Every scope of the store, as its extension declares them.
fn scopes() -> BTreeSet<String> {
    let description = plugin::app::describe();
    let kinds = description.assets.iter().filter_map(|asset| asset.name.strip_prefix("com_shop."));
    let actions: Vec<&str> = description
        .actions
        .iter()
        .filter_map(|action| action.name.strip_prefix("store."))
        .collect();
    kinds.flat_map(|kind| actions.iter().map(move |action| format!("{kind}:{action}"))).collect()
}

/// The types whose changes are followed with a scope.
fn followed(scope: &str) -> Vec<&'static str> {
    let kinds = REGISTRY.followed();
    let viewed = kinds.filter(|resource| {
        let governed_by = resource.asset();
        let or_action = resource.or_action.and_then(|action| action.strip_prefix("store."));
        let mut actions = or_action.into_iter().chain(["view"]);
        scope == "*:view" || actions.any(|action| scope == format!("{governed_by}:{action}"))
    });
    viewed.map(|resource| resource.kind).collect()
}

/// The types whose imports are listed with a scope.
fn imported(scope: &str) -> Vec<&'static str> {
    let imported =
        |kind: &&str| REGISTRY.find(kind).is_some_and(|of| of.crud || of.kind == "variants");
    followed(scope).into_iter().filter(imported).collect()
}

/// Whether the permission for one of several types is enough for a route.
fn is_of_any_type(method: &str, path: &str) -> bool {
    path == "/changes" || (method == "GET" && path.starts_with("/imports"))
}

impl Shop {
    async fn ask_with(&self, method: &str, path: &str, token: &str) -> Answer {
        let ask = self.request(method, &real(path));
        let ask = ask.header("authorization", &format!("Bearer {token}"));
        match method {
            "POST" | "PATCH" => ask.json(json!({})).send().await,
            _ => ask.send().await,
        }
    }
}

/// A token of this user with these scopes.
async fn limited(shop: &Shop, username: &str, scopes: &[&str]) -> String {
    let scopes = Some(scopes.iter().map(|scope| (*scope).to_owned()).collect());
    let new = NewToken { name: "limited".to_owned(), scopes, ..NewToken::default() };
    // There is one from the second time on.
    let revoked = shop.site.revoke_token(username, &new.name).await;
    assert!(matches!(revoked, Ok(()) | Err(Error::NotFound { kind: "token", .. })), "{revoked:?}");
    shop.site.create_token(username, &new).await.unwrap()
}

#[test]
fn every_route_needs_a_scope_that_exists() {
    let scopes = scopes();
    for (method, path, needs) in ROUTES {
        if !is_of_any_type(method, path) {
            for scope in scopes_of(path, *needs) {
                assert!(scopes.contains(&scope), "{method} {path} needs {scope}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_super_user_is_refused_wherever_its_scope_is_not_enough() {
    let shop = Shop::open().await;
    for scope in scopes().iter().map(String::as_str).chain(["*:view"]) {
        let token = limited(&shop, "superuser", &[scope]).await;
        let asked = stream::iter(ROUTES).map(async |(method, path, needs)| {
            let answer = shop.ask_with(method, path, &token).await;
            let needed = scopes_of(path, *needs);
            let views = |needed: &String| needed.ends_with(":view") && needed != "config:view";
            let all = scope == "*:view" && needed.iter().any(views);
            let enough = match *path {
                "/changes" => !followed(scope).is_empty(),
                path if is_of_any_type(method, path) => !imported(scope).is_empty(),
                _ => needed.iter().any(|needed| needed == scope) || all,
            };
            if enough {
                let expected = permitted(method, path);
                assert_eq!(answer.status, expected, "{method} {path} with {scope}");
                return;
            }
            let what = format!("{method} {path} with {scope}");
            assert_eq!(answer.errors(), ["403 insufficient_scope"], "{what}");
            let challenge = answer.header("www-authenticate");
            let lacks = challenge.strip_prefix("Bearer error=\"insufficient_scope\", scope=\"");
            let lacks = lacks.and_then(|rest| rest.strip_suffix('"')).unwrap();
            assert!(is_of_any_type(method, path) || lacks == needed[0], "{what}: {challenge}");
            let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
            assert_eq!(detail, format!("The token lacks the scope {lacks}."), "{what}");
        });
        asked.buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_never_allows_more_than_its_user_may() {
    let shop = Shop::open().await;
    let all = scopes();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for role in [Role::Registered, Role::Manager, Role::Administrator, Role::SuperUser] {
        let token = limited(&shop, &format!("{role:?}").to_lowercase(), &all).await;
        for (method, path, _) in ROUTES {
            let without = shop.ask_with(method, path, shop.token(role)).await;
            let with = shop.ask_with(method, path, &token).await;
            assert_eq!(with.status, without.status, "{method} {path} as {role:?}");
            if with.status >= 400 {
                assert_eq!(with.errors(), without.errors(), "{method} {path} as {role:?}");
            }
        }
    }
    let token = limited(&shop, "public", &all).await;
    assert_eq!(shop.ask_with("GET", "/zones", &token).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_has_only_the_types_that_the_token_views() {
    let shop = Shop::stocked().await;
    let token = limited(&shop, "superuser", &["orders:view", "products:edit"]).await;
    let answer = shop.ask_with("GET", "/changes?page[size]=1000", &token).await.expect(200);
    let json = answer.json();
    let kinds: BTreeSet<&str> =
        json["data"].as_array().unwrap().iter().filter_map(|one| one["type"].as_str()).collect();
    assert!(kinds.contains("orders"), "{kinds:?}");
    let orders: BTreeSet<&str> = followed("orders:view").into_iter().collect();
    assert!(kinds.is_subset(&orders), "{kinds:?}");
    let named = shop.ask_with("GET", "/changes?filter[types]=orders,products", &token).await;
    assert_eq!(named.errors(), ["403 insufficient_scope"]);
    assert!(named.header("www-authenticate").ends_with("scope=\"products:view\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_included_needs_its_scope() {
    let shop = Shop::stocked().await;
    let token = limited(&shop, "superuser", &["products:view"]).await;
    let path = "/products?include=manufacturer";
    let answer = shop.ask_with("GET", path, &token).await;
    assert_eq!(answer.errors(), ["403 insufficient_scope"]);
    assert!(answer.header("www-authenticate").ends_with("scope=\"manufacturers:view\""));
    let token = limited(&shop, "superuser", &["products:view", "manufacturers:view"]).await;
    shop.ask_with("GET", path, &token).await.expect(200);
}
