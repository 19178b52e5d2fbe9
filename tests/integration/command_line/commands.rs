//! The effect and the output of each command, its failures, and that a running host follows within
//! a second.

use crate::support::harness::Answer;
use crate::support::process::{ENTRIES, Place, table};

#[tokio::test]
async fn a_user_is_added_and_listed() {
    let place = Place::of_the_fixture();
    assert_eq!(place.run("user list").await, "");
    let add = place.run("user add ann --email ann@example.com --group Manager").await;
    assert_eq!(add, "1\n");
    let add = "user add bob --email bob@example.com --group Registered --group";
    assert_eq!(place.call(add).word("Super Users").finish().await.succeeds(), "2\n");
    place.run("user block bob --force").await;
    assert_eq!(
        table(&place.run("user list").await),
        [
            ["1", "ann", "ann@example.com", "Manager", "active", "none"],
            ["2", "bob", "bob@example.com", "Registered, Super Users", "blocked", "none"],
        ]
    );
    for command in ["user unblock bob", "user remove ann"] {
        assert_eq!(place.run(command).await, "", "{command}");
    }
    assert_eq!(
        table(&place.run("user list").await)[0][1..],
        ["bob", "bob@example.com", "Registered, Super Users", "active", "none"]
    );
}

#[tokio::test]
async fn a_password_is_read_from_standard_input_and_never_asked_for() {
    let place = Place::of_the_fixture();
    let add = "user add ann --email ann@example.com --group Manager --password-stdin";
    let added = place.call(add).input("correct horse\nbattery staple\n").finish().await;
    assert_eq!(added.succeeds(), "1\n");
    assert_eq!(added.err(), "", "no prompt and no echo");
    let add = "user add bob --email bob@example.com --group Manager --password-stdin";
    assert_eq!(place.refusal(add).await, "the password is empty");
}

/// Somebody in the wrong folder would otherwise believe that a person was erased.
#[tokio::test]
async fn a_search_on_a_site_that_was_not_there_is_marked_as_such() {
    let place = Place::of_the_fixture();
    let erase = "privacy erase --email ann@example.com --reason asked";
    let erased = place.call(erase).finish().await;
    erased.succeeds();
    let note = "example-host: this site is new, because there was no data/host.db\n";
    assert_eq!(erased.err(), note);
    for again in [erase, "audit verify", "user list"] {
        let again = place.call(again).finish().await;
        again.succeeds();
        assert_eq!(again.err(), "");
    }
}

#[tokio::test]
async fn a_password_is_set_from_standard_input_without_a_terminal() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    let set = place.call("user password ANN").input("correct horse\n").finish().await;
    assert_eq!(set.succeeds(), "");
    assert_eq!(set.err(), "", "no prompt and no echo");
    let short = place.call("user password ann").input("elevenchars\n").finish().await;
    assert_eq!(short.fails(), "a password must have 12 to 1000 characters");
    assert_eq!(place.refusal("user password ann").await, "the password is empty");
    assert_eq!(place.refusal("user password bob").await, "there is no user called \"bob\"");
}

#[tokio::test]
async fn errors_about_a_user_are_reported_in_one_line() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    for (arguments, says) in [
        ("user add ANN --email other@example.com --group Manager", "already a user called \"ANN\""),
        (
            "user add bob --email ANN@example.com --group Manager",
            "already a user with the e-mail \"ANN@example.com\"",
        ),
        ("user add bob --email nowhere --group Manager", "\"nowhere\" is not an e-mail address"),
        ("user add bob --email b@example.com --group Nobodies", "group called \"Nobodies\""),
        ("user block bob", "there is no user called \"bob\""),
        ("user unblock bob", "there is no user called \"bob\""),
        ("user remove bob", "there is no user called \"bob\""),
        ("token generate bob", "there is no user called \"bob\""),
        ("token revoke bob", "there is no user called \"bob\""),
    ] {
        let line = place.refusal(arguments).await;
        assert!(line.contains(says), "{arguments}: {line}");
    }
    assert_eq!(table(&place.run("user list").await).len(), 1, "nothing was changed");
}

#[tokio::test]
async fn the_last_administrator_stays_unless_it_is_forced() {
    let place = Place::of_the_fixture();
    let call = |words: &str| place.call(words).env("DATABASE_URL", place.database.url());
    let run = async |words: &str| call(words).finish().await.succeeds();
    let refusal = async |words: &str| call(words).finish().await.fails();
    let add = "user add ann --email ann@example.com --group";
    call(add).word("Super Users").finish().await.succeeds();
    let rules = run("permission list").await;
    let rule = |setting: &str| {
        let set = call("permission set").word("Super Users").word("core.admin").word("root");
        setting.split(' ').fold(set, |call, word| call.word(word))
    };
    let reason = "this would leave the site without an administrator";
    for command in ["user block ann", "user remove ann"] {
        assert!(refusal(command).await.starts_with(reason), "{command}");
    }
    for setting in ["deny", "inherit"] {
        assert!(rule(setting).finish().await.fails().starts_with(reason), "{setting}");
    }
    assert_eq!(table(&run("user list").await)[0][4], "active");
    assert_eq!(run("permission list").await, rules, "nothing was changed");

    // A blocked administrator is none. A user who is none is never kept.
    let add = "user add bob --email bob@example.com --group";
    call(add).word("Super Users").finish().await.succeeds();
    run("user block bob").await;
    assert!(refusal("user block ann").await.starts_with(reason));
    run("user unblock bob").await;
    run("user block ann").await;
    run("user unblock ann").await;
    run("user remove bob").await;

    run("user block ann --force").await;
    // There is no administrator left to keep.
    run("user unblock ann").await;
    rule("inherit --force").finish().await.succeeds();
    run("user remove ann").await;
    let trail = place.database.texts(ENTRIES).await;
    let forced: Vec<&String> = trail.iter().filter(|entry| entry.contains("(forced")).collect();
    let [blocked, ruled] = &forced[..] else { panic!("{forced:#?}") };
    assert!(
        blocked.contains("user block: block a user (forced, the last administrator): user 1"),
        "{blocked}"
    );
    assert!(ruled.contains("Super Users (forced, the last administrator): asset root"), "{ruled}");
}

#[tokio::test]
async fn a_token_is_alone_on_standard_output() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    let first = place.run("token generate ann").await;
    let second = place.run("token generate ann").await;
    for token in [&first, &second] {
        let token = token.strip_suffix('\n').unwrap();
        assert!(token.len() >= 43, "32 random bytes: {token}");
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }
    assert_ne!(first, second);
    assert_eq!(place.run("token revoke ann").await, "");
    let again = place.refusal("token revoke ann").await;
    assert_eq!(again, "there is no token called \"default\"");
}

#[tokio::test]
async fn a_user_has_several_tokens_with_limits() {
    let place = Place::of_the_fixture();
    place.run("user add ann --email ann@example.com --group Manager").await;
    let token = place.run("token generate ann").await;
    let (random, checksum) = token.trim().strip_prefix("ost_").unwrap().split_at(43);
    assert!((random.len(), checksum.len()) == (43, 6), "{token}");
    place
        .run("token create ann --name ERP --scope com_fixture:look --expires 2999-01-31T18:00:00+01:00")
        .await;
    place.run("token create ann --name till --from 192.0.2.0/24 --rate 60").await;
    assert_eq!(
        table(&place.run("token list ann").await),
        [
            ["default", "active", "all", "never", "never"],
            ["ERP", "active", "com_fixture:look", "2999-01-31T17:00:00Z", "never"],
            ["till", "active", "all", "never", "never"],
        ]
    );
    for (rest, says) in [
        ("ann --name erp", "there is already a token called \"erp\""),
        ("bob --name erp", "there is no user called \"bob\""),
        ("ann --name x --scope com_fixture:eat", "\"com_fixture:eat\" is not a scope"),
        ("ann --name x --scope com_fix:look", "such as com_fixture:look, or *:view"),
        ("ann --name x --expires 2020-01-01", "a token must not end in the past"),
        ("ann --name x --rate 0", "a rate must be from 1 to 1000000 requests a minute"),
    ] {
        let line = place.refusal(&format!("token create {rest}")).await;
        assert!(line.contains(says), "{rest}: {line}");
    }
    for wrong in ["--from everywhere", "--expires tomorrow", "--rate many"] {
        place.call(&format!("token create ann --name x {wrong}")).finish().await.exits(2);
    }
    let missing = place.refusal("token rotate ann x").await;
    assert_eq!(missing, "there is no token called \"x\"");
    let long = place.refusal("token rotate ann erp --overlap 73").await;
    assert_eq!(long, "an overlap must be from 0 to 72 hours");
    assert_eq!(place.run("token revoke ann erp").await, "");
    let missing = place.refusal("token revoke ann erp").await;
    assert_eq!(missing, "there is no token called \"erp\"");
    place.run("token create ann --name erp").await;
}

#[tokio::test]
async fn a_site_may_limit_the_life_of_tokens() {
    let place = Place::of_the_fixture();
    let limited = |words: &str| place.call(words).env("HOST_TOKEN_LIFETIME", "30");
    place.run("user add ann --email ann@example.com --group Manager").await;
    limited("token generate ann").finish().await.succeeds();
    let list = place.run("token list ann").await;
    assert_ne!(table(&list)[0][3], "never");
    let refused = limited("token create ann --name x --expires 2999-01-01").finish().await.fails();
    assert_eq!(refused, "on this site a token ends after 30 days at most");
}

#[tokio::test]
async fn groups_are_a_tree() {
    let place = Place::of_the_fixture();
    let id = place.run("group add Clerks --parent Manager").await;
    assert_eq!(id, "6\n");
    assert_eq!(
        table(&place.run("group list").await),
        [
            ["1", "Public", ""],
            ["2", "Registered", "Public"],
            ["3", "Manager", "Public"],
            ["4", "Administrator", "Manager"],
            ["5", "Super Users", "Public"],
            ["6", "Clerks", "Manager"],
        ]
    );
    assert!(place.refusal("group add clerks --parent Public").await.contains("already"));
    let orphan = place.refusal("group add Orphans --parent Nobody").await;
    assert_eq!(orphan, "there is no group called \"Nobody\"");
}

#[tokio::test]
async fn permissions_of_a_new_site_are_those_of_the_documentation() {
    let place = Place::of_the_store();
    let text = place.run("permission list").await;
    let mut rules = table(&text);
    rules.sort_unstable();
    assert_eq!(
        rules,
        [
            ["Administrator", "core.manage", "root", "allow"],
            ["Administrator", "store.delete", "com_shop", "allow"],
            ["Administrator", "store.privacy", "com_shop.store", "allow"],
            ["Administrator", "store.refund", "com_shop.orders", "allow"],
            ["Administrator", "store.view", "com_shop.config", "allow"],
            ["Manager", "core.login.api", "root", "allow"],
            ["Manager", "store.create", "com_shop", "allow"],
            ["Manager", "store.edit", "com_shop", "allow"],
            ["Manager", "store.view", "com_shop", "allow"],
            ["Registered", "core.login.api", "root", "allow"],
            ["Super Users", "core.admin", "root", "allow"],
        ]
    );
}

#[tokio::test]
async fn a_decision_is_explained_by_its_rule() {
    let place = Place::of_the_fixture();
    place.user("ann", "Manager").await;
    place.user("sue", "Super Users").await;
    let explain = async |user: &str| {
        place.run(&format!("permission explain {user} fixture.look com_fixture")).await
    };
    assert_eq!(explain("ann").await, "allowed\tallow fixture.look on com_fixture for Manager\n");
    assert_eq!(explain("sue").await, "allowed\tallow core.admin on root for Super Users\n");
    assert_eq!(place.run("permission explain ann core.manage root").await, "denied\tno rule\n");
    // Both the user and the token must allow it.
    place.run("token create ann --name till --scope *:view").await;
    for (asked, answer) in [
        ("fixture.look com_fixture", "denied\tthe token lacks the scope com_fixture:look\n"),
        ("core.manage root", "denied\tno rule\n"),
    ] {
        let call = format!("permission explain ann {asked} --token till");
        assert_eq!(place.run(&call).await, answer);
    }

    // A denial higher up in the tree wins over an allowance below.
    assert_eq!(place.run("permission set Public fixture.look root deny").await, "");
    assert_eq!(explain("ann").await, "denied\tdeny fixture.look on root for Public\n");
    let listed = place.run("permission list").await;
    assert!(listed.contains("Public\tfixture.look\troot\tdeny\n"), "{listed}");
    place.run("permission set Public fixture.look root inherit").await;
    assert!(explain("ann").await.starts_with("allowed\t"));
    place.run("user block sue --force").await;
    assert_eq!(explain("sue").await, "denied\tblocked\n");
}

#[tokio::test]
async fn a_permission_must_name_an_existing_group_action_and_asset() {
    let place = Place::of_the_fixture();
    place.user("ann", "Manager").await;
    for (arguments, says) in [
        ("permission set Nobodies fixture.look com_fixture allow", "group called \"Nobodies\""),
        ("permission set Manager fixture.lock com_fixture allow", "action called \"fixture.lock\""),
        ("permission set Manager fixture.look com_fixtures allow", "asset called \"com_fixtures\""),
        ("permission explain bob fixture.look com_fixture", "user called \"bob\""),
        ("permission explain ann fixture.lock com_fixture", "action called \"fixture.lock\""),
        ("permission explain ann fixture.look com_fixtures", "asset called \"com_fixtures\""),
    ] {
        let line = place.refusal(arguments).await;
        assert_eq!(line, format!("there is no {says}"), "{arguments}");
    }
}

#[tokio::test]
async fn extensions_are_listed_with_their_state() {
    let place = Place::of_the_store();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        table(&place.run("extension list").await),
        [["token-auth", version, "enabled"], ["webservices-shop", version, "enabled"]]
    );
    for name in ["token-auth", "webservices-shop"] {
        assert_eq!(place.run(&format!("extension disable {name}")).await, "");
        let listed = place.run("extension list").await;
        assert!(listed.contains(&format!("{name}\t{version}\tdisabled\n")), "{listed}");
        assert_eq!(place.run(&format!("extension enable {name}")).await, "");
    }
    let line = place.refusal("extension disable web").await;
    assert_eq!(line, "there is no extension called \"web\"");
}

#[tokio::test]
async fn parameters_are_set_as_json_of_their_kind() {
    let place = Place::of_the_fixture();
    let greeting = || place.call("config set greeting");
    assert_eq!(
        table(&place.run("config list").await),
        [
            ["greeting", "\"hello\"", "default", "What to say."],
            ["patience", "3", "default", "How long to wait."],
            ["mood", "\"calm\"", "default", "How to be."],
            ["ratio", "\"1.0\"", "default", "How much of it."],
            ["days", "[6,7]", "default", "When to rest."],
            ["loud", "0", "default", "Whether to shout."],
        ]
    );
    assert_eq!(greeting().word("\"good\\tday\"").finish().await.succeeds(), "");
    assert_eq!(place.run("config set patience -1").await, "");
    assert_eq!(place.run("config get greeting").await, "\"good\\tday\"\n");
    assert_eq!(
        table(&place.run("config list").await)[..2],
        [
            ["greeting", "\"good\\tday\"", "set", "What to say."],
            ["patience", "-1", "set", "How long to wait."],
        ]
    );
    place.run("config set patience null").await;
    assert_eq!(place.run("config get patience").await, "3\n");

    // A list may be written with or without spaces.
    for list in ["[1,2]", "[ 1, 2 ]"] {
        let set = place.call("config set days").word(list).finish().await;
        assert_eq!(set.succeeds(), "");
        assert_eq!(place.run("config get days").await, "[1,2]\n");
    }
    place.run("config set days []").await;
    assert_eq!(place.run("config get days").await, "[]\n");

    for (arguments, says) in [
        ("config get patients", "there is no parameter called \"patients\""),
        ("config set patients 3", "there is no parameter called \"patients\""),
        ("config set patience 1.5", "patience must be a whole number, from -1 to 9, not 1.5"),
        ("config set patience \"3\"", "patience must be a whole number, from -1 to 9, not \"3\""),
        ("config set patience 10", "patience must be a whole number, from -1 to 9, not 10"),
        ("config set patience -2", "patience must be a whole number, from -1 to 9, not -2"),
        ("config set greeting 3", "greeting must be a string of at most 20 characters, not 3"),
        ("config set greeting hello", "\"hello\" is not valid JSON"),
        ("config set mood \"glad\"", "mood must be one of \"calm\", \"cross\", not \"glad\""),
        (
            "config set ratio 0.5",
            "ratio must be a decimal number in a string, at least 0.5, not 0.5",
        ),
        (
            "config set ratio \"0.499\"",
            "ratio must be a decimal number in a string, at least 0.5, not \"0.499\"",
        ),
        (
            "config set days [1,8]",
            "days must be a list of whole numbers, from 1 to 7, at most 3 of them, not [1,8]",
        ),
        (
            "config set days [1,2,3,4]",
            "days must be a list of whole numbers, from 1 to 7, at most 3",
        ),
        ("config set days 1,2", "\"1,2\" is not valid JSON"),
        ("config set days 1", "days must be a list of whole numbers"),
        ("config set loud true", "loud must be 0 or 1, not true"),
    ] {
        let line = place.refusal(arguments).await;
        assert!(line.starts_with(says), "{arguments}: {line}");
    }
    // Nothing was stored.
    assert_eq!(place.run("config get patience").await, "3\n");
    assert_eq!(place.run("config get days").await, "[]\n");
}

#[tokio::test]
async fn a_replica_must_be_the_same_kind_of_server() {
    let place = Place::of_the_store();
    let file = "--database-reports sqlite://data/replica.db user list";
    let why = "reports can only be read from a replica of a database on the same kind of server";
    assert_eq!(place.refusal(file).await, why);
}

#[tokio::test]
async fn a_parameter_that_the_extension_refuses_is_not_stored() {
    let place = Place::of_the_fixture();
    place.run("config set greeting \"servus\"").await;
    for (arguments, says) in [
        (
            "config set greeting \"good-bye\"",
            "greeting cannot be \"good-bye\": nobody begins with it",
        ),
        ("config set mood \"cross\"", "mood cannot be \"cross\": it is too early for that"),
        // A failure of the extension is not reported as an invalid value.
        ("config set greeting \"fail\"", "misbehaves: check failed: nobody knows today"),
    ] {
        assert_eq!(place.refusal(arguments).await, says, "{arguments}");
    }
    assert_eq!(place.run("config get greeting").await, "\"servus\"\n");
    assert_eq!(place.run("config get mood").await, "\"calm\"\n");
}

#[tokio::test]
async fn serving_an_empty_database_adds_reference_data_only() {
    let place = Place::of_the_store();
    let served = place.serve().await;
    assert_eq!(served.out.all(), [""; 0], "nothing is printed, secret or not");
    let token = place.user("ann", "Manager").await;
    let total = async |path: &str| {
        let path = format!("/api/index.php/v1/shop/{path}");
        Answer::to(served.get(&path, &token)).await.expect(200).total()
    };
    assert!(total("countries").await > 200);
    assert!(total("currencies").await > 100);
    assert_eq!(total("manufacturers").await, 0);
    served.stop().await;
}

#[tokio::test]
async fn every_command_prints_its_usage() {
    let place = Place::of_the_fixture();
    let commands = [
        "serve",
        "user",
        "user add",
        "user invite",
        "user list",
        "user block",
        "user unblock",
        "user remove",
        "token",
        "token create",
        "token list",
        "token rotate",
        "token generate",
        "token revoke",
        "group",
        "group list",
        "group add",
        "permission",
        "permission list",
        "permission set",
        "permission explain",
        "extension",
        "extension list",
        "extension enable",
        "extension disable",
        "config",
        "config list",
        "config get",
        "config set",
        "demo",
        "copy",
    ];
    for command in commands {
        let help = place.run(&format!("{command} --help")).await;
        assert!(help.contains(&format!("Usage: example-host {command}")), "{command}: {help}");
        assert!(help.lines().next().unwrap().len() > 10, "{command} says what it does: {help}");
    }
    let help = place.run("--help").await;
    for word in commands.iter().filter(|command| !command.contains(' ')).chain(&[
        "--database",
        "--plugin",
        "DATABASE_URL",
        "HOST_LISTEN",
        "HOST_PLUGIN",
        "HOST_LOG",
        "Examples:",
        "Exit codes:",
    ]) {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(place.run("--version").await.starts_with("example-host "));
}
