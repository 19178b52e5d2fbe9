//! The form of a page, as a browser would send it: every field with its value.

use crate::support::visitor::{Seen, Visitor};

/// A form with its fields, of which some may be filled in.
#[derive(Clone)]
pub struct Filled {
    /// Where it is sent, below the administration.
    pub to: String,
    fields: Vec<(String, String)>,
}

impl Filled {
    /// The form of the page that a visitor sees. Each page has one beside that which ends the session.
    #[track_caller]
    pub fn on(visitor: &Visitor) -> Filled {
        let form =
            visitor.html.split("<form ").skip(1).find(|form| form.starts_with("class=\"card"));
        let form = form.unwrap_or_else(|| panic!("no form in {}", visitor.html));
        let form = form.split_once("</form>").unwrap().0;
        let (head, mut rest) = form.split_once('>').unwrap();
        let to =
            attribute(head, "action").unwrap().strip_prefix("/administrator").unwrap().to_owned();
        let mut fields = Vec::new();
        while let Some(at) = ["<input ", "<textarea ", "<select "]
            .iter()
            .filter_map(|kind| rest.find(kind).map(|at| (at, *kind)))
            .min()
        {
            let (tag, after) = rest[at.0..].split_once('>').unwrap();
            let inside = |end: &str| after.split_once(end).unwrap();
            let value = match at.1 {
                "<textarea " => {
                    let text = inside("</textarea>").0;
                    Some(plain(text.strip_prefix('\n').unwrap_or(text)).replace('\n', "\r\n"))
                }
                "<select " => {
                    let options = inside("</select>").0;
                    let chosen = options.split("<option ").find(|option| {
                        option.split_once('>').unwrap_or_default().0.ends_with(" selected")
                    });
                    let first = options.split("<option ").nth(1);
                    chosen.or(first).and_then(|option| attribute(option, "value"))
                }
                _ => match attribute(tag, "type").as_deref() {
                    Some("checkbox" | "radio") if !tag.ends_with(" checked") => None,
                    _ => attribute(tag, "value"),
                },
            };
            let name = attribute(tag, "name");
            fields.extend(name.zip(value));
            rest = after;
        }
        Filled { to, fields }
    }

    /// The value of a field.
    #[track_caller]
    pub fn value(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(of, _)| of == name);
        &found.unwrap_or_else(|| panic!("no field {name} in {:?}", self.names())).1
    }

    pub fn names(&self) -> Vec<&str> {
        self.fields.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Fills in a field of the form.
    #[track_caller]
    pub fn with(mut self, name: &str, value: &str) -> Filled {
        self.value(name);
        self.fields.retain(|(of, _)| of != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Presses a button with a name, or chooses among radio buttons.
    pub fn and(mut self, name: &str, value: &str) -> Filled {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends it from the page that the visitor sees.
    pub async fn send(&self, visitor: &mut Visitor) -> Seen {
        let fields = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        visitor.post(&self.to, &fields.collect::<Vec<_>>()).await
    }
}

/// The value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| plain(value))
}

/// A text without the escapes of HTML.
fn plain(text: &str) -> String {
    [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}
