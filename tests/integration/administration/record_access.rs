//! The access matrix of the pages about records: who may open which page, follow which link and find which record is what
//! the API answers to the same user on the routes of the table in `support/rights.rs`. The pages are found in the
//! document and by the links that a user with all permissions sees: one without a row in the table fails the test, and so
//! does a row without a page.

use std::collections::{BTreeMap, BTreeSet};

use example_host::{Force, NewUser, Setting};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::support::harness::{Ask, PASSWORD, Role, Shop};
use crate::support::rights::{ROUTES, real};
use crate::support::visitor::{Seen, Visitor, field};

/// How many requests to the API are sent at the same time.
const AT_ONCE: usize = 8;

/// How many persons look around at the same time. Fewer than there may be exports.
const VISITS: usize = 2;

/// What is searched for: a part of many names, and not the whole of one, which the search would lead to.
const SOUGHT: &str = "ing";

/// A row of the table: the method and the path of a route.
type Row = (&'static str, &'static str);

/// The rows without a page about records, each with the reason.
const ELSEWHERE: &[(Row, &str)] = &[
    (("GET", "/changes"), "records of several types"),
    (("GET", "/config"), "no list and no key"),
    (("GET", "/vouchers/mine"), "a list of the same type has all"),
    (("POST", "/imports"), "files have pages of their own"),
    (("POST", "/inventory/adjust"), "several records"),
    (("POST", "/privacy/erase"), "persons have pages of their own"),
    (("POST", "/privacy/export"), "persons have pages of their own"),
];

/// A page about records: its address below the extension's, and the routes that it needs.
struct Page {
    address: String,
    needs: Vec<Row>,
    /// The path of the record in the API, for the page of one. Of some types, users see a part of the records.
    record: Option<String>,
    /// The pages that it links to, each by the route that it adds.
    links: BTreeMap<String, Row>,
    /// The files with the rows of its lists, each by the route that it adds.
    files: Vec<(String, Row)>,
}

/// A type of records.
struct Kind {
    name: String,
    /// The route without which there is no sign of the type.
    seen_by: Row,
    list: Option<Page>,
    /// The page of a record, and the pages that it links to.
    record: Option<Page>,
    /// The address of the file with all records.
    export: Option<String>,
}

/// Someone who asks.
struct Person {
    name: String,
    /// Whether the user may enter the administration.
    enters: bool,
    token: Option<String>,
    visitor: Visitor,
    /// The routes on which the API does not refuse the user.
    allowed: BTreeSet<Row>,
}

impl Person {
    fn may(&self, needs: &[Row]) -> bool {
        needs.iter().all(|row| self.allowed.contains(row))
    }

    /// Whether the API answers what a page shows.
    async fn may_open(&self, shop: &Shop, page: &Page) -> bool {
        let is_there = match &page.record {
            Some(path) => self.asks(shop.get(path)).send().await.status == 200,
            None => true,
        };
        is_there && self.may(&page.needs)
    }

    /// A request by this person.
    fn asks<'a>(&self, ask: Ask<'a>) -> Ask<'a> {
        match &self.token {
            Some(token) => ask.with(token),
            None => ask.by(Role::Nobody),
        }
    }

    async fn open(&mut self, address: &str) -> Seen {
        self.visitor.get(&page(address)).await
    }
}

fn page(address: &str) -> String {
    format!("/records/webservices-shop/{address}")
}

/// The row with this method and path.
fn row(method: &str, path: &str) -> Option<Row> {
    let found = ROUTES.iter().find(|(of, at, _)| (*of, *at) == (method, path));
    found.map(|(method, path, _)| (*method, *path))
}

/// The addresses of pages about records that a page links to.
fn linked(seen: &Seen, from: &str) -> BTreeSet<String> {
    let base = reqwest::Url::parse("http://host/administrator").unwrap();
    let base = base.join(&format!("/administrator{}", page(from))).unwrap();
    let links = seen.html.split("href=\"").skip(1).map(|link| link.split_once('"').unwrap().0);
    let links = links.filter_map(|link| base.join(&link.replace("&#38;", "&")).ok());
    let links = links.filter_map(|link| {
        let below = link.path().strip_prefix("/administrator/records/webservices-shop/")?;
        if below.is_empty() {
            return None;
        }
        let tab = link.query().filter(|query| query.starts_with("tab="));
        Some(tab.map_or(below.to_owned(), |tab| format!("{below}?{tab}")))
    });
    links.collect()
}

/// The address of the file with the rows of a page, unless the API exports them.
fn file(seen: &Seen) -> Option<String> {
    let (_, link) = seen.html.split_once("href=\"/administrator/export/list/")?;
    let link = link.split_once('"').unwrap().0.replace("&#38;", "&");
    Some(format!("/export/list/{link}"))
}

/// Whether a page has a sign of a type: a link to its list or to a record.
fn has_sign(links: &BTreeSet<String>, kind: &str) -> bool {
    links.iter().any(|link| link.split(['/', '?']).next() == Some(kind))
}

/// The routes on which the API does not refuse a user with this token.
async fn allowed(shop: &Shop, token: Option<&str>) -> BTreeSet<Row> {
    let asked = stream::iter(ROUTES).map(async |(method, path, _)| {
        let ask = shop.request(method, &real(path));
        let ask = if matches!(*method, "POST" | "PATCH") { ask.json(json!({})) } else { ask };
        let ask = match token {
            Some(token) => ask.with(token),
            None => ask.by(Role::Nobody),
        };
        let status = ask.send().await.status;
        (!matches!(status, 401 | 403)).then_some((*method, *path))
    });
    asked.buffer_unordered(AT_ONCE).filter_map(async |row| row).collect().await
}

/// The routes of the document, by their names: methods and paths.
fn named(shop: &Shop) -> BTreeMap<String, (String, String)> {
    let document: Value = serde_json::from_str(&shop.site.openapi().unwrap()[0]).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            (name, (method.to_uppercase(), path.clone()))
        })
    });
    routes.collect()
}

/// Every type of the document with the pages that the user with all permissions sees.
async fn kinds(shop: &Shop, ann: &mut Person) -> Vec<Kind> {
    let named = named(shop);
    let has_row = |name: &str| {
        let (method, path) = named.get(name)?;
        Some(row(method, path).unwrap_or_else(|| panic!("{name} lacks its row")))
    };
    let reads = named.iter().filter(|(_, (method, _))| method == "GET");
    let read = reads.filter_map(|(name, _)| {
        let (kind, route) = name.split_once('.').unwrap();
        match kind {
            // Each report is a type.
            "reports" => Some((format!("reports-{route}"), name.clone())),
            _ if route == "list" || route == "show" => {
                Some((kind.to_owned(), format!("{kind}.list")))
            }
            _ => None,
        }
    });
    let names: BTreeMap<String, String> = read.filter(|(kind, _)| kind != "config").collect();
    let mut kinds = Vec::new();
    for (name, of_list) in names {
        let (list, show) = (has_row(&of_list), has_row(&format!("{name}.show")));
        let own_row = |method: &str, path: &str, page: &str| {
            row(method, path).unwrap_or_else(|| panic!("{page} lacks its row"))
        };
        let seen_by = list.or(show).unwrap();
        let mut kind = Kind { name, seen_by, list: None, record: None, export: None };
        let name = kind.name.as_str();
        if let Some(list) = list {
            let seen = ann.open(name).await;
            assert_eq!(seen.status, 200, "{name}: {}", seen.html);
            let new = format!("{name}/new");
            let links = linked(&seen, name).contains(&new);
            let links = links.then(|| (new.clone(), own_row("POST", list.1, &new)));
            let export = seen.html.split_once("href=\"/administrator/export/file?");
            kind.export = export.map(|(_, link)| {
                let query = link.split_once('"').unwrap().0.replace("&#38;", "&");
                format!("/export/file?{query}")
            });
            let links = links.into_iter().collect();
            let files = file(&seen).into_iter().map(|file| (file, list)).collect();
            let address = name.to_owned();
            kind.list = Some(Page { address, needs: vec![list], record: None, links, files });
        }
        if let Some(show) = show {
            let all = shop.get(&shop.list_of(name)).by(Role::SuperUser).send().await.expect(200);
            let id = *all.ids().first().unwrap_or_else(|| panic!("there is no record of {name}"));
            let address = format!("{name}/{id}");
            let seen = ann.open(&address).await;
            assert_eq!(seen.status, 200, "{address}: {}", seen.html);
            let links = linked(&seen, &address).into_iter().filter_map(|link| {
                let end = link.strip_prefix(&address)?;
                let row = match (end.strip_prefix("/do/"), end.strip_prefix("?tab=")) {
                    _ if end == "/edit" => own_row("PATCH", show.1, &link),
                    _ if end == "/delete" => own_row("DELETE", show.1, &link),
                    (Some(action), _) => {
                        let below = row("POST", &format!("{}/{action}", show.1));
                        let named = || has_row(&format!("{name}.{action}"));
                        below.or_else(named).unwrap_or_else(|| panic!("{link} lacks its row"))
                    }
                    // A part of the record, and what an extension draws about it.
                    (_, Some(tab)) if tab.starts_with("part-") => show,
                    (_, Some(tab)) if tab.starts_with("panel-") => return None,
                    (_, Some(tab)) => own_row("GET", &format!("{}/{tab}", show.1), &link),
                    _ => return None,
                };
                Some((link, row))
            });
            let links: BTreeMap<String, Row> = links.collect();
            let mut files = Vec::new();
            for (link, row) in links.iter().filter(|(link, _)| link.contains("?tab=")) {
                files.extend(file(&ann.open(link).await).map(|file| (file, *row)));
            }
            let needs = if seen_by == show { vec![show] } else { vec![seen_by, show] };
            let record = Some(show.1.replace("{id}", &id.to_string()));
            kind.record = Some(Page { address, needs, record, links, files });
        }
        kinds.push(kind);
    }
    kinds
}

/// Opens each page as this person, and compares it with what the API has answered.
async fn visit(shop: &Shop, person: &mut Person, kinds: &[Kind], found: &BTreeSet<String>) {
    let who = person.name.clone();
    let first = person.visitor.get("/").await;
    let token = field(&first.html, "csrf_token").unwrap_or_default().to_owned();
    let navigation = linked(&first, "");
    let expected = kinds.iter().filter(|kind| kind.list.is_some());
    let expected = expected.filter(|kind| person.enters && person.may(&[kind.seen_by]));
    let expected: BTreeSet<&str> = expected.map(|kind| kind.name.as_str()).collect();
    let listed = |link: &&String| !link.contains(['/', '?']);
    let navigation: BTreeSet<&str> = navigation.iter().filter(listed).map(String::as_str).collect();
    assert_eq!(navigation, expected, "the navigation of {who}");

    let is_hidden = |person: &Person, kind: &Kind| !person.may(&[kind.seen_by]);
    for kind in kinds {
        for shown in kind.list.iter().chain(&kind.record) {
            let Page { address, links, files, .. } = shown;
            let seen = person.open(address).await;
            let may = person.may_open(shop, shown).await;
            assert_eq!(seen.status, status(person, may), "{who} on {address}: {}", seen.html);
            if person.enters && may {
                let there = linked(&seen, address);
                for (link, row) in links {
                    assert_eq!(there.contains(link), person.may(&[*row]), "{who}: {link}");
                }
                for hidden in kinds.iter().filter(|kind| is_hidden(person, kind)) {
                    let sign = has_sign(&there, &hidden.name);
                    assert!(!sign, "{who} on {address}: {}: {}", hidden.name, seen.html);
                }
            }
            for (file, row) in files {
                let status = status(person, may && person.may(&[*row]));
                assert_eq!(person.visitor.get(file).await.status, status, "{who} on {file}");
            }
            for (link, row) in links {
                let may = may && person.may(&[*row]);
                let seen = person.open(link).await;
                assert_eq!(seen.status, status(person, may), "{who} on {link}: {}", seen.html);
                if person.enters && !may && matches!(row.0, "POST" | "DELETE") {
                    let seen = person.visitor.post(&page(link), &[("csrf_token", &token)]).await;
                    assert!(matches!(seen.status, 404 | 422), "{who} on {link}: {}", seen.status);
                    let refused = seen.html.contains("You lack the permission");
                    assert_eq!(refused, seen.status == 422, "{who} on {link}: {}", seen.html);
                }
            }
        }
        if let Some(file) = &kind.export {
            let status = status(person, person.may(&[kind.seen_by]));
            assert_eq!(person.visitor.get(file).await.status, status, "{who} on {file}");
        }
    }

    let seen = person.visitor.get(&format!("/search?q={SOUGHT}")).await;
    let hits = linked(&seen, "");
    let hits = hits.iter().filter(|link| link.contains('/'));
    let hits: BTreeSet<&str> = hits.filter_map(|link| link.split('/').next()).collect();
    let is_found = |kind: &&Kind| {
        let needs = kind.list.iter().chain(&kind.record).flat_map(|page| &page.needs);
        found.contains(&kind.name) && person.enters && needs.copied().all(|row| person.may(&[row]))
    };
    let expected = kinds.iter().filter(is_found).map(|kind| kind.name.as_str());
    assert_eq!(hits, expected.collect(), "the search of {who}: {}", seen.html);
}

/// The status of a page: whoever may not enter is sent to the sign-in, and what a user may not open does not exist.
fn status(person: &Person, may: bool) -> u16 {
    match (person.enters, may) {
        (false, _) => 303,
        (true, true) => 200,
        (true, false) => 404,
    }
}

/// Adds a user of a new group below another one, with these rules.
async fn add(shop: &Shop, name: &str, parent: &str, rules: &[(&str, &str, Setting)]) {
    shop.site.add_group(name, parent).await.unwrap();
    for (action, asset, setting) in rules {
        shop.site.set_rule(name, action, asset, *setting, Force::No).await.unwrap();
    }
    let user = NewUser {
        email: format!("{name}@example.com"),
        username: name.to_owned(),
        groups: vec![name.to_owned()],
        password: Some(PASSWORD.to_owned()),
    };
    shop.site.add_user(user).await.unwrap();
}

/// Users of every role, of some groups with rules of their own, and one who is blocked after having signed in.
async fn persons(shop: &Shop) -> Vec<Person> {
    use Setting::{Allow, Deny};
    let enter = ("core.manage", "root", Allow);
    add(shop, "packer", "Registered", &[enter, ("store.fulfil", "com_shop.orders", Allow)]).await;
    add(shop, "reader", "Registered", &[enter, ("store.view", "com_shop.products", Allow)]).await;
    let denied = ["manufacturers", "orders", "zones"];
    let denied = denied.map(|kind| ("store.view", format!("com_shop.{kind}")));
    let denied = denied.iter().map(|(action, asset)| (*action, asset.as_str(), Deny));
    add(shop, "clerk", "Manager", &[enter].into_iter().chain(denied).collect::<Vec<_>>()).await;
    add(shop, "editor", "Manager", &[enter, ("store.create", "com_shop", Deny)]).await;
    add(shop, "staff", "Manager", &[enter]).await;
    add(shop, "offline", "Administrator", &[("core.login.api", "root", Deny)]).await;
    add(shop, "blocked", "Administrator", &[]).await;
    let mut tokens: Vec<(String, Option<String>)> = Vec::new();
    for role in Role::ALL {
        let token = (role != Role::Nobody).then(|| shop.token(role).to_owned());
        tokens.push((format!("{role:?}").to_lowercase(), token));
    }
    for name in ["packer", "reader", "clerk", "editor", "staff", "offline", "blocked"] {
        let token = shop.site.generate_token(name).await.unwrap();
        tokens.push((name.to_owned(), Some(token)));
    }
    let mut persons = Vec::new();
    for (name, token) in tokens {
        let mut visitor = Visitor::of(&shop.url(""));
        if token.is_some() {
            visitor.sign_in(&name, PASSWORD).await;
        }
        if name == "blocked" {
            assert_eq!(visitor.get("/").await.status, 200);
            shop.site.block_user(&name, Force::No).await.unwrap();
        }
        let stays_out = ["nobody", "public", "registered", "manager", "blocked"];
        let enters = !stays_out.contains(&&*name);
        let allowed = allowed(shop, token.as_deref()).await;
        persons.push(Person { name, enters, token, visitor, allowed });
    }
    persons
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_about_records_is_open_to_whom_the_api_answers() {
    let shop = Shop::filled().await;
    shop.create("/vouchers", json!({"voucher_value": "50", "email_to": "ada@example.com"})).await;
    let mut persons = persons(&shop).await;
    let ann = persons.iter_mut().find(|person| person.name == "superuser").unwrap();
    assert_eq!(ann.allowed.len(), ROUTES.len());
    let kinds = kinds(&shop, ann).await;

    // Every row of the table has a page.
    let pages = kinds.iter().flat_map(|kind| kind.list.iter().chain(&kind.record));
    let paged = pages.flat_map(|page| page.needs.iter().chain(page.links.values())).copied();
    let exported = kinds.iter().filter(|kind| kind.export.is_some());
    let exported = exported.filter_map(|_| row("GET", "/exports/{type}"));
    let paged: BTreeSet<Row> = paged.chain(exported).collect();
    let elsewhere: BTreeSet<Row> = ELSEWHERE.iter().map(|(row, _)| *row).collect();
    let all: BTreeSet<Row> = ROUTES.iter().map(|(method, path, _)| (*method, *path)).collect();
    let without: BTreeSet<Row> = all.difference(&paged).copied().collect();
    assert_eq!(without, elsewhere, "the rows without a page");

    // What is found of each type that may be viewed.
    let seen = ann.visitor.get(&format!("/search?q={SOUGHT}")).await;
    let found = linked(&seen, "").into_iter().filter(|link| link.contains('/'));
    let found: BTreeSet<String> =
        found.filter_map(|link| Some(link.split_once('/')?.0.to_owned())).collect();
    assert!(found.len() >= 5, "{found:?}");
    for kind in kinds.iter().filter(|kind| kind.export.is_some()) {
        for person in persons.iter().filter(|person| person.name != "superuser") {
            let ask = person.asks(shop.get(&format!("/exports/{}", kind.name)));
            let refused = matches!(ask.send().await.status, 401 | 403);
            assert_eq!(!refused, person.may(&[kind.seen_by]), "{}: {}", person.name, kind.name);
        }
    }
    let visits = persons.iter_mut().map(|person| visit(&shop, person, &kinds, &found));
    stream::iter(visits).buffer_unordered(VISITS).collect::<()>().await;
}
