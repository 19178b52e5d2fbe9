//! A host under callgrind, whose instructions are counted between two points in time.

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::RangeFrom;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use sqlx::{Connection, SqliteConnection};

use super::browser::Browser;
use super::building;
use super::routes::{Request, Route};

/// The path of the store.
const ROOT: &str = "/api/index.php/v1/shop";

/// The user who sends the requests, with the password for the administration.
const USER: &str = "bench";
const PASSWORD: &str = "long enough to be counted";

/// How often a request is sent before it is counted, so that its statements are prepared.
const WARMING: u32 = 10;
/// How many requests one count is of, one directly after the other.
const TIMES: u32 = 10;
/// What a request leaves to be done after its answer is over by then.
const SETTLED: Duration = Duration::from_millis(50);
/// The seconds for which a host keeps a connection without requests. To count pages takes longer than the default, and
/// a request on a connection that the host is closing fails.
const KEPT: &str = "600";
/// A host without requests is idle if it takes fewer instructions than this in [`IDLE`]. One that has just
/// been started looks after its store first.
const FEW: f64 = 2e6;
const IDLE: Duration = Duration::from_secs(2);

/// Serves until it is dropped.
pub struct Host {
    process: Child,
    /// The folder of the store and of the counts.
    folder: PathBuf,
    address: String,
    token: String,
    client: Client,
    browser: Browser,
    counts: usize,
}

/// A store in a folder, and the programs in another.
struct Made<'a> {
    programs: &'a Path,
    folder: PathBuf,
}

impl Made<'_> {
    fn program(&self) -> PathBuf {
        self.programs.join("example-host")
    }

    /// A command of the program for this store.
    fn command(&self, mut command: Command) -> Command {
        let library =
            format!("{}plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let database = format!("sqlite://{}", self.folder.join("host.db").display());
        command.arg("--plugin").arg(self.programs.join(library)).env("DATABASE_URL", database);
        command.current_dir(&self.folder).stderr(Stdio::piped());
        command
    }

    /// What the program prints with these arguments.
    fn run(&self, arguments: &[&str]) -> String {
        let mut command = self.command(Command::new(self.program()));
        let done = command.args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Serves the store with the program, or with one that runs it.
    async fn serve(&self, command: Command, token: &str) -> Host {
        let mut command = self.command(command);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("HOST_HEADER_TIMEOUT", KEPT);
        let serving = command.spawn();
        let mut process =
            serving.expect("program and valgrind are there: tests/benches/instructions/prepare.sh");
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut lines = log.by_ref().lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("listening on ")).expect("the program listens");
        let address = line.rsplit_once("//").unwrap().1.to_owned();
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Host {
            process,
            folder: self.folder.clone(),
            browser: Browser::at(format!("http://{address}")).await,
            address,
            token: token.to_owned(),
            client: Client::new(),
            counts: 0,
        }
    }
}

/// What a route costs.
pub struct Counted {
    /// Millions of instructions for a request.
    pub millions: f64,
    /// The count, by function.
    pub file: PathBuf,
}

impl Counted {
    /// The smaller one of two counts of the same request.
    pub fn or_less(self, other: Counted) -> Counted {
        if other.millions < self.millions { other } else { self }
    }
}

impl Host {
    /// Makes a store of this name with the programs in a folder, and serves it.
    pub async fn start(programs: &Path, name: &str) -> Host {
        let folder = building::target().join("bench").join("instructions").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let made = Made { programs, folder };
        made.run(&["demo", "--products", "2000", "--orders", "4000"]);
        made.run(&["user", "add", USER, "--email", "b@example.com", "--group", "Administrator"]);
        let token = made.run(&["token", "generate", USER]);
        let mut command = made.command(Command::new(made.program()));
        set_password(command.args(["user", "password", USER]));

        // The records of the store get their places in the feed, which a host that is counted would be busy with for
        // most of a minute.
        let host = made.serve(Command::new(made.program()), &token).await;
        host.ask("GET", "/changes?page[size]=1", None).await;
        host.stop();

        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--tool=callgrind"]);
        command.arg(format!("--callgrind-out-file={}", made.folder.join("counts").display()));
        command.arg(made.program());
        let mut host = made.serve(command, &token).await;
        while host.idle().await > FEW {}
        // What the page to sign in has begun is done, which takes some seconds here.
        host.browser.sign_in(USER, PASSWORD).await;
        host
    }

    /// Ends the host as an operator does.
    fn stop(mut self) {
        let process = self.process.id().to_string();
        assert!(Command::new("kill").arg(process).status().unwrap().success());
        assert!(self.process.wait().unwrap().success());
    }

    /// Lets nobody here run a job of the store, as if another host had taken it, and waits until that is noticed.
    pub async fn give_away(&mut self, job: &str) {
        let address = format!("sqlite://{}", self.folder.join("host.db").display());
        let mut database = SqliteConnection::connect(&address).await.unwrap();
        let statement =
            "UPDATE host_jobs SET holder = 'another', held_until = 9000000000000 WHERE name = ?";
        let done = sqlx::query(statement).bind(job).execute(&mut database).await.unwrap();
        assert_eq!(done.rows_affected(), 1, "{job}");
        while self.idle().await > FEW {}
    }

    /// The instructions of a while without requests.
    async fn idle(&mut self) -> f64 {
        self.dump();
        tokio::time::sleep(IDLE).await;
        total(&self.dump())
    }

    /// Writes what has been counted since the last file to another one.
    fn dump(&mut self) -> PathBuf {
        let process = self.process.id().to_string();
        let done = Command::new("callgrind_control").args(["--dump", &process]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.counts += 1;
        self.folder.join(format!("counts.{}", self.counts))
    }

    /// Sends the next repetitions of a request without counting them.
    pub async fn warm(&mut self, route: &Route, nth: &mut RangeFrom<u64>) {
        self.send_all(route, nth.take(WARMING as usize)).await;
        // It ends the count of what came before.
        self.dump();
    }

    /// Counts what a request costs, in its next repetitions.
    pub async fn count(&mut self, route: &Route, nth: &mut RangeFrom<u64>) -> Counted {
        self.send_all(route, nth.take(TIMES as usize)).await;
        tokio::time::sleep(SETTLED).await;
        let file = self.dump();
        Counted { millions: total(&file) / f64::from(TIMES) / 1e6, file }
    }

    async fn send_all(&self, route: &Route, each: impl Iterator<Item = u64>) {
        for nth in each {
            self.send(route, nth).await;
        }
    }

    /// Sends the nth repetition of a request, which must succeed.
    async fn send(&self, route: &Route, nth: u64) {
        match &route.request {
            Request::Get(path) => drop(self.ask("GET", &path(nth), None).await),
            Request::Send(method, request) => {
                let (path, body) = request(nth);
                self.ask(method, &path, Some(&body)).await;
            }
            Request::Open(path) => drop(self.browser.open(&path(nth)).await),
            Request::Save(path, field) => {
                self.browser.save(path, field, &format!("Counted {nth}")).await;
            }
        }
    }

    /// The answer to a request, which must succeed.
    pub async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let url = format!("http://{}{ROOT}{path}", self.address);
        let request = self.client.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        let request = request
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", "application/vnd.api+json")
            .header("content-type", "application/json")
            .body(body.map(Value::to_string).unwrap_or_default());
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the command that sets a password.
fn set_password(command: &mut Command) {
    let mut setting = command.stdin(Stdio::piped()).spawn().unwrap();
    writeln!(setting.stdin.take().unwrap(), "{PASSWORD}").unwrap();
    assert!(setting.wait().unwrap().success());
}

/// The instructions of a count.
fn total(file: &Path) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.expect("a count has its total").trim().parse().unwrap()
}
