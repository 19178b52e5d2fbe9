//! Clients and receivers in other languages: typed clients, generated from the OpenAPI document that a host serves, and
//! receivers of webhooks. Their tools are in the folder that `tests/clients/prepare.sh` prepares.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::support::harness::{ROOT, Role, Shop};
use crate::support::project;
use crate::support::visitor::Visitor;

/// A folder in which a client is generated or a receiver runs, with the sources in its language.
pub struct Workshop {
    tools: PathBuf,
    folder: TempDir,
    /// The addresses and the token that a round needs.
    variables: Vec<(&'static str, String)>,
}

impl Workshop {
    /// A folder among the tools of a language, where programs find what is installed there.
    pub fn new(language: &str) -> Workshop {
        let tools = PathBuf::from(std::env::var_os("TEST_CLIENTS").unwrap()).join(language);
        let folder = tempfile::tempdir_in(&tools).unwrap();
        let sources = project::root().join("tests/clients").join(language);
        for source in std::fs::read_dir(sources).unwrap() {
            let source = source.unwrap();
            std::fs::copy(source.path(), folder.path().join(source.file_name())).unwrap();
        }
        Workshop { tools, folder, variables: Vec::new() }
    }

    /// The same with the document of a shop, whose users have a password.
    pub async fn of(shop: &Shop, language: &str) -> Workshop {
        let mut workshop = Workshop::new(language);
        let mut visitor = Visitor::signed_in(shop, "superuser").await;
        let document = visitor.get("/api/openapi.json").await;
        assert_eq!(document.status, 200);
        std::fs::write(workshop.path().join("openapi.json"), document.html).unwrap();
        workshop.variables = vec![
            ("STORE_ROOT", shop.url(ROOT)),
            ("STORE_TOKEN", shop.token(Role::SuperUser).to_owned()),
        ];
        workshop
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a program of the tools, or one that is installed, and returns its output. Fails if the
    /// program does.
    pub async fn run(&self, program: &str, arguments: &[&str]) -> String {
        let done = self.command(program, arguments).output().await.unwrap();
        let output =
            [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let output = output.concat();
        assert!(done.status.success(), "{program} {arguments:?}: {output}");
        output
    }

    /// Starts a program of the tools, or one that is installed, whose output is read.
    pub fn start(&self, program: &str, arguments: &[&str]) -> Child {
        let mut command = self.command(program, arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let own = self.tools.join(program);
        let mut command = Command::new(if own.exists() { own } else { program.into() });
        command.args(arguments).current_dir(self.path()).kill_on_drop(true);
        // The generator runs a formatter that is installed beside it.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(self.tools.join("bin")).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}
