//! A receiver of webhooks as others write it: a program in another language, behind TLS, whose unmodified libraries
//! check each message. It can be killed, and goes on with the same files.

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::support::certificate::Pair;
use crate::support::outside::Message;
use crate::support::workshop::Workshop;

/// The receiver.
pub struct Judge {
    workshop: Workshop,
    /// The program and its first argument.
    program: [&'static str; 2],
    port: u16,
    child: Child,
}

impl Judge {
    pub async fn in_typescript(pair: &Pair) -> Judge {
        let workshop = Workshop::new("typescript");
        let compile = ["--project", "tsconfig.receiver.json"];
        workshop.run("node_modules/.bin/tsc", &compile).await;
        Judge::start(workshop, ["node", "compiled/receiver.js"], pair).await
    }

    pub async fn in_python(pair: &Pair) -> Judge {
        Judge::start(Workshop::new("python"), ["bin/python", "receiver.py"], pair).await
    }

    async fn start(workshop: Workshop, program: [&'static str; 2], pair: &Pair) -> Judge {
        pair.write(workshop.path());
        let (child, port) = begin(&workshop, program, 0).await;
        Judge { workshop, program, port, child }
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/hooks", self.port)
    }

    /// Checks messages with this secret from now on.
    pub fn learn(&self, secret: &str) {
        std::fs::write(self.path("secret"), secret).unwrap();
    }

    /// Kills it, without a chance to finish anything.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Starts it again at the same port, after a kill.
    pub async fn start_again(&mut self) {
        (self.child, self.port) = begin(&self.workshop, self.program, self.port).await;
    }

    /// The messages that its libraries have accepted, in the order of their arrival.
    pub fn accepted(&self) -> Vec<Message> {
        let read = |line: &str| {
            let mut message: serde_json::Value = serde_json::from_str(line).unwrap();
            Message {
                url: self.url(),
                headers: serde_json::from_value(message["headers"].take()).unwrap(),
                body: message["body"].as_str().unwrap().to_owned(),
            }
        };
        self.lines("accepted").lines().map(read).collect()
    }

    /// How many messages its libraries have accepted.
    pub fn count(&self) -> usize {
        self.lines("accepted").lines().count()
    }

    /// Why its libraries have refused messages, a line for each.
    pub fn refused(&self) -> String {
        self.lines("refused")
    }

    /// The whole lines of a file, which may be growing.
    fn lines(&self, name: &str) -> String {
        let mut text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workshop.path().join(name)
    }
}

/// Starts the program, and returns it with the port at which it listens.
async fn begin(workshop: &Workshop, program: [&str; 2], port: u16) -> (Child, u16) {
    let [program, script] = program;
    let mut child = workshop.start(program, &[script, &port.to_string()]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("the receiver listens");
    (child, line.parse().unwrap())
}
