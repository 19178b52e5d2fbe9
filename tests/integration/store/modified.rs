//! Lists of what has changed since a moment: whatever others write while a client pages, it sees each
//! change at least once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host_interface::{HostHandle, Method};
use serde_json::{Value, json};
use time::UtcDateTime;
use time::macros::format_description;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::shelves::{document, text};
use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;
use crate::support::kills::randomness;

/// The number of clients that write.
const WRITERS: usize = 3;
/// The number of records that they begin with.
const RECORDS: i64 = 240;
/// The pause between two pages: a client takes more than a second for all of them.
const PAUSE: Duration = Duration::from_millis(20);
/// A moment before any store.
const LONG_AGO: &str = "2020-01-01T00:00:00";

/// A page of a list.
struct Page {
    ids: Vec<String>,
    meta: Value,
    links: Value,
    json: Value,
}

impl Page {
    fn as_of(&self) -> &str {
        self.meta["as_of"].as_str().unwrap()
    }

    /// The path of the next page below that of the store.
    fn next(&self) -> Option<String> {
        Some(self.links["next"].as_str()?.trim_start_matches("/v1/shop").to_owned())
    }
}

async fn open() -> Bare {
    let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
    // The feed began a day ago, so a moment since then is one of changes.
    store.run("UPDATE shop_feed SET began = began - 86400000000").await;
    store
}

async fn write(store: &Bare, method: Method, path: &str, body: Value) {
    let answer = store.ask(method, path, body).await;
    assert!(answer.status() < 300, "{method} {path}: {}", text(&answer));
}

async fn page(store: &Bare, path: &str) -> Page {
    let answer = store.ask(Method::Get, path, Value::Null).await;
    assert_eq!(answer.status(), 200, "{path}: {}", text(&answer));
    let json = document(&answer);
    let ids = json["data"].as_array().unwrap().iter();
    let ids = ids.map(|record| record["id"].as_str().unwrap().to_owned()).collect();
    Page { ids, meta: json["meta"].clone(), links: json["links"].clone(), json }
}

/// The ids on all pages, from this one on.
async fn all(store: &Bare, path: &str) -> String {
    let (mut ids, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = next {
        let page = page(store, &path).await;
        assert!(!page.ids.is_empty(), "{path} is a page after the last");
        next = page.next();
        ids.extend(page.ids);
    }
    ids.join(" ")
}

/// A moment so many seconds after the beginning of an hour ago.
fn moment(seconds: i64) -> String {
    let moment = UtcDateTime::from_unix_timestamp(an_hour_ago() + seconds).unwrap();
    let form = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    moment.format(form).unwrap()
}

/// The beginning of an hour that has not begun within the last minutes.
fn an_hour_ago() -> i64 {
    (UtcDateTime::now().unix_timestamp() / 3_600 - 2) * 3_600
}

/// A store with so many manufacturers, each of which has changed a second after the one before.
async fn with_manufacturers(count: i64) -> Bare {
    let store = open().await;
    for number in 1..=count {
        let body = json!({"manufacturer_name": format!("m{number}")});
        write(&store, Method::Post, "/manufacturers", body).await;
    }
    page(&store, &format!("/manufacturers?filter[modified_since]={LONG_AGO}")).await;
    let begun = an_hour_ago();
    store
        .run(format!(
            "UPDATE shop_changes SET seq = ({begun} + record) * 1000000 WHERE kind = 'manufacturers'"
        ))
        .await;
    store
}

#[tokio::test]
async fn a_record_that_changes_between_two_pages_hides_no_other() {
    let store = with_manufacturers(6).await;
    let since = moment(0);
    let list = format!("/manufacturers?filter[modified_since]={since}");
    let first = page(&store, &format!("{list}&page[limit]=2")).await;
    assert_eq!((first.ids.join(" ").as_str(), first.as_of()), ("1 2", moment(2).as_str()));
    assert_eq!(first.meta["total"], 6);
    let links: BTreeSet<&str> =
        first.links.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(links, BTreeSet::from(["self", "first", "next"]));
    write(&store, Method::Patch, "/manufacturers/1", json!({"ordering": 7})).await;
    let second = page(&store, &first.next().unwrap()).await;
    assert_eq!((second.ids.join(" ").as_str(), second.as_of()), ("3 4", moment(4).as_str()));
    assert_eq!(second.meta["total"], 6, "the whole list is counted");
    assert_eq!(page(&store, &first.next().unwrap()).await.json, second.json);
    let own = second.links["self"].as_str().unwrap().trim_start_matches("/v1/shop");
    assert_eq!(page(&store, own).await.ids, second.ids);
    let again = second.links["first"].as_str().unwrap().trim_start_matches("/v1/shop");
    assert_eq!(page(&store, again).await.ids, ["2", "3"]);
    let third = page(&store, &second.next().unwrap()).await;
    assert_eq!((third.ids.join(" ").as_str(), third.as_of()), ("5 6", moment(6).as_str()));
    let last = page(&store, &third.next().unwrap()).await;
    assert_eq!((last.ids.join(" ").as_str(), last.next()), ("1", None));
    assert!(last.as_of() > third.as_of());
    // A page that is just full is the last one, too.
    assert_eq!(page(&store, &format!("{list}&page[limit]=6")).await.next(), None);
    let none = page(&store, &format!("{list}&filter[search]=nothing")).await;
    assert_eq!((none.ids.len(), none.next(), none.as_of()), (0, None, last.as_of()));

    // A moment before all changes: the records come by their keys, and as_of is the moment at which the
    // first page was read.
    let whole = format!("/manufacturers?filter[modified_since]={LONG_AGO}&page[limit]=2");
    let first = page(&store, &whole).await;
    assert_eq!((first.ids.join(" ").as_str(), first.as_of()), ("1 2", LONG_AGO));
    write(&store, Method::Delete, "/manufacturers/1", Value::Null).await;
    store.run("UPDATE shop_feed SET seq = seq + 60000000").await;
    write(&store, Method::Patch, "/manufacturers/2", json!({"ordering": 8})).await;
    let second = page(&store, &first.next().unwrap()).await;
    assert_eq!((second.ids.join(" ").as_str(), second.as_of()), ("3 4", LONG_AGO));
    let third = page(&store, &second.next().unwrap()).await;
    assert_eq!((third.ids.join(" ").as_str(), third.next()), ("5 6", None));
    let next = format!("/manufacturers?filter[modified_since]={}", third.as_of());
    assert!(page(&store, &next).await.ids.ends_with(&["2".to_owned()]));

    // In another order pages have offsets, and only a page with everything is known to hide nothing.
    let ordered = format!("{list}&sort=-manufacturer_name&page[limit]=3");
    let first = page(&store, &ordered).await;
    assert_eq!((first.ids.join(" ").as_str(), first.as_of()), ("6 5 4", since.as_str()));
    let second = page(&store, &first.next().unwrap()).await;
    assert_eq!((second.ids.join(" ").as_str(), second.as_of()), ("3 2", since.as_str()));
    let both = page(&store, &format!("{list}&sort=manufacturer_name")).await;
    assert!(both.as_of() > since.as_str());
    store.app.shop.store.close().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_page_of_changes_that_nobody_can_follow_is_refused() {
    let store = with_manufacturers(3).await;
    let list = format!("/manufacturers?filter[modified_since]={}&page[limit]=1", moment(0));
    let next = page(&store, &list).await.next().unwrap();
    let (_, cursor) = next.split_once("page%5Bafter%5D=").unwrap();
    for (path, name) in [
        (format!("{list}&page[offset]=1"), "page[offset]"),
        (format!("{list}&page[after]=x"), "page[after]"),
        (format!("{list}&page[after]={}", &cursor[..cursor.len() - 3]), "page[after]"),
        (format!("{next}&sort=manufacturer_name"), "page[after]"),
        (format!("{next}&list[ordering]=manufacturer_name"), "page[after]"),
        (format!("{next}&list[direction]=desc"), "page[after]"),
        (format!("/manufacturers?page[after]={cursor}"), "page[after]"),
        (
            format!("/zones?filter[modified_since]={}&page[after]={cursor}", moment(0)),
            "page[after]",
        ),
        (format!("/countries/84/zones?page[after]={cursor}"), "page[after]"),
        // Nor has a list that is not that of all records the filters.
        ("/countries/84/zones?filter[modified_since]=1".to_owned(), "filter[modified_since]"),
        ("/countries/84/zones?filter[id]=1".to_owned(), "filter[id]"),
    ] {
        let answer = store.ask(Method::Get, &path, Value::Null).await;
        assert_eq!(answer.status(), 400, "{path}: {}", text(&answer));
        assert_eq!(document(&answer)["errors"][0]["source"]["parameter"], name, "{path}");
    }
    assert_eq!(page(&store, &format!("{list}&page[offset]=0")).await.ids, ["1"]);
    // The link to a page itself has a size if the request has one.
    let own = async |path: String| {
        let answer = store.ask(Method::Get, &path, Value::Null).await;
        document(&answer)["links"]["self"].as_str().unwrap().to_owned()
    };
    assert!(own(list.clone()).await.contains("page%5Blimit%5D=1"));
    let (all_of_them, _) = list.split_once('&').unwrap();
    assert!(!own(all_of_them.to_owned()).await.contains("page"));
    // The feed has begun anew meanwhile: everything counts as changed again.
    store.app.shop.store.renew_feed().await.unwrap();
    assert_eq!(all(&store, &next).await, "1 2 3");
    store.app.shop.store.close().await;
}

#[tokio::test]
async fn changes_are_paged_with_every_filter_and_what_is_beside_them() {
    let store = open().await;
    write(&store, Method::Post, "/manufacturers", json!({"manufacturer_name": "Oak"})).await;
    for number in 1..=5 {
        let body = json!({
            "product_name": format!("Lamp {number}"), "sku": format!("L-{number}"),
            "manufacturer_id": 1, "enabled": u8::from(number != 3),
        });
        write(&store, Method::Post, "/products", body).await;
    }
    write(&store, Method::Delete, "/products/2", Value::Null).await;
    for since in [LONG_AGO.to_owned(), moment(0)] {
        for (filter, ids) in [
            ("", "1 3 4 5"),
            ("&filter[search]=lamp", "1 3 4 5"),
            ("&filter[search]=amp 4", "4"),
            ("&filter[manufacturer]=1", "1 3 4 5"),
            ("&filter[enabled]=1", "1 4 5"),
            ("&filter[enabled]=1&filter[search]=lamp", "1 4 5"),
            ("&filter[sku_exact]=l-5", "5"),
        ] {
            for limit in [1, 2, 3, 20] {
                let path =
                    format!("/products?filter[modified_since]={since}&page[limit]={limit}{filter}");
                assert_eq!(all(&store, &path).await, ids, "{path}");
                let first = page(&store, &path).await;
                assert_eq!(first.meta["total"], ids.split(' ').count(), "{path}");
            }
        }
        let path = format!("/products?filter[modified_since]={since}&page[limit]=1");
        let included = page(&store, &format!("{path}&include=variants,manufacturer")).await;
        let types: Vec<&Value> = included.json["included"].as_array().unwrap().iter().collect();
        assert_eq!(types.len(), 2, "a variant and a manufacturer: {types:?}");
    }
    store.app.shop.store.close().await;
}

/// A deletion that is committed after the places have been given, and before the page is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_deletion_has_no_place_yet_does_not_end_a_list() {
    let store = open().await;
    for number in 1..=7 {
        let body = json!({"manufacturer_name": format!("m{number}")});
        write(&store, Method::Post, "/manufacturers", body).await;
    }
    let list = format!("/manufacturers?filter[modified_since]={}", moment(0));
    assert_eq!(all(&store, &format!("{list}&page[limit]=2")).await, "1 2 3 4 5 6 7");
    for gone in [2, 3, 7] {
        let delete = format!("DELETE FROM shop_manufacturers WHERE shop_manufacturer_id = {gone}");
        store.run(&delete).await;
        store.run("DELETE FROM shop_change_queue").await;
    }
    for limit in [1, 2, 3, 4, 6, 7] {
        let mut next = Some(format!("{list}&page[limit]={limit}"));
        let mut seen = BTreeSet::new();
        while let Some(path) = next {
            let page = page(&store, &path).await;
            seen.extend(page.ids.iter().cloned());
            next = page.next();
        }
        assert_eq!(seen, ["1", "4", "5", "6"].map(str::to_owned).into(), "{limit}");
    }
    store.app.shop.store.close().await;
}

/// A client that goes on from the last `as_of`, while others write.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_pages_sees_the_last_version_of_each_changed_record() {
    for since in [LONG_AGO.to_owned(), moment(0)] {
        let mut rng = randomness();
        let store = Arc::new(open().await);
        for number in 0..RECORDS {
            let body = json!({"manufacturer_name": format!("m{number}")});
            write(&store, Method::Post, "/manufacturers", body).await;
        }
        let over = Arc::new(AtomicBool::new(false));
        let mut writers = JoinSet::new();
        for _ in 0..WRITERS {
            writers.spawn(change_some(Arc::clone(&store), Arc::clone(&over), rng.fork()));
        }
        let mut seen = BTreeMap::new();
        let mut as_of = since;
        for round in 0..5 {
            let limit = rng.u8(4..8);
            let mut next =
                Some(format!("/manufacturers?filter[modified_since]={as_of}&page[limit]={limit}"));
            let mut pages = 0;
            while let Some(path) = next {
                let page = page(&store, &path).await;
                for record in page.json["data"].as_array().unwrap() {
                    let id = record["id"].as_str().unwrap().to_owned();
                    seen.insert(id, record["meta"]["version"].clone());
                }
                as_of = page.as_of().to_owned();
                next = page.next();
                pages += 1;
                match round {
                    // It is interrupted, and goes on from what it has.
                    1 if pages == 12 => break,
                    // The others end half-way.
                    3 if pages == 20 => over.store(true, Ordering::Relaxed),
                    _ => {}
                }
                if !over.load(Ordering::Relaxed) {
                    sleep(PAUSE).await;
                }
            }
            over.fetch_or(round == 3, Ordering::Relaxed);
            while round == 3 && writers.join_next().await.transpose().unwrap().is_some() {}
        }
        let mut next = Some("/manufacturers?page[limit]=100".to_owned());
        let mut left = BTreeSet::new();
        while let Some(path) = next {
            let page = page(&store, &path).await;
            for record in page.json["data"].as_array().unwrap() {
                let id = record["id"].as_str().unwrap();
                assert_eq!(seen.get(id), Some(&record["meta"]["version"]), "{record}");
                left.insert(id.to_owned());
            }
            next = page.next();
        }
        println!("{} records were seen, {} of them are left", seen.len(), left.len());
        Arc::into_inner(store).unwrap().app.shop.store.close().await;
    }
}

/// Makes, changes and deletes records until it is told to stop, seldom enough that most of them change once
/// at most while a client reads all pages.
async fn change_some(store: Arc<Bare>, over: Arc<AtomicBool>, mut rng: fastrand::Rng) {
    while !over.load(Ordering::Relaxed) {
        let path = format!("/manufacturers/{}", rng.i64(1..=RECORDS));
        let (method, path, body) = match rng.u8(..10) {
            0 => (Method::Delete, path, Value::Null),
            1 => (Method::Post, "/manufacturers".to_owned(), json!({"manufacturer_name": "new"})),
            _ => (Method::Patch, path, json!({"ordering": rng.u16(..)})),
        };
        let answer = store.ask(method, &path, body).await;
        assert!([200, 201, 204, 404].contains(&answer.status()), "{path}: {}", text(&answer));
        sleep(PAUSE).await;
    }
}
