//! Several hosts on one database; and databases of newer programs, with interrupted migrations, or
//! unreachable.

use std::time::Duration;

use example_host::{Error, Force, NewUser, Site};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, ROOT, fixture};
use crate::support::ledger::Client;
use crate::support::process::{Place, Served, stop};
use crate::support::proxy::{Line, Proxy};
use crate::support::waiting::{eventually, patiently};

const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

/// The greatest number of connections of a host to a server.
const CONNECTIONS: i64 = 8;

fn user(name: &str) -> NewUser {
    NewUser {
        username: name.to_owned(),
        email: format!("{name}@example.com"),
        groups: vec!["Manager".to_owned()],
        password: None,
    }
}

async fn open(database: &Database) -> Site {
    Site::open(&database.address(), &[fixture("misbehaves")]).await.unwrap()
}

#[tokio::test]
async fn hosts_that_start_together_install_once() {
    let place = Place::of_the_fixture();
    let (a, b, c, d) = tokio::join!(place.serve(), place.serve(), place.serve(), place.serve());
    let token = place.user("ann", "Manager").await;
    for served in [a, b, c, d] {
        served.until(200, ECHO, &token).await;
        served.stop().await;
    }
    assert_eq!(place.run("group list").await.lines().count(), 5);
    assert_eq!(place.run("extension list").await.lines().count(), 2);
    assert_eq!(place.run("user list").await.lines().count(), 1);
}

/// The engine turns the log of a new file on only while nobody else writes to it, and does not wait for that.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has no file")]
async fn a_start_touches_a_new_file_only_after_the_start_before_it() {
    let place = Place::of_the_fixture();
    let lock = std::fs::File::create(place.data("host.lock")).unwrap();
    lock.lock().unwrap();
    std::fs::File::create(place.data("host.db")).unwrap();
    let mut before = SqliteConnection::connect(&place.site_url()).await.unwrap();
    before.execute("BEGIN IMMEDIATE").await.unwrap();
    let start = tokio::spawn(place.call("group list").finish());
    tokio::time::sleep(Duration::from_secs(1)).await;
    before.close().await.unwrap();
    drop(lock);
    assert_eq!(start.await.unwrap().succeeds().lines().count(), 5);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has no file")]
async fn of_a_thousand_starts_forty_at_once_on_a_new_file_none_fails() {
    for _ in 0..25 {
        let place = Place::of_the_fixture();
        let mut starting = JoinSet::new();
        for _ in 0..40 {
            starting.spawn(place.call("group list").finish());
        }
        while let Some(done) = starting.join_next().await {
            assert_eq!(done.unwrap().succeeds().lines().count(), 5);
        }
    }
}

/// Hosts under load write all the time, and a start has to wait for its turn longer than a request may.
#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "a site in a file has no other hosts")]
async fn a_start_waits_for_those_who_write() {
    let place = Place::of_the_fixture();
    place.run("user list").await;
    let mut starting = JoinSet::new();
    let start = async {
        starting.spawn(place.call("group list").finish());
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(starting.try_join_next().is_none(), "it has neither ended nor gone on");
    };
    let lock = "SELECT revision FROM host_state WHERE id = 1 FOR UPDATE";
    place.database.during(&[lock], start).await;
    assert_eq!(starting.join_next().await.unwrap().unwrap().succeeds().lines().count(), 5);
}

#[tokio::test]
async fn every_host_follows_changes_of_another_process() {
    let place = Place::of_the_fixture();
    let (one, other) = tokio::join!(place.serve(), place.serve());
    let token = place.user("ann", "Manager").await;
    for (command, status) in [
        ("user block ann", 401),
        ("user unblock ann", 200),
        ("permission set Public core.login.api root deny", 401),
        ("permission set Public core.login.api root inherit", 200),
        ("extension disable misbehaves", 404),
        ("extension enable misbehaves", 200),
        ("token revoke ann", 401),
    ] {
        place.run(command).await;
        one.until(status, ECHO, &token).await;
        other.until(status, ECHO, &token).await;
    }
    one.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn hosts_follow_each_other_in_both_directions() {
    let database = Database::new().await;
    let (one, other) = (open(&database).await, open(&database).await);
    let (left, right) = (serving(&one).await, serving(&other).await);
    let client = reqwest::Client::new();
    let until = async |address: &str, token: &str, status: u16| {
        eventually(&format!("{address} answers {status}"), async || {
            let ask = client.get(format!("http://{address}{ECHO}")).bearer_auth(token);
            let ask = ask.header("accept", "application/vnd.api+json");
            (Answer::to(ask).await.status == status).then_some(())
        })
        .await;
    };
    for (here, there) in [(&one, &other), (&other, &one)] {
        let name = if std::ptr::eq(here, &one) { "ann" } else { "bob" };
        here.add_user(user(name)).await.unwrap();
        let token = there.generate_token(name).await.unwrap();
        for address in [&left.1, &right.1] {
            until(address, &token, 200).await;
        }
        here.block_user(name, Force::No).await.unwrap();
        for address in [&left.1, &right.1] {
            until(address, &token, 401).await;
        }
    }
    left.0.shutdown().await;
    right.0.shutdown().await;
}

async fn serving(site: &Site) -> (example_host::Running, String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = site.serve(listener, &example_host::ServerSettings::default()).unwrap();
    let address = running.addr().to_string();
    (running, address)
}

#[tokio::test]
async fn parallel_changes_through_two_hosts_keep_names_unique() {
    let database = Database::new().await;
    let (one, other) = (open(&database).await, open(&database).await);
    let mut tasks = JoinSet::new();
    for number in 0..30 {
        let site = if number % 2 == 0 { one.clone() } else { other.clone() };
        tasks.spawn(async move { site.add_user(user(&format!("user{}", number % 5))).await });
    }
    let mut ids = Vec::new();
    while let Some(done) = tasks.join_next().await {
        match done.unwrap() {
            Ok(id) => ids.push(id),
            Err(Error::Taken { .. }) => {}
            Err(error) => panic!("neither made nor taken: {error}"),
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    // Different simultaneous changes all succeed.
    let mut tasks = JoinSet::new();
    for (number, site) in (0..24).map(|number| (number, if number < 12 { &one } else { &other })) {
        let site = site.clone();
        tasks.spawn(async move { site.add_group(&format!("group {number}"), "Public").await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(one.groups().await.unwrap().len(), 5 + 24);
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn a_database_of_an_unreleased_program_is_refused() {
    let place = Place::of_the_fixture();
    place.run("user list").await;
    // What it called its first migration, of which there were several.
    let (table, file) = match place.database.engine {
        Engine::Sqlite => ("_sqlx_migrations", place.path("data/host.db")),
        Engine::Postgres | Engine::MariaDb => ("host_migrations", place.path("")),
    };
    let first = format!("UPDATE {table} SET description = 'site' WHERE version = 1");
    let second = format!(
        "INSERT INTO {table} (version, description, success, checksum, execution_time) \
         VALUES (2, 'copies', TRUE, '', 0)"
    );
    let later = format!("DELETE FROM {table} WHERE version > 1");
    for statement in [first, later, second] {
        match place.database.engine {
            Engine::Sqlite => {
                let file = format!("sqlite://{}", file.display());
                let mut file = SqliteConnection::connect(&file).await.unwrap();
                file.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
                file.close().await.unwrap();
            }
            Engine::Postgres | Engine::MariaDb => place.database.execute(&statement).await,
        }
    }
    let line = place.refusal("user list").await;
    assert!(line.contains("created by an unreleased version"), "{line}");
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_refused() {
    let place = Place::of_the_fixture();
    place.run("user list").await;
    match place.database.engine {
        Engine::Sqlite => {
            // By default, the program keeps its file in this folder.
            let file = format!("sqlite://{}", place.path("data/host.db").display());
            let mut file = SqliteConnection::connect(&file).await.unwrap();
            let later = "INSERT INTO _sqlx_migrations VALUES (9999, 'later', 0, TRUE, x'00', 0)";
            file.execute(later).await.unwrap();
            file.close().await.unwrap();
        }
        Engine::Postgres | Engine::MariaDb => {
            let later = "INSERT INTO host_migrations \
                 (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'later', TRUE, '', 0)";
            place.database.execute(later).await;
        }
    }
    for command in ["serve --listen 127.0.0.1:0", "user list"] {
        let line = place.refusal(command).await;
        assert!(line.contains("newer than this program"), "{line}");
        assert!(line.contains("migration 9999"), "{line}");
    }
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "this engine rolls back an interrupted migration")]
async fn an_interrupted_migration_is_completed_or_refused_by_the_next_start() {
    let place = Place::of_the_fixture();
    place.run("user list").await;
    // The state after a program is killed in the middle of a migration.
    place.database.execute("UPDATE host_migrations SET success = FALSE").await;
    if place.database.engine == Engine::Postgres {
        // This engine rolls one back, so nothing but a change by hand leads to that state.
        let line = place.refusal("user list").await;
        assert!(line.contains("partially applied"), "{line}");
        return;
    }
    place.database.execute("DROP TABLE host_parameters").await;
    place.database.execute("DELETE FROM host_rules WHERE group_id = 5").await;
    assert_eq!(place.run("config set patience 4").await, "");
    let rules = place.run("permission list").await;
    assert!(rules.contains("Super Users\tcore.admin\troot\tallow\n"), "{rules}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_hosts_that_start_together_create_one_store() {
    let place = Place::of_the_store();
    let started = futures_util::future::join_all((0..10).map(|_| place.serve())).await;
    let token = place.user("ann", "Administrator").await;
    let mut seen = Vec::new();
    for served in started {
        served.until(200, &format!("{ROOT}/zones"), &token).await;
        let client = Client::of(&served, &token);
        let zones = client.expect(200, "GET", "/zones?page[offset]=5000", None).await;
        seen.push(zones["meta"]["total"].clone());
        served.stop().await;
    }
    assert!(seen[0].as_i64().unwrap() > 1_000);
    assert!(seen.iter().all(|total| *total == seen[0]), "the zones are there once: {seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_hold_when_the_load_is_spread_over_two_hosts() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = [place.serve().await, place.serve().await];
    let clients = hosts.each_ref().map(|host| Client::of(host, &token));
    // All requests are sent at the same time, alternately to the two hosts.
    let post = async |path: &str, bodies: Vec<Value>| {
        let mut tasks = JoinSet::new();
        for (number, body) in bodies.into_iter().enumerate() {
            let (client, path) = (clients[number % 2].clone(), path.to_owned());
            tasks.spawn(async move { client.in_turn("POST", &path, &body).await.0 });
        }
        tasks.join_all().await
    };
    for (path, body) in [
        ("/products", json!({"product_name": "Lamp", "sku": "L-1"})),
        ("/coupons", json!({"coupon_name": "Spring", "coupon_code": "SPRING", "value": 5})),
        ("/vouchers", json!({"voucher_value": 5, "voucher_code": "GIFT"})),
    ] {
        let mut statuses = post(path, vec![body; 32]).await;
        statuses.sort_unstable();
        assert_eq!((statuses[0], statuses[1], statuses[31]), (201, 422, 422), "{path}");
    }

    let order = json!({"user_email": "ada@example.com"});
    let order = clients[0].create("/orders", order).await;
    let moves = (0..40).map(|number| json!({"order_state_id": 1 + number % 4, "comment": "go"}));
    let statuses = post(&format!("/orders/{order}/history"), moves.collect()).await;
    assert!(statuses.iter().all(|status| *status == 201), "{statuses:?}");
    let entries = clients[1].all(&format!("/orders/{order}/history")).await;
    assert_eq!(entries.len(), 41);
    let order = clients[1].expect(200, "GET", &format!("/orders/{order}"), None).await;
    let last = entries.last().unwrap();
    assert_eq!(order["data"]["attributes"]["order_state_id"], last["attributes"]["order_state_id"]);
    stop(hosts).await;
}

/// A host whose database is behind a proxy, and the token of a user whom it has cached.
async fn behind_a_proxy() -> (Place, Proxy, Served, String) {
    let place = Place::of_the_fixture();
    let token = place.user("ann", "Manager").await;
    let proxy = Proxy::to(place.database.server_address()).await;
    let url = place.database.url_through(proxy.address);
    let served = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", url).start().await;
    served.until(200, ECHO, &token).await;
    (place, proxy, served, token)
}

/// Waits until a request gets this status, which may take as long as the host trusts its cache.
async fn until(served: &Served, status: u16, token: &str) -> Answer {
    eventually(&format!("{status}"), async || {
        let answer = Answer::to(served.get(ECHO, token)).await;
        assert!([200, 503].contains(&answer.status), "a client is told {}", answer.status);
        (answer.status == status).then_some(answer)
    })
    .await
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "a file does not go away")]
async fn an_unreachable_database_is_a_503_until_it_is_back() {
    let (place, proxy, served, token) = behind_a_proxy().await;
    proxy.set(Line::Cut);
    let answer = until(&served, 503, &token).await;
    assert_eq!(answer.errors(), ["503 unavailable"]);
    assert!(answer.headers.contains_key("retry-after"));
    let health = Answer::to(served.bare("GET", "/health")).await;
    assert_eq!(health.status, 503);
    assert_eq!(health.json()["failing"][0], "database");
    // The process lives, and must not be restarted for that.
    assert_eq!(Answer::to(served.bare("GET", "/livez")).await.status, 200);
    // Changes that the host could not see meanwhile take effect when the database is back.
    let second = place.run("token generate ann").await;
    proxy.set(Line::Open);
    until(&served, 200, second.trim()).await;
    Answer::to(served.get(ECHO, &token)).await.expect(401);
    proxy.set(Line::Cut);
    until(&served, 503, second.trim()).await;
    proxy.set(Line::Open);
    until(&served, 200, second.trim()).await;
    served.log.wait_for("the database answers again").await;
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "a file does not stall")]
async fn a_stalled_database_exhausts_neither_the_host_nor_itself() {
    let (place, proxy, served, token) = behind_a_proxy().await;
    proxy.set(Line::Stalled);
    // Each request has another unknown token, so that each needs the database.
    let mut strangers = JoinSet::new();
    for number in 0..40 {
        let request = served.get(ECHO, &format!("stranger{number}"));
        strangers.spawn(Answer::to(request));
    }
    while let Some(answer) = patiently("strangers", strangers.join_next()).await {
        let answer = answer.unwrap().expect(503);
        assert!(answer.headers.contains_key("retry-after"));
    }
    until(&served, 503, &token).await;
    proxy.set(Line::Open);
    until(&served, 200, &token).await;
    eventually("no connection is left over", async || {
        (place.database.others().await <= CONNECTIONS).then_some(())
    })
    .await;
    served.stop().await;
    eventually("a host that has stopped has none", async || {
        (place.database.others().await == 0).then_some(())
    })
    .await;
}

/// The two fixtures on one site; one of them hangs while a file exists.
fn with_a_neighbour() -> Place {
    Place::with([fixture("misbehaves"), fixture("neighbour")])
}

#[tokio::test]
async fn a_site_answers_its_first_request_after_a_long_installation() {
    let place = Place::with([fixture("neighbour")]);
    place.run("user list").await;
    std::fs::write(place.data("installing"), "").unwrap();
    let starting = place.call("serve --listen 127.0.0.1:0").start();
    let installing = async {
        // Longer than a host trusts its cache.
        tokio::time::sleep(std::time::Duration::from_secs(6)).await;
        std::fs::remove_file(place.data("installing")).unwrap();
    };
    let (served, ()) = tokio::join!(starting, installing);
    let path = "/api/index.php/v1/neighbour/greeting";
    let ask = served.bare("GET", path).header("accept", crate::support::harness::MEDIA_TYPE);
    Answer::to(ask).await.expect(200);
    assert_eq!(Answer::to(served.bare("GET", "/health")).await.status, 200);
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(engine = "sqlite", ignore = "the lock of a file is not lost")]
async fn a_start_that_loses_its_lock_ends() {
    let place = with_a_neighbour();
    place.run("user list").await;
    std::fs::write(place.data("installing"), "").unwrap();
    let starting = place.call("serve --listen 127.0.0.1:0").finish();
    let losing = async {
        let holders = match place.database.engine {
            Engine::Postgres => {
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = \
                 (SELECT oid FROM pg_database WHERE datname = current_database())"
            }
            _ => "SELECT IS_USED_LOCK(CONCAT('host_start.', MD5(DATABASE()))) IS NOT NULL",
        };
        // Only then has it read the migrations, and waits with nothing but its lock.
        eventually("it has the lock", async || {
            let begun = place.data("installing.begun").exists();
            (begun && place.database.number(holders).await > 0).then_some(())
        })
        .await;
        match place.database.engine {
            Engine::Postgres => {
                place
                    .database
                    .execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_locks \
                         WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database \
                         WHERE datname = current_database())",
                    )
                    .await;
            }
            _ => {
                let kill = "BEGIN NOT ATOMIC \
                     SET @holder = IS_USED_LOCK(CONCAT('host_start.', MD5(DATABASE()))); \
                     EXECUTE IMMEDIATE CONCAT('KILL ', @holder); END";
                place.database.execute(kill).await;
            }
        }
    };
    let (ended, ()) = tokio::join!(starting, losing);
    ended.exits(1);
    let said = ended.err();
    assert!(said.contains("this start has lost its lock"), "{said}");
    // The next start gets the lock, and completes.
    std::fs::remove_file(place.data("installing")).unwrap();
    place.run("user list").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_keeps_its_time_limit_whatever_hangs() {
    let place = with_a_neighbour();
    let token = place.user("ann", "Manager").await;
    let (url, proxy) = match place.database.engine {
        Engine::Sqlite => (String::new(), None),
        Engine::Postgres | Engine::MariaDb => {
            let proxy = Proxy::to(place.database.server_address()).await;
            (place.database.url_through(proxy.address), Some(proxy))
        }
    };
    let call = place.call("serve --listen 127.0.0.1:0").env("HOST_STOP_TIMEOUT", "3");
    let call = if url.is_empty() { call } else { call.env("DATABASE_URL", url) };
    let mut served = call.start().await;
    served.until(200, ECHO, &token).await;
    std::fs::write(place.data("staying"), "").unwrap();
    // A read and a change, neither of which ends.
    let mut flying = Vec::new();
    for request in [
        "GET /api/index.php/v1/misbehaves/held/never",
        "POST /api/index.php/v1/misbehaves/change/never",
    ] {
        let mut connection = served.connect().await;
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\naccept: application/vnd.api+json\r\n\
             authorization: Bearer {token}\r\ncontent-length: 0\r\n\r\n"
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        flying.push(connection);
    }
    eventually("both are under way", async || {
        let lines = served.log.all();
        (lines.iter().filter(|line| line.contains("held")).count() == 2).then_some(())
    })
    .await;
    // The audit entry of the last change is still to be written when the database stops answering.
    Answer::to(served.ask("POST", ECHO, &token)).await.expect(200);
    let mut file = None;
    match &proxy {
        Some(proxy) => proxy.set(Line::Stalled),
        None => {
            let url = format!("sqlite://{}", place.data("host.db").display());
            let mut locked = SqliteConnection::connect(&url).await.unwrap();
            locked.execute("BEGIN IMMEDIATE").await.unwrap();
            file = Some(locked);
        }
    }
    let begun = std::time::Instant::now();
    served.signal("TERM").await;
    assert_eq!(served.ended().await, Some(0));
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(8), "three seconds are {took:?}");
    served.log.wait_for("did not shut down in time").await;
    drop(file);
}
