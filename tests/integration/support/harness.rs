//! A shop that is served in this process, with a user for each role, and requests to it.
//!
//! The library is the one that was built with the tests. This process has loaded it, so it never
//! opens the store's database file itself: two copies of the engine in one process corrupt it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use example_host::{
    Force, MailSettings, NewToken, NewUser, Running, ServerSettings, Setting, Site,
};
use futures_util::future::join_all;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::support::databases::{Database, Engine};
use crate::support::smtp::Sink;
use crate::support::template::Template;
use crate::support::waiting::patiently;

/// The path of the store.
pub const ROOT: &str = "/api/index.php/v1/shop";
/// The password of the user of each role.
pub const PASSWORD: &str = "correct horse battery";
/// The media type of all answers but streams of records.
pub const MEDIA_TYPE: &str = "application/vnd.api+json";
/// The media type of a stream of records.
pub const NDJSON: &str = "application/x-ndjson";

/// The media type that a client accepts at a path below the store's.
fn accepted(path: &str) -> &'static str {
    if path.starts_with("/exports/") { NDJSON } else { MEDIA_TYPE }
}

/// The user of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends no token.
    Nobody,
    /// In the group Public, which has no access to the API.
    Public,
    /// Has access to the API, and no other permission.
    Registered,
    /// May also view, create and edit.
    Manager,
    /// May also delete, and read the configuration.
    Administrator,
    /// May do everything.
    SuperUser,
}

impl Role {
    pub const ALL: [Role; 6] = [
        Role::Nobody,
        Role::Public,
        Role::Registered,
        Role::Manager,
        Role::Administrator,
        Role::SuperUser,
    ];

    fn group(self) -> Option<&'static str> {
        match self {
            Role::Nobody => None,
            Role::Public => Some("Public"),
            Role::Registered => Some("Registered"),
            Role::Manager => Some("Manager"),
            Role::Administrator => Some("Administrator"),
            Role::SuperUser => Some("Super Users"),
        }
    }
}

/// The directory of the libraries and programs that were built with the tests.
pub fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(|deps| deps.parent()).unwrap().to_owned()
}

/// The plugin's library that was built with the tests, and not an earlier one.
pub fn library() -> PathBuf {
    profile_dir().join("deps").join(library_name("plugin"))
}

/// A library that was built from `tests/fixtures` with the tests.
pub fn fixture(name: &str) -> PathBuf {
    example(&library_name(name))
}

/// A library or program among the examples of this package. Cargo builds them for a run of all targets
/// alone.
#[track_caller]
pub fn example(file: &str) -> PathBuf {
    let path = profile_dir().join("examples").join(file);
    assert!(
        path.exists(),
        "{} is not built. Run single tests without `--test integration`, which leaves it out: \
         cargo test -p tests NAME",
        path.display()
    );
    path
}

/// The file name of a library of this crate on this system.
pub fn library_name(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// The settings of a shop.
#[derive(Default)]
pub struct Setup {
    pub engine: Engine,
    pub server: ServerSettings,
    pub mail: MailSettings,
}

impl From<&Sink> for Setup {
    fn from(sink: &Sink) -> Self {
        let server = Some(sink.url().parse().unwrap());
        Setup { mail: MailSettings { server, ..MailSettings::default() }, ..Setup::default() }
    }
}

/// The token of each role.
pub type Tokens = HashMap<Role, String>;

/// A new site with a user for each role.
static NEW: Template<Tokens> = Template::new();

/// A shop with a user for each role, on a port of its own.
pub struct Shop {
    pub site: Site,
    running: Running,
    tokens: Tokens,
    client: reqwest::Client,
    // Dropped last.
    pub database: Database,
}

impl Shop {
    /// A new shop with its reference data.
    pub async fn open() -> Shop {
        Shop::with(Setup::default()).await
    }

    /// A new shop with these settings: `Shop::with(&sink)` sends its mails there.
    pub async fn with(setup: impl Into<Setup>) -> Shop {
        let setup = setup.into();
        let install = async || install(setup.engine).await;
        let (database, tokens) = NEW.copy(setup.engine, install).await;
        Shop::serve(database, tokens, &setup).await
    }

    /// A new shop to which something has been done; that is done once for all copies of a template.
    pub async fn prepared(template: &Template<Tokens>, prepare: impl AsyncFnOnce(&Shop)) -> Shop {
        let shop = async || {
            let shop = Shop::open().await;
            prepare(&shop).await;
            shop
        };
        let engine = Engine::of_this_run();
        let (database, tokens) = template.copy(engine, async || shop().await.close().await).await;
        Shop::serve(database, tokens, &Setup::default()).await
    }

    async fn serve(database: Database, tokens: Tokens, setup: &Setup) -> Shop {
        let site = open(&database, &setup.mail).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let running = site.serve(listener, &setup.server).unwrap();
        Shop { site, running, tokens, client: reqwest::Client::new(), database }
    }

    /// Stops serving, and leaves the database, which nothing has open any more.
    async fn close(self) -> (Database, Tokens) {
        self.running.shutdown().await;
        self.site.close().await;
        (self.database, self.tokens)
    }

    /// A new shop with at least one record of each kind.
    pub async fn stocked() -> Shop {
        static STOCKED: Template<Tokens> = Template::new();
        Shop::prepared(&STOCKED, Shop::stock).await
    }

    async fn stock(&self) {
        for (path, body) in [
            ("/manufacturers", json!({"manufacturer_name": "Birch"})),
            ("/categories", json!({"title": "Lamps"})),
            ("/categories", json!({"title": "Desk lamps", "parent_id": 1})),
            ("/taxprofiles", json!({"taxprofile_name": "Standard"})),
            ("/taxrates", json!({"taxrate_name": "VAT", "tax_percent": "19"})),
            ("/shippingmethods", json!({"name": "Parcel", "element": "shipping_parcel"})),
            ("/paymentmethods", json!({"name": "Invoice", "element": "payment_invoice"})),
            (
                "/products",
                json!({
                    "product_name": "Lamp", "sku": "L-1", "price": "19.99", "quantity": 5,
                    "manufacturer_id": 1, "category_id": 2, "taxprofile_id": 1,
                }),
            ),
            ("/products", json!({"product_name": "Bulb", "sku": "B-1", "price": 2})),
            ("/coupons", json!({"coupon_name": "Spring", "coupon_code": "SPRING", "value": "5"})),
            ("/vouchers", json!({"voucher_value": "50", "email_to": "ada@example.com"})),
            ("/orders", json!({"user_email": "ada@example.com", "order_subtotal": "19.99"})),
            (
                "/customers",
                json!({
                    "user_id": 1, "first_name": "Ada", "last_name": "Berg",
                    "email": "ada@example.com", "country_id": 1, "zone_id": 1,
                }),
            ),
        ] {
            self.create(path, body).await;
        }
    }

    /// A new shop with demo data.
    pub async fn filled() -> Shop {
        static FILLED: Template<Tokens> = Template::new();
        Shop::prepared(&FILLED, Shop::fill).await
    }

    /// Adds demo data to an empty shop.
    pub async fn fill(&self) {
        let options = [("products", 60), ("orders", 40)];
        let options = options.map(|(name, number)| (name.to_owned(), json!(number)));
        self.site.command("demo", &Map::from_iter(options), || ()).await.unwrap();
        self.fail_to_import().await;
        let webhook = self.add_webhook().await;
        self.post(&format!("/webhooks/{webhook}/test"), json!({})).send().await.expect(200);
    }

    /// Adds an import that has failed, so that there is one: it changes nothing else.
    pub async fn fail_to_import(&self) {
        let ask = self.request("POST", "/imports?type=manufacturers&mode=create");
        let answer = ask.file(NDJSON, "{}\n").send().await.expect(200);
        assert_eq!(answer.lines()[0]["result"], "failed");
    }

    /// Adds a webhook, which is disabled, so that there is one.
    pub async fn add_webhook(&self) -> i64 {
        let body = json!({"url": "https://erp.invalid/hooks", "enabled": 0});
        self.create("/webhooks", body).await
    }

    /// The path of a list of this resource that is not empty in a shop with demo data.
    pub fn list_of(&self, kind: &str) -> String {
        match kind {
            "importfaults" => "/imports/1/faults".to_owned(),
            "orderitems" => "/orders/1/items".to_owned(),
            "orderhistories" => "/orders/1/history".to_owned(),
            "orderfulfilments" => "/fulfilments?filter[state]=fulfilled".to_owned(),
            "shipments" => "/orders/1/shipments".to_owned(),
            "stockmovements" => "/inventory/1/ledger".to_owned(),
            "vouchermovements" => "/vouchers/1/ledger".to_owned(),
            "webhookdeliveries" => "/webhooks/1/deliveries".to_owned(),
            // The customers in demo data are guests, and so have the user id 0.
            "addresses" => "/customers/0/addresses".to_owned(),
            _ => format!("/{kind}"),
        }
    }

    /// A request below the store's path, by an administrator, with the required headers.
    pub fn request(&self, method: &str, path: &str) -> Ask<'_> {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static(accepted(path)));
        let ask = Ask {
            shop: self,
            method: method.parse().unwrap(),
            url: self.url(&format!("{ROOT}{path}")),
            headers,
            body: None,
        };
        ask.by(Role::Administrator)
    }

    pub fn get(&self, path: &str) -> Ask<'_> {
        self.request("GET", path)
    }

    pub fn post(&self, path: &str, body: Value) -> Ask<'_> {
        self.request("POST", path).json(body)
    }

    pub fn patch(&self, path: &str, body: Value) -> Ask<'_> {
        self.request("PATCH", path).json(body)
    }

    pub fn delete(&self, path: &str) -> Ask<'_> {
        self.request("DELETE", path)
    }

    /// Creates a record and returns its id.
    pub async fn create(&self, path: &str, body: Value) -> i64 {
        let created = self.post(path, body).send().await.expect(201);
        created.id()
    }

    /// The id of the currency with this code.
    pub async fn currency(&self, code: &str) -> i64 {
        let path = "/currencies?list[ordering]=currency_code&page[limit]=100&page[offset]=";
        for offset in [0, 100] {
            let list = self.get(&format!("{path}{offset}")).send().await.expect(200);
            let position = list.column("currency_code").iter().position(|known| known == code);
            if let Some(position) = position {
                return list.ids()[position];
            }
        }
        panic!("there is no currency {code}")
    }

    /// Makes this the store's default currency; it must be enabled.
    pub async fn set_default_currency(&self, code: &str) {
        let currency = format!("/currencies/{}", self.currency(code).await);
        self.patch(&currency, json!({"enabled": 1})).send().await.expect(200);
        self.site.set_parameter("default_currency", &json!(code)).await.unwrap();
    }

    /// The token of a user in a group that may fulfil orders and nothing else. It has the scope for
    /// that; another one that is generated for the user `packer` has none.
    pub async fn packer(&self) -> String {
        let site = &self.site;
        site.add_group("Warehouse", "Registered").await.unwrap();
        let rule = ("store.fulfil", "com_shop.orders");
        site.set_rule("Warehouse", rule.0, rule.1, Setting::Allow, Force::No).await.unwrap();
        let user = NewUser {
            email: "packer@example.com".to_owned(),
            username: "packer".to_owned(),
            groups: vec!["Warehouse".to_owned()],
            password: None,
        };
        site.add_user(user).await.unwrap();
        let scopes = Some(vec!["orders:fulfil".to_owned()]);
        let new = NewToken { name: "scanner".to_owned(), scopes, ..NewToken::default() };
        site.create_token("packer", &new).await.unwrap()
    }

    /// The address of a path on the host.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.running.addr())
    }

    pub fn token(&self, role: Role) -> &str {
        &self.tokens[&role]
    }
}

/// A new site with a user for each role, which nothing has open.
async fn install(engine: Engine) -> (Database, Tokens) {
    let database = Database::on(engine).await;
    let site = open(&database, &MailSettings::default()).await;
    let mut tokens = Tokens::new();
    for role in Role::ALL {
        let Some(group) = role.group() else { continue };
        let name = format!("{role:?}").to_lowercase();
        let user = NewUser {
            email: format!("{name}@example.com"),
            username: name.clone(),
            groups: vec![group.to_owned()],
            password: Some(PASSWORD.to_owned()),
        };
        site.add_user(user).await.unwrap();
        tokens.insert(role, site.generate_token(&name).await.unwrap());
    }
    site.close().await;
    // The reference data get their places among the changes once, and not in each copy.
    let shop = Shop::serve(database, tokens, &Setup::default()).await;
    shop.get("/changes?page[size]=1").send().await.expect(200);
    shop.close().await
}

/// Opens the site in a database. The future is on the heap, because the stack of a test is too small for it
/// below those of the test.
async fn open(database: &Database, mail: &MailSettings) -> Site {
    let url = database.address();
    Box::pin(Site::open_with(&url, None, &[library()], mail)).await.unwrap()
}

/// A request under construction.
pub struct Ask<'a> {
    shop: &'a Shop,
    method: reqwest::Method,
    url: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl Ask<'_> {
    /// Sends it as a user of this role.
    pub fn by(self, role: Role) -> Self {
        match role {
            Role::Nobody => self.without("authorization"),
            _ => {
                let token = format!("Bearer {}", self.shop.token(role));
                self.header("authorization", &token)
            }
        }
    }

    /// Sends it with this token.
    pub fn with(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Sets a header, replacing the default one.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    /// Adds a header to those of the same name.
    pub fn also(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.headers.append(name, value.parse().unwrap());
        self
    }

    /// Removes a default header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub fn json(self, body: Value) -> Self {
        self.text(&body.to_string())
    }

    /// Sets this text as a JSON body.
    pub fn text(self, body: &str) -> Self {
        let mut ask = self.header("content-type", "application/json");
        ask.body = Some(body.as_bytes().to_vec());
        ask
    }

    /// Sends this file, and accepts a report of lines.
    pub fn file(self, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let mut ask = self.header("content-type", media_type).header("accept", NDJSON);
        ask.body = Some(body.into());
        ask
    }

    pub async fn send(self) -> Answer {
        Answer::to(self.request()).await
    }

    /// Sends one of many requests about the same record.
    pub async fn in_turn(self) -> Answer {
        Answer::in_turn(self.request()).await
    }

    fn request(self) -> reqwest::RequestBuilder {
        let request = self.shop.client.request(self.method, &self.url).headers(self.headers);
        if let Some(body) = self.body { request.body(body) } else { request }
    }
}

/// How many of the answers to requests that are sent at once have each status.
pub async fn statuses(
    requests: impl IntoIterator<Item = impl Future<Output = Answer>>,
) -> Vec<(u16, usize)> {
    let mut counts = BTreeMap::new();
    for answer in join_all(requests).await {
        *counts.entry(answer.status).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// A response.
pub struct Answer {
    asked: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// Sends a request and waits for the complete response.
    pub async fn to(request: reqwest::RequestBuilder) -> Answer {
        let (client, request) = request.build_split();
        let request = request.unwrap();
        let asked = format!("{} {}", request.method(), request.url());
        let response = client.execute(request).await.unwrap();
        Answer {
            asked,
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await.unwrap().to_vec(),
        }
    }

    /// The answer to one of many requests about the same record. It is repeated after a 503, with which nothing is
    /// written: that is the answer to those who have waited behind the others for 5 seconds.
    pub async fn in_turn(request: reqwest::RequestBuilder) -> Answer {
        patiently("an answer other than 503", async {
            loop {
                let answer = Answer::to(request.try_clone().unwrap()).await;
                if answer.status != 503 {
                    return answer;
                }
                assert_eq!(answer.header("retry-after"), "1", "{}", answer.asked);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Fails the test unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{}: {body}", self.asked);
        let streamed = ["/exports/", "/imports?"].iter().any(|path| self.asked.contains(path));
        let streamed = streamed && status == 200;
        if status != 204 && !self.body.is_empty() && !streamed {
            assert_eq!(self.header("content-type"), MEDIA_TYPE, "{}", self.asked);
        }
        self
    }

    /// The lines of a stream of records.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        let text = std::str::from_utf8(&self.body).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        match self.headers.get(name) {
            Some(value) => value.to_str().unwrap(),
            None => panic!("{}: no header {name}", self.asked),
        }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The id of the single record in the document.
    #[track_caller]
    pub fn id(&self) -> i64 {
        self.json()["data"]["id"].as_str().unwrap().parse().unwrap()
    }

    /// An attribute of the single record in the document.
    #[track_caller]
    pub fn attribute(&self, name: &str) -> Value {
        self.json()["data"]["attributes"][name].clone()
    }

    /// An attribute of each record of a list.
    #[track_caller]
    pub fn column(&self, name: &str) -> Vec<Value> {
        let json = self.json();
        let rows = json["data"].as_array().unwrap();
        rows.iter().map(|row| row["attributes"][name].clone()).collect()
    }

    /// The ids of a list.
    #[track_caller]
    pub fn ids(&self) -> Vec<i64> {
        let json = self.json();
        let rows = json["data"].as_array().unwrap();
        rows.iter().map(|row| row["id"].as_str().unwrap().parse().unwrap()).collect()
    }

    #[track_caller]
    pub fn total(&self) -> i64 {
        self.json()["meta"]["total"].as_i64().unwrap()
    }

    /// The errors, each as `status code source`.
    #[track_caller]
    pub fn errors(&self) -> Vec<String> {
        let json = self.json();
        let errors = json["errors"].as_array().unwrap();
        errors
            .iter()
            .map(|error| {
                assert!(error["status"].is_u64(), "a status is a number: {error}");
                assert!(!error["title"].as_str().unwrap().is_empty());
                assert!(!error["detail"].as_str().unwrap().is_empty());
                let source = error["source"].as_object().into_iter().flatten().next();
                let source = source.map(|(kind, at)| format!(" {kind} {}", at.as_str().unwrap()));
                format!(
                    "{} {}{}",
                    error["status"],
                    error["code"].as_str().unwrap(),
                    source.unwrap_or_default()
                )
            })
            .collect()
    }
}
