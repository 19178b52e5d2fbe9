//! The mail to a customer when the status of an order changes: the site's templates, filled in. The
//! outbox delivers it.

use host_interface::Mail;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::error::{Error, chain};
use crate::model::parameters::{DEFAULT_SUBJECT, DEFAULT_TEXT, Parameters};

/// The values of an order that a template may use. All of them are text.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Notice {
    /// The name of the store.
    pub store_name: String,
    /// The order's reference.
    pub order_id: String,
    /// The day of the order.
    pub created_on: String,
    /// The name of its status.
    pub status: String,
    /// The comment on the new status; may be empty.
    pub comment: String,
    /// The customer's first name; may be empty.
    pub first_name: String,
    /// The customer's last name; may be empty.
    pub last_name: String,
    /// The customer's e-mail address.
    pub email: String,
    /// The total of the order, with the decimals of its currency.
    pub order_total: String,
    /// The currency's code.
    pub currency_code: String,
}

impl Notice {
    /// The mail, rendered from the site's templates.
    ///
    /// # Errors
    /// When the system provides no randomness for the mail's unique id.
    pub fn into_mail(self, parameters: &Parameters) -> Result<Mail, Error> {
        let subject = self.fill(&parameters.order_mail_subject, DEFAULT_SUBJECT);
        let text = self.fill(&parameters.order_mail_text, DEFAULT_TEXT);
        let name = [self.first_name, self.last_name].join(" ");
        Ok(Mail::new(new_id()?, self.email, one_line(&subject), text).to_name(name.trim()))
    }

    /// A template that cannot be rendered must not prevent the mail.
    fn fill(&self, template: &str, default: &str) -> String {
        render(template, self).unwrap_or_else(|error| {
            tracing::warn!(causes = chain(&error), "a template for mails cannot be filled in");
            render(default, self).unwrap_or_default()
        })
    }
}

/// Whether a template can be rendered for any order.
///
/// # Errors
/// The reason as a sentence.
pub fn check(template: &str) -> Result<(), String> {
    let example = Notice { comment: "x".to_owned(), ..Notice::default() };
    for notice in [Notice::default(), example] {
        render(template, &notice).map_err(|error| chain(&error))?;
    }
    Ok(())
}

/// The limit of work for rendering a template, far more than any letter needs.
const FUEL: u64 = 20_000;

fn render(template: &str, notice: &Notice) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    let syntax = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build()?;
    environment.set_syntax(syntax);
    environment.render_str(template, Serde(notice))
}

/// The longest subject that mail programs show and the outbox stores.
const MAX_SUBJECT: usize = 250;

/// A header must be a single line.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_control()).take(MAX_SUBJECT).collect()
}

/// The id of a mail: 16 random bytes in the form of a UUID, as outboxes have stored them so far.
fn new_id() -> Result<String, Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(host_interface::Error::failed)?;
    Ok(hex::encode(random))
}
