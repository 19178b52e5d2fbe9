//! The stores to measure, which the program itself creates and keeps for later runs.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use plugin::sql::dialect::{self, Dialect};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, PgConnection, SqliteConnection};

use super::building::target;
use super::load::Door;

/// The user with every twentieth order.
pub const CUSTOMER: i64 = 900_001;

/// How many orders wait for the warehouse.
const OPEN: u64 = 500;
/// How often the memory is sampled.
const LOOK: Duration = Duration::from_millis(20);

/// The file that marks a complete store.
const FINISHED: &str = "finished";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
    MariaDb,
}

impl Engine {
    pub const ALL: [Engine; 3] = [Engine::Sqlite, Engine::Postgres, Engine::MariaDb];

    pub fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
            Engine::MariaDb => "MariaDB",
        }
    }

    /// The server, without a database.
    pub fn server(self) -> String {
        let (name, local) = match self {
            Engine::Sqlite => return String::new(),
            Engine::Postgres => ("TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432"),
            Engine::MariaDb => ("TEST_MARIADB", "mysql://root@127.0.0.1:3306"),
        };
        std::env::var(name).unwrap_or_else(|_| local.to_owned())
    }

    /// What differs between the engines in SQL.
    pub fn dialect(self) -> &'static Dialect {
        match self {
            Engine::Sqlite => &dialect::SQLITE,
            Engine::Postgres => &dialect::POSTGRES,
            Engine::MariaDb => &dialect::MYSQL,
        }
    }

    pub fn answers(&self) -> bool {
        *self == Engine::Sqlite || execute(*self, &self.server(), "SELECT 1").is_ok()
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sqlite" => Ok(Engine::Sqlite),
            "postgres" => Ok(Engine::Postgres),
            "mariadb" => Ok(Engine::MariaDb),
            _ => Err(format!("{text:?} is none of sqlite, postgres and mariadb")),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub products: u64,
    pub orders: u64,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (products, orders) = text.split_once(',').ok_or("a size is PRODUCTS,ORDERS")?;
        let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        Ok(Size { products: number(products)?, orders: number(orders)? })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} products, {} orders", self.products, self.orders)
    }
}

impl Size {
    /// The name of a database of this size.
    fn name(self) -> String {
        format!("shop_bench_{}_{}", self.products, self.orders)
    }
}

pub struct Store {
    pub size: Size,
    folder: PathBuf,
    /// The folder of the program and the library.
    programs: PathBuf,
    /// The address of the host's database.
    url: String,
    /// The address of the store's own database.
    pub tables: String,
}

impl Store {
    /// A store of this size, which is created unless it exists.
    pub fn prepare(engine: Engine, size: Size) -> Store {
        Store::of(engine, size, None).prepared(engine, true)
    }

    /// A store of this size that one of two builds has filled, whose program and library are in this folder. It
    /// is not shaped for the warehouse, which that build may not know.
    pub fn prepare_of(engine: Engine, size: Size, build: &str, programs: &Path) -> Store {
        Store::of(engine, size, Some((build, programs))).prepared(engine, false)
    }

    /// A new store of this name with only its initial data.
    pub fn fresh(engine: Engine, name: &str) -> Store {
        let size = Size { products: 0, orders: 0 };
        let store = Store::of(engine, size, Some((name, &target().join("release"))));
        let _ = std::fs::remove_file(store.folder.join(FINISHED));
        store.prepared(engine, true)
    }

    fn prepared(self, engine: Engine, warehouse: bool) -> Store {
        let store = self;
        let finished = store.folder.join(FINISHED);
        if !finished.exists() {
            let _ = std::fs::remove_dir_all(&store.folder);
            std::fs::create_dir_all(&store.folder).unwrap();
            if engine != Engine::Sqlite {
                let name = store.name();
                let drop = format!("DROP DATABASE IF EXISTS {name}");
                execute(engine, &engine.server(), &drop).unwrap();
                execute(engine, &engine.server(), &format!("CREATE DATABASE {name}")).unwrap();
            }
            store.fill();
            store.shape(engine, warehouse);
            std::fs::write(finished, "").unwrap();
        }
        store
    }

    /// Makes the store of this size be created again.
    pub fn forget(engine: Engine, size: Size) {
        let _ = std::fs::remove_file(Store::of(engine, size, None).folder.join(FINISHED));
    }

    /// The store of a size, or that of one of two builds.
    fn of(engine: Engine, size: Size, build: Option<(&str, &Path)>) -> Store {
        let (name, programs) = match build {
            None => (size.name(), target().join("release")),
            Some((build, programs)) => (format!("{}_{build}", size.name()), programs.to_owned()),
        };
        let folder = target().join("bench").join(format!("{engine:?}-{name}").to_lowercase());
        let url = match engine {
            Engine::Sqlite => format!("sqlite://{}", folder.join("host.db").display()),
            _ => format!("{}/{name}", engine.server()),
        };
        let tables = match engine {
            Engine::Sqlite => format!("sqlite://{}", folder.join("shop.db").display()),
            _ => url.clone(),
        };
        Store { size, folder, programs, url, tables }
    }

    /// The name of its database.
    fn name(&self) -> &str {
        self.url.rsplit('/').next().unwrap()
    }

    fn command(&self) -> Command {
        let library =
            format!("{}plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let mut command = Command::new(self.programs.join("example-host"));
        command.arg("--plugin").arg(self.programs.join(library)).current_dir(&self.folder);
        // A token holds at most a tenth of the places of clients that wait.
        command.env("DATABASE_URL", &self.url).env("HOST_WAITERS", "10000");
        // The receivers of webhooks are here.
        command.env("HOST_DELIVER_TO", "127.0.0.0/8");
        command
    }

    /// Runs the program to fill the store, and prints the time and memory that it took.
    fn fill(&self) {
        let begun = Instant::now();
        let (products, orders) = (self.size.products.to_string(), self.size.orders.to_string());
        let demo = ["demo", "--products", &products, "--orders", &orders];
        let mut process = self.command().args(demo).stderr(Stdio::null()).spawn().unwrap();
        let mut most = 0;
        let status = loop {
            most = most.max(memory(process.id()));
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(status.success());
        println!(
            "{} made in {:.1} s, {} MB at most",
            self.size,
            begun.elapsed().as_secs_f64(),
            most / 1024
        );
    }

    /// Gives one customer many orders, leaves as many open in a store of any size, and lets the engine
    /// collect statistics.
    fn shape(&self, engine: Engine, warehouse: bool) {
        let orders =
            format!("UPDATE shop_orders SET user_id = {CUSTOMER} WHERE shop_order_id % 20 = 0");
        let last = self.size.orders.saturating_sub(OPEN);
        let closed = format!(
            "UPDATE shop_orders SET order_state_id = 8, fulfilment_state = 'fulfilled' \
             WHERE order_state_id IN (1, 5) AND shop_order_id <= {last}"
        );
        let open = format!(
            "UPDATE shop_orders SET order_state_id = 5, fulfilment_state = 'unfulfilled' \
             WHERE shop_order_id > {last}"
        );
        let analyse = match engine {
            Engine::Sqlite => "PRAGMA optimize",
            Engine::Postgres => "VACUUM ANALYZE",
            Engine::MariaDb => {
                "ANALYZE TABLE shop_products, shop_orders, shop_addresses, shop_variants"
            }
        };
        let changes = [&orders, &closed, &open];
        for change in changes.into_iter().take(if warehouse { 3 } else { 1 }) {
            execute(engine, &self.tables, change).unwrap();
        }
        execute(engine, &self.tables, analyse).unwrap();
    }

    /// Serves the store to a user who may read and write everything.
    pub fn serve(&self) -> Host {
        self.serve_to(self.token())
    }

    /// Another host of the same site, for the same user.
    pub fn serve_beside(&self, host: &Host) -> Host {
        self.serve_to(host.door.token.clone())
    }

    /// A new token of a user who may read and write everything.
    fn token(&self) -> String {
        let _ = self
            .command()
            .args([
                "user",
                "add",
                "bench",
                "--email",
                "bench@example.com",
                "--group",
                "Administrator",
            ])
            .output()
            .unwrap();
        let token = self.command().args(["token", "generate", "bench"]).output().unwrap();
        assert!(token.status.success(), "{}", String::from_utf8_lossy(&token.stderr));
        String::from_utf8(token.stdout).unwrap().trim().to_owned()
    }

    fn serve_to(&self, token: String) -> Host {
        let mut process = self
            .command()
            .args(["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut lines = log.by_ref().lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("metrics at ")).expect("it has metrics");
        let metrics = line.rsplit_once(' ').unwrap().1.to_owned();
        let line = lines.find(|line| line.contains("listening on ")).expect("the program listens");
        let address = line.rsplit_once("//").unwrap().1.to_owned();
        let mut log = log.into_inner();
        std::thread::spawn(move || discard(&mut log));
        Host { process, metrics, door: Door { address, token } }
    }
}

/// A program that serves until it is dropped.
pub struct Host {
    process: Child,
    /// Where its metrics are.
    metrics: String,
    pub door: Door,
}

impl Host {
    /// This program itself, which serves a variant; see `race.rs`.
    pub fn of_this_program(variant: &str, of: &str) -> Host {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--serve", variant, of])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        let door = Door { address, token: String::new() };
        Host { process, metrics: String::new(), door }
    }

    /// The sum of a metric, over all series whose names begin and end so.
    pub async fn metric(&self, begin: &str, end: &str) -> f64 {
        let metrics = reqwest::get(&self.metrics).await.unwrap().text().await.unwrap();
        let series = metrics.lines().filter_map(|line| line.rsplit_once(' '));
        let named = series.filter(|(name, _)| name.starts_with(begin) && name.ends_with(end));
        named.map(|(_, value)| value.parse::<f64>().unwrap()).sum()
    }

    /// The processor time so far, in seconds.
    pub fn cpu(&self) -> f64 {
        crate::machine::processor_time(self.process.id())
    }

    /// The present memory, in megabytes.
    pub fn memory(&self) -> u64 {
        memory(self.process.id()) / 1024
    }

    /// Does something, and returns also the most memory meanwhile, in megabytes.
    pub async fn watched<T>(&self, work: impl Future<Output = T>) -> (T, u64) {
        let mut most = 0;
        let watch = async {
            loop {
                most = most.max(self.memory());
                tokio::time::sleep(LOOK).await;
            }
        };
        let done = tokio::select! {
            done = work => done,
            () = watch => unreachable!("it has no end"),
        };
        (done, most)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads the program's log, which must go somewhere, in large pieces: a reader that wakes for each
/// line would take the processor from the measured program.
fn discard(log: &mut impl Read) {
    let mut piece = [0; 64 * 1024];
    while log.read(&mut piece).is_ok_and(|read| read > 0) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The memory of a process, in kilobytes; 0 where the operating system does not report it.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Runs statements that the program itself would not run, outside of the benchmark's runtime.
fn execute(engine: Engine, url: &str, statements: &str) -> Result<(), sqlx::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(engine, url, statements))
}

/// Runs statements that the program itself would not run.
pub async fn run(engine: Engine, url: &str, statements: &str) -> Result<(), sqlx::Error> {
    let statements = sqlx::raw_sql(AssertSqlSafe(statements.to_owned()));
    match engine {
        Engine::Sqlite => {
            let mut file = SqliteConnection::connect(url).await?;
            file.execute(statements).await?;
            file.close().await
        }
        Engine::Postgres => PgConnection::connect(url).await?.execute(statements).await.map(drop),
        Engine::MariaDb => MySqlConnection::connect(url).await?.execute(statements).await.map(drop),
    }
}

/// Reads one whole number.
pub async fn number(engine: Engine, url: &str, question: &str) -> i64 {
    macro_rules! read {
        ($connection:ty) => {{
            let mut connection = <$connection>::connect(url).await.unwrap();
            let question = sqlx::query_scalar(AssertSqlSafe(question.to_owned()));
            question.fetch_one(&mut connection).await.unwrap()
        }};
    }
    match engine {
        Engine::Sqlite => read!(SqliteConnection),
        Engine::Postgres => read!(PgConnection),
        Engine::MariaDb => read!(MySqlConnection),
    }
}
