//! Extensions with a database and a role of their own, which cannot read the tables of the host.

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection};

use super::changes;
use crate::support::databases::{Database, Engine};
use crate::support::harness::Answer;
use crate::support::process::{Call, MANUFACTURERS, Place, Served};
use crate::support::proxy::{Loss, Proxy, plain};
use crate::support::waiting::eventually;

const VARIABLE: &str = "EXTENSION_DATABASE_URL_WEBSERVICES_SHOP";
const COPY_FROM: &str = "COPY_FROM_URL_WEBSERVICES_SHOP";
const COPY_TO: &str = "COPY_TO_URL_WEBSERVICES_SHOP";

/// The tables in the host's database.
const TABLES: [&str; 2] = [
    "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
];

/// A role with a place for its own tables, made as the document on deployment says: on PostgreSQL a
/// schema in the same database, on MariaDB another database.
struct Own {
    engine: Engine,
    url: String,
    role: String,
    /// Kept until the role is removed.
    _database: Option<Database>,
}

impl Own {
    async fn beside(host: &Database) -> Own {
        let name = host.url().rsplit_once('/').unwrap().1.to_owned();
        let role = format!("{name}_own");
        let statements = match host.engine {
            Engine::Sqlite => panic!("a file has no roles"),
            Engine::Postgres => {
                let create = format!("CREATE ROLE {role} LOGIN PASSWORD 's3cret'");
                (create, format!("CREATE SCHEMA AUTHORIZATION {role}"), None)
            }
            Engine::MariaDb => {
                let create = format!("CREATE USER '{role}'@'%' IDENTIFIED BY 's3cret'");
                let other = Database::on(host.engine).await;
                let named = other.url().rsplit_once('/').unwrap().1.to_owned();
                (create, format!("GRANT ALL ON {named}.* TO '{role}'@'%'"), Some(other))
            }
        };
        let (create, place, database) = statements;
        host.execute(&create).await;
        host.execute(&place).await;
        let url = database.as_ref().unwrap_or(host).url();
        let (scheme, address) = (url.split_once("://").unwrap().0, url.rsplit_once('@').unwrap().1);
        let url = format!("{scheme}://{role}:s3cret@{address}");
        Own { engine: host.engine, url, role, _database: database }
    }

    /// Why the role cannot run a statement.
    async fn refusal(&self, statement: String) -> String {
        let statement = AssertSqlSafe(statement);
        let refused = match self.engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                let mut server = PgConnection::connect(&self.url).await.unwrap();
                server.execute(statement).await.err()
            }
            Engine::MariaDb => {
                let mut server = MySqlConnection::connect(&self.url).await.unwrap();
                server.execute(statement).await.err()
            }
        };
        refused.map(|why| why.to_string()).unwrap_or_default()
    }

    /// Fails the test if the role can read or change a table of this host, or if there are tables of the
    /// store among them.
    async fn is_kept_from(&self, host: &Database) {
        let name = host.url().rsplit_once('/').unwrap().1.to_owned();
        let (tables, schema) = match self.engine {
            Engine::MariaDb => (TABLES[1], name),
            _ => (TABLES[0], "public".to_owned()),
        };
        let tables = host.texts(tables).await;
        assert!(tables.iter().any(|table| table == "host_users"), "{tables:?}");
        assert!(!tables.iter().any(|table| table.starts_with("shop_")), "{tables:?}");
        for table in tables {
            for statement in ["SELECT * FROM", "DELETE FROM"] {
                let why = self.refusal(format!("{statement} {schema}.{table}")).await;
                assert!(why.contains("denied"), "{statement} {table}: {why:?}");
            }
        }
    }

    async fn remove(self, host: &Database) {
        let Own { engine, role, .. } = &self;
        if *engine == Engine::Postgres {
            host.execute(&format!("DROP OWNED BY {role} CASCADE")).await;
            host.execute(&format!("DROP ROLE {role}")).await;
        } else {
            host.execute(&format!("DROP USER '{role}'@'%'")).await;
        }
    }
}

/// A command line for a site at this address, whose store may have a database of its own.
fn about(place: &Place, url: &str, own: Option<&Own>, words: &str) -> Call {
    let call = place.call(words).env("DATABASE_URL", url);
    match own {
        Some(own) => call.env(VARIABLE, &own.url),
        None => call,
    }
}

async fn serve(place: &Place, url: &str, own: Option<&Own>) -> Served {
    about(place, url, own, "serve --listen 127.0.0.1:0").start().await
}

/// A user of the site, with the store filled a little.
async fn furnish(place: &Place, own: Option<&Own>) -> String {
    let url = place.site_url();
    let run = async |words: &str| about(place, &url, own, words).finish().await.succeeds();
    assert_eq!(
        run("demo --products 40 --orders 30").await,
        "40 products, 250 customers, 30 orders\n"
    );
    run("user add ann --email ann@example.com --group Manager").await;
    run("token generate ann").await.trim().to_owned()
}

#[cfg_attr(engine = "sqlite", ignore = "a file has no roles")]
#[tokio::test]
async fn an_extension_with_a_role_of_its_own_cannot_read_the_tables_of_the_host() {
    let place = Place::of_the_store();
    let (host, url) = (&place.database, place.site_url());
    let own = Own::beside(host).await;
    let token = furnish(&place, Some(&own)).await;
    let served = serve(&place, &url, Some(&own)).await;
    assert!(Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200).total() > 0);
    let body = json!({"manufacturer_name": "Lamps"}).to_string();
    let create = served.ask("POST", MANUFACTURERS, &token);
    let create = create.header("content-type", "application/json").body(body);
    Answer::to(create).await.expect(201);
    assert_eq!(about(&place, &url, Some(&own), "check").finish().await.succeeds(), "");
    own.is_kept_from(host).await;

    // Without the variable, empty tables would be created in the host's database.
    let line = about(&place, &url, None, "user list").finish().await.fails();
    assert_eq!(
        line,
        format!(
            "webservices-shop keeps its tables in a database of its own; give its address in \
             {VARIABLE}"
        )
    );
    own.is_kept_from(host).await;
    served.stop().await;
    own.remove(host).await;
}

#[cfg_attr(engine = "sqlite", ignore = "a file has no roles")]
#[tokio::test]
async fn a_copy_gives_an_extension_a_database_of_its_own_and_takes_it_back() {
    let place = Place::of_the_store();
    let token = furnish(&place, None).await;
    let (apart, together) = (Database::new().await, Database::new().await);
    let own = Own::beside(&apart).await;
    let [first, second, third] = [place.site_url(), apart.url(), together.url()];
    let copy = |from: &str, to: &str, variables: &[(&str, &str)]| {
        let call = place.call("copy --from").word(from).word("--to").word(to);
        variables.iter().fold(call, |call, (name, value)| call.env(name, value)).finish()
    };
    let list = async |url: &str, own: Option<&Own>| {
        let served = serve(&place, url, own).await;
        let answer = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
        served.stop().await;
        answer.json()
    };
    let expected = list(&first, None).await;
    copy(&first, &second, &[(COPY_TO, &own.url)]).await.succeeds();
    own.is_kept_from(&apart).await;
    assert_eq!(list(&second, Some(&own)).await, expected);

    // An extension empties the database that it is copied to.
    let line = copy(&first, &third, &[(COPY_TO, &own.url)]).await.fails();
    assert!(line.contains("contains tables; copy to an empty database"), "{line}");
    assert!(!line.contains("s3cret"), "{line}");
    assert_eq!(list(&second, Some(&own)).await, expected);

    let line = copy(&second, &third, &[]).await.fails();
    assert!(line.ends_with(&format!("give its address in {COPY_FROM}")), "{line}");
    let line = copy(&second, &third, &[(COPY_FROM, &own.url), (COPY_TO, &own.url)]).await.fails();
    assert_eq!(line, "the tables of webservices-shop cannot be copied to themselves");
    copy(&second, &third, &[(COPY_FROM, &own.url)]).await.succeeds();
    assert_eq!(list(&third, None).await, expected);
    own.remove(&apart).await;
}

/// The host still writes to its own database, and notes what it knows.
#[cfg_attr(engine = "sqlite", ignore = "a file always answers")]
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_has_its_entry_in_the_trail() {
    let place = Place::of_the_store();
    let mut own = Own::beside(&place.database).await;
    let token = furnish(&place, Some(&own)).await;
    let proxy = Proxy::to(place.database.server_address()).await;
    let (role, database) =
        (own.url.split_once('@').unwrap().0, own.url.rsplit_once('/').unwrap().1);
    own.url = format!("{role}@{}/{database}?{}", proxy.address, plain(own.engine));
    let served = serve(&place, &place.site_url(), Some(&own)).await;

    let mut lost = None;
    // The store commits by itself as well, and may lose that answer.
    for number in 0..20 {
        proxy.lose(Loss::OfAnswer, Loss::at_commit(own.engine));
        let name = format!("maker{number}");
        let create = served.ask("POST", MANUFACTURERS, &token);
        let create = create.header("content-type", "application/json");
        let body = json!({"manufacturer_name": name}).to_string();
        let answer = Answer::to(create.body(body)).await;
        if answer.status == 503 {
            assert_eq!(answer.header("change-outcome"), "unknown");
            lost = Some(name);
            break;
        }
        answer.expect(201);
    }
    let name = lost.expect("an answer is lost");
    let entry = eventually("the entry is there", async || {
        changes::entries(&place).await.into_iter().find(|(.., status, _)| *status == 503)
    });
    let (method, kind, _, _, what) = entry.await;
    assert_eq!(
        (&*method, &*kind, &*what),
        ("POST", "manufacturers", "may or may not have been done")
    );
    let path = format!("{MANUFACTURERS}?filter[search]={name}");
    eventually("the server has committed", async || {
        (Answer::to(served.get(&path, &token)).await.total() == 1).then_some(())
    })
    .await;
    served.stop().await;
    own.remove(&place.database).await;
}

#[cfg_attr(engine = "sqlite", ignore = "an extension is copied to a file of its own")]
#[tokio::test]
async fn an_interrupted_copy_to_a_database_of_its_own_starts_over() {
    let place = Place::of_the_store();
    furnish(&place, None).await;
    let target = Database::new().await;
    let own = Own::beside(&target).await;
    let [from, to] = [place.site_url(), target.url()];
    let copy = || {
        let call = place.call("copy --from").word(&from).word("--to").word(&to);
        call.env(COPY_TO, &own.url)
    };
    let mut running = copy().spawn();
    crate::support::waiting::eventually("the store is being copied", async || {
        let marked = own.refusal("SELECT * FROM shop_countries".to_owned()).await.is_empty();
        marked.then_some(())
    })
    .await;
    running.kill().await.unwrap();
    copy().finish().await.succeeds();
    let check = about(&place, &to, Some(&own), "check").finish().await;
    assert_eq!(check.succeeds(), "");
    own.remove(&target).await;
}

#[cfg_attr(engine = "sqlite", ignore = "an extension has a file of its own")]
#[tokio::test]
async fn a_backup_has_the_databases_of_extensions_too() {
    let place = Place::of_the_store();
    let site = place.site_url();
    let own = Own::beside(&place.database).await;
    let token = furnish(&place, Some(&own)).await;
    let served = serve(&place, &site, Some(&own)).await;
    let expected = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
    served.stop().await;
    let line = about(&place, &site, None, "backup backups").finish().await.fails();
    assert!(line.contains(VARIABLE), "{line}");
    let printed = about(&place, &site, Some(&own), "backup backups").finish().await.succeeds();

    // The same role on PostgreSQL, whose tables are in the schema of its name.
    let target = Database::new().await;
    let other = match own.engine {
        Engine::Postgres => {
            target.execute(&format!("CREATE SCHEMA AUTHORIZATION {}", own.role)).await;
            None
        }
        _ => Some(Own::beside(&target).await),
    };
    let name = target.url().rsplit_once('/').unwrap().1.to_owned();
    let url = match &other {
        Some(other) => other.url.clone(),
        None => format!("{}/{name}", own.url.rsplit_once('/').unwrap().0),
    };
    let call = |words: &str| about(&place, &target.url(), None, words).env(VARIABLE, &url);
    let without = about(&place, &target.url(), None, "restore").word(place.path(printed.trim()));
    assert!(without.finish().await.fails().contains(VARIABLE));
    call("restore").word(place.path(printed.trim())).finish().await.succeeds();
    assert_eq!(call("check").finish().await.succeeds(), "");
    let served = call("serve --listen 127.0.0.1:0").start().await;
    let answer = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200);
    assert_eq!(answer.json()["data"], expected.json()["data"]);
    served.stop().await;
    match other {
        Some(other) => other.remove(&target).await,
        None => target.execute(&format!("DROP OWNED BY {} CASCADE", own.role)).await,
    }
    own.remove(&place.database).await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_address_that_no_extension_can_use_is_refused() {
    let place = Place::of_the_store();
    let line = place.call("user list").env("EXTENSION_DATABASE_URL_SHOP", place.site_url());
    let line = line.finish().await.fails();
    assert_eq!(
        line,
        "EXTENSION_DATABASE_URL_SHOP is set, but no library with an extension of that name is \
         loaded"
    );
    let line = place.call("user list").env(VARIABLE, "sqlite://data/own.db").finish().await.fails();
    let expected = format!("{VARIABLE} must be on the same kind of server as the host's database");
    assert!(line.starts_with(&expected), "{line}");
    let line = place.call("user list").env(VARIABLE, "ftp://ann:s3cret@localhost/x");
    let line = line.finish().await.fails();
    assert!(
        line.starts_with(&format!("{VARIABLE}: \"ftp://...\" is not a database URL")),
        "{line}"
    );
    assert_eq!(place.call("user list").env(VARIABLE, "").finish().await.succeeds(), "");
}
