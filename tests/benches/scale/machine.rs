//! What it is measured on, because no number means anything without it.

use sqlx::{Connection, MySqlConnection, PgConnection, SqliteConnection};

use super::stores::Engine;

/// One line: processor, cores, memory, kernel. What the system does not tell is left empty.
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

/// The version of an engine, as it says itself.
pub async fn version(engine: Engine) -> String {
    let version = match engine {
        Engine::Sqlite => {
            let mut memory = SqliteConnection::connect("sqlite::memory:").await.unwrap();
            sqlx::query_scalar("SELECT sqlite_version()").fetch_one(&mut memory).await
        }
        Engine::Postgres => {
            let mut server = PgConnection::connect(&engine.server()).await.unwrap();
            sqlx::query_scalar("SHOW server_version").fetch_one(&mut server).await
        }
        Engine::MariaDb => {
            let mut server = MySqlConnection::connect(&engine.server()).await.unwrap();
            sqlx::query_scalar("SELECT version()").fetch_one(&mut server).await
        }
    };
    version.unwrap()
}
