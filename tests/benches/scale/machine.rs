//! A description of the machine, without which the numbers have no meaning.

use std::time::Instant;

use sqlx::{Connection, MySqlConnection, PgConnection, SqliteConnection};

use super::stores::Engine;

/// One line: processor, cores, memory, kernel. Unavailable facts are left empty.
pub fn describe() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or("", |(_, value)| value).trim().to_owned()
    };
    let processor = value(&read("/proc/cpuinfo"), "model name");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    let memory: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let memory = memory / 1024 / 1024;
    format!("{processor}, {cores} cores, {memory} GB, Linux {}", kernel.trim())
}

/// The version of an engine and the size of its page cache, as it reports them.
pub async fn version(engine: Engine) -> String {
    let version = match engine {
        Engine::Sqlite => {
            let mut memory = SqliteConnection::connect("sqlite::memory:").await.unwrap();
            sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut memory).await
        }
        Engine::Postgres => {
            let mut server = PgConnection::connect(&engine.server()).await.unwrap();
            let version = "SELECT concat(current_setting('server_version'), ', shared_buffers ', \
                current_setting('shared_buffers'))";
            sqlx::query_scalar(version).fetch_one(&mut server).await
        }
        Engine::MariaDb => {
            let mut server = MySqlConnection::connect(&engine.server()).await.unwrap();
            let version = "SELECT concat(version(), ', innodb_buffer_pool_size ', \
                @@innodb_buffer_pool_size DIV 1048576, 'MB')";
            sqlx::query_scalar(version).fetch_one(&mut server).await
        }
    };
    version.unwrap()
}

/// The time that the engine takes to count the products of a store one by one, in milliseconds,
/// which serves to compare two machines.
pub async fn count(engine: Engine, tables: &str) -> f64 {
    const TIMES: usize = 5;
    const COUNT: &str = "SELECT count(*) FROM shop_products";
    macro_rules! timed {
        ($connection:ty) => {{
            let mut connection = <$connection>::connect(tables).await.unwrap();
            let mut taken = Vec::new();
            for _ in 0..=TIMES {
                let begun = Instant::now();
                let count: Result<i64, _> =
                    sqlx::query_scalar(COUNT).fetch_one(&mut connection).await;
                assert!(count.unwrap() > 0);
                taken.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            // The first run fetches what is not in memory yet.
            median(taken.into_iter().skip(1))
        }};
    }
    match engine {
        Engine::Sqlite => timed!(SqliteConnection),
        Engine::Postgres => timed!(PgConnection),
        Engine::MariaDb => timed!(MySqlConnection),
    }
}

/// The median; 0 for no values.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The processor time of a process so far, in seconds; 0 where the operating system does not report
/// it.
#[allow(clippy::float_arithmetic, reason = "these are times and not amounts")]
pub fn processor_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in parentheses may contain spaces; the 12th and 13th field after it count ticks.
    let fields = stat.rsplit(") ").next().unwrap_or_default();
    let ticks = fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}
