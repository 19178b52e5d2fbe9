//! Commands as they cross: what is declared, what one is given, and what it reports.

use std::sync::{Arc, Mutex};

use host_interface::{
    CommandOutput, Environment, Error, Host, LoadedPlugin, LogRecord, Progress, occasion,
};
use serde_json::{Map, Value, json};

use crate::support::harness::fixture;

/// A host that offers nothing.
struct Bare;

impl Host for Bare {
    fn log(&self, _record: &LogRecord<'_>) {}
}

fn plugin() -> LoadedPlugin {
    let library = host_interface::open(&fixture("misbehaves")).unwrap();
    library.create(Bare, &Environment::new("sqlite:///nowhere/fixture.db")).unwrap()
}

/// Records its calls, or panics.
struct Listener(Option<Arc<Mutex<Vec<String>>>>);

impl Progress for Listener {
    fn report(&self, step: &str, done: u64, total: u64) {
        let told = self.0.as_ref().expect("nobody listens");
        told.lock().unwrap().push(format!("{step} {done}/{total}"));
    }
}

#[tokio::test]
async fn a_command_reports_progress_rows_and_lines() {
    let plugin = plugin();
    let told = Arc::default();
    let options = |name: &str, number: u64| Map::from_iter([(name.to_owned(), json!(number))]);
    let listener = Listener(Some(Arc::clone(&told)));
    let output = plugin.command("demo", options("products", 3), listener).await.unwrap();
    assert_eq!(output, CommandOutput::new().line("made 3 products"));
    assert_eq!(*told.lock().unwrap(), ["products 1/3", "products 2/3", "products 3/3"]);
    // The work continues even if progress cannot be shown.
    let output = plugin.command("demo", options("products", 2), Listener(None)).await.unwrap();
    assert_eq!(output.lines, ["made 2 products"]);

    let tally = async |wrong: u64| {
        let mut options = options("wrong", wrong);
        options.insert("size".to_owned(), json!(7));
        plugin.command("tally", options, ()).await
    };
    let output = tally(0).await.unwrap();
    let more = json!({"b": [1, 2], "a": null});
    assert_eq!(output.rows, [vec![json!("a word"), json!(7), more], vec![Value::Null]]);
    assert_eq!((output.lines, output.failure), (vec!["that is all".to_owned()], None));
    assert_eq!(tally(1).await.unwrap().failure.as_deref(), Some("something is\nwrong"));
    assert!(matches!(tally(2).await, Err(Error::Failed(_))));
    let panicked = tally(3).await;
    assert!(matches!(&panicked, Err(Error::Panicked(why)) if why == "the secret of the command"));
    let unknown = plugin.command("no-such", Map::new(), ()).await;
    assert!(matches!(&unknown, Err(Error::Contract(_))), "{unknown:?}");
}

#[test]
fn a_plugin_declares_its_commands() {
    let commands = plugin().describe().unwrap().commands;
    let demo = commands.iter().find(|command| command.name == "demo").unwrap();
    assert_eq!(demo.options[0].name, "products");
    assert!(demo.is_on(occasion::TRIAL) && !demo.is_on(occasion::RESTORED));
    let recorded = [&demo.recorded, &demo.recorded_at_end].map(Option::as_deref);
    let expected = [Some("begin to fill in demo data"), Some("finish filling in demo data")];
    assert_eq!(recorded, expected);
}
