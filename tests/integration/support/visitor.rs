//! A client that behaves like a browser: it keeps cookies and sends forms with their CSRF tokens.

use std::collections::HashMap;

use example_host::{NewUser, Site};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub use crate::support::harness::PASSWORD;
use crate::support::harness::{Shop, fixture};
use crate::support::process::{Place, Served};

/// A client with the behaviour of a browser that matters here: it keeps cookies and sends the
/// origin of forms.
pub struct Visitor {
    pub client: reqwest::Client,
    pub origin: String,
    pub headers: HeaderMap,
    pub cookies: HashMap<String, String>,
    /// The current page.
    pub page: String,
    pub html: String,
}

/// The result of opening a page.
pub struct Seen {
    pub status: u16,
    pub headers: HeaderMap,
    pub html: String,
}

impl Visitor {
    pub fn of(origin: &str) -> Visitor {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Visitor {
            client: client.build().unwrap(),
            origin: origin.to_owned(),
            headers: HeaderMap::new(),
            cookies: HashMap::new(),
            page: "/administrator/".to_owned(),
            html: String::new(),
        }
    }

    /// A user who has signed in to the shop with the common password.
    pub async fn signed_in(shop: &Shop, username: &str) -> Visitor {
        let mut visitor = Visitor::of(&shop.url(""));
        let seen = visitor.sign_in(username, PASSWORD).await;
        assert_eq!((seen.status, seen.to()), (303, "/administrator/"), "{}", seen.html);
        visitor
    }

    /// An administrator who has signed in to a host with this fixture and this environment.
    pub async fn of_fixture(name: &str, environment: &[(&str, &str)]) -> (Place, Served, Visitor) {
        let place = Place::with([fixture(name)]);
        place.add_administrator("ann", PASSWORD).await;
        let served = place.serve_with(environment).await;
        let mut ann = Visitor::of(&served.url(""));
        assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
        (place, served, ann)
    }

    pub async fn sign_in(&mut self, username: &str, password: &str) -> Seen {
        self.post("/sign-in", &[("username", username), ("password", password)]).await
    }

    /// Sends this header with every request from now on, replacing the default one.
    pub fn with(mut self, name: &'static str, value: &str) -> Visitor {
        self.headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        self
    }

    pub async fn get(&mut self, path: &str) -> Seen {
        self.page = format!("/administrator{path}");
        let request = self.client.get(format!("{}{}", self.origin, self.page));
        self.send(request, HeaderMap::new()).await
    }

    /// The request for a page, as a browser makes it, while the current page stays.
    pub fn request(&self, path: &str) -> reqwest::RequestBuilder {
        let request = self.client.get(format!("{}/administrator{path}", self.origin));
        self.prepared(request, HeaderMap::new())
    }

    /// Sends a form from the current page, as a browser does.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Seen {
        let (request, headers) = self.form(path, fields);
        self.send(request, headers).await
    }

    /// Sends a form from the current page, and leaves when the beginning of its answer is there.
    pub async fn post_and_leave(&self, path: &str, fields: &[(&str, &str)]) {
        let (request, headers) = self.form(path, fields);
        let mut response = self.prepared(request, headers).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.chunk().await.unwrap().is_some());
    }

    fn form(&self, path: &str, fields: &[(&str, &str)]) -> (reqwest::RequestBuilder, HeaderMap) {
        let token = field(&self.html, "csrf_token").unwrap_or_default().to_owned();
        let mut form = reqwest::Url::parse("form:").unwrap();
        form.query_pairs_mut().extend_pairs(fields).append_pair("csrf_token", &token);
        let request = self.client.post(format!("{}/administrator{path}", self.origin));
        let request = request.body(form.query().unwrap().to_owned());
        let mut headers = HeaderMap::new();
        headers.insert("origin", self.origin.parse().unwrap());
        headers.insert("referer", format!("{}{}", self.origin, self.page).parse().unwrap());
        headers
            .insert("content-type", HeaderValue::from_static("application/x-www-form-urlencoded"));
        (request, headers)
    }

    /// Sends a form with a file from the current page, as a browser does: the file comes last.
    pub async fn send_file(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        (name, content): (&str, &[u8]),
    ) -> Seen {
        let token = field(&self.html, "csrf_token").unwrap_or_default().to_owned();
        let mut fields = fields.to_vec();
        if fields.iter().all(|(name, _)| *name != "csrf_token") {
            fields.insert(0, ("csrf_token", &token));
        }
        let fields = fields.iter().map(|(name, value)| {
            format!("--part\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        });
        let mut body = fields.collect::<String>().into_bytes();
        let file = format!(
            "--part\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n"
        );
        body.extend([file.as_bytes(), content, b"\r\n--part--\r\n"].concat());
        let request = self.client.post(format!("{}/administrator{path}", self.origin)).body(body);
        let mut headers = HeaderMap::new();
        headers.insert("origin", self.origin.parse().unwrap());
        let media_type = HeaderValue::from_static("multipart/form-data; boundary=part");
        headers.insert("content-type", media_type);
        self.send(request, headers).await
    }

    /// Opens a page and sends a form from it.
    pub async fn fill(&mut self, page: &str, to: &str, fields: &[(&str, &str)]) -> Seen {
        let seen = self.get(page).await;
        assert_eq!(seen.status, 200, "{page}: {}", seen.html);
        self.post(to, fields).await
    }

    /// A request with what the browser sends always.
    fn prepared(
        &self,
        request: reqwest::RequestBuilder,
        mut headers: HeaderMap,
    ) -> reqwest::RequestBuilder {
        let kept: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        headers.insert("cookie", kept.join("; ").parse().unwrap());
        headers.extend(self.headers.clone());
        request.headers(headers)
    }

    async fn send(&mut self, request: reqwest::RequestBuilder, headers: HeaderMap) -> Seen {
        let response = self.prepared(request, headers).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        for cookie in headers.get_all("set-cookie") {
            let (pair, attributes) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            if attributes.split(';').any(|attribute| attribute.trim() == "Max-Age=0") {
                self.cookies.remove(name)
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned())
            };
        }
        let html = response.text().await.unwrap();
        self.html.clone_from(&html);
        Seen { status, headers, html }
    }

    /// Whether the visitor is signed in.
    pub async fn is_in(&mut self) -> bool {
        self.get("/users").await.status == 200
    }
}

impl Seen {
    /// The target of the redirection.
    pub fn to(&self) -> &str {
        self.headers.get("location").map_or("", |to| to.to_str().unwrap())
    }

    #[track_caller]
    pub fn says(&self, text: &str) {
        assert!(self.html.contains(text), "no {text:?} in {}", self.html);
    }
}

/// The value of a field in the first form with this field.
pub fn field<'a>(html: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = html.split_once(&format!("name=\"{name}\" value=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// The path of a page relative to this one.
pub fn beside(html: &str, rel: &str) -> Option<String> {
    let (_, rest) = html.split_once(&format!("rel=\"{rel}\" href=\"/administrator"))?;
    let path = rest.split_once('"').unwrap().0;
    Some(path.replace("&#38;", "&").replace("&amp;", "&"))
}

pub async fn add(site: &Site, name: &str, group: &str) -> i64 {
    let user = NewUser {
        username: name.to_owned(),
        email: format!("{name}@example.com"),
        groups: vec![group.to_owned()],
        password: Some(PASSWORD.to_owned()),
    };
    site.add_user(user).await.unwrap()
}

pub async fn id(site: &Site, name: &str) -> i64 {
    site.user(name).await.unwrap().id
}

/// The form of the store's parameters as a browser sends it, without these fields.
pub fn parameters(site: &Site, seen: &str, changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let written = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.replace('\n', "\r\n"),
        serde_json::Value::Array(ids) => {
            ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        number => number.to_string(),
    };
    let kept = site.parameters().into_iter().map(|parameter| {
        let change = changes.iter().find(|(name, _)| *name == parameter.name);
        let text = change.map_or_else(|| written(&parameter.value), |(_, text)| (*text).to_owned());
        (format!("value-{}", parameter.name), text)
    });
    let unset = changes.iter().filter(|(name, _)| *name == "unset");
    let unset = unset.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    kept.chain(unset).chain([("seen".to_owned(), seen.to_owned())]).collect()
}
