//! The commands that extensions declare: their options, their help, and what is printed and recorded of them.

use serde_json::{Value, json};

use crate::support::harness::{Answer, fixture};
use crate::support::process::{MANUFACTURERS, Place};

#[tokio::test]
async fn the_demonstration_fills_the_store_and_prints_what_it_created() {
    let place = Place::of_the_store();
    let line = place.run("demo --products 40 --orders 30").await;
    assert_eq!(line, "40 products, 250 customers, 30 orders\n");
    // Existing records are not created again.
    assert_eq!(place.run("demo --products 40 --orders 30").await, line);
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    let total = Answer::to(served.get(MANUFACTURERS, &token)).await.expect(200).total();
    assert!(total > 0);
    served.stop().await;

    let place = Place::of_the_fixture();
    for wrong in ["demo --products many", "demo --products -1", "demo --orders 0", "demo 4"] {
        let finished = place.call(wrong).finish().await;
        finished.exits(2);
        assert!(finished.err().contains("--help"), "{wrong}: {}", finished.err());
    }
    assert!(!place.path("data").exists(), "wrong usage leaves nothing behind");
    assert_eq!(place.run("demo --products 4").await, "made 4 products\n");
    assert_eq!(place.run("demo").await, "made 2 products\n");
    let help = place.run("demo --help").await;
    assert!(help.contains("--products <VALUE>  How many products. [default: 2]"), "{help}");
}

#[tokio::test]
async fn the_commands_are_those_that_the_extensions_declare() {
    let place = Place::with([fixture("misbehaves"), fixture("neighbour")]);
    let help = place.run("--help").await;
    for line in
        ["  tally       Report what happened. Report the weather", "  demo        Make products"]
    {
        assert!(help.contains(&format!("{line}\n")), "{line}: {help}");
    }
    let synopsis = help.lines().filter(|line| line.starts_with("  serve "));
    assert_eq!(synopsis.count(), 1, "the host's own command of that name: {help}");
    for asked in ["tally --help", "help tally"] {
        let help = place.run(asked).await;
        for part in ["--misbehaves/size <VALUE>", "--wrong <VALUE>", "--json", "[default: small]"] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
    let wrong = place.call("tallly").finish().await;
    wrong.exits(2);
    assert!(wrong.err().contains("a similar subcommand exists: 'tally'"), "{}", wrong.err());
    assert!(!place.path("data").exists(), "neither help nor wrong usage leaves anything behind");

    // Every extension that has the command runs it, with the columns and options of its own.
    let lines = "a word\t1\t{\"b\":[1,2],\"a\":null}\n\nmonday\tlarge\nthat is all\n";
    assert_eq!(place.run("tally --neighbour/size large").await, lines);
    let json = place.run("tally --misbehaves/size 9 --json").await;
    let expected = json!([
        {"name": "a word", "many": 9, "more": {"b": [1, 2], "a": null}},
        {"name": null},
        {"day": "monday", "name": "small"},
    ]);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
    let failed = place.call("tally --wrong 1").finish().await;
    failed.exits(1);
    assert_eq!(failed.out(), lines.replace("large", "small"));
    assert_eq!(failed.err().lines().last(), Some("example-host: something is wrong"));
    for (wrong, why) in [("2", "nobody knows today"), ("3", "panicked: the secret of the command")]
    {
        let failed = place.call(&format!("tally --wrong {wrong}")).finish().await;
        failed.exits(1);
        // The log has a line about a panic before it.
        let expected = format!("example-host: misbehaves: tally failed: {why}");
        assert_eq!(failed.err().lines().last(), Some(&*expected));
    }
    let entries = "SELECT what FROM host_audit WHERE route = 'tally' ORDER BY id";
    let entries = place.database.texts_at(&place.site_url(), entries).await;
    assert_eq!(entries, ["look at the sky"; 5]);
    // Nobody declares it here.
    let place = Place::with([fixture("greeter")]);
    let unknown = place.call("demo").finish().await;
    unknown.exits(2);
    assert!(unknown.err().contains("unrecognized subcommand 'demo'"), "{}", unknown.err());
}
