//! Dumps of the tables of a role on a server, made and restored by the programs that come with the server.
//! Passwords are never among their arguments, which every user of the machine can read.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use percent_encoding::percent_decode_str;
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Executor};
use tokio::process::Command;
use url::Url;

use crate::base::database_url::{self, DatabaseUrl, Kind};
use crate::base::error::Error;
use crate::base::private;
use crate::base::text::one_line;

use super::pools::Database;
use super::statement::{Engine, sql};

/// The table that a restored site cannot be opened without. On MariaDB, where a dump is restored statement
/// by statement, it is restored last.
const LAST: &str = "host_state";

/// Where the tables of a role are: the schema on PostgreSQL, the database on MariaDB.
pub(crate) async fn schema(database: &Database) -> Result<String, Error> {
    let statement = match database.engine() {
        Engine::MySql => "SELECT DATABASE()",
        _ => "SELECT current_schema()::text",
    };
    let (schema,): (String,) = database.fetch_one(sql(statement)).await?;
    Ok(schema)
}

/// The tables that are there.
pub(crate) async fn tables(database: &Database) -> Result<Vec<String>, Error> {
    let statement = match database.engine() {
        // A table that the role may not read counts too.
        Engine::Postgres => {
            "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
        }
        Engine::MySql => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database()"
        }
        Engine::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table'",
    };
    let tables: Vec<(String,)> = database.fetch_all(sql(statement)).await?;
    Ok(tables.into_iter().map(|(name,)| name).collect())
}

/// The modules of PostgreSQL that are installed, each with its schema. Tables may need them, and the dump of a
/// schema does not contain them.
pub(crate) async fn modules(database: &Database) -> Result<Vec<(String, String)>, Error> {
    match database.engine() {
        Engine::Sqlite | Engine::MySql => Ok(Vec::new()),
        Engine::Postgres => {
            let statement = sql("SELECT extname::text, nspname::text FROM pg_extension \
                 JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname <> 'plpgsql'");
            database.fetch_all(statement).await
        }
    }
}

/// Installs those that are missing and that the role may install. If tables need another one, their
/// restoration fails.
async fn install(address: &str, modules: &[(String, String)]) -> Result<(), Error> {
    let Some(options) = database_url::postgres(address) else { return Ok(()) };
    let mut session = options.connect().await?;
    for (name, schema) in modules {
        let [name, schema] =
            [name, schema].map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
        let statement = format!("CREATE EXTENSION IF NOT EXISTS {name} SCHEMA {schema}");
        if let Err(error) = session.execute(AssertSqlSafe(statement)).await {
            tracing::warn!(%error, module = name, "a module of the server was not installed");
        }
    }
    Ok(session.close().await?)
}

/// Dumps the tables of a role into files in a folder whose names begin with this one, and returns their
/// names in the order in which they are restored.
pub(crate) async fn dump(
    url: &DatabaseUrl,
    schema: &str,
    folder: &Path,
    name: &str,
) -> Result<Vec<String>, Error> {
    match url.kind() {
        Kind::File(_) => Ok(Vec::new()),
        Kind::Postgres(address) => {
            let file = format!("{name}.dump");
            private::create_new(&folder.join(&file)).map_err(|error| Error::file(&file, error))?;
            let mut command = postgres("pg_dump", address);
            command.args(["--format=custom", "--no-owner", "--no-privileges"]);
            command.arg(format!("--schema=\"{}\"", schema.replace('"', "\"\"")));
            command.arg("--file").arg(folder.join(&file));
            run(command, Stdio::null()).await?;
            Ok(vec![file])
        }
        Kind::MySql(address) => {
            let access = Access::new(address, folder)?;
            let mut files = Vec::new();
            for (file, is_last) in
                [(format!("{name}.sql"), false), (format!("{name}.last.sql"), true)]
            {
                let mut command = access.command("mariadb-dump");
                command.args(["--single-transaction", "--no-tablespaces", "--hex-blob"]);
                command.args(["--default-character-set=utf8mb4", "--no-autocommit"]);
                match (is_last, name) {
                    (false, _) => {
                        command.arg(format!("--ignore-table={schema}.{LAST}")).arg(schema)
                    }
                    (true, "host") => command.arg(schema).arg(LAST),
                    (true, _) => break,
                };
                let path = folder.join(&file);
                let out = private::create_new(&path).map_err(|error| Error::file(&path, error))?;
                run(command, Stdio::from(out)).await?;
                files.push(file);
            }
            Ok(files)
        }
    }
}

/// Restores such files into an empty place.
pub(crate) async fn restore(
    url: &DatabaseUrl,
    schema: &str,
    modules: &[(String, String)],
    folder: &Path,
    files: &[String],
) -> Result<(), Error> {
    if let Kind::Postgres(address) = url.kind() {
        install(address, modules).await?;
    }
    for file in files {
        let path = folder.join(file);
        match url.kind() {
            Kind::File(_) => {}
            Kind::Postgres(address) => {
                let mut command = postgres("pg_restore", address);
                command.args(["--single-transaction", "--exit-on-error"]);
                command.args(["--no-owner", "--no-privileges"]);
                // The schema itself is there already.
                command.arg(format!("--schema={schema}"));
                let options = database_url::postgres(address);
                let database = options.and_then(|of| of.get_database().map(str::to_owned));
                command.arg(format!("--dbname={}", database.unwrap_or_default()));
                command.arg(&path);
                run(command, Stdio::null()).await?;
            }
            Kind::MySql(address) => {
                let access = Access::new(address, &std::env::temp_dir())?;
                let input = File::open(&path).map_err(|error| Error::file(&path, error))?;
                let mut command = access.command("mariadb");
                command.arg("--default-character-set=utf8mb4");
                let options = database_url::mysql(address);
                let database = options.and_then(|of| of.get_database().map(str::to_owned));
                command.arg(format!("--database={}", database.unwrap_or_default()));
                let fed =
                    tokio::task::spawn_blocking(move || feed(command.into_std(), input)).await;
                fed.map_err(|error| Error::file(&path, std::io::Error::other(error)))??;
            }
        }
    }
    Ok(())
}

/// A program of PostgreSQL, which finds the server and the password in its environment.
fn postgres(program: &str, address: &str) -> Command {
    let mut command = Command::new(program);
    for name in ["PGSERVICE", "PGOPTIONS", "PGHOSTADDR"] {
        command.env_remove(name);
    }
    if let Some(options) = database_url::postgres(address) {
        command.envs(postgres_environment(&options));
    }
    command
}

fn postgres_environment(options: &PgConnectOptions) -> Vec<(&'static str, String)> {
    let socket = options.get_socket().map(|path| path.display().to_string());
    let mut environment = vec![
        ("PGHOST", socket.unwrap_or_else(|| options.get_host().to_owned())),
        ("PGPORT", options.get_port().to_string()),
        ("PGUSER", options.get_username().to_owned()),
        ("PGDATABASE", options.get_database().unwrap_or_default().to_owned()),
    ];
    let url = options.to_url_lossy();
    environment.extend(password(&url).map(|password| ("PGPASSWORD", password)));
    for (name, value) in url.query_pairs() {
        let variable = match &*name {
            "sslmode" | "ssl-mode" => "PGSSLMODE",
            "sslrootcert" | "ssl-root-cert" => "PGSSLROOTCERT",
            "sslcert" | "ssl-cert" => "PGSSLCERT",
            "sslkey" | "ssl-key" => "PGSSLKEY",
            _ => continue,
        };
        environment.push((variable, value.into_owned()));
    }
    environment
}

fn password(url: &Url) -> Option<String> {
    Some(percent_decode_str(url.password()?).decode_utf8_lossy().into_owned())
}

/// A file with the address and the password of a MariaDB server, which only the user of this process can
/// read. It is removed with this.
struct Access(PathBuf);

impl Access {
    fn new(address: &str, folder: &Path) -> Result<Self, Error> {
        let path = folder.join(format!(".access-{:016x}", getrandom::u64()?));
        let options = database_url::mysql(address);
        let text = options.map(|options| mysql_options(&options)).unwrap_or_default();
        let mut file = private::create_new(&path).map_err(|error| Error::file(&path, error))?;
        let access = Self(path);
        file.write_all(text.as_bytes()).map_err(|error| Error::file(&access.0, error))?;
        Ok(access)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // It has to be the first argument.
        let mut first = std::ffi::OsString::from("--defaults-extra-file=");
        first.push(&self.0);
        command.arg(first);
        command
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "a file with a password remains");
        }
    }
}

fn mysql_options(options: &MySqlConnectOptions) -> String {
    let mut lines = vec![("user", options.get_username().to_owned())];
    match options.get_socket() {
        Some(socket) => lines.push(("socket", socket.display().to_string())),
        None => lines.extend([
            ("protocol", "tcp".to_owned()),
            ("host", options.get_host().to_owned()),
            ("port", options.get_port().to_string()),
        ]),
    }
    let url = options.to_url_lossy();
    lines.extend(password(&url).map(|password| ("password", password)));
    for (name, value) in url.query_pairs() {
        let option = ["ssl-ca", "ssl-cert", "ssl-key"].into_iter().find(|known| *known == name);
        lines.extend(option.map(|option| (option, value.into_owned())));
    }
    let mut text = "[client]\n".to_owned();
    for (name, value) in lines {
        text.push_str(&format!("{name}=\"{}\"\n", escaped(&value)));
    }
    text.push_str(match options.get_ssl_mode() {
        MySqlSslMode::Disabled => "skip-ssl\n",
        MySqlSslMode::Preferred => "",
        MySqlSslMode::Required | MySqlSslMode::VerifyCa => "ssl\n",
        MySqlSslMode::VerifyIdentity => "ssl\nssl-verify-server-cert\n",
    });
    text
}

/// A value within the quotes of an option file.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n").replace('\r', "\\r")
}

async fn run(mut command: Command, output: Stdio) -> Result<(), Error> {
    let program = name_of(command.as_std());
    let child = command.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
    let child = child.kill_on_drop(true).spawn().map_err(|error| not_run(&program, error))?;
    let done = child.wait_with_output().await.map_err(|error| Error::file(&program, error))?;
    check(&program, &done)
}

/// Runs a program that reads a dump of MariaDB.
fn feed(mut command: std::process::Command, dump: File) -> Result<(), Error> {
    let program = name_of(&command);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| not_run(&program, error))?;
    let written = match child.stdin.take() {
        Some(input) => write_without_definers(BufReader::new(dump), input),
        None => Ok(()),
    };
    let done = child.wait_with_output().map_err(|error| Error::file(&program, error))?;
    // A program that has failed reads no further, which is not the reason.
    check(&program, &done)?;
    written.map_err(|error| Error::file(&program, error))
}

/// Writes a dump without the role that has made each trigger: the role that restores it may be another one,
/// and may not act for that. No value can look like such a line, because line breaks in values are escaped.
fn write_without_definers(mut dump: impl BufRead, out: impl Write) -> std::io::Result<()> {
    const BEGIN: &[u8] = b"/*!50003 CREATE*/ ";
    const DEFINER: &[u8] = b"/*!50017 DEFINER=";
    const END: &[u8] = b"*/";
    let mut out = BufWriter::new(out);
    let mut line = Vec::new();
    while dump.read_until(b'\n', &mut line)? > 0 {
        let definer = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_prefix(DEFINER));
        let end = definer.and_then(|rest| {
            rest.windows(END.len()).position(|part| part == END).map(|at| &rest[at + END.len()..])
        });
        match end {
            Some(rest) => {
                out.write_all(BEGIN)?;
                out.write_all(rest)?;
            }
            None => out.write_all(&line)?,
        }
        line.clear();
    }
    out.flush()
}

fn name_of(command: &std::process::Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn not_run(program: &str, error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::Invalid(format!(
            "{program} is needed for this and not installed; it is among the client programs of \
             the server"
        )),
        _ => Error::file(program, error),
    }
}

/// What a program printed on standard error, if it failed.
fn check(program: &str, done: &Output) -> Result<(), Error> {
    if done.status.success() {
        return Ok(());
    }
    let why = one_line(String::from_utf8_lossy(&done.stderr));
    Err(Error::Invalid(format!("{program} failed: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_is_restored_without_the_roles_of_its_triggers() -> std::io::Result<()> {
        let begin = "/*!50003 CREATE*/ ";
        let trigger =
            "/*!50003 TRIGGER t AFTER INSERT ON a FOR EACH ROW BEGIN\n/*!50017 DEFINER=x*/";
        let value = "INSERT INTO a VALUES ('/*!50003 CREATE*/ /*!50017 DEFINER=`x`*/');\n";
        let dump = format!("{value}{begin}/*!50017 DEFINER=`a`@`%`*/ {trigger}");
        let mut out = Vec::new();
        write_without_definers(dump.as_bytes(), &mut out)?;
        assert_eq!(String::from_utf8_lossy(&out), format!("{value}{begin} {trigger}"));
        Ok(())
    }

    #[test]
    fn no_password_is_an_argument() {
        let address = "postgres://ann:s3%22cr%20et@db.example.com:5433/shop?sslmode=require";
        let command = postgres("pg_dump", address);
        let arguments = command.as_std().get_args().count();
        let environment: Vec<_> = command.as_std().get_envs().collect();
        assert_eq!(arguments, 0);
        for (name, value) in [
            ("PGHOST", "db.example.com"),
            ("PGPORT", "5433"),
            ("PGUSER", "ann"),
            ("PGPASSWORD", "s3\"cr et"),
            ("PGSSLMODE", "require"),
        ] {
            assert!(environment.contains(&(name.as_ref(), Some(value.as_ref()))), "{name}");
        }
        let options = database_url::mysql("mysql://ann:a%22b%23%5Cc@localhost/shop");
        let text = options.map(|options| mysql_options(&options)).unwrap_or_default();
        assert!(text.contains("password=\"a\\\"b#\\\\c\"\n"), "{text}");
    }
}
