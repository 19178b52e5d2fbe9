//! What the feed of changes costs: a page of it from the beginning and from the middle of a place for
//! each record, writes with its triggers and without, and clients that wait on two hosts. The places are
//! filled in with SQL, and the triggers remain when it ends.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use fastrand::Rng;
use plugin::model::moment;
use plugin::resources::REGISTRY;
use plugin::sql::feed::followed;
use serde_json::{Value, json};
use time::{PrimitiveDateTime, UtcDateTime};
use tokio::task::JoinHandle;

use super::load::{Ask, Client, percentile};
use super::machine::median;
use super::stock::{self, Product};
use super::stores::{Engine, Host, Store, number, run};
use super::writes::{Write, Writer, Written};
use super::{Settings, verdict};

/// How far apart the places are that are filled in, in microseconds.
const APART: u64 = 80_000;
/// How often a page is read in one round.
const TIMES: usize = 20;
/// How many records have changed since the moment of a list.
const CHANGED: i64 = 1_000;
/// The limit of a page of 1,000 full products in milliseconds, on SQLite.
const PAGE: f64 = 60.0;
/// A page in the middle costs as much as one at the beginning, give or take the machine's noise.
const SAME: f64 = 1.25;

/// How many clients write at the same time, and for how long in one round.
const WRITERS: usize = 16;
const WRITING: Duration = Duration::from_secs(4);
/// The limits of what remains of the throughput, and of the median of a write, with the feed.
const THROUGHPUT: f64 = 0.7;
const MEDIAN: f64 = 1.3;

/// How many clients wait on each host, and how many of them begin at the same time.
const WAITERS: usize = 1_000;
const AT_ONCE: usize = 100;
/// How often it is looked how many connections to the database are busy.
const SAMPLES: usize = 10;
/// The limits of the time until all of them know of a change, in milliseconds, on the host with the
/// change and on the other one; and of the memory for them, in megabytes.
const HERE: f64 = 300.0;
const ELSEWHERE: f64 = 1_300.0;
const MEMORY: u64 = 40;

/// Measures everything about the feed, or one of the three: `--only pages`, `writes` or `waits`.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    queue_changes(engine, store, true).await;
    fill(engine, store).await;
    let host = store.serve();
    let wanted = |part: &str| part.contains(&settings.only);
    if wanted("pages") {
        pages(settings, engine, store, &host).await;
    }
    if wanted("writes") {
        writes(settings, engine, store, &host).await;
    }
    if wanted("waits") {
        waits(settings, engine, store, &host).await;
    }
}

/// Gives each product and order a place. They are in no order of keys, as changes are.
async fn fill(engine: Engine, store: &Store) {
    let records = store.size.products + store.size.orders;
    let now = UtcDateTime::now().unix_timestamp() * 1_000_000;
    let began = now - i64::try_from((records + 100_000) * APART).unwrap();
    let analyse = match engine {
        Engine::Sqlite => "PRAGMA optimize = 0x10012",
        Engine::Postgres => "VACUUM ANALYZE shop_changes",
        Engine::MariaDb => "ANALYZE TABLE shop_changes",
    };
    let fill = format!(
        "INSERT INTO shop_changes (kind, record, seq, deleted) \
         SELECT kind, record, {began} + {APART} * row_number() OVER (ORDER BY shuffled, kind), 0 \
         FROM (SELECT 'products' AS kind, shop_product_id AS record, \
         (shop_product_id * 611953) % 1000003 AS shuffled FROM shop_products \
         UNION ALL SELECT 'orders', shop_order_id, (shop_order_id * 611953) % 1000003 \
         FROM shop_orders) records"
    );
    let clock = format!(
        "UPDATE shop_feed SET began = {began} - 1000000, floor = {began}, swept = {began}, \
         seq = (SELECT max(seq) FROM shop_changes)"
    );
    let statements =
        ["DELETE FROM shop_change_queue", "DELETE FROM shop_changes", &fill, &clock, analyse];
    for statement in statements {
        run(engine, &store.tables, statement).await.unwrap();
    }
}

/// Creates the triggers that queue changes anew, or removes them.
async fn queue_changes(engine: Engine, store: &Store, wanted: bool) {
    let triggers: Vec<String> =
        followed(REGISTRY).iter().flat_map(engine.dialect().feed_triggers).collect();
    let name = |text: &str| text.split(&[' ', '('][..]).nth(2).unwrap().to_owned();
    let remove = triggers.iter().filter_map(|text| match engine {
        Engine::Sqlite | Engine::MariaDb => Some(format!("DROP TRIGGER IF EXISTS {}", name(text))),
        // A function takes its triggers with it.
        Engine::Postgres => text
            .starts_with("CREATE FUNCTION")
            .then(|| format!("DROP FUNCTION IF EXISTS {} CASCADE", name(text))),
    });
    let remove: Vec<String> = remove.collect();
    let made = triggers.iter().filter(|_| wanted);
    for statement in remove.iter().chain(made) {
        run(engine, &store.tables, statement).await.unwrap();
    }
}

/// What is read of the feed.
struct Case {
    name: String,
    /// The path at the beginning and in the middle.
    paths: [String; 2],
    /// The limit in milliseconds.
    limit: Option<f64>,
}

/// Reads pages with a single client, alternately at the beginning and in the middle.
async fn pages(settings: &Settings, engine: Engine, store: &Store, host: &Host) {
    let mut client = Client::of(host.door.clone()).await;
    let cases = cases(engine, store, &mut client).await;
    println!("### The feed\n");
    let places = number(engine, &store.tables, "SELECT count(*) FROM shop_changes").await;
    println!("p50 at one client, ms; {} rounds of {TIMES}, {places} places\n", settings.rounds);
    println!("| what | beginning | middle | ratio | records | kB | bar |");
    println!("|---|---|---|---|---|---|---|");
    for Case { name, paths, limit } in cases {
        let asks = paths.map(Ask::get);
        let mut taken = [Vec::new(), Vec::new()];
        let (mut records, mut size) = (0, 0);
        for round in 0..=settings.rounds {
            for turn in 0..2 * TIMES {
                let which = (round + turn) % 2;
                let answer = client.ask(&asks[which]).await;
                // The first round warms up.
                if round > 0 {
                    taken[which].push(answer.took);
                } else if which == 1 {
                    let body: Value = serde_json::from_slice(&answer.body).unwrap();
                    records = body["data"].as_array().unwrap().len();
                    size = answer.body.len() / 1_000;
                }
            }
        }
        let [beginning, middle] = taken.each_mut().map(|taken| percentile(taken, 50));
        let ratio = middle / beginning;
        let limit = limit.filter(|_| engine == Engine::Sqlite);
        let met = ratio <= SAME && limit.is_none_or(|limit| middle.max(beginning) <= limit);
        let bar = limit.map_or_else(String::new, |limit| format!(", {limit} ms"));
        println!(
            "| {name} | {beginning:.2} | {middle:.2} | {ratio:.2} | {records} | {size} | {SAME} ×{bar}{} |",
            verdict(met),
        );
    }
    println!();
}

async fn cases(engine: Engine, store: &Store, client: &mut Client) -> Vec<Case> {
    let numbers = ["floor", "seq"].map(|column| format!("SELECT {column} FROM shop_feed"));
    let first = number(engine, &store.tables, &numbers[0]).await;
    let last = number(engine, &store.tables, &numbers[1]).await;
    let half = store.size.products / 2;
    let steps = [first.to_string(), first.midpoint(last).to_string()];
    let mut cases = Vec::new();
    for (kinds, what) in [
        ("", "all types"),
        ("products", "products"),
        ("orders", "orders, every 50th place"),
        ("orders,products", "both"),
    ] {
        for size in [100, 1_000] {
            let name = format!("{size} changes, {what}");
            let start = format!("/changes?filter[types]={kinds}&page[size]={size}");
            let cursor = cursor(&start, client).await;
            let paths = steps.each_ref().map(|step| page(&start, &cursor, step));
            let limit = (kinds == "products" && size == 1_000).then_some(PAGE);
            cases.push(Case { name, paths, limit });
        }
    }
    let start = "/changes?filter[types]=products&page[size]=1000";
    let cursor = cursor(start, client).await;
    cases.push(Case {
        name: "1,000 full products, copied".to_owned(),
        paths: [start.to_owned(), page(start, &cursor, &format!("products {half} {last}"))],
        limit: Some(PAGE),
    });
    cases.push(Case {
        name: "nothing new: the first of two requests, and the second".to_owned(),
        paths: [(); 2].map(|()| page(start, &cursor, &last.to_string())),
        limit: None,
    });
    let apart = i64::try_from(APART).unwrap();
    let since = UtcDateTime::from_unix_timestamp((last - CHANGED * apart) / 1_000_000).unwrap();
    let since = moment::render(PrimitiveDateTime::new(since.date(), since.time()));
    let list = format!("/products?filter[modified_since]={since}&page[limit]=100");
    let late = format!("products change {} .", last - 120 * apart);
    let late = BASE64_URL_SAFE_NO_PAD.encode(late);
    cases.push(Case {
        name: format!("`filter[modified_since]`, 100 of {CHANGED} products, and the last 100"),
        paths: [list.clone(), format!("{list}&page[after]={late}")],
        limit: None,
    });
    cases
}

/// The cursor that follows the first page.
async fn cursor(start: &str, client: &mut Client) -> String {
    next(&serde_json::from_slice(&client.ask(&Ask::get(start)).await.body).unwrap())
}

/// The cursor in the link of a page to the next one.
fn next(page: &Value) -> String {
    let next = page["links"]["next"].as_str().unwrap();
    let query = next.split_once('?').unwrap().1.as_bytes();
    let mut parameters = url::form_urlencoded::parse(query);
    parameters.find(|(name, _)| name == "page[after]").unwrap().1.into_owned()
}

/// A page after this step, with a cursor that was made for another one: following the feed to its middle
/// would take a thousand pages.
fn page(start: &str, cursor: &str, step: &str) -> String {
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(cursor).unwrap()).unwrap();
    let feed: Vec<&str> = text.split(' ').take(3).collect();
    let cursor = BASE64_URL_SAFE_NO_PAD.encode(format!("{} {step} .", feed.join(" ")));
    format!("{start}&page[after]={cursor}")
}

/// A kind of write.
#[derive(Clone, Copy)]
enum Kind {
    Price,
    Order,
    Stock,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Price, Kind::Order, Kind::Stock];

    fn name(self) -> &'static str {
        match self {
            Kind::Price => "`PATCH /products/<id>`, price",
            Kind::Order => "`POST /orders`, three items",
            Kind::Stock => "`POST /inventory/<id>/adjust`",
        }
    }
}

/// A client that writes, and the products whose stock it moves.
struct Clerk {
    writer: Writer,
    products: Vec<Product>,
    chance: Rng,
}

/// Writes with several clients, alternately without the triggers and with them.
async fn writes(settings: &Settings, engine: Engine, store: &Store, host: &Host) {
    let written = Written::default();
    drop(Writer::open(host, store.size, written.clone()).await);
    let mut clerks = Vec::new();
    for _ in 0..WRITERS {
        let mut writer = Writer::beside(host, store.size, written.clone()).await;
        let mut chance = Rng::new();
        let products = stock::products(&mut writer.client, store, &mut chance).await;
        clerks.push(Clerk { writer, products, chance });
    }
    println!("### Writes with the feed\n");
    println!(
        "{WRITERS} clients, {} rounds of {} s; medians, of the ratios within each round too\n",
        settings.rounds,
        WRITING.as_secs(),
    );
    println!(
        "| what | without /s | with /s | ratio | bar | p50 without, ms | with | ratio | bar | queued |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for kind in Kind::ALL {
        let (mut rates, mut medians) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut queued = Vec::new();
        for round in 0..=settings.rounds {
            for turn in 0..2 {
                let with = (round + turn) % 2;
                queue_changes(engine, store, with == 1).await;
                let (rate, p50);
                (clerks, rate, p50) = write(kind, clerks).await;
                // The first round warms up.
                if round > 0 {
                    rates[with].push(rate);
                    medians[with].push(p50);
                }
                if with == 1 {
                    queued.push(host.metric("webservices_shop_changes_queued", "").await);
                    until(host, "webservices_shop_changes_queued", 0.0).await;
                }
            }
        }
        let [rate, p50] = [&rates, &medians].map(|[without, with]| {
            let ratios = with.iter().zip(without).map(|(with, without)| with / without);
            [median(without.clone()), median(with.clone()), median(ratios)]
        });
        println!(
            "| {} | {:.0} | {:.0} | {:.2} | {THROUGHPUT}{} | {:.2} | {:.2} | {:.2} | {MEDIAN}{} | {:.0} |",
            kind.name(),
            rate[0],
            rate[1],
            rate[2],
            verdict(rate[2] >= THROUGHPUT),
            p50[0],
            p50[1],
            p50[2],
            verdict(p50[2] <= MEDIAN),
            median(queued),
        );
    }
    queue_changes(engine, store, true).await;
    if let Some(clerk) = clerks.pop() {
        clerk.writer.clean().await;
    }
    println!();
}

/// Writes with all clients, and returns them with the writes per second and their median.
async fn write(kind: Kind, clerks: Vec<Clerk>) -> (Vec<Clerk>, f64, f64) {
    let begun = Instant::now();
    let tasks: Vec<_> = clerks
        .into_iter()
        .map(|mut clerk| {
            tokio::spawn(async move {
                let mut taken = Vec::new();
                while begun.elapsed() < WRITING {
                    let Clerk { writer, products, chance } = &mut clerk;
                    let answer = match kind {
                        Kind::Price => writer.write(Write::Price).await,
                        Kind::Order => writer.write(Write::Order).await,
                        Kind::Stock => writer.client.ask(&stock::one(products, chance)).await,
                    };
                    taken.push(answer.took);
                }
                (clerk, taken)
            })
        })
        .collect();
    let (mut clerks, mut taken) = (Vec::new(), Vec::new());
    for task in tasks {
        let (clerk, times) = task.await.unwrap();
        clerks.push(clerk);
        taken.extend(times);
    }
    let rate = taken.len() as f64 / begun.elapsed().as_secs_f64();
    (clerks, rate, percentile(&mut taken, 50))
}

/// Waits until a metric has a value.
async fn until(host: &Host, metric: &str, value: f64) {
    const PATIENCE: Duration = Duration::from_secs(120);
    let begun = Instant::now();
    while host.metric(metric, "").await != value {
        assert!(begun.elapsed() < PATIENCE, "{metric} does not become {value}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Lets clients wait on the host and on another one, and changes a product.
async fn waits(settings: &Settings, engine: Engine, store: &Store, host: &Host) {
    let other = store.serve_beside(host);
    let hosts = [host, &other];
    let mut writer = Client::of(host.door.clone()).await;
    let mut crowds = [Vec::new(), Vec::new()];
    // The first answer, the median and the last one, of each round.
    let mut known = [(); 2].map(|()| [(); 3].map(|()| Vec::new()));
    let (mut grown, mut busy) = ([0; 2], [Vec::new(), Vec::new()]);
    for round in 0..=settings.rounds {
        let path = end(engine, store, &mut writer).await;
        let mut waiting = Vec::new();
        for ((crowd, host), grown) in crowds.iter_mut().zip(hosts).zip(&mut grown) {
            let before = host.memory();
            waiting.push(begin(std::mem::take(crowd), &path, host).await);
            *grown = host.memory().saturating_sub(before).max(*grown);
        }
        // All of them have been read for, and the host's own task looks at the feed once a second.
        for _ in 0..SAMPLES {
            tokio::time::sleep(Duration::from_millis(200)).await;
            for (busy, host) in busy.iter_mut().zip(hosts) {
                busy.push(host.metric("webservices_shop_connections{", "state=\"busy\"}").await);
            }
        }
        let price = json!({"price": format!("{}.50", Rng::new().u16(..))});
        let changed = Instant::now();
        writer.ask(&Ask::patch("/products/1", &price)).await;
        for ((crowd, waiting), known) in crowds.iter_mut().zip(waiting).zip(&mut known) {
            let mut taken = Vec::new();
            for task in waiting {
                let (client, answered) = task.await.unwrap();
                taken.push((answered - changed).as_secs_f64() * 1e3);
                crowd.push(client);
            }
            // The first round warms up.
            if round > 0 {
                for (known, share) in known.iter_mut().zip([0, 50, 100]) {
                    known.push(percentile(&mut taken, share));
                }
            }
        }
    }
    println!("### Clients that wait\n");
    println!(
        "{WAITERS} on each of two hosts; ms from a change of a product, the request for it included; \
         medians of {} rounds\n",
        settings.rounds
    );
    println!(
        "| where | first answer | half of them | last | longest | bar | memory | bar | busy connections |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let rows = [("this host", HERE), ("another host", ELSEWHERE)];
    for ((((name, limit), known), grown), busy) in rows.into_iter().zip(known).zip(grown).zip(busy)
    {
        let longest = percentile(&mut known[2].clone(), 100);
        let [first, half, last] = known.map(median);
        println!(
            "| {name} | {first:.0} | {half:.0} | {last:.0} | {longest:.0} | {limit} ms{} | {grown} MB | {MEMORY} MB{} | {:.0} |",
            verdict(last <= limit),
            verdict(grown <= MEMORY),
            median(busy),
        );
    }
    println!();
}

/// The path of a page after all changes.
async fn end(engine: Engine, store: &Store, client: &mut Client) -> String {
    let start = "/changes?filter[types]=products";
    let last = number(engine, &store.tables, "SELECT seq FROM shop_feed").await;
    let mut path = page(start, &cursor(start, client).await, &last.to_string());
    loop {
        let answer = client.ask(&Ask::get(path.clone())).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        path = format!("{start}&page[after]={}", next(&body));
        if body["data"].as_array().unwrap().is_empty() {
            return path;
        }
    }
}

/// A client that waits, and when it got its answer.
type Waiting = JoinHandle<(Client, Instant)>;

/// Lets clients wait, with the connections that they have from the round before.
async fn begin(clients: Vec<Client>, path: &str, host: &Host) -> Vec<Waiting> {
    let ask = Ask { wait: Some(60), ..Ask::get(path) };
    let (mut clients, mut waiting) = (clients.into_iter(), Vec::new());
    while waiting.len() < WAITERS {
        for _ in 0..AT_ONCE {
            let mut client = match clients.next() {
                Some(client) => client,
                None => Client::of(host.door.clone()).await,
            };
            let ask = ask.clone();
            waiting.push(tokio::spawn(async move {
                let answer = client.ask(&ask).await;
                let answered = Instant::now();
                let body: Value = serde_json::from_slice(&answer.body).unwrap();
                assert_eq!(body["data"][0]["id"], "1", "{body}");
                (client, answered)
            }));
        }
        until(host, "host_http_requests_waiting", waiting.len() as f64).await;
    }
    waiting
}
