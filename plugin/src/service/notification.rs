//! The mail to a customer when the status of an order changes: the site's templates, filled in. The
//! outbox delivers it.

use host_interface::Mail;
use serde::Serialize;

use super::outbox::Outgoing;
use super::template::{TemplateError, render};
use crate::error::{Error, chain};
use crate::model::parameters::{
    DEFAULT_SHIPMENT_SUBJECT, DEFAULT_SHIPMENT_TEXT, DEFAULT_SUBJECT, DEFAULT_TEXT, Parameters,
};

/// The values of an order that a template may use. All of them are text, apart from the two lists.
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
    /// The number of the parcel, of the latest one if there are several; empty without one.
    pub tracking_id: String,
    /// Who carries it; may be empty.
    pub carrier: String,
    /// Where the customer can follow it; may be empty.
    pub tracking_url: String,
    /// What is in the parcel that the mail is about.
    pub items: Vec<Contained>,
    /// What the customer still waits for because it was not in stock.
    pub backordered: Vec<Contained>,
}

/// A line of a parcel, or of what is missing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Contained {
    /// How many pieces.
    pub quantity: i64,
    /// The SKU at the time of the order; may be empty.
    pub sku: String,
    /// The name at the time of the order; may be empty.
    pub name: String,
}

impl Notice {
    /// The mail about the status of the order, rendered from the site's templates.
    ///
    /// # Errors
    /// When the system provides no randomness for the mail's unique id.
    pub fn into_mail(self, parameters: &Parameters) -> Result<Outgoing, Error> {
        self.addressed([
            (&parameters.order_mail_subject, DEFAULT_SUBJECT),
            (&parameters.order_mail_text, DEFAULT_TEXT),
        ])
    }

    /// The mail about a parcel, rendered from the site's templates.
    ///
    /// # Errors
    /// When the system provides no randomness for the mail's unique id.
    pub fn into_shipment_mail(self, parameters: &Parameters) -> Result<Outgoing, Error> {
        self.addressed([
            (&parameters.shipment_mail_subject, DEFAULT_SHIPMENT_SUBJECT),
            (&parameters.shipment_mail_text, DEFAULT_SHIPMENT_TEXT),
        ])
    }

    /// The mail with the subject and the text of these templates, each with its default. One that cannot be made is
    /// stored as given up, so that the write that causes it succeeds all the same.
    fn addressed(self, templates: [(&str, &str); 2]) -> Result<Outgoing, Error> {
        let (made, failure) =
            match templates.map(|(template, default)| self.fill(template, default)) {
                [Ok(subject), Ok(text)] => ((subject, text), None),
                [Err(error), _] | [_, Err(error)] => (Default::default(), Some(chain(&error))),
            };
        if let Some(causes) = &failure {
            tracing::warn!(causes, order = self.order_id, "a mail cannot be made and is given up");
        }
        let name = [self.first_name, self.last_name].join(" ");
        let mail = Mail::new(new_id()?, self.email, one_line(&made.0), made.1).to_name(name.trim());
        Ok(Outgoing { mail, failure })
    }

    /// Fills in a template, or the default one in place of a template that is wrong. A template that would make
    /// too much text is an error.
    fn fill(&self, template: &str, default: &str) -> Result<String, TemplateError> {
        match render(template, self) {
            Err(error @ (TemplateError::TooLong | TemplateError::TooManySteps)) => Err(error),
            Err(error) => {
                tracing::warn!(causes = chain(&error), "a template for mails cannot be filled in");
                render(default, self)
            }
            filled => filled,
        }
    }
}

/// Whether a template can be rendered for any order.
///
/// # Errors
/// The reason as a sentence.
pub fn check(template: &str) -> Result<(), String> {
    let example = Notice {
        comment: "x".to_owned(),
        tracking_url: "https://example.com/".to_owned(),
        items: vec![Contained::default()],
        backordered: vec![Contained::default()],
        ..Notice::default()
    };
    for notice in [Notice::default(), example] {
        render(template, &notice).map_err(|error| chain(&error))?;
    }
    Ok(())
}

/// The longest subject that mail programs show and the outbox stores.
const MAX_SUBJECT: usize = 250;

/// A header must be a single line.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_control()).take(MAX_SUBJECT).collect()
}

/// The id of a mail: 16 random bytes in the form of a UUID, as outboxes have stored them so far.
pub(crate) fn new_id() -> Result<String, Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random).map_err(host_interface::Error::failed)?;
    Ok(hex::encode(random))
}
