//! A browser that is signed in to the administration: it opens pages, and sends the forms on them.

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode};

/// Where the pages are.
const BASE: &str = "/administrator";

pub struct Browser {
    client: Client,
    origin: String,
    /// The cookies as it sends them.
    cookies: String,
}

impl Browser {
    /// Opens the page to sign in at an address, such as `http://127.0.0.1:8080`.
    pub async fn at(origin: String) -> Browser {
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        let browser = Browser { client, origin, cookies: String::new() };
        browser.open("/sign-in").await;
        browser
    }

    /// Signs in.
    pub async fn sign_in(&mut self, username: &str, password: &str) {
        let fields = [("username", username), ("password", password)];
        let answer = self.post("/sign-in", &fields).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        let cookies = answer.headers().get_all("set-cookie").into_iter();
        let pairs = cookies.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap());
        self.cookies = pairs.collect::<Vec<_>>().join("; ");
    }

    /// A page.
    pub async fn open(&self, path: &str) -> String {
        let request = self.client.get(format!("{}{BASE}{path}", self.origin));
        let answer = self.send(request).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        answer.text().await.unwrap()
    }

    /// Opens a page with a form, enters a value, and sends it.
    pub async fn save(&self, path: &str, field: &str, value: &str) {
        let page = self.open(path).await;
        let hidden =
            ["csrf_token", "key", "version", "seen"].map(|name| (name, hidden(&page, name)));
        let mut fields = hidden.to_vec();
        fields.push((field, value));
        let answer = self.post(path, &fields).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{path}");
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let mut form = reqwest::Url::parse("form:").unwrap();
        form.query_pairs_mut().extend_pairs(fields);
        let request = self.client.post(format!("{}{BASE}{path}", self.origin));
        let request = request
            .header("origin", &self.origin)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.query().unwrap().to_owned());
        self.send(request).await
    }

    async fn send(&self, request: RequestBuilder) -> Response {
        request.header("cookie", &self.cookies).send().await.unwrap()
    }
}

/// The value of a hidden field.
fn hidden<'p>(page: &'p str, name: &str) -> &'p str {
    let begin = format!("name=\"{name}\" value=\"");
    // The first form with a token is that for signing out; each has the same.
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no field {name}"));
    rest.split_once('"').unwrap().0
}
