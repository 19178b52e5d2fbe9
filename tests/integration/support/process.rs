//! The program as its users run it: a process with a working directory, arguments, an environment,
//! signals and exit codes.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use plugin::store::Store;
use reqwest::{Method, RequestBuilder};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::support::certificate::Pair;
use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, MEDIA_TYPE, example, fixture, library};
use crate::support::template::Template;
use crate::support::waiting::{PATIENCE, eventually, patiently};

/// How long a host may take to follow changes of another process. The documents promise a second; a
/// busy machine gets more.
const PROMPT: Duration = Duration::from_secs(10);

/// A list that is empty in a new store.
pub const MANUFACTURERS: &str = "/api/index.php/v1/shop/manufacturers";

/// The feed of changes.
const CHANGES: &str = "/api/index.php/v1/shop/changes?page[size]=1";

/// The entries of commands in the audit trail.
pub const ENTRIES: &str = "SELECT concat(username, ', ', means, ': ', route, ': ', what, ': ', \
     record_type, ' ', record_id) FROM host_audit WHERE origin = 'command-line' ORDER BY id";

/// A working directory for the program and a database, with the libraries to load.
pub struct Place {
    pub database: Database,
    plugins: Vec<PathBuf>,
}

impl Place {
    /// An empty folder, an empty database, and these libraries.
    pub fn with(plugins: impl IntoIterator<Item = PathBuf>) -> Place {
        Place { database: Database::at_once(), plugins: plugins.into_iter().collect() }
    }

    /// An empty folder, and the store's library.
    pub fn of_the_store() -> Place {
        Place::with([library()])
    }

    /// A site with the store, and the token of its user ann, who is in this group. It is made once, and copied. The
    /// reference data have their places among the changes.
    pub async fn with_ann(group: &str) -> (Place, String) {
        static MADE: [Template<String>; 3] = [const { Template::new() }; 3];
        let nth = ["Administrator", "Manager", "Super Users"].iter().position(|of| *of == group);
        let make = async || {
            let place = Place::of_the_store();
            let token = place.user("ann", group).await;
            let host = place.serve().await;
            host.until(200, CHANGES, &token).await;
            host.stop().await;
            (place.database, token)
        };
        let (database, token) = MADE[nth.unwrap()].copy(Engine::of_this_run(), make).await;
        (Place { database, plugins: vec![library()] }, token)
    }

    /// An empty folder, and the store's library, with the database on another server.
    pub fn of_the_store_on(server: &str) -> Place {
        Place { database: Database::at_once_on(server), plugins: vec![library()] }
    }

    /// An empty folder, and the fixture that misbehaves.
    pub fn of_the_fixture() -> Place {
        Place::with([fixture("misbehaves")])
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.database.folder.path().join(name)
    }

    /// The store's file, if the site is kept in files.
    pub fn store_url(&self) -> String {
        format!("sqlite://{}", self.data("shop.db").display())
    }

    /// Two hosts with this environment where the database is a server, which several may share, and
    /// otherwise one.
    pub async fn serve_twice_with(&self, environment: &[(&str, &str)]) -> Vec<Served> {
        let mut hosts = vec![self.serve_with(environment).await];
        if self.database.engine != Engine::Sqlite {
            hosts.push(self.serve_with(environment).await);
        }
        hosts
    }

    /// The store of the site, to be used beside its hosts.
    pub fn store(&self) -> Store {
        let url = match self.database.engine {
            Engine::Sqlite => self.store_url(),
            Engine::Postgres | Engine::MariaDb => self.database.url(),
        };
        Store::open(&url).unwrap()
    }

    /// The program's default address.
    pub fn site_url(&self) -> String {
        match self.database.engine {
            Engine::Sqlite => format!("sqlite://{}", self.data("host.db").display()),
            Engine::Postgres | Engine::MariaDb => self.database.url(),
        }
    }

    /// The folder for the files of the site. A host whose database is on a server creates it only
    /// when it needs one.
    pub fn data(&self, name: &str) -> PathBuf {
        let folder = self.path("data");
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    /// A command line, with words separated by spaces; see [`Call::word`] for a word that contains
    /// spaces.
    pub fn call(&self, words: &str) -> Call {
        let mut call = self.bare_call();
        for plugin in &self.plugins {
            call.command.arg("--plugin").arg(plugin);
        }
        call.command.args(words.split_whitespace());
        call
    }

    /// The program without arguments and without a library.
    pub fn bare_call(&self) -> Call {
        self.call_of(&program())
    }

    /// The same of a copy of the program.
    pub fn call_of(&self, program: &Path) -> Call {
        let mut command = Command::new(program);
        command.current_dir(self.database.folder.path()).kill_on_drop(true);
        // Variables from the environment of the tests must not affect the program.
        let inherited = std::env::vars_os().map(|(name, _)| name);
        for name in inherited.filter(|name| name.to_string_lossy().starts_with("HOST_")) {
            command.env_remove(name);
        }
        match self.database.engine {
            // The program's default.
            Engine::Sqlite => command.env_remove("DATABASE_URL"),
            Engine::Postgres | Engine::MariaDb => command.env("DATABASE_URL", self.database.url()),
        };
        Call { command, input: String::new(), socket: None }
    }

    /// Runs a command line that must succeed, and returns its output.
    pub async fn run(&self, words: &str) -> String {
        self.call(words).finish().await.succeeds()
    }

    /// Adds a user who may do everything, with this password.
    pub async fn add_administrator(&self, name: &str, password: &str) {
        let add = format!("user add {name} --email {name}@example.com --group");
        self.call(&add).word("Super Users").finish().await.succeeds();
        let set = self.call(&format!("user password {name}"));
        assert_eq!(set.input(&format!("{password}\n")).finish().await.succeeds(), "");
    }

    /// Runs a command line that must fail, and returns its one line of error.
    pub async fn refusal(&self, words: &str) -> String {
        self.call(words).finish().await.fails()
    }

    /// Adds a user to this group and returns a token.
    pub async fn user(&self, name: &str, group: &str) -> String {
        let add = format!("user add {name} --email {name}@example.com --group");
        self.call(&add).word(group).finish().await.succeeds();
        self.run(&format!("token generate {name}")).await.trim().to_owned()
    }

    /// Serves on a machine that trusts only this certificate.
    pub async fn serve_trusting(&self, pair: &Pair, environment: &[(&str, &str)]) -> Served {
        pair.write(&self.path(""));
        self.serve_with(&[environment, &[("SSL_CERT_FILE", "cert.pem")]].concat()).await
    }

    /// Serves on a free port.
    pub async fn serve(&self) -> Served {
        self.serve_with(&[]).await
    }

    /// Serves on a free port, with this environment.
    pub async fn serve_with(&self, environment: &[(&str, &str)]) -> Served {
        let mut call = self.call("serve --listen 127.0.0.1:0");
        for (name, value) in environment {
            call = call.env(name, value);
        }
        call.start().await
    }
}

/// The program that was built with the tests.
pub fn program() -> PathBuf {
    example(&format!("example-host{}", std::env::consts::EXE_SUFFIX))
}

/// A command line under construction.
pub struct Call {
    command: Command,
    input: String,
    socket: Option<OwnedFd>,
}

impl Call {
    /// Adds one argument, which may contain spaces.
    pub fn word(mut self, word: impl AsRef<std::ffi::OsStr>) -> Call {
        self.command.arg(word);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Call {
        self.command.env(name, value);
        self
    }

    /// Starts it through a shell, with this text before the command line.
    pub fn through(mut self, script: &str) -> Call {
        let call = self.command.as_std();
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{script} \"$@\"")).arg("sh");
        shell.arg(call.get_program()).args(call.get_args()).kill_on_drop(true);
        shell.current_dir(call.get_current_dir().unwrap());
        for (name, value) in call.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        self.command = shell;
        self
    }

    /// Passes it a socket as a service manager does, in place of the one that it would open.
    pub fn with_socket(self, socket: &std::net::TcpListener) -> Call {
        // The socket comes as the standard input, because the third descriptor of a new process can be
        // set only by a shell. `exec` keeps the number of the process.
        let mut call =
            self.through("export LISTEN_FDS=1 LISTEN_PID=$$; exec 3<&0 </dev/null; exec");
        call.socket = Some(socket.try_clone().unwrap().into());
        call
    }

    /// Sets the standard input.
    pub fn input(mut self, text: &str) -> Call {
        self.input = text.to_owned();
        self
    }

    /// Runs it to completion.
    pub async fn finish(mut self) -> Finished {
        let asked = format!("{:?}", self.command.as_std());
        let stdin = self.socket.take().map_or_else(Stdio::piped, Stdio::from);
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("{asked}: {error}"));
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input closes it, which is not a failure.
            let _ = stdin.write_all(self.input.as_bytes()).await;
        }
        let output = patiently(&asked, child.wait_with_output()).await.unwrap();
        Finished { asked, output }
    }

    /// Runs it until it listens.
    pub async fn start(mut self) -> Served {
        let stdin = self.socket.take().map_or_else(Stdio::null, Stdio::from);
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let out = Lines::of(child.stdout.take().unwrap());
        let log = Lines::of(child.stderr.take().unwrap());
        let line = log.wait_for("listening on http").await;
        let (_, address) = line.split_once("://").unwrap();
        let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ':';
        let address = address.split(|c| !digits(c)).next().unwrap().parse().unwrap();
        let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        Served { child, address, out, log, client }
    }

    /// Starts it, for a test that ends it itself.
    pub fn spawn(mut self) -> Child {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.command.spawn().unwrap()
    }
}

/// The result of a command line.
pub struct Finished {
    asked: String,
    output: Output,
}

impl Finished {
    pub fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    pub fn err(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    /// Returns the standard output.
    #[track_caller]
    pub fn succeeds(&self) -> String {
        self.exits(0);
        self.out()
    }

    /// Returns the one line on standard error, without the program's name.
    #[track_caller]
    pub fn fails(&self) -> String {
        self.exits(1);
        let err = self.err();
        // On a busy machine any statement may take the second from which on the driver warns.
        let lines = err.lines().filter(|line| !line.contains(" WARN sqlx::query: slow statement"));
        let [line] = lines.collect::<Vec<_>>()[..] else {
            panic!("{}: not one line: {err}", self.asked);
        };
        assert_eq!(self.out(), "", "{}", self.asked);
        line.strip_prefix("example-host: ").unwrap().to_owned()
    }

    /// Fails the test unless it exited with this code.
    #[track_caller]
    pub fn exits(&self, code: i32) {
        let status = self.output.status;
        assert_eq!(status.code(), Some(code), "{}: {status}\n{}", self.asked, self.err());
    }
}

/// The program, listening.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
    pub out: Lines,
    pub log: Lines,
    client: reqwest::Client,
}

impl Served {
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A request with only the default headers of the client, such as `Accept: */*`.
    pub fn bare(&self, method: &str, path: &str) -> RequestBuilder {
        let method: Method = method.parse().unwrap();
        self.client.request(method, self.url(path))
    }

    /// A request that accepts the media type of the API, by the user with this token.
    pub fn ask(&self, method: &str, path: &str, token: &str) -> RequestBuilder {
        self.bare(method, path).header("accept", MEDIA_TYPE).bearer_auth(token)
    }

    pub fn get(&self, path: &str, token: &str) -> RequestBuilder {
        self.ask("GET", path, token)
    }

    /// Waits until a request gets this status, because the host follows another process's changes
    /// with a delay.
    pub async fn until(&self, status: u16, path: &str, token: &str) -> Answer {
        let what = format!("{path} is answered with {status}");
        let answered = eventually(&what, async || {
            let answer = Answer::to(self.get(path, token)).await;
            (answer.status == status).then_some(answer)
        });
        tokio::time::timeout(PROMPT, answered).await.expect(&what)
    }

    /// Sends exactly these lines as the head of a request, followed by a body, and returns
    /// everything received.
    pub async fn raw(&self, lines: &[&str], body: &[u8]) -> Raw {
        let mut bytes = Vec::new();
        for line in lines.iter().chain(&["host: localhost", "connection: close", ""]) {
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(body);
        Raw(exchange(&mut self.connect().await, &bytes).await)
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends the program a signal.
    pub async fn signal(&self, name: &str) {
        self.shell(&format!("kill -{name}")).await;
    }

    /// Runs a command line that ends with the program's process id.
    pub async fn shell(&self, words: &str) {
        let id = self.child.id().unwrap();
        let mut shell = Command::new("sh");
        let done = shell.arg("-c").arg(format!("{words} {id}")).status().await.unwrap();
        assert!(done.success(), "{words}: {done}");
    }

    /// The memory of the program in bytes, as Linux reports it.
    #[cfg(target_os = "linux")]
    pub fn memory(&self) -> usize {
        self.status_of("VmRSS:")
    }

    /// The most memory that the program has had so far.
    #[cfg(target_os = "linux")]
    pub fn peak_memory(&self) -> usize {
        self.status_of("VmHWM:")
    }

    #[cfg(target_os = "linux")]
    fn status_of(&self, name: &str) -> usize {
        let path = format!("/proc/{}/status", self.child.id().unwrap());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
    }

    /// Waits for the program to exit by itself, and returns its exit code.
    pub async fn ended(&mut self) -> Option<i32> {
        patiently("the end", self.child.wait()).await.unwrap().code()
    }

    /// Stops the program and waits for its exit.
    pub async fn stop(mut self) {
        self.signal("TERM").await;
        assert_eq!(self.ended().await, Some(0));
    }

    /// Fails the test unless the program still answers.
    pub async fn is_alive(&self) {
        assert_eq!(Answer::to(self.bare("GET", "/health")).await.status, 200);
    }
}

/// Stops hosts, one after the other.
pub async fn stop(hosts: impl IntoIterator<Item = Served>) {
    for host in hosts {
        host.stop().await;
    }
}

/// A response in raw form.
pub struct Raw(pub String);

impl Raw {
    #[track_caller]
    pub fn status(&self) -> u16 {
        let status = self.0.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        status.and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{:?}", self.0))
    }
}

/// The lines that a program has printed so far.
#[derive(Clone)]
pub struct Lines {
    seen: Arc<watch::Sender<Vec<String>>>,
}

impl Lines {
    pub fn of(stream: impl AsyncRead + Send + Unpin + 'static) -> Lines {
        let seen = Arc::new(watch::Sender::new(Vec::new()));
        let lines = Lines { seen: Arc::clone(&seen) };
        tokio::spawn(async move {
            let mut stream = BufReader::new(stream).lines();
            while let Ok(Some(line)) = stream.next_line().await {
                seen.send_modify(|lines| lines.push(line));
            }
        });
        lines
    }

    pub fn all(&self) -> Vec<String> {
        self.seen.borrow().clone()
    }

    /// Waits for a line with this text.
    pub async fn wait_for(&self, text: &str) -> String {
        let mut seen = self.seen.subscribe();
        let found = async {
            let find = |lines: &Vec<String>| lines.iter().find(|line| line.contains(text)).cloned();
            let lines = seen.wait_for(|lines| find(lines).is_some()).await.unwrap();
            find(&lines).unwrap()
        };
        let found = tokio::time::timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("no line with {text:?} in {:#?}", self.all()))
    }
}

/// Sends bytes on a connection and returns everything received until it is closed.
pub async fn exchange(
    connection: &mut (impl AsyncRead + AsyncWrite + Unpin),
    bytes: &[u8],
) -> String {
    // A server may close the connection before it has read everything.
    let _ = connection.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = patiently("the connection to be closed", connection.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// The name of the user who runs the tests, and so the program.
pub fn operator() -> String {
    let asked = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(asked.stdout).unwrap().trim().to_owned()
}

/// Whether a folder is empty or missing.
pub fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

/// The lines of a command's output as tab-separated parts.
pub fn table(text: &str) -> Vec<Vec<&str>> {
    assert!(text.is_empty() || text.ends_with('\n'), "{text:?}");
    text.lines().map(|line| line.split('\t').collect()).collect()
}
