//! The mail to a customer when the status of an order changes: the site's templates, filled in. How the mail gets
//! there is the outbox's.

use host_interface::Mail;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::error::{Error, chain};
use crate::model::parameters::{DEFAULT_SUBJECT, DEFAULT_TEXT, Parameters};

/// What a template may use of an order. All of it is text.
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
    /// The amount of the order, with the decimals of its currency.
    pub order_total: String,
    /// The currency's code.
    pub currency_code: String,
}

impl Notice {
    /// The mail, made by the templates of the site.
    ///
    /// # Errors
    /// When the system gives no randomness, without which no mail has an id of its own.
    pub fn into_mail(self, parameters: &Parameters) -> Result<Mail, Error> {
        let subject = self.fill(&parameters.order_mail_subject, DEFAULT_SUBJECT);
        let text = self.fill(&parameters.order_mail_text, DEFAULT_TEXT);
        Ok(Mail {
            id: new_id()?,
            to_name: [self.first_name, self.last_name].join(" ").trim().to_owned(),
            to: self.email,
            subject: one_line(&subject),
            text,
        })
    }

    /// A template of the site that cannot be filled in must not keep the mail from being sent.
    fn fill(&self, template: &str, default: &str) -> String {
        render(template, self).unwrap_or_else(|error| {
            tracing::warn!(causes = chain(&error), "a template for mails cannot be filled in");
            render(default, self).unwrap_or_default()
        })
    }
}

/// Whether a template can be filled in, whatever the order.
///
/// # Errors
/// The reason why not, a sentence.
pub fn check(template: &str) -> Result<(), String> {
    let example = Notice { comment: "x".to_owned(), ..Notice::default() };
    for notice in [Notice::default(), example] {
        render(template, &notice).map_err(|error| chain(&error))?;
    }
    Ok(())
}

/// How much work filling in a template may be: far more than any letter is.
const FUEL: u64 = 20_000;

fn render(template: &str, notice: &Notice) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    let syntax = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build()?;
    environment.set_syntax(syntax);
    environment.render_str(template, Serde(notice))
}

/// The length that mail programs show at most, and that the outbox keeps.
const MAX_SUBJECT: usize = 250;

/// A header is one line.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_control()).take(MAX_SUBJECT).collect()
}

/// The id of a mail, of 16 random bytes like a UUID's, in the form that outboxes have kept so far.
fn new_id() -> Result<String, Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(host_interface::Error::failed)?;
    Ok(hex::encode(random))
}
