//! The audit trail: every change has an entry, whatever its origin, and the page finds and exports it.

use std::collections::BTreeSet;
use std::time::Duration;

use example_host::{Force, ServerSettings, Site};
use serde_json::json;

use crate::support::databases::LENGTHEN_WAITS;
use crate::support::harness::{Answer, MEDIA_TYPE, ROOT, Role, Setup, Shop, library};
use crate::support::process::{Place, operator};
use crate::support::visitor::{PASSWORD, Visitor, add, beside, field, id};

/// The entries on a page of the audit trail: who did what to which object, the newest first.
fn changes(html: &str) -> Vec<String> {
    let text = |html: &str| {
        let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let cell = |row: &str, start: &str, end: &str| {
        let (_, rest) = row.split_once(start).unwrap();
        text(rest.split_once(end).unwrap().0)
    };
    let rows = html.split("<tr><td data-label=\"When\">").skip(1);
    rows.map(|row| {
        let who = cell(row, "data-label=\"Who\">", "</td>");
        let who = who.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
        let what = cell(row, "<th scope=\"row\">", "</th>");
        format!("{who}: {what}: {}", cell(row, "data-label=\"Record\">", "</td>"))
    })
    .collect()
}

/// The audit trail, as soon as this many entries match the query.
pub async fn audited(visitor: &mut Visitor, query: &str, count: usize) -> Vec<String> {
    for _ in 0..200 {
        let seen = visitor.get(&format!("/audit?{query}")).await;
        assert_eq!(seen.status, 200, "{}", seen.html);
        let found = changes(&seen.html);
        if found.len() == count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not {count} changes like {query:?}: {:?}", changes(&visitor.html));
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_end_of_an_import_is_recorded_with_its_counts_and_the_hash_of_its_file() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let import = shop.request("POST", "/imports?type=manufacturers&mode=create");
    let file = "{\"manufacturer_name\": \"Birch\"}\n{}\n";
    import.file("application/x-ndjson", file).send().await.expect(200);
    let ended = audited(&mut ann, "origin=extension", 1).await.remove(0);
    let counts = "2 manufacturers read, 1 created, 0 updated, 0 unchanged, 1 failed; SHA-256 ";
    let (_, hash) = ended.split_once(counts).expect(&ended);
    let hash: String = hash.split(' ').take(8).collect();
    assert_eq!(hash, hex::encode(<sha2::Sha256 as sha2::Digest>::digest(file)));
    assert!(ended.ends_with("imports.end: imports 1"), "{ended}");
    assert!(ended.starts_with("administrator "), "{ended}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_answer_that_was_repeated_is_recorded_as_such() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for _ in 0..2 {
        let create = shop.post("/manufacturers", json!({"manufacturer_name": "Birch"}));
        create.header("idempotency-key", "k").send().await.expect(201);
    }
    let made = "manufacturers.create: manufacturers 1";
    assert_eq!(
        audited(&mut ann, "origin=api", 2).await,
        [
            format!("administrator token: Replayed POST {made}"),
            format!("administrator token: Add POST {made}"),
        ]
    );
}

#[tokio::test]
async fn every_change_is_in_the_audit_trail_without_its_body() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let create = shop.post("/manufacturers", json!({"manufacturer_name": "Secret Birch"}));
    let created = create.by(Role::Manager).header("x-request-id", "the-first").send().await;
    let made = created.expect(201).id();
    let path = format!("/manufacturers/{made}");
    let secret = json!({"manufacturer_name": "Secret Oak"});
    shop.patch(&path, secret.clone()).by(Role::Manager).send().await.expect(200);
    // Refused changes and reads have no entries.
    shop.delete(&path).by(Role::Manager).send().await.expect(403);
    shop.get(&path).by(Role::Manager).send().await.expect(200);
    shop.patch(&path, json!({"nonsense": 1})).by(Role::Manager).send().await.expect(422);
    shop.delete(&path).by(Role::Administrator).send().await.expect(204);
    // Entries of the API are written a moment later than those of the administration.
    audited(&mut ann, "origin=api", 3).await;
    let user = id(&shop.site, "manager").await;
    let page = format!("/users/{user}");
    let chained = async || {
        let lasting = shop.database.number("SELECT count(*) FROM host_audit_lasting_chain").await;
        (lasting, shop.database.number("SELECT count(*) FROM host_audit_chain").await)
    };
    let (lasting, others) = chained().await;
    assert_eq!(ann.fill(&page, &format!("{page}/block"), &[]).await.status, 303);
    let rules = "/permissions?asset=com_shop.products";
    let html = ann.get(rules).await.html;
    let seen = field(&html, "seen").unwrap().to_owned();
    let fields = [("asset", "com_shop.products"), ("seen", &*seen), ("store.view-2", "deny")];
    assert_eq!(ann.post("/permissions", &fields).await.status, 303);
    assert_eq!(ann.fill(&page, &format!("{page}/delete"), &[]).await.status, 303);
    // No number of other entries pushes these three out.
    assert_eq!(chained().await, (lasting + 3, others));

    let own = id(&shop.site, "superuser").await;
    assert_eq!(
        audited(&mut ann, "", 7).await,
        [
            format!("superuser session: Delete a user administration.users.delete: user {user}"),
            "superuser session: Change permissions: deny store.view for Registered \
             administration.permissions: asset com_shop.products"
                .to_owned(),
            format!("superuser session: Block a user administration.users.block: user {user}"),
            format!(
                "administrator token: Delete DELETE manufacturers.delete: manufacturers {made}"
            ),
            format!("manager token: Change PATCH manufacturers.update: manufacturers {made}"),
            format!("manager token: Add POST manufacturers.create: manufacturers {made}"),
            format!("superuser session: Sign in administration.sign_in: user {own}"),
        ]
    );
    assert!(!ann.html.contains("Secret"), "{}", ann.html);
    for (query, count) in [
        ("user=MANAGER", 2),
        ("user=nobody", 0),
        ("origin=api", 3),
        ("origin=administration", 4),
        ("origin=command-line", 0),
        ("type=manufacturers", 3),
        (&*format!("type=manufacturers&id={made}&user=manager"), 2),
        ("type=user", 3),
        ("request=the-first", 1),
        ("request=the-second", 0),
        ("since=2020-01-01&until=2020-12-31", 0),
        ("since=2020-01-01&until=9000-01-01&origin=api", 3),
        ("since=never&after=nonsense", 7),
        ("user=%27%3B%25", 0),
    ] {
        audited(&mut ann, query, count).await;
    }
    let seen = Visitor::signed_in(&shop, "administrator").await.get("/audit").await;
    assert_eq!(seen.status, 403, "only users with core.admin see the audit trail");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn sign_ins_sign_outs_and_refusals_are_in_the_audit_trail_without_a_password() {
    let shop = Shop::open().await;
    shop.site.block_user("registered", Force::No).await.unwrap();
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    assert_eq!(ann.fill("/", "/sign-out", &[]).await.status, 303);
    for (name, password, status) in [
        ("superuser", "hunter2 and more", 422),
        ("superuser", "hunter2 and more", 422),
        ("hunter2 as a name", "x", 422),
        ("another\0name", "x", 422),
        ("registered", PASSWORD, 403),
        ("manager", PASSWORD, 403),
    ] {
        assert_eq!(Visitor::of(&shop.url("")).sign_in(name, password).await.status, status);
    }
    let mut ann = Visitor::signed_in(&shop, "administrator").await;
    let fields = [("current", "hunter2 and more"), ("password", "hunter2 and more")];
    assert_eq!(ann.fill("/account", "/account", &fields).await.status, 422);
    for _ in 0..4 {
        Visitor::of(&shop.url("")).sign_in("nobody", "x").await;
    }
    for _ in 0..3 {
        Visitor::of(&shop.url("")).sign_in("hunter2 as a name", "x").await;
    }
    let mut ann = Visitor::of(&shop.url(""));
    assert_eq!(ann.sign_in("superuser", PASSWORD).await.status, 303);
    let (superuser, registered, manager, administrator) = (
        id(&shop.site, "superuser").await,
        id(&shop.site, "registered").await,
        id(&shop.site, "manager").await,
        id(&shop.site, "administrator").await,
    );
    let refused = |who: &str, why: &str, record: &str| {
        format!("{who} password,: Sign in refused: {why} administration.sign_in: {record}")
    };
    let signed = |who: &str, what: &str, page: &str, user: i64| {
        format!("{who} session: Sign {what} administration.{page}: user {user}")
    };
    let mut expected = vec![
        signed("superuser", "in", "sign_in", superuser),
        signed("superuser", "in", "sign_in", superuser),
        signed("superuser", "out", "sign_out", superuser),
        signed("administrator", "in", "sign_in", administrator),
        refused("superuser", "wrong password", &format!("user {superuser}")),
        refused("registered", "blocked", &format!("user {registered}")),
        refused("manager", "not permitted", &format!("user {manager}")),
        // Whether a name is unknown or not acceptable is the same.
        refused("Administration", "unknown name hun…", ""),
        format!(
            "administrator password,: Password refused: wrong password administration.account: \
             user {administrator}"
        ),
    ];
    let mut found = audited(&mut ann, "", expected.len()).await;
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "of many refusals of a kind, only the first one");
    assert!(!ann.html.contains("hunter2") && !ann.html.contains("another"), "{}", ann.html);
    assert!(ann.html.contains("password, from 127.0.0.1"), "{}", ann.html);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn repeated_refusals_are_one_entry_with_their_number() {
    let place = Place::of_the_fixture();
    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    for number in 0..9 {
        Visitor::of(&served.url("")).sign_in("ann", "not the password").await;
        if number == 4 {
            place.database.execute_at(&place.site_url(), LENGTHEN_WAITS).await;
        }
    }
    served.stop().await;
    let text = place.run("audit export").await;
    let entries = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let entries = entries.filter(|entry| entry["route"] == "administration.sign_in");
    let mut entries: Vec<_> =
        entries.map(|entry| format!("{} {}", entry["status"], entry["what"])).collect();
    entries.sort();
    assert_eq!(
        entries,
        [
            "422 \"sign in refused: wrong password (4 times within a minute)\"",
            "422 \"sign in refused: wrong password\"",
            "429 \"sign in refused: too many attempts (3 times within a minute)\"",
            "429 \"sign in refused: too many attempts\"",
        ]
    );
}

#[tokio::test]
async fn the_audit_trail_is_paged_without_repeats_and_bounded() {
    let server = ServerSettings { audit_entries: 130, ..ServerSettings::default() };
    let shop = Shop::with(Setup { server, ..Setup::default() }).await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let mut made = Vec::new();
    for number in 0..140 {
        let body = json!({"manufacturer_name": format!("Birch {number}")});
        made.push(shop.create("/manufacturers", body).await);
    }
    let last = format!("id={}", made[139]);
    audited(&mut ann, &format!("type=manufacturers&{last}"), 1).await;
    audited(&mut ann, &format!("type=manufacturers&id={}", made[9]), 0).await;
    audited(&mut ann, &format!("type=manufacturers&id={}", made[10]), 1).await;

    for query in ["", "?type=manufacturers", "?user=administrator&origin=api"] {
        let mut path = format!("/audit{query}");
        let (mut pages, mut html) = (Vec::new(), String::new());
        loop {
            html.clone_from(&ann.get(&path).await.html);
            pages.push(changes(&html));
            match beside(&html, "next") {
                Some(next) => path = next,
                None => break,
            }
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [50, 50, 30], "{query}");
        let found: Vec<String> = pages.concat();
        let expected = made[10..].iter().rev().map(|id| {
            format!("administrator token: Add POST manufacturers.create: manufacturers {id}")
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
        for page in pages.iter().rev().skip(1) {
            html = ann.get(&beside(&html, "prev").unwrap()).await.html;
            assert_eq!(&changes(&html), page, "{query}");
        }
        assert_eq!(beside(&html, "prev"), None);
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn answered_changes_are_in_the_audit_trail_after_a_shutdown() {
    let database = crate::support::databases::Database::new().await;
    let serve = async || {
        let site = Site::open(&database.address(), &[library()]).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let running = site.serve(listener, &ServerSettings::default()).unwrap();
        (site, format!("http://{}", running.addr()), running)
    };
    let (site, origin, running) = serve().await;
    add(&site, "ann", "Super Users").await;
    let token = site.generate_token("ann").await.unwrap();
    let client = reqwest::Client::new();
    let asking = (0..20).map(|number| {
        let request = client
            .post(format!("{origin}{ROOT}/manufacturers"))
            .header("authorization", format!("Bearer {token}"))
            .header("accept", MEDIA_TYPE)
            .json(&json!({"manufacturer_name": format!("Birch {number}")}));
        tokio::spawn(Answer::to(request))
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap().expect(201);
    }
    running.shutdown().await;

    let (_site, origin, running) = serve().await;
    let mut ann = Visitor::of(&origin);
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let html = ann.get("/audit?origin=api").await.html;
    let ids: BTreeSet<String> = changes(&html).into_iter().collect();
    assert_eq!(ids.len(), 20, "{ids:?}");
    running.shutdown().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn commands_are_in_the_audit_trail() {
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    place.run("user add bob --email bob@example.com --group Manager").await;
    place.run("permission set Manager store.delete com_shop.products allow").await;
    place.run("user remove bob").await;
    place.run("user list").await;
    place.refusal("user remove bob").await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    let html = ann.get("/audit?origin=command-line").await.html;
    let who = format!("{} command", operator());
    assert_eq!(
        changes(&html),
        [
            format!("{who}: Delete a user user remove: user 2"),
            format!(
                "{who}: Change permissions: allow store.delete for Manager permission set: \
                 asset com_shop.products"
            ),
            format!("{who}: Add a user user add: user 2"),
            format!("{who}: Set a password user password: user 1"),
            format!("{who}: Add a user user add: user 1"),
            format!(
                "{who}: Install an extension: allow store.view on com_shop for Manager, \
                 allow store.create on com_shop for Manager, \
                 allow store.edit on com_shop for Manager, \
                 allow store.delete on com_shop for Administrator, \
                 allow store.refund on com_shop.orders for Administrator, \
                 allow store.privacy on com_shop.store for Administrator, \
                 allow store.view on com_shop.config for Administrator install: \
                 extension webservices-shop"
            ),
        ]
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_tried_change_is_in_the_audit_trail_even_if_the_browser_disconnects() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    let route = "/api/webservices-shop/manufacturers.create";
    ann.get(route).await;
    for number in 0..20 {
        let body = json!({"manufacturer_name": format!("m{number}")}).to_string();
        let fields = [("body", &*body), ("sure", "yes")];
        let after = Duration::from_micros(number * 1_000);
        // Either the answer has arrived by then, or the browser has disconnected.
        let _ = tokio::time::timeout(after, ann.post(route, &fields)).await;
    }
    ann.fill(route, route, &[("body", "{\"manufacturer_name\": \"last\"}"), ("sure", "yes")]).await;
    for _ in 0..200 {
        let list = shop.get("/manufacturers?page[limit]=50").send().await.expect(200);
        let seen = ann.get("/audit?type=manufacturers&origin=administration").await;
        if changes(&seen.html).len() == list.ids().len() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("what is there is not what is in the audit trail: {:?}", changes(&ann.html));
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_page_exports_what_its_filter_shows_and_only_to_administrators() {
    let shop = Shop::open().await;
    let mut ann = Visitor::signed_in(&shop, "superuser").await;
    for name in ["Birch", "Oak"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    audited(&mut ann, "type=manufacturers", 2).await;
    let address = |html: &str, format: &str| {
        let found = html.split("href=\"/administrator").find(|rest| {
            rest.starts_with("/audit/export?") && rest.contains(&format!("format={format}\""))
        });
        found.unwrap().split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&")
    };
    let html = ann.html.clone();
    let seen = ann.get(&address(&html, "ndjson")).await;
    assert_eq!(seen.headers["content-type"], "application/x-ndjson");
    assert_eq!(seen.headers["content-disposition"], "attachment; filename=\"audit.ndjson\"");
    let entries: Vec<serde_json::Value> =
        seen.html.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries.len(), 2);
    assert!(entries.iter().all(|entry| entry["record_type"] == "manufacturers"));
    assert!(entries[0]["id"].as_i64() < entries[1]["id"].as_i64(), "oldest first");
    let seen = ann.get(&address(&html, "csv")).await;
    assert_eq!(seen.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(seen.html.split("\r\n").count(), 4, "{}", seen.html);
    let path = address(&html, "csv");
    let seen = Visitor::signed_in(&shop, "administrator").await.get(&path).await;
    assert_eq!(seen.status, 403);
    assert_eq!(Visitor::of(&shop.url("")).get(&path).await.status, 303);
}
