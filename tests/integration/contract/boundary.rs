//! The contract without a real host: what crosses the boundary, what is checked, and the effect of
//! a panic on either side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use host_interface::{
    CONTRACT_VERSION, Caller, ChartKind, Credentials, Denial, DetailPanel, Environment, Error,
    Headers, Host, HostHandle, LoadError, LoadedPlugin, LogRecord, Mail, Method, Metric,
    MetricKind, Panel, Principal, Request, Response, Subject, User, UserQuery, Verdict, capability,
    fact,
};
use serde_json::{Map, Value, json};

use crate::support::harness::{fixture, library};

/// A host with one user, which panics at every call if a test requests it.
#[derive(Clone, Default)]
struct Small {
    panics: Arc<AtomicBool>,
    mails: Arc<Mutex<Vec<Mail>>>,
    /// Makes sending a mail fail with this error.
    mood: Arc<Mutex<Option<Excuse>>>,
}

/// The constructor of an error from a text.
type Excuse = fn(String) -> Error;

impl Small {
    fn look(&self) {
        assert!(!self.panics.load(Ordering::Relaxed), "the host has lost its head");
    }
}

impl Host for Small {
    fn caller(&self, user: i64) -> Option<Caller> {
        self.look();
        (user == 7).then(|| Caller::new(Ann(self.clone())))
    }

    async fn find_user(self: Arc<Self>, query: UserQuery) -> Result<Option<User>, Error> {
        self.look();
        Ok((query == UserQuery::Id(7)).then(ann))
    }

    fn parameters(&self) -> String {
        self.look();
        "{}".to_owned()
    }

    fn parameters_revision(&self) -> u64 {
        self.look();
        11
    }

    async fn send_mail(self: Arc<Self>, mail: Mail) -> Result<(), Error> {
        self.look();
        if let Some(error) = *self.mood.lock().unwrap() {
            return Err(error(mail.id));
        }
        self.mails.lock().unwrap().push(mail);
        Ok(())
    }

    fn log(&self, _record: &LogRecord<'_>) {
        self.look();
    }
}

/// The user of the host as a caller.
struct Ann(Small);

impl Principal for Ann {
    fn user(&self) -> i64 {
        7
    }

    fn fact(&self, name: &str) -> Option<&str> {
        self.0.look();
        [(fact::USER_USERNAME, "ann"), (fact::USER_NAME, "Ann Example")]
            .into_iter()
            .chain([(fact::USER_EMAIL, "ann@example.com")])
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    fn may(&self, action: &str, asset: &str) -> Result<(), Denial> {
        self.0.look();
        match (action, asset) {
            ("fixture.look", "com_fixture") => Ok(()),
            _ => Err(Denial::Forbidden),
        }
    }
}

fn ann() -> User {
    User::new(7, "ann", "Ann Example", "ann@example.com")
}

/// Creates the plugin of a fixture, with a host of its own.
fn create(name: &str) -> (Result<LoadedPlugin, Error>, Small) {
    let host = Small::default();
    let library = host_interface::open(&fixture(name)).unwrap();
    let environment = Environment::new("sqlite:///nowhere/fixture.db");
    (library.create(host.clone(), &environment), host)
}

fn plugin(name: &str) -> (LoadedPlugin, Small) {
    let (plugin, host) = create(name);
    (plugin.unwrap(), host)
}

/// A request by Ann to the fixture's route of this name.
fn request(plugin: &LoadedPlugin, host: &Small, name: &str) -> host_interface::RequestBuilder {
    let name = format!("misbehaves.{name}");
    let routes = plugin.describe().unwrap().routes;
    let route = routes.iter().find(|route| route.name == name).unwrap();
    Request::builder(route.handler, route.method).caller(Caller::new(Ann(host.clone()))).id("r-1")
}

fn json(response: Response) -> Value {
    assert_eq!(response.status(), 200);
    serde_json::from_slice(response.body()).unwrap()
}

#[track_caller]
fn panicked<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Panicked(message)) => message,
        Err(other) => panic!("another error: {other:?}"),
        Ok(_) => panic!("no panic"),
    }
}

#[track_caller]
fn refused(name: &str) -> LoadError {
    let error = host_interface::open(&fixture(name)).unwrap_err();
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    assert!(line.starts_with(&fixture(name).display().to_string()), "{line}");
    error
}

#[test]
fn a_library_is_opened_with_the_contract_it_was_built_with() {
    for path in [library(), fixture("misbehaves"), fixture("authenticates")] {
        let library = host_interface::open(&path).unwrap();
        assert_eq!(library.contract_version(), CONTRACT_VERSION);
    }
}

#[test]
fn a_library_without_the_contracts_symbol_is_no_plugin() {
    assert!(refused("not_a_plugin").to_string().ends_with("a library, but not a plugin"));
}

#[test]
fn the_version_of_the_contract_is_checked() {
    let line = refused("other_contract").to_string();
    assert!(line.contains("99.0.0") && line.contains(CONTRACT_VERSION), "{line}");
}

#[test]
fn the_layout_of_everything_that_crosses_is_checked() {
    let error = refused("other_layout");
    let line = format!(
        "uses version 1.7.3 of the contract, but its data has another layout in memory than in \
         version {CONTRACT_VERSION}"
    );
    assert!(error.to_string().ends_with(&line), "{error}");
    // What differs would fill pages; the log gets a screenful.
    let details = error.details();
    assert!((1..=24).contains(&details.lines().count()), "{details}");
    assert!(details.contains("found: \"tests\""), "{details}");
}

#[test]
fn a_file_that_is_no_library_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text.so");
    std::fs::write(&file, "no library\n").unwrap();
    for path in [file, folder.path().join("missing.so")] {
        let line = host_interface::open(&path).unwrap_err().to_string();
        assert!(line.starts_with(&path.display().to_string()), "{line}");
        assert!(line.contains("not a library that can be loaded"), "{line}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn a_load_error_of_the_host_has_the_format_of_the_others() {
    let error = LoadError::because("some.so".as_ref(), "truncated");
    assert_eq!((error.to_string().as_str(), error.details()), ("some.so: truncated", ""));
}

#[test]
fn a_panic_in_create_is_an_error() {
    let (created, _) = create("panics_in_create");
    assert!(panicked(created).starts_with("no plugin today"));
}

#[test]
fn a_panic_in_describe_is_an_error() {
    let (plugin, _) = plugin("panics_in_describe");
    assert!(panicked(plugin.describe()).starts_with("who am I"));
}

#[tokio::test]
async fn a_panic_in_install_is_an_error() {
    let (plugin, _) = plugin("panics_in_install");
    assert!(panicked(plugin.install().await).starts_with("no tables"));
    // It may be called again.
    assert!(panicked(plugin.install().await).starts_with("no tables"));
}

#[tokio::test]
async fn an_error_of_install_keeps_its_message() {
    let (plugin, _) = plugin("fails_in_install");
    assert!(matches!(
        plugin.install().await,
        Err(Error::Failed(words)) if words == "the disk is full\nof other things"
    ));
}

#[tokio::test]
async fn a_panic_in_a_handler_is_an_error_and_the_plugin_keeps_working() {
    let (plugin, host) = plugin("misbehaves");
    for (route, message) in
        [("panic", "the secret of the handler"), ("late-panic", "the secret of the future")]
    {
        let request = request(&plugin, &host, route).build();
        assert_eq!(panicked(plugin.handle(request).await), message);
    }
    let request = request(&plugin, &host, "echo").build();
    json(plugin.handle(request).await.unwrap());
}

#[test]
fn a_future_may_be_dropped_before_it_is_ready_even_if_that_panics() {
    let (plugin, host) = plugin("misbehaves");
    for route in ["pending", "drop-panic"] {
        let request = request(&plugin, &host, route).build();
        let mut handling = Box::pin(plugin.handle(request));
        let polled = handling.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
        drop(handling);
    }
    // The same applies to a future that was never polled.
    drop(plugin.handle(request(&plugin, &host, "drop-panic").build()));
}

#[test]
fn a_destructor_of_the_host_that_panics_ends_nothing_else() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    impl Headers for Bomb {
        fn get(&self, _name: &str, _nth: usize) -> Option<&[u8]> {
            None
        }
        fn at(&self, _nth: usize) -> Option<(&str, &[u8])> {
            None
        }
    }
    impl Principal for Bomb {
        fn user(&self) -> i64 {
            7
        }
        fn may(&self, _action: &str, _asset: &str) -> Result<(), Denial> {
            Ok(())
        }
    }
    impl Host for Bomb {
        fn log(&self, _record: &LogRecord<'_>) {}
    }
    // Without a guard, each of them would end the process.
    drop(Request::builder(0, Method::Get).headers(Bomb).caller(Caller::new(Bomb)).build());
    drop(HostHandle::new(Bomb));
}

#[test]
fn a_plugin_describes_what_it_brings() {
    let (plugin, _) = plugin("misbehaves");
    let description = plugin.describe().unwrap();
    assert_eq!((&*description.name, &*description.version), ("misbehaves", "1.0.0"));
    assert_eq!(description.media_type, "application/vnd.api+json");
    let echoes = description.routes.iter().filter(|route| route.name == "misbehaves.echo");
    let methods: Vec<Method> = echoes.map(|route| route.method).collect();
    use Method::{Delete, Get, Patch, Post, Put};
    assert_eq!(methods, [Get, Post, Put, Patch, Delete]);
    let public: Vec<&str> = (description.routes.iter())
        .filter(|route| route.public)
        .map(|route| route.pattern.as_str())
        .collect();
    assert_eq!(public, ["v1/misbehaves/public", "v1/misbehaves/named"]);
    let parameters = description.parameters.iter();
    let parameters: Vec<(&str, String)> =
        parameters.map(|of| (&*of.name, format!("{}: {}", of.default, of.expectation()))).collect();
    let expected = [
        ("greeting", "\"hello\": a string of at most 20 characters"),
        ("patience", "3: a whole number, from -1 to 9"),
        ("mood", "\"calm\": one of \"calm\", \"cross\""),
        ("ratio", "\"1.0\": a decimal number in a string, at least 0.5"),
        ("days", "[6,7]: a list of whole numbers, from 1 to 7, at most 3 of them"),
        ("loud", "0: 0 or 1"),
    ];
    assert_eq!(parameters, expected.map(|(name, of)| (name, of.to_owned())));
    assert_eq!(description.actions[0].name, "fixture.look");
    assert_eq!(description.assets[0].parent, "root");
    assert_eq!(description.grants[0].group, "Manager");
    assert!(!description.authenticates);
    assert_eq!(plugin.describe().unwrap(), description, "the same each time");
}

/// A request with the same header twice.
struct Twice;

impl Headers for Twice {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        let values: [&[u8]; 2] = [b"one", b"two"];
        values.get(nth).copied().filter(|_| name == "x-probe")
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.get("x-probe", nth).map(|value| ("x-probe", value))
    }
}

#[tokio::test]
async fn a_request_arrives_unchanged() {
    let (plugin, host) = plugin("misbehaves");
    let request = request(&plugin, &host, "echo")
        .path("/api/v1/misbehaves/echo/1/a%20b")
        .param("1")
        .param("a%20b")
        .query("q=%C3%A4")
        .headers(Twice)
        .body(vec![1, 2, 3])
        .build();
    let echo = json(plugin.handle(request).await.unwrap());
    assert_eq!(echo["path"], "/api/v1/misbehaves/echo/1/a%20b");
    assert_eq!(echo["params"], json!(["1", "a%20b"]));
    assert_eq!(echo["query"], "q=%C3%A4");
    assert_eq!(echo["probe"], json!(["one", "two"]));
    assert_eq!((&echo["body"], &echo["sum"]), (&json!(3), &json!(6)));
    let user = json!({
        "id": 7, "username": "ann", "name": "Ann Example", "email": "ann@example.com"
    });
    assert_eq!(echo["user"], user);
    assert_eq!(echo["id"], "r-1");
}

#[tokio::test]
async fn bodies_cross_without_being_copied() {
    let (plugin, host) = plugin("misbehaves");
    let body = vec![1; 4096];
    let address = body.as_ptr().addr();
    let echo = plugin.handle(request(&plugin, &host, "echo").body(body).build()).await.unwrap();
    assert_eq!(json(echo)["address"], address);

    let large = plugin.handle(request(&plugin, &host, "large").build()).await.unwrap();
    let header = large.headers().iter().find(|header| header.name() == "x-address").unwrap();
    let address = header.value().to_owned();
    let body = large.into_body().unwrap();
    assert_eq!(body.len(), 1024 * 1024);
    assert_eq!(body.as_ptr().addr().to_string(), address);
}

#[tokio::test]
async fn queries_of_a_plugin_reach_the_host() {
    let (plugin, host) = plugin("misbehaves");
    let answer = json(plugin.handle(request(&plugin, &host, "host").build()).await.unwrap());
    assert_eq!(answer["by_id"]["username"], "ann");
    assert_eq!(answer["nobody"], Value::Null);
    assert_eq!((&answer["may_look"], &answer["may_touch"]), (&json!(true), &json!(false)));
    assert_eq!((&answer["parameters"], &answer["revision"]), (&json!({}), &json!(11)));

    let mail = Mail::new("m-1", "bob@example.com", "Ünï\u{0}code", "a\nb\n");
    let body = serde_json::to_vec(&mail).unwrap();
    let sent = plugin.handle(request(&plugin, &host, "mail").body(body).build()).await.unwrap();
    assert_eq!(sent.status(), 204);
    assert_eq!(*host.mails.lock().unwrap(), [mail]);
}

#[tokio::test]
async fn permanent_and_temporary_mail_failures_are_different_errors() {
    let (plugin, host) = plugin("misbehaves");
    let mail =
        json!({ "id": "m-7", "to": "b@example.com", "to_name": "", "subject": "", "text": "" });
    let send = async |mood: Excuse| {
        *host.mood.lock().unwrap() = Some(mood);
        let request = request(&plugin, &host, "mail").body(mail.to_string().into_bytes()).build();
        json(plugin.handle(request).await.unwrap())
    };
    assert_eq!(send(Error::Refused).await, json!({ "refused": "m-7" }));
    assert_eq!(send(Error::Failed).await, json!("m-7"));
}

#[tokio::test]
async fn a_host_that_panics_grants_nothing_and_harms_no_plugin() {
    let (plugin, host) = plugin("misbehaves");
    host.panics.store(true, Ordering::Relaxed);
    let answer = json(plugin.handle(request(&plugin, &host, "host").build()).await.unwrap());
    let lost = json!("panicked: the host has lost its head");
    assert_eq!((&answer["by_id"], &answer["by_name"]), (&lost, &lost));
    assert_eq!(answer["parameters"], lost);
    assert_eq!((&answer["may_look"], &answer["revision"]), (&json!(false), &json!(0)));
    let mail =
        json!({ "id": "m", "to": "b@example.com", "to_name": "", "subject": "", "text": "" });
    let request = request(&plugin, &host, "mail").body(mail.to_string().into_bytes());
    assert_eq!(json(plugin.handle(request.build()).await.unwrap()), lost);
}

#[tokio::test]
async fn a_route_with_a_function_has_its_parameters_by_name() {
    let (plugin, host) = plugin("misbehaves");
    let asked = |name| request(&plugin, &host, name).param("a%20b").param("007").build();
    let answer = json(plugin.handle(asked("named")).await.unwrap());
    let expected = json!({"id": "007", "word": "a%20b", "unknown": null, "second": "007"});
    assert_eq!(answer, expected);
    // The routes of the description are answered beside those, and have no names for their parameters.
    assert_eq!(json(plugin.handle(asked("echo")).await.unwrap())["named"], Value::Null);
    let declared = plugin.describe().unwrap().routes;
    let route = |name| declared.iter().find(|route| route.name == name).unwrap();
    let (named, panics) = (route("misbehaves.named"), route("misbehaves.named-panic"));
    assert_eq!((named.method, named.public), (Method::Get, false));
    assert_eq!((panics.method, panics.public), (Method::Delete, true));
    assert_eq!(panicked(plugin.handle(asked("named-panic")).await), "the secret of the function");
    // A key that no route has.
    let unknown = Request::builder(u32::MAX, Method::Get).build();
    assert_eq!(plugin.handle(unknown).await.unwrap().status(), 404);
    let greeter = create("greeter").0.unwrap();
    let unknown = Request::builder(0, Method::Get).build();
    assert_eq!(greeter.handle(unknown).await.unwrap().status(), 500);
}

#[tokio::test]
async fn a_plugin_validates_its_parameters() {
    let (plugin, _) = plugin("misbehaves");
    let check = async |name, value: &str| plugin.check_parameter(name, &json!(value)).await;
    check("greeting", "hello").await.unwrap();
    check("no-such", "hello").await.unwrap();
    let why = "nobody begins\nwith it";
    let refused = check("greeting", "good-bye").await;
    assert!(matches!(&refused, Err(Error::Refused(words)) if words == why), "{refused:?}");
    let late = check("mood", "cross").await;
    assert!(matches!(&late, Err(Error::Refused(words)) if words.ends_with("early for that")));
    let failed = check("greeting", "fail").await;
    assert!(matches!(&failed, Err(Error::Failed(_))), "{failed:?}");
    assert_eq!(panicked(check("greeting", "panic").await), "the secret of the check");
}

#[tokio::test]
async fn a_plugin_reports_its_metrics() {
    let (plugin, _) = plugin("misbehaves");
    let metrics = plugin.metrics().await.unwrap();
    let patience = Metric::gauge("patience_left", "How long it\nstill waits.").value(2.5);
    assert_eq!(metrics[0], patience);
    assert_eq!(metrics[1].kind, MetricKind::Counter);
    let kinds = [("kind", "plain", 3.0), ("kind", "with \"quotes\"\nand lines", 4.0)];
    for (sample, (name, value, of)) in metrics[1].samples.iter().zip(kinds) {
        assert_eq!(sample.labels, [(name.to_owned(), value.to_owned())]);
        assert_eq!(sample.value, of);
    }
}

#[tokio::test]
async fn a_panel_crosses_as_data() {
    let (plugin, _) = plugin("misbehaves");
    let declared = plugin.describe().unwrap().panels;
    assert_eq!(
        declared[0],
        Panel::new("weather", "The <b>weather</b>", "fixture.look", "com_fixture")
    );
    let content = plugin.panel("weather").await.unwrap();
    assert_eq!(content.charts[0].kind, ChartKind::Line);
    assert_eq!(content.charts[0].points[1].value, "-2");
    assert_eq!(content.table.unwrap().rows, [["3 May", "<i>blue</i>"]]);
    let failed = plugin.panel("silence").await;
    assert!(matches!(&failed, Err(Error::Failed(_))), "{failed:?}");
    assert_eq!(panicked(plugin.panel("noise").await), "the secret of the panel");
}

#[tokio::test]
async fn a_detail_panel_is_about_the_request_or_the_record_that_the_host_names() {
    let (plugin, _) = plugin("misbehaves");
    let declared = plugin.describe().unwrap().detail_panels;
    let visits = DetailPanel::new("visits", "The <b>visits</b>", "fixture.look", "com_fixture")
        .about_requests_to(["misbehaves.echo"])
        .about_records(["echo", "pending"]);
    assert_eq!(declared[0], visits);
    assert!(declared[1].all_routes && declared[1].routes.is_empty());
    let request = Subject::Request("r-1".to_owned());
    let record = Subject::Record { kind: "echo".to_owned(), id: "7 \"quoted\"\n".to_owned() };
    for (subject, note) in
        [(&request, "About the request r-1."), (&record, "About echo 7 \"quoted\"\n.")]
    {
        let content = plugin.detail_panel("visits", subject).await.unwrap();
        assert_eq!(content.note, note);
        assert_eq!(content.table.unwrap().rows, [["Ann", "a <i>walk</i>", "2"]]);
    }
    let failed = plugin.detail_panel("silence", &record).await;
    assert!(matches!(&failed, Err(Error::Failed(_))), "{failed:?}");
    assert_eq!(panicked(plugin.detail_panel("noise", &record).await), "the secret of the panel");
}

#[tokio::test]
async fn a_plugin_without_detail_panels_declares_none_and_refuses_to_show_one() {
    let subject = Subject::Request("r-1".to_owned());
    let environment = Environment::new("sqlite://nowhere.db").capabilities([capability::USERS]);
    for name in ["authenticates", "plugin_1_0"] {
        let library = host_interface::open(&fixture(name)).unwrap();
        let plugin = library.create(Small::default(), &environment).unwrap();
        assert_eq!(plugin.describe().unwrap().detail_panels, [], "{name}");
        // A library of a version without this call does not know its name.
        let refused = plugin.detail_panel("any", &subject).await;
        let expected = matches!(&refused, Err(Error::Unsupported(_) | Error::Contract(_)));
        assert!(expected, "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn an_extension_authenticates_users_by_their_credentials() {
    let (plugin, _) = plugin("authenticates");
    assert!(plugin.describe().unwrap().authenticates);
    let ask = async |scheme, secret| plugin.authenticate(&Credentials::new(scheme, secret)).await;
    assert_eq!(ask("apikey", "user-7").await.unwrap(), Verdict::User(7));
    assert_eq!(ask("apikey", "wrong").await.unwrap(), Verdict::Refused);
    assert_eq!(ask("bearer", "user-7").await.unwrap(), Verdict::Unknown);
    assert!(panicked(ask("apikey", "panic").await).contains("an unexpected key"));
}

#[test]
fn a_secret_is_not_shown_by_a_debug_format() {
    let shown = format!("{:?}", Credentials::new("bearer", "s3cret"));
    assert!(shown.contains("bearer") && !shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn everything_a_plugin_leaves_out_has_a_default() {
    let (plugin, _) = plugin("authenticates");
    plugin.install().await.unwrap();
    plugin.health().await.unwrap();
    plugin.check_parameter("any", &json!(1)).await.unwrap();
    assert_eq!(plugin.metrics().await.unwrap(), []);
    assert!(plugin.panel("any").await.is_err());
    assert!(plugin.command("any", Map::new(), ()).await.is_err());
    let elsewhere = Environment::new("sqlite:///nowhere/else.db");
    assert_eq!(plugin.copy(elsewhere, ()).await.unwrap(), "");
    plugin.shutdown().await.unwrap();
}

#[tokio::test]
async fn plugins_of_one_library_are_independent() {
    let (first, lost) = plugin("misbehaves");
    let (second, sound) = plugin("misbehaves");
    lost.panics.store(true, Ordering::Relaxed);
    let ask = async |plugin: &LoadedPlugin, host: &Small| {
        let request = request(plugin, host, "host").build();
        json(plugin.handle(request).await.unwrap())["may_look"].clone()
    };
    assert_eq!(ask(&first, &lost).await, false);
    assert_eq!(ask(&second, &sound).await, true);
    drop(first);
    assert_eq!(ask(&second, &sound).await, true);
}
