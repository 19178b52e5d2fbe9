//! A new resource, made by the recipe in `plugin/src/resources/mod.rs`: `tests/fixtures/gadgets` has its parts,
//! and everything else follows from its descriptor.
//!
//! This program has no OpenAPI document for it, and no migration: the document is made from the list of the
//! library, and a migration is known when the library is compiled. For all other resources `api::openapi` and
//! `command_line::copies` show both.

use std::collections::BTreeSet;
use std::fs;

use host_interface::{HostHandle, Method};
use plugin::app::App;
use plugin::app::routes::endpoints;
use plugin::model::registry::Registry;
use plugin::resources::{REGISTRY, SERVICES};
use plugin::service::call::Shop;
use plugin::service::hooks::Service;
use plugin::store::Store;
use serde_json::{Value, json};

use super::derived::{catalogue, plain};
use crate::support::bare::Bare;
use crate::support::databases::{Database, Engine};
use crate::support::mirror::Mirror;
use crate::support::permissive::PermissiveHost;
use crate::support::project::root;

#[path = "../../fixtures/gadgets/gadgets.rs"]
mod gadgets;

use gadgets::GADGETS;

/// The folder with the parts.
const PARTS: &str = "tests/fixtures/gadgets";

/// The program with one more service, in its place.
fn extended() -> &'static [Service] {
    let mut services = SERVICES.to_vec();
    let after = services.partition_point(|service| service.of.kind < GADGETS.kind);
    services.insert(after, Service::of(&GADGETS));
    services.leak()
}

fn registry(services: &'static [Service]) -> Registry {
    let resources: Vec<_> = services.iter().map(|service| service.of).collect();
    Registry(resources.leak())
}

fn part(name: &str) -> String {
    fs::read_to_string(root().join(PARTS).join(name)).unwrap()
}

#[tokio::test]
async fn a_resource_gets_everything_but_its_table_by_its_descriptor() {
    let database = Database::new().await;
    let store = Store::open(&database.url()).unwrap();
    store.migrate(REGISTRY).await.unwrap();
    let engine = Engine::of_this_run();
    let without = catalogue(&store, engine).await;

    // What its migration does.
    let table = match engine {
        Engine::Sqlite => part("sqlite.sql"),
        Engine::Postgres => part("postgres.sql"),
        Engine::MariaDb => part("mysql.sql"),
    };
    store.execute(plain(table)).await.unwrap();
    let services = extended();
    let registry = registry(services);
    store.migrate(registry).await.unwrap();

    let host = HostHandle::new(PermissiveHost);
    let shop = Shop::new(host, store.clone(), "/v1/shop".to_owned(), registry);
    let bare = Bare { app: App::of(shop, services), database };
    let ask = async |method, path: &str, body| {
        let answer = bare.ask(method, path, body).await;
        let document = serde_json::from_slice(answer.body()).unwrap_or(Value::Null);
        (answer.status(), document)
    };

    // Routes and rules.
    let birch = json!({"manufacturer_name": "Birch"});
    ask(Method::Post, "/manufacturers", birch).await;
    let (status, refusal) = ask(Method::Post, "/gadgets", json!({"manufacturer_id": 7})).await;
    let found: Vec<_> =
        refusal["errors"].as_array().unwrap().iter().map(|of| &of["detail"]).collect();
    assert_eq!(status, 400, "{refusal}");
    assert_eq!(
        found,
        ["gadget_name is required.", "manufacturer_id: there is no manufacturer with the id 7."]
    );
    for (name, manufacturer) in [("Übel", None), ("Lever", Some(1)), ("lamp", Some(1))] {
        let body = json!({"gadget_name": name, "manufacturer_id": manufacturer});
        let (status, answer) = ask(Method::Post, "/gadgets", body).await;
        assert_eq!(status, 201, "{answer}");
    }
    let (status, refusal) = ask(Method::Delete, "/manufacturers/1", Value::Null).await;
    assert_eq!((status, &refusal["errors"][0]["code"]), (422, &json!("referenced")), "{refusal}");

    // Lists, links and relationships.
    let path = "/gadgets?filter[search]=ÜBEL&list[ordering]=gadget_name";
    let (_, found) = ask(Method::Get, path, Value::Null).await;
    assert_eq!(
        (&found["meta"]["total"], &found["data"][0]["id"]),
        (&json!(1), &json!("1")),
        "{found}"
    );
    let (_, lever) = ask(Method::Get, "/gadgets/2?include=manufacturer", Value::Null).await;
    assert_eq!(lever["data"]["links"]["self"], "/v1/shop/gadgets/2", "{lever}");
    let related = &lever["data"]["relationships"]["manufacturer"];
    assert_eq!(related["data"], json!({"type": "manufacturers", "id": "1"}), "{lever}");
    assert_eq!(lever["included"][0]["links"]["self"], "/v1/shop/manufacturers/1", "{lever}");

    // Versions, and the feed of changes.
    let mut mirror = Mirror::of("gadgets,manufacturers");
    let first = mirror.catch_up(&bare).await;
    assert_eq!(first, ["gadgets/1", "gadgets/2", "gadgets/3", "manufacturers/1"]);
    let (_, changed) = ask(Method::Patch, "/gadgets/2", json!({"enabled": 0})).await;
    assert_eq!(changed["data"]["meta"]["version"], 2, "{changed}");
    ask(Method::Patch, "/gadgets/3", json!({"enabled": 1})).await;
    ask(Method::Delete, "/gadgets/1", Value::Null).await;
    assert_eq!(mirror.catch_up(&bare).await, ["gadgets/2", "-gadgets/1"]);
    assert!(registry.followed().any(|resource| resource.kind == "gadgets"));

    // Its table is copied after the one that it refers to.
    let tables: Vec<_> = registry.tables().into_iter().map(|of| of.table).collect();
    let place = |table: &str| tables.iter().position(|of| *of == table).unwrap();
    assert!(place("shop_gadgets") > place("shop_manufacturers"), "{tables:?}");

    // A program without it removes its triggers, and nothing else.
    store.migrate(REGISTRY).await.unwrap();
    store.execute(plain("UPDATE shop_gadgets SET version = 9")).await.unwrap();
    let mut reading = store.begin_read().await.unwrap();
    let queued = reading.number(plain("SELECT count(*) FROM shop_change_queue")).await.unwrap();
    reading.commit().await.unwrap();
    assert_eq!(queued, 0);
    store.execute(plain("DROP TABLE shop_gadgets")).await.unwrap();
    assert_eq!(catalogue(&store, engine).await, without);
    store.close().await;
}

/// Its parts are one file each here, and lines of files that exist in the project.
#[test]
fn a_resource_has_the_parts_that_the_recipe_names() {
    let parts = fs::read_dir(root().join(PARTS)).unwrap();
    let parts: BTreeSet<_> =
        parts.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let expected =
        ["access.txt", "gadgets.rs", "mysql.sql", "postgres.sql", "properties.txt", "sqlite.sql"];
    assert_eq!(parts, expected.map(str::to_owned).into());

    let endpoints = endpoints(extended()).into_iter().filter(|of| of.resource().kind == "gadgets");
    let access: Vec<String> = endpoints
        .map(|endpoint| {
            let rights = endpoint.rights.unwrap();
            assert_eq!(rights.asset, "com_shop.gadgets");
            format!("{} {} {}", endpoint.method, endpoint.path, rights.actions.join(" "))
        })
        .collect();
    assert_eq!(part("access.txt").lines().collect::<Vec<_>>(), access);

    let properties = part("properties.txt");
    let named = properties.lines().skip(1).map(|line| line.split([' ', ':']).next().unwrap());
    let fields = GADGETS.fields().map(|field| field.name);
    assert_eq!(
        named.collect::<Vec<_>>(),
        [GADGETS.key].into_iter().chain(fields).collect::<Vec<_>>()
    );
}

/// A plain resource of the store, to which no other one refers.
#[test]
fn a_plain_resource_is_named_in_the_files_of_the_recipe_and_nowhere_else() {
    let mut folders =
        ["migrations", "schema", "src"].map(|folder| root().join("plugin").join(folder)).to_vec();
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).unwrap().to_lowercase().contains("taxrate") {
                found.insert(
                    path.strip_prefix(root().join("plugin")).unwrap().to_str().unwrap().to_owned(),
                );
            }
        }
    }
    let expected = [
        "migrations/mysql/0001_base.sql",
        "migrations/postgres/0001_base.sql",
        "migrations/sqlite/0001_base.sql",
        "src/app/openapi/examples.rs",
        "src/app/openapi/properties.txt",
        // Not needed, but there are some in the demo store.
        "src/bulk/demo/setup.rs",
        "src/resources/mod.rs",
        "src/resources/taxrates.rs",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
}
