//! Databases for tests: each test has one of its own, on the engine of the run.
//!
//! `TEST_ENGINE=postgres cargo test` and `TEST_ENGINE=mariadb cargo test` run the suite on a
//! server, by default that of this machine; the default is SQLite. A test for one kind of engine is
//! marked with `cfg(engine)`, which `build.rs` sets, so that a run lists it as ignored.

use std::any::Any;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use example_host::DatabaseUrl;
use plugin::store::Store;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, SqliteConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::support::duplicate;

/// A database engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
    MariaDb,
}

/// The engine of this run.
impl Default for Engine {
    fn default() -> Self {
        Engine::of_this_run()
    }
}

impl Engine {
    /// The engine of this run.
    pub fn of_this_run() -> Engine {
        match std::env::var("TEST_ENGINE").as_deref() {
            Err(_) | Ok("" | "sqlite") => Engine::Sqlite,
            Ok("postgres") => Engine::Postgres,
            Ok("mariadb") => Engine::MariaDb,
            Ok(other) => panic!("TEST_ENGINE is sqlite, postgres or mariadb, not {other:?}"),
        }
    }

    /// The address of the server, without a database: `TEST_POSTGRES` or `TEST_MARIADB`, or the
    /// first node of `TEST_GALERA`.
    fn server(self) -> String {
        let (names, local) = match self {
            Engine::Sqlite => return String::new(),
            Engine::Postgres => (&["TEST_POSTGRES"][..], "postgres://postgres@127.0.0.1:5432"),
            Engine::MariaDb => {
                (&["TEST_MARIADB", "TEST_GALERA"][..], "mysql://root@127.0.0.1:3306")
            }
        };
        let said = names.iter().find_map(|name| servers(name).into_iter().next());
        said.unwrap_or_else(|| local.to_owned())
    }
}

/// The servers in a variable, separated by commas.
pub fn servers(variable: &str) -> Vec<String> {
    let named = std::env::var(variable).unwrap_or_default();
    named.split(',').filter(|server| !server.is_empty()).map(str::to_owned).collect()
}

/// Makes those who have to wait a second for another attempt to sign in wait for four: how many attempts a machine
/// makes in a second is not what a test is about.
pub const LENGTHEN_WAITS: &str = "UPDATE host_sign_in_failures SET failures = failures + 2 \
    WHERE failures = CASE kind WHEN 'address' THEN 20 ELSE 5 END AND kind NOT IN ('name', 'code')";

/// A new database that is removed with the test.
pub struct Database {
    pub engine: Engine,
    /// The folder of a test's files, including its database if this is a file.
    pub folder: TempDir,
    name: String,
    server: String,
    /// If it is a copy: what is removed with the last one.
    pub templates: Option<Arc<dyn Any + Send + Sync>>,
    /// How it is copied where the engine cannot do that itself.
    recipe: OnceCell<String>,
}

impl Database {
    /// A new database on the engine of this run.
    pub async fn new() -> Database {
        Database::on(Engine::of_this_run()).await
    }

    /// A new database on this engine.
    pub async fn on(engine: Engine) -> Database {
        let database = Database::unmade(engine);
        database.on_server("CREATE DATABASE").await;
        database
    }

    /// A new database on the engine of this run, for a synchronous caller.
    pub fn at_once() -> Database {
        Database::at_once_on(&Engine::of_this_run().server())
    }

    /// The same on another server.
    pub fn at_once_on(server: &str) -> Database {
        let mut database = Database::unmade(Engine::of_this_run());
        server.clone_into(&mut database.server);
        apart(database.on_server("CREATE DATABASE")).unwrap();
        database
    }

    fn unmade(engine: Engine) -> Database {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("shop_test_{}_{count}", std::process::id());
        let folder = tempfile::tempdir().unwrap();
        let (server, recipe) = (engine.server(), OnceCell::new());
        Database { engine, folder, name, server, templates: None, recipe }
    }

    /// A copy of this database, which nothing has open.
    pub async fn copy(&self) -> Database {
        let copy = Database::unmade(self.engine);
        copy_files(self.folder.path(), copy.folder.path());
        match self.engine {
            // It is among the files.
            Engine::Sqlite => {}
            Engine::Postgres => {
                // By its files: page by page, as by default, takes three times as long.
                let statement = format!(
                    "CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY",
                    copy.name, self.name
                );
                let mut server = PgConnection::connect(&self.server).await.unwrap();
                server.execute(AssertSqlSafe(statement)).await.unwrap();
                server.execute(copy.in_haste()).await.unwrap();
            }
            Engine::MariaDb => {
                let recipe = || duplicate::recipe(&self.server, &self.name);
                let recipe = self.recipe.get_or_init(recipe).await;
                let mut server = MySqlConnection::connect(&self.server).await.unwrap();
                let statements = format!("CREATE DATABASE {0}; USE {0}; {recipe}", copy.name);
                server.execute(AssertSqlSafe(statements)).await.unwrap();
            }
        }
        copy
    }

    /// The address for a site in this process, whose files remain in the test's folder.
    pub fn address(&self) -> DatabaseUrl {
        let url: DatabaseUrl = self.url().parse().unwrap();
        url.files_in(self.folder.path())
    }

    /// The address of the database through a proxy in front of its server.
    pub fn url_through(&self, address: SocketAddr) -> String {
        let url = self.url();
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, _) = rest.split_once('@').unwrap();
        format!("{scheme}://{user}@{address}/{}", self.name)
    }

    /// The address of the database on another server with the same databases.
    pub fn url_on(&self, server: &str) -> String {
        format!("{server}/{}", self.name)
    }

    /// The address of the server, for a proxy in front of it.
    pub fn server_address(&self) -> SocketAddr {
        let (_, address) = self.server.rsplit_once('@').unwrap();
        address.parse().unwrap()
    }

    /// Direct access to the tables of the store; on SQLite, only if the program runs in another
    /// process.
    pub fn store(&self) -> Store {
        let url = match self.engine {
            Engine::Sqlite => format!("sqlite://{}", self.folder.path().join("shop.db").display()),
            Engine::Postgres | Engine::MariaDb => self.url(),
        };
        Store::open(&url).unwrap()
    }

    /// Runs a statement that the program itself would not run.
    pub async fn execute(&self, statement: &str) {
        self.execute_at(&self.url(), statement).await;
    }

    /// The same for the database at this address, on the same engine.
    pub async fn execute_at(&self, url: &str, statement: &str) {
        let statement = AssertSqlSafe(statement.to_owned());
        match self.engine {
            Engine::Sqlite => {
                let mut file = SqliteConnection::connect(url).await.unwrap();
                file.execute(statement).await.unwrap();
                file.close().await.unwrap();
            }
            Engine::Postgres => {
                let mut server = PgConnection::connect(url).await.unwrap();
                server.execute(statement).await.unwrap();
            }
            Engine::MariaDb => {
                let mut server = MySqlConnection::connect(url).await.unwrap();
                server.execute(statement).await.unwrap();
            }
        }
    }

    /// A number from a database on a server.
    pub async fn number(&self, query: &'static str) -> i64 {
        let url = self.url();
        match self.engine {
            Engine::Sqlite => {
                let mut file = SqliteConnection::connect(&url).await.unwrap();
                sqlx::query_scalar(query).fetch_one(&mut file).await.unwrap()
            }
            Engine::Postgres => {
                let mut server = PgConnection::connect(&url).await.unwrap();
                sqlx::query_scalar(query).fetch_one(&mut server).await.unwrap()
            }
            Engine::MariaDb => {
                let mut server = MySqlConnection::connect(&url).await.unwrap();
                sqlx::query_scalar(query).fetch_one(&mut server).await.unwrap()
            }
        }
    }

    /// The texts of a query with one column.
    pub async fn texts(&self, query: &'static str) -> Vec<String> {
        self.texts_at(&self.url(), query).await
    }

    /// The same for the database at this address, on the same engine.
    pub async fn texts_at(&self, url: &str, query: &'static str) -> Vec<String> {
        match self.engine {
            Engine::Sqlite => {
                let mut file = SqliteConnection::connect(url).await.unwrap();
                sqlx::query_scalar(query).fetch_all(&mut file).await.unwrap()
            }
            Engine::Postgres => {
                let mut server = PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(query).fetch_all(&mut server).await.unwrap()
            }
            Engine::MariaDb => {
                let mut server = MySqlConnection::connect(url).await.unwrap();
                sqlx::query_scalar(query).fetch_all(&mut server).await.unwrap()
            }
        }
    }

    /// Runs statements in a transaction that is committed after something else has happened.
    pub async fn during<T>(
        &self,
        statements: &[&'static str],
        meanwhile: impl Future<Output = T>,
    ) -> T {
        let url = self.url();
        match self.engine {
            Engine::Sqlite => {
                let file = SqliteConnection::connect(&url).await.unwrap();
                during(file, "BEGIN IMMEDIATE", statements, meanwhile).await
            }
            Engine::Postgres => {
                let server = PgConnection::connect(&url).await.unwrap();
                during(server, "BEGIN", statements, meanwhile).await
            }
            Engine::MariaDb => {
                let server = MySqlConnection::connect(&url).await.unwrap();
                during(server, "START TRANSACTION", statements, meanwhile).await
            }
        }
    }

    /// The number of other connections to the database on a server.
    pub async fn others(&self) -> i64 {
        self.number(match self.engine {
            Engine::Sqlite => panic!("a file has no connections"),
            Engine::Postgres => {
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND pid <> pg_backend_pid()"
            }
            Engine::MariaDb => {
                "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
                 AND id <> CONNECTION_ID()"
            }
        })
        .await
    }

    /// Whether the database is empty; on SQLite, whether there is no file.
    pub async fn is_untouched(&self) -> bool {
        match self.engine {
            Engine::Sqlite => std::fs::read_dir(self.folder.path()).unwrap().next().is_none(),
            Engine::Postgres => {
                let tables = "SELECT count(*) FROM information_schema.tables \
                     WHERE table_schema = 'public'";
                self.number(tables).await == 0
            }
            Engine::MariaDb => {
                let tables = "SELECT count(*) FROM information_schema.tables \
                     WHERE table_schema = DATABASE()";
                self.number(tables).await == 0
            }
        }
    }

    /// The address of the database in the form of a host's setting.
    pub fn url(&self) -> String {
        match self.engine {
            Engine::Sqlite => format!("sqlite://{}", self.folder.path().join("host.db").display()),
            Engine::Postgres | Engine::MariaDb => {
                format!("{}/{}", self.server, self.name)
            }
        }
    }

    /// No test simulates a power failure, so no write has to wait for the disk.
    fn in_haste(&self) -> AssertSqlSafe<String> {
        AssertSqlSafe(format!("ALTER DATABASE {} SET synchronous_commit = off", self.name))
    }

    async fn on_server(&self, what: &str) {
        let statement = |suffix: &str| AssertSqlSafe(format!("{what} {}{suffix}", self.name));
        match self.engine {
            Engine::Sqlite => {}
            Engine::Postgres => {
                // Connections that a test has left open must not block the removal of its database.
                let force = if what.starts_with("DROP") { " WITH (FORCE)" } else { "" };
                let mut server = PgConnection::connect(&self.server).await.unwrap();
                server.execute(statement(force)).await.unwrap();
                if what.starts_with("CREATE") {
                    server.execute(self.in_haste()).await.unwrap();
                }
            }
            Engine::MariaDb => {
                let mut server = MySqlConnection::connect(&self.server).await.unwrap();
                if what.starts_with("DROP") {
                    let open = "SELECT id FROM information_schema.processlist WHERE db = ?";
                    let open = sqlx::query_scalar(open).bind(&self.name);
                    let open: Vec<i64> = open.fetch_all(&mut server).await.unwrap();
                    for id in open {
                        // It may have ended by itself.
                        drop(server.execute(AssertSqlSafe(format!("KILL {id}"))).await);
                    }
                    // A statement that was killed may only now remove its files, later on a busy machine.
                    for _ in 0..20 {
                        if server.execute(statement("")).await.is_ok() {
                            return;
                        }
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
                let Err(error) = server.execute(statement("")).await else { return };
                // MariaDB 10.11 now and then forgets a file of its own, `shop_categories.TRG-` for example: the
                // triggers of a table as they were before another one was created. Then nothing can remove the folder.
                assert!(error.to_string().contains("Directory not empty"), "{error}");
                let tables =
                    "SELECT count(*) FROM information_schema.tables WHERE table_schema = ?";
                let tables = sqlx::query_scalar(tables).bind(&self.name);
                let tables: i64 = tables.fetch_one(&mut server).await.unwrap();
                assert_eq!(tables, 0, "{error}");
            }
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if apart(self.on_server("DROP DATABASE")).is_none() && !std::thread::panicking() {
            panic!("the database {} stays", self.name);
        }
    }
}

/// Copies what is in a folder.
fn copy_files(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let to = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir(&to).unwrap();
            std::fs::set_permissions(&to, file.metadata().unwrap().permissions()).unwrap();
            copy_files(&file.path(), &to);
        } else {
            std::fs::copy(file.path(), to).unwrap();
        }
    }
}

async fn during<C, T>(
    mut connection: C,
    begin: &'static str,
    statements: &[&'static str],
    meanwhile: impl Future<Output = T>,
) -> T
where
    C: Connection,
    for<'c> &'c mut C: Executor<'c>,
{
    connection.execute(begin).await.unwrap();
    for statement in statements {
        connection.execute(*statement).await.unwrap();
    }
    let done = meanwhile.await;
    connection.execute("COMMIT").await.unwrap();
    connection.close().await.unwrap();
    done
}

/// Runs a future on a thread of its own, because the caller is within a runtime and cannot block;
/// `None` if it panics.
fn apart(future: impl Future<Output = ()> + Send) -> Option<()> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(future);
        });
        thread.join().ok()
    })
}
