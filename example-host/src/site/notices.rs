//! Mails of the site itself to its users: what has happened to their accounts, and links to choose a password. They are
//! sent beside the request or the command that causes them. Until a mail is sent it is in memory only, so that no link
//! is stored, and what a host has not sent when it stops is lost.

use std::time::Duration;

use host_interface::Mail;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::base::error::Error;
use crate::base::secret;
use crate::database::sql;
use crate::mail::Mailer;

use super::Site;

/// After which times a mail that could not be sent is tried again.
const AGAIN: [Duration; 3] =
    [Duration::from_secs(10), Duration::from_secs(60), Duration::from_secs(5 * 60)];

/// What a mail to a user is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    SecondFactorOn,
    SecondFactorOff,
    SecondFactorRemoved,
    RecoveryCodesRenewed,
    RecoveryCodeUsed,
    PasswordChosen,
}

impl About {
    fn subject(self) -> &'static str {
        match self {
            About::SecondFactorOn => "Your second factor is on",
            About::SecondFactorOff => "Your second factor is off",
            About::SecondFactorRemoved => "Your second factor was removed",
            About::RecoveryCodesRenewed => "You have new recovery codes",
            About::RecoveryCodeUsed => "One of your recovery codes was used",
            About::PasswordChosen => "Your password was changed",
        }
    }

    fn text(self) -> &'static str {
        match self {
            About::SecondFactorOn => {
                "from now on, a sign-in to the administration needs a code of your app beside your password. \
                 Keep the recovery codes where your phone is not."
            }
            About::SecondFactorOff => {
                "you have turned your second factor off: your password alone is enough to sign in to the \
                 administration."
            }
            About::SecondFactorRemoved => {
                "an administrator has removed your second factor, and has signed you out everywhere: your password \
                 alone is enough to sign in to the administration. You can set up another one in your account."
            }
            About::RecoveryCodesRenewed => {
                "your account has new recovery codes. Those from before are worth nothing now."
            }
            About::RecoveryCodeUsed => {
                "one of your recovery codes was used in place of a code of your app. Your account shows how many \
                 are left, and makes new ones."
            }
            About::PasswordChosen => {
                "a new password was chosen for your account, by a link that was sent to this address. All your \
                 sessions have ended."
            }
        }
    }
}

impl Site {
    /// Sends a user a mail about what has happened to the account. A failure is only logged, because it has happened.
    pub(crate) async fn notify(&self, user: i64, about: About) {
        match self.notice(user, about).await {
            Ok(Some(mail)) => self.send(mail),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, user, "a user could not be notified"),
        }
    }

    /// Sends a mail beside what causes it. If too many wait, it is lost.
    pub(crate) fn send(&self, mail: Mail) {
        let mailer = self.mailer().clone();
        let Some(place) = mailer.place() else {
            tracing::error!(id = mail.id, "too many mails wait; this one is not sent");
            return;
        };
        // A command, and a host that stops, wait for the first attempt.
        self.state().events().run(&Handle::current(), async move {
            match mailer.send(&mail).await {
                Ok(()) => {}
                Err(error) if error.is_permanent() => {
                    tracing::error!(%error, id = mail.id, "a mail cannot be sent");
                }
                Err(error) => {
                    tracing::warn!(%error, id = mail.id, "a mail could not be sent yet");
                    tokio::spawn(send_again(mailer, mail, place));
                }
            }
        });
    }

    async fn notice(&self, user: i64, about: About) -> Result<Option<Mail>, Error> {
        let statement = sql("SELECT username, email FROM host_users WHERE id = ?").bind(user);
        let found: Option<(String, String)> =
            self.state().database().fetch_optional(statement).await?;
        let Some((username, email)) = found else { return Ok(None) };
        let warning = "If this was not you, tell an administrator of the site at once.";
        let text = format!("{}\n\n{warning}", about.text());
        mail((&username, &email), about.subject(), &text).map(Some)
    }
}

/// A mail to a user, which greets by name.
pub(crate) fn mail(
    (username, email): (&str, &str),
    subject: &str,
    text: &str,
) -> Result<Mail, Error> {
    let id = format!("account-{}", &secret::random_text()?[..32]);
    let text = format!("Hello {username},\n\n{text}\n");
    Ok(Mail::new(id, email, subject, text).to_name(username))
}

async fn send_again(mailer: Mailer, mail: Mail, _place: OwnedSemaphorePermit) {
    for pause in AGAIN {
        sleep(pause).await;
        match mailer.send(&mail).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(%error, id = mail.id, "a mail could not be sent yet"),
        }
    }
    tracing::error!(id = mail.id, "a mail could not be sent");
}
