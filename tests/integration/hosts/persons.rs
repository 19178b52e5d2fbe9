//! A person's data on the whole site: what a copy of it contains, and that nothing is left after it was erased, whatever
//! happens meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, MEDIA_TYPE, fixture};
use crate::support::process::{Place, Served, table};
use crate::support::visitor::{PASSWORD, Visitor};

const CONTACTS: &str = "/api/index.php/v1/contacts";

/// The address of the person of these tests, and how any form of it begins.
const EMAIL: &str = "Quinx@Example.com";
const MARK: &str = "quinx@";

/// An extension with a map of personal data, and one without.
fn place() -> Place {
    Place::with([fixture("contacts"), fixture("greeter")])
}

/// Adds a user with the name and the address of the person, and returns a token.
async fn add_person(place: &Place, group: &str) -> String {
    let add = place.call("user add Quinx --email").word(EMAIL).word("--group").word(group);
    add.finish().await.succeeds();
    place.run("token generate Quinx").await.trim().to_owned()
}

/// The key of the person's user.
async fn key(place: &Place) -> i64 {
    let users = place.run("user list").await;
    table(&users).iter().find(|row| row[1] == "Quinx").unwrap()[0].parse().unwrap()
}

fn contacts(place: &Place) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(place.data("contacts.json")).unwrap()).unwrap()
}

fn put_contacts(place: &Place, contacts: Value) {
    std::fs::write(place.data("contacts.json"), contacts.to_string()).unwrap();
}

/// A contact with the person's address, and another one.
fn two_contacts(user: i64) -> Value {
    json!([
        {"name": "Quinx", "email": "quinx@example.com", "user": user, "open": false},
        {"name": "Bob", "email": "bob@example.com", "user": 77, "open": false},
    ])
}

fn put_mail(place: &Place, name: &str, text: &str) {
    let folder = place.data("mail");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

async fn erase(served: &Served, token: &str, erasure: Value) -> Answer {
    let request = served.ask("POST", &format!("{CONTACTS}/erase"), token);
    Answer::to(request.header("content-type", MEDIA_TYPE).body(erasure.to_string())).await
}

/// The lines of the list of erased persons.
fn listed(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.data("erased.ndjson")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_copy_has_every_part_and_names_the_extensions_without_a_map() {
    let place = place();
    add_person(&place, "Manager").await;
    let id = key(&place).await;
    put_contacts(&place, two_contacts(0));
    put_mail(&place, "1.eml", "To: quinx@example.com\r\n\r\nHello");
    put_mail(&place, "2.eml", "To: bob@example.com\r\n\r\nHello");

    let by_address = place.run("privacy export --email QUINX@example.com").await;
    let copy: Value = serde_json::from_str(&by_address).unwrap();
    assert_eq!(copy["person"], json!({"email": "QUINX@example.com", "user": id}));
    assert_eq!(copy["unknown"], json!(["greeter"]));
    let people = &copy["parts"]["contacts"]["people"];
    assert_eq!((people[0]["name"].as_str(), people.as_array().unwrap().len()), (Some("Quinx"), 1));
    let host = &copy["parts"]["host"];
    assert_eq!(host["users"][0]["email"], EMAIL);
    assert_eq!(host["users"][0]["groups"], json!(["Manager"]));
    assert_eq!(host["tokens"][0]["name"], "default");
    assert_eq!(host["mails"][0]["file"], "1.eml");
    assert_eq!(host["mails"].as_array().unwrap().len(), 1);
    assert!(!by_address.contains("secret") && !by_address.contains("password_hash"));

    // By the user, with the address that the extension needs.
    for user in [id.to_string(), "quinx".to_owned()] {
        let copy = place.run(&format!("privacy export --user {user}")).await;
        let copy: Value = serde_json::from_str(&copy).unwrap();
        assert_eq!(copy["person"], json!({"email": EMAIL, "user": id}));
        assert_eq!(copy["parts"]["contacts"]["people"][0]["name"], "Quinx");
    }
    // A person who is no user.
    let copy = place.call("privacy export --email -").input("bob@example.com\n").finish().await;
    let copy: Value = serde_json::from_str(&copy.succeeds()).unwrap();
    assert_eq!(copy["person"], json!({"email": "bob@example.com"}));
    assert_eq!(copy["parts"]["contacts"]["people"][0]["name"], "Bob");
    assert_eq!(copy["parts"]["host"]["mails"][0]["file"], "2.eml");

    let trail = place.run("audit export").await;
    assert_eq!(trail.matches("\"what\":\"copy a person's data\"").count(), 4);
    place.call("privacy export").finish().await.exits(2);
    let line = place.refusal("privacy export --user nobody").await;
    assert_eq!(line, "there is no user called \"nobody\"");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_copy_that_an_extension_asks_for_is_recorded_with_the_user_who_asked_it() {
    let place = place();
    let quinx = add_person(&place, "Administrator").await;
    place.add_administrator("ann", PASSWORD).await;
    put_contacts(&place, two_contacts(0));
    let served = place.serve().await;
    let export = async |person: Value| {
        let request = served.ask("POST", &format!("{CONTACTS}/export"), &quinx);
        Answer::to(request.header("content-type", MEDIA_TYPE).body(person.to_string())).await
    };
    let copy = export(json!({"email": "bob@example.com"})).await.expect(200).json();
    assert_eq!(copy["parts"]["contacts"]["people"][0]["name"], "Bob");
    // What the user may not do with a session, an extension does not do for them.
    let refused = export(json!({"email": "ann@example.com"})).await.expect(422).json();
    let why = "only users with core.admin may copy or erase the data of others who have it";
    assert_eq!(refused, why);
    served.stop().await;
    let trail = place.run("audit export").await;
    let entries: Vec<Value> = trail
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["what"] == "copy a person's data")
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0]["username"], "Quinx");
}

/// Whatever table a later version adds: it is counted, emptied and named, or this test fails.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "the tables are the same on each engine")]
async fn each_table_with_something_of_a_user_is_a_place_that_is_named_counted_and_emptied() {
    let place = place();
    add_person(&place, "Manager").await;
    let id = key(&place).await;
    let mut file = SqliteConnection::connect(&place.site_url()).await.unwrap();
    for insertion in [
        "INSERT INTO host_sessions (hash, user_id, address, created_on, used_on, confirmed_on) VALUES \
         (randomblob(32), ?, '::1', '2026-01-31T12:00:00', '2026-01-31T12:00:00', '2026-01-31T12:00:00')",
        "INSERT INTO host_second_factors (user_id, sealed, last_step, created_on) \
         VALUES (?, 'sealed', 0, '2026-01-31T12:00:00')",
        "INSERT INTO host_recovery_codes (hash, user_id) VALUES (randomblob(32), ?)",
        "INSERT INTO host_password_links (hash, user_id, kind, ends_on) \
         VALUES (randomblob(32), ?, 'reset', '2999-01-31T12:00:00')",
    ] {
        sqlx::query(insertion).bind(id).execute(&mut file).await.unwrap();
    }
    // The trail stays as it is.
    let with_a_user = "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c \
        WHERE m.type = 'table' AND c.name = 'user_id' AND m.name <> 'host_audit' ORDER BY m.name";
    let tables = place.database.texts_at(&place.site_url(), with_a_user).await;
    let mut rows = async || {
        let mut rows = Vec::new();
        for table in &tables {
            let count = format!("SELECT count(*) FROM {table} WHERE user_id = {id}");
            let count = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(count));
            rows.push(count.fetch_one(&mut file).await.unwrap());
        }
        rows
    };
    assert!(
        rows().await.iter().all(|count| *count == 1),
        "this test has a row in each of {tables:?}"
    );
    let copy: Value =
        serde_json::from_str(&place.run("privacy export --user Quinx").await).unwrap();
    let host = &copy["parts"]["host"];
    assert_eq!(host["second_factor"][0]["recovery_codes"], 1);
    assert_eq!(host["links"][0]["kind"], "reset");

    let erased = place.run("privacy erase --user Quinx --reason asked --json").await;
    let erased: Vec<Value> = serde_json::from_str(&erased).unwrap();
    let of_host = erased.iter().filter(|row| row["part"] == "host");
    let places: Vec<&str> = of_host.filter_map(|row| row["place"].as_str()).collect();
    assert_eq!(
        places,
        ["groups", "links", "recovery_codes", "second_factor", "sessions", "tokens", "users"]
    );
    assert_eq!(places.len(), tables.len() + 1, "{tables:?}");
    assert!(rows().await.iter().all(|count| *count == 0), "{tables:?}");

    place.add_administrator("ann", PASSWORD).await;
    let served = place.serve().await;
    let mut ann = Visitor::of(&served.url(""));
    ann.sign_in("ann", PASSWORD).await;
    let page = ann.get("/privacy").await;
    for place in places {
        page.says(&format!("<th scope=\"row\">{place}</th>"));
    }
    served.stop().await;
}

#[tokio::test]
async fn an_erasure_forgets_the_failed_sign_ins_of_the_name() {
    let place = place();
    add_person(&place, "Manager").await;
    let served = place.serve().await;
    let mut visitor = Visitor::of(&served.url(""));
    for name in ["quinx", "ann"] {
        assert_ne!(visitor.sign_in(name, "not the password").await.status, 303);
    }
    served.stop().await;
    let names = "SELECT kind FROM host_sign_in_failures WHERE kind = 'name'";
    assert_eq!(place.database.texts_at(&place.site_url(), names).await.len(), 2);
    place.run("privacy erase --user Quinx --reason asked").await;
    assert_eq!(place.database.texts_at(&place.site_url(), names).await.len(), 1);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_address_and_the_user_have_to_be_of_one_person() {
    let place = place();
    add_person(&place, "Manager").await;
    place.user("bob", "Manager").await;
    for (whom, why) in [
        ("--user Quinx --email bob@example.com", "the address is that of another user"),
        ("--user 999 --email bob@example.com", "the address is that of another user"),
        ("--user Quinx --email old@example.com", "has another address; ask for one of them"),
        ("--user 0", "there are no users with such a key"),
    ] {
        let line = place.refusal(&format!("privacy export {whom}")).await;
        assert!(line.contains(why), "{whom}: {line}");
    }
    place.run("privacy export --user Quinx --email quinx@example.com").await;
}

#[tokio::test]
async fn an_erased_person_is_in_no_table_mail_log_or_trail() {
    let place = place();
    let token = add_person(&place, "Super Users").await;
    let id = key(&place).await;
    place.call("user password Quinx").input(&format!("{PASSWORD}\n")).finish().await.succeeds();
    place.add_administrator("ann", PASSWORD).await;
    let ann = place.run("token generate ann").await.trim().to_owned();
    put_contacts(&place, two_contacts(id));
    put_mail(&place, "1.eml", "To: quinx@example.com\r\n\r\nHello");
    put_mail(&place, "2.eml", "To: bob@example.com\r\n\r\nQUINX@EXAMPLE.COM has written");
    put_mail(&place, "3.eml", "To: bob@example.com\r\n\r\nHello");
    let served = place.serve_with(&[("HOST_LOG", "debug")]).await;
    let mut session = Visitor::of(&served.url(""));
    assert_eq!(session.sign_in("quinx", PASSWORD).await.status, 303);
    Answer::to(served.get(CONTACTS, &token)).await.expect(200);

    let reason = "asked for it in writing";
    let erasure = json!({"person": {"email": EMAIL}, "reason": reason});
    let erased = erase(&served, &ann, erasure.clone()).await.expect(200).json();
    let counts = json!({"groups": 1, "mails": 2, "sessions": 1, "tokens": 1, "users": 1});
    assert_eq!(erased["parts"]["host"], json!({"counts": counts, "remaining": {}, "open": []}));
    assert_eq!(erased["parts"]["contacts"]["counts"], json!({"people": 1}));
    assert_eq!(erased["unknown"], json!(["greeter"]));

    Answer::to(served.get(CONTACTS, &token)).await.expect(401);
    assert!(!session.is_in().await);
    assert_eq!(session.sign_in("quinx", PASSWORD).await.status, 422);
    let users = place.run("user list").await;
    let renamed = format!("{id}\terased-{id}\terased-{id}@erased.invalid\t\tblocked\tnone\n");
    assert!(users.contains(&renamed), "{users}");
    assert_eq!(contacts(&place)[0]["name"], "");
    assert_eq!(contacts(&place)[1]["name"], "Bob");
    let mails = std::fs::read_dir(place.data("mail")).unwrap().count();
    assert_eq!(mails, 1, "the mails to and about others stay");
    // Once more, as if it had been interrupted.
    let again = erase(&served, &ann, erasure).await.expect(200).json();
    assert!(again["parts"]["host"]["counts"].as_object().unwrap().is_empty(), "{again}");

    let log = served.log.clone();
    served.stop().await;
    assert!(log.all().iter().any(|line| line.contains("DEBUG")), "much is logged");
    let leak = log.all().into_iter().find(|line| line.to_lowercase().contains(MARK));
    assert_eq!(leak, None);
    assert!(place.run("audit verify").await.contains(" entries verified"));
    let trail = place.run("audit export").await;
    assert!(!trail.to_lowercase().contains(MARK), "{trail}");
    let hash = listed(&place)[0]["hash"].as_str().unwrap().to_owned();
    let entries: Vec<Value> = trail
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|entry| entry["record_id"] == hash.as_str())
        .collect();
    let what = format!(
        "erase a person: {reason}; host.groups 1, host.mails 2, host.sessions 1, host.tokens 1, \
         host.users 1, contacts.people 1"
    );
    assert_eq!(entries[0]["what"], format!("begin to erase a person: {reason}"));
    assert_eq!((&entries[1]["what"], &entries[1]["username"]), (&json!(what), &json!("ann")));

    if place.database.engine == Engine::Sqlite {
        let mut file = SqliteConnection::connect(&place.site_url()).await.unwrap();
        file.execute("VACUUM").await.unwrap();
        file.close().await.unwrap();
        for name in ["host.db", "host.db-wal", "erased.ndjson"] {
            let bytes = std::fs::read(place.data(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            assert!(!text.contains(MARK), "{name}");
        }
    }
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_dry_run_counts_and_what_is_not_completed_prevents_an_erasure() {
    let place = place();
    add_person(&place, "Manager").await;
    let mut open = two_contacts(key(&place).await);
    open[0]["open"] = json!(true);
    put_contacts(&place, open);
    let users = place.run("user list").await;
    let call = async |words: &str| {
        let call = place.call(&format!("privacy erase --email quinx@example.com {words}"));
        call.word("--reason").word("a letter of 3 May").finish().await
    };
    let dry = call("--dry-run").await;
    let warning = "nothing would be erased, because this is not completed: contact ";
    assert!(dry.err().contains(warning), "{}", dry.err());
    let rows = dry.succeeds();
    let expected = [
        ["contacts", "people", "1", "0"],
        ["host", "groups", "1", "0"],
        ["host", "tokens", "1", "0"],
        ["host", "users", "1", "0"],
        ["greeter", "unknown", "unknown", "unknown"],
    ];
    assert_eq!(table(&rows), expected);
    let line = call("").await.fails();
    assert!(
        line.starts_with("nothing was erased, because this is not completed: contact "),
        "{line}"
    );
    assert_eq!(place.run("user list").await, users);
    assert_eq!(contacts(&place)[0]["name"], "Quinx");
    assert!(
        listed(&place).is_empty() && !place.run("audit export").await.contains("erase a person")
    );

    let rows: Value = serde_json::from_str(&call("--force --json").await.succeeds()).unwrap();
    assert_eq!(
        rows[0],
        json!({"part": "contacts", "place": "people", "records": 1, "remaining": 0})
    );
    let unknown = json!({"part": "greeter", "place": null, "records": null, "remaining": null});
    assert_eq!(rows[4], unknown);
    assert_eq!(contacts(&place)[0]["name"], "");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_erasure_needs_a_reason_that_does_not_name_the_person() {
    let place = place();
    add_person(&place, "Manager").await;
    for (reason, day, why) in [
        (" ", "", "an erasure needs a reason"),
        ("Quinx has asked", "", "must not contain a name or an address"),
        ("mail from quinx@example.com", "", "must not contain a name or an address"),
        (&"x".repeat(501), "", "at most 500 characters"),
        ("asked", "31.1.2030", "must be like 2027-01-31"),
    ] {
        let mut call = place.call("privacy erase --user Quinx --reason").word(reason);
        if !day.is_empty() {
            call = call.word("--keep-until").word(day);
        }
        let line = call.finish().await.fails();
        assert!(line.contains(why), "{line}");
    }
    assert!(listed(&place).is_empty());
    // Part of a word is no name.
    let call = place.call("privacy erase --user Quinx --keep-until 2030-01-31 --reason");
    call.word("quinxotic").finish().await.succeeds();
    assert_eq!(listed(&place)[0]["keep_until"], "2030-01-31");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_copy_that_an_extension_breaks_off_does_not_look_like_a_whole_one() {
    let place = place();
    add_person(&place, "Manager").await;
    std::fs::write(place.data("failing"), "").unwrap();
    let copied = place.call("privacy export").word("--email").word(EMAIL).finish().await;
    copied.exits(1);
    let why = "contacts: export_person failed: the list of contacts is locked";
    assert!(copied.err().contains(why), "{}", copied.err());
    assert!(serde_json::from_str::<Value>(&copied.out()).is_err(), "{}", copied.out());

    let ann = place.user("ann", "Super Users").await;
    let served = place.serve().await;
    let request = served.ask("POST", &format!("{CONTACTS}/export"), &ann);
    let whole = json!({"email": EMAIL}).to_string();
    let refused = Answer::to(request.header("content-type", MEDIA_TYPE).body(whole)).await;
    let why = "the person's data could not be copied or erased; the host's log has the reason";
    assert!(refused.expect(500).json().as_str().is_some_and(|text| text.contains(why)));
    served.stop().await;
}

#[tokio::test]
async fn an_interrupted_erasure_is_completed_by_its_repetition() {
    let place = place();
    add_person(&place, "Manager").await;
    let id = key(&place).await;
    put_contacts(&place, two_contacts(id));
    std::fs::write(place.data("failing"), "").unwrap();
    let words = format!("privacy erase --user {id} --reason asked");
    let line = place.refusal(&words).await;
    assert_eq!(line, "contacts: erase_person failed: the list of contacts is locked");
    assert_eq!(key(&place).await, id, "the host's own part comes last");
    assert_eq!(listed(&place).len(), 1, "it is listed before it begins");
    assert!(place.run("audit export").await.contains("begin to erase a person: asked"));

    std::fs::remove_file(place.data("failing")).unwrap();
    assert!(place.run(&words).await.contains("contacts\tpeople\t1\t0\n"));
    assert_eq!(contacts(&place)[0]["name"], "");
    assert_eq!(listed(&place).len(), 2);
    // By the key, the hash of the address is still known.
    put_contacts(&place, two_contacts(0));
    assert_eq!(
        place.run(&words).await,
        "contacts\tpeople\t1\t0\ngreeter\tunknown\tunknown\tunknown\n"
    );
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_last_administrator_is_not_erased_and_nobody_erases_whom_they_may_not_change() {
    let place = place();
    let admin = add_person(&place, "Super Users").await;
    let id = key(&place).await;
    put_contacts(&place, two_contacts(id));
    let line = place.refusal("privacy erase --user Quinx --force --reason asked").await;
    assert_eq!(line, "this is the last administrator; give core.admin to another user before");
    place.add_administrator("ann", PASSWORD).await;

    let agent = place.user("agent", "Administrator").await;
    let manager = place.user("manager", "Manager").await;
    place.user("eve", "Manager").await;
    let served = place.serve().await;
    let whole = json!({"person": {"user": id}, "reason": "asked"});
    let refused = erase(&served, &agent, whole.clone()).await.expect(422).json();
    let why = "only users with core.admin may copy or erase the data of others who have it";
    assert_eq!(refused, why);
    assert_eq!(contacts(&place)[0]["name"], "Quinx", "nothing was erased anywhere");
    // Without the permission of the map, the extension refuses.
    erase(&served, &manager, whole.clone()).await.expect(403);
    let eve = json!({"person": {"email": "eve@example.com"}, "reason": "asked"});
    erase(&served, &agent, eve).await.expect(200);
    // The administrator, by their own wish.
    erase(&served, &admin, whole).await.expect(200);
    served.stop().await;
    let trail = place.run("audit export").await;
    let own = trail.lines().rfind(|line| line.contains("erase a person: asked"));
    assert!(own.unwrap().contains("\"username\":\"\""), "{trail}");
    assert!(place.run("audit verify").await.contains(" entries verified"));
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_hash_stands_for_one_address_on_one_site() {
    let hash = async |place: &Place, email: &str| {
        let token = place.user(&format!("user{}", email.len()), "Manager").await;
        let served = place.serve().await;
        let request = served.ask("POST", &format!("{CONTACTS}/hash"), &token);
        let request = request.header("content-type", MEDIA_TYPE);
        let hash = Answer::to(request.body(email.to_owned())).await.expect(200).json();
        served.stop().await;
        hash.as_str().unwrap().to_owned()
    };
    let (one, other) = (place(), place());
    let first = hash(&one, EMAIL).await;
    assert_eq!((first.len(), &first), (64, &hash(&one, " quinx@EXAMPLE.com ").await));
    assert_ne!(first, hash(&one, "quinx@example.org.au").await);
    assert_ne!(first, hash(&other, EMAIL).await, "each site has a key of its own");
}

#[tokio::test]
async fn a_restored_backup_brings_nobody_back() {
    let place = place();
    add_person(&place, "Manager").await;
    place.user("bob", "Manager").await;
    let printed = place.run("backup backups").await;
    let backup = place.path(printed.trim());
    let words = "--reason asked";
    place.run(&format!("privacy erase --email quinx@example.com {words}")).await;
    // Somebody who was not there yet when the backup was made.
    place.user("late", "Manager").await;
    place.run(&format!("privacy erase --user late {words}")).await;

    let target = Database::new().await;
    let at_target = |words: &str| place.call(words).env("DATABASE_URL", target.url());
    if target.engine == Engine::Sqlite {
        for name in ["erased.ndjson", "secret.key"] {
            std::fs::copy(place.data(name), target.folder.path().join(name)).unwrap();
        }
    }
    at_target("restore").word(&backup).finish().await.succeeds();
    let users = at_target("user list").finish().await.succeeds();
    assert!(users.contains("erased-1@erased.invalid") && users.contains("bob@"), "{users}");
    assert!(!users.contains(MARK) && !users.contains("erased-3"), "{users}");
    let erased = async || {
        let trail = at_target("audit export").finish().await.succeeds();
        trail.matches("\"erase a person: erased before, and restored from a backup;").count()
    };
    assert_eq!(erased().await, 1, "although the extension asks for it, too");
    assert!(at_target("audit verify").finish().await.succeeds().contains("verified"));

    // Users with one key are told apart by the second in which they were created.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    // The database gives the key of somebody who is not there any more to another user.
    let add = at_target("user add eve --email eve@example.com --group Manager").finish().await;
    assert_eq!(add.succeeds(), "3\n");
    // And the person has come back of their own accord.
    let add = at_target("user add back --email quinx@example.com --group Manager").finish().await;
    assert_eq!(add.succeeds(), "4\n");
    let restored = at_target("restored").finish().await;
    assert_eq!(restored.succeeds(), "0 persons were erased again\n");
    assert_eq!(erased().await, 1);
    let users = at_target("user list").finish().await.succeeds();
    assert!(users.contains("eve@example.com") && users.contains("quinx@example.com"), "{users}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "on a server, the list is in the same folder")]
async fn a_backup_whose_only_administrator_was_erased_since_is_restored() {
    let place = place();
    add_person(&place, "Super Users").await;
    let printed = place.run("backup backups").await;
    let backup = place.path(printed.trim());
    place.add_administrator("ann", PASSWORD).await;
    place.run("privacy erase --user Quinx --reason asked").await;
    let target = Database::new().await;
    for name in ["erased.ndjson", "secret.key"] {
        std::fs::copy(place.data(name), target.folder.path().join(name)).unwrap();
    }
    let at_target = |words: &str| place.call(words).env("DATABASE_URL", target.url());
    let restored = at_target("restore").word(&backup).finish().await;
    restored.succeeds();
    assert!(
        restored.err().contains("the site has no administrator any more"),
        "{}",
        restored.err()
    );
    let users = at_target("user list").finish().await.succeeds();
    assert!(users.contains("erased-1@erased.invalid") && !users.contains(MARK), "{users}");
    let trail = at_target("audit export").finish().await.succeeds();
    assert!(trail.contains("(forced, the last administrator)"), "{trail}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "on a server, the list is in the same folder")]
async fn a_restore_without_the_list_of_erased_persons_warns() {
    let place = place();
    place.run("privacy erase --email quinx@example.com --reason asked").await;
    let printed = place.run("backup backups").await;
    let target = Database::new().await;
    let restore = place.call("restore").word(printed.trim()).env("DATABASE_URL", target.url());
    let restored = restore.finish().await;
    restored.succeeds();
    let warning = "the list of erased persons is incomplete: copy the complete one to";
    assert!(restored.err().contains(warning), "{}", restored.err());
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_extension_that_is_not_loaded_is_named() {
    let place = place();
    place.run("user list").await;
    let call = place.bare_call().word("--plugin").word(fixture("greeter"));
    let call = call.word("privacy").word("export").word("--email").word("bob@example.com");
    let copy = call.finish().await.succeeds();
    let copy: Value = serde_json::from_str(&copy).unwrap();
    assert_eq!(copy["unknown"], json!(["contacts", "greeter"]));
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "it adds a link to the file of the database")]
async fn a_restored_backup_has_no_link_that_was_used_since() {
    let place = place();
    add_person(&place, "Manager").await;
    let link = "INSERT INTO host_password_links (hash, user_id, kind, ends_on) \
        SELECT randomblob(32), id, 'invitation', '2999-01-31T12:00:00' FROM host_users RETURNING kind";
    assert_eq!(place.database.texts_at(&place.site_url(), link).await, ["invitation"]);
    let printed = place.run("backup backups").await;
    let target = Database::new().await;
    let restore = place.call("restore").word(place.path(printed.trim()));
    restore.env("DATABASE_URL", target.url()).finish().await.succeeds();
    assert_eq!(target.texts("SELECT kind FROM host_password_links").await, [""; 0]);
    assert_eq!(target.texts("SELECT username FROM host_users").await, ["Quinx"]);
}
