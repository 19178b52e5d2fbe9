//! What signed-in users show again before a dangerous change: the password, and the code of their second factor if they
//! have one.

use crate::base::error::Error;

use super::authenticator::{Attempt, Later, VerifiedUser};
use super::second_step::WRONG as WRONG_CODE;
use super::view::Field;
use super::visit::Visit;

/// The field for the code.
pub(crate) const CODE: &str = "confirmation-code";

/// What came of it.
pub(crate) enum Proof {
    Given(VerifiedUser),
    /// A field is wrong.
    Wrong(Faults),
    /// It was not checked.
    Later(Later),
}

/// The messages at the two fields.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) password: Option<&'static str>,
    pub(crate) code: Option<&'static str>,
}

impl Visit {
    /// Checks the password of the signed-in user, and the code if there is a second factor.
    pub(crate) async fn prove(&self, password: &str) -> Result<Proof, Error> {
        let (user, username) = (self.session.user, self.session.username.as_str());
        let attempt = self.authenticator.check(self.asking(), username, password).await?;
        let verified = match attempt {
            Attempt::Accepted(verified) if verified.id == user => verified,
            Attempt::Accepted(_) | Attempt::Rejected => {
                return Ok(Proof::Wrong(Faults::of_password()));
            }
            Attempt::Later(later) => return Ok(Proof::Later(later)),
        };
        if !self.authenticator.asks_for_a_code(&self.session) {
            return Ok(Proof::Given(verified));
        }
        let code = self.form.get(CODE);
        let attempt = self.authenticator.check_code(self.asking(), (user, username), code).await?;
        Ok(match attempt {
            Attempt::Accepted(_) => Proof::Given(verified),
            Attempt::Rejected => Proof::Wrong(Faults { password: None, code: Some(WRONG_CODE) }),
            Attempt::Later(later) => Proof::Later(later),
        })
    }

    /// The field for the code, if the user has a second factor.
    pub(crate) fn code_field(&self, faults: Faults) -> Option<Field> {
        let field = Field::text(CODE, "Your code")
            .hint("The six digits that your app shows now, or one of your recovery codes.")
            .autocomplete("one-time-code")
            .longest(Some(40))
            .fault(faults.code);
        self.authenticator.asks_for_a_code(&self.session).then_some(field)
    }
}

impl Faults {
    /// The password is wrong.
    pub(crate) fn of_password() -> Self {
        Self { password: Some("this is not your password"), code: None }
    }
}
