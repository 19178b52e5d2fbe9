//! The user's own second factor: setting it up with an app, the recovery codes, and turning it off; and its removal from
//! another user who has lost the device. Until the first code is right, the new key is kept in the form only,
//! encrypted for this session.

use askama::Template;
use time::OffsetDateTime;

use crate::base::error::Error;
use crate::base::secret::fingerprint;
use crate::base::settings::SecondFactors;
use crate::identity::directory::{self, UserDetails};
use crate::identity::second_factor;
use crate::identity::totp::{self, Key};
use crate::site::operations::second_factor as operations;
use crate::site::operations::users::Who;

use crate::admin::paths::SECOND_FACTOR;
use crate::admin::problem::Problem;
use crate::admin::qr::Qr;
use crate::admin::second_step::{self, CODE};
use crate::admin::view::{Field, Layout, Notice, View, show};
use crate::admin::visit::{Outcome, Visit};

/// The field with the encrypted key.
const KEY: &str = "key";

#[derive(Template)]
#[template(path = "admin/second_factor_new.html")]
struct NewPage {
    layout: Layout,
    /// Whether the user can do nothing else before.
    must: bool,
    image: Qr,
    /// The key in groups, for people to type.
    typed: String,
    /// The key for the form.
    sealed: String,
    code: Field,
}

#[derive(Template)]
#[template(path = "admin/second_factor.html")]
struct OwnPage {
    layout: Layout,
    left: i64,
}

#[derive(Template)]
#[template(path = "admin/recovery_codes.html")]
struct CodesPage {
    layout: Layout,
    codes: Vec<String>,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    is_there(&visit)?;
    if visit.session.second_factor {
        let database = visit.site.state().database();
        let left = second_factor::codes_left(database, visit.session.user).await?;
        return show(&OwnPage { layout: visit.layout("Second factor"), left });
    }
    let key = Key::random().map_err(Error::from)?;
    let sealed = visit.site.secrets().seal("", &purpose(&visit), &key.text());
    new(&visit, &key, sealed.map_err(Error::from)?, None)
}

/// Turns the second factor on, once the first code is right, and shows the recovery codes.
pub(crate) async fn turn_on(visit: Visit) -> Result<Outcome, Problem> {
    is_there(&visit)?;
    let sealed = visit.form.get(KEY);
    let key = visit.site.secrets().open("", &purpose(&visit), sealed).ok();
    let Some(key) = key.and_then(|key| Key::read(&key)) else {
        return Err(Problem::ForeignForm);
    };
    let code: String = visit.form.get(CODE).chars().filter(|c| !c.is_whitespace()).collect();
    let now = OffsetDateTime::now_utc().unix_timestamp();
    let step = Some(code).filter(|code| totp::is_code(code));
    let Some(step) = step.and_then(|code| key.step_of(&code, now, 0)) else {
        let wrong = Some("this code is wrong; check that the clock of your device is right");
        return Ok(Outcome::Again(new(&visit, &key, sealed.to_owned(), wrong)?));
    };
    let user = visit.session.user;
    let sealed = second_factor::seal(visit.site.secrets(), user, &key);
    let sealed = sealed.map_err(Error::from)?;
    let (codes, recorded) = operations::turn_on(&visit.site.shown(), user, &sealed, step).await?;
    let notice = "Your second factor is on. Your other sessions have ended.";
    // The recovery codes are shown once, whatever happens to this.
    let device = visit.authenticator.sign_own_device(user).await.unwrap_or_else(|error| {
        tracing::error!(%error, "a device with a new second factor is not known by it");
        None
    });
    Ok(Outcome::Shown { recorded, view: codes_page(&visit, codes, notice)?, device })
}

/// Replaces the recovery codes.
pub(crate) async fn renew_codes(visit: Visit) -> Result<Outcome, Problem> {
    is_there(&visit)?;
    let (codes, recorded) =
        operations::renew_codes(&visit.site.shown(), visit.session.user).await?;
    let notice = "The recovery codes from before are worth nothing now.";
    Ok(Outcome::shown(recorded, codes_page(&visit, codes, notice)?))
}

pub(crate) async fn turn_off(visit: Visit) -> Result<Outcome, Problem> {
    let recorded = operations::turn_off(&visit.site, visit.session.user).await?;
    Ok(Outcome::done(recorded, SECOND_FACTOR, "Your second factor is off."))
}

/// Removes the second factor of another user.
pub(crate) async fn remove(visit: Visit) -> Result<Outcome, Problem> {
    let user = directory::user(visit.site.state().database(), visit.id()?).await?;
    let recorded = operations::remove(&visit.site, Who::Key(user.id)).await?;
    let UserDetails { id, username, .. } = user;
    let message =
        format!("{username} has no second factor any more, and was signed out everywhere.");
    Ok(Outcome::done(recorded, &format!("/users/{id}"), message))
}

/// Whether the site has second factors.
fn is_there(visit: &Visit) -> Result<(), Problem> {
    let is_off = visit.authenticator.second_factors == SecondFactors::Off;
    if is_off { Err(Problem::NotFound) } else { Ok(()) }
}

/// What a new key is encrypted for: the form is worth nothing in another session.
fn purpose(visit: &Visit) -> String {
    format!("new second factor {} {}", visit.session.user, fingerprint(&visit.session_hash()))
}

fn new(visit: &Visit, key: &Key, sealed: String, wrong: Option<&str>) -> Result<View, Problem> {
    let site = visit.origin.split_once("://").map_or("", |(_, host)| host);
    let image = Qr::new(&key.address(site, &visit.session.username), "The key as an image");
    let image = image.map_err(|error| {
        tracing::error!(%error, "the image of a key could not be made");
        Problem::Failed
    })?;
    let typed = key.base_32();
    let groups: Vec<_> = typed.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    show(&NewPage {
        layout: visit
            .layout("Set up a second factor")
            .warning_if(wrong.is_some(), "The second factor was not turned on."),
        must: visit.authenticator.must_set_up(&visit.session),
        image,
        typed: groups.join(" "),
        sealed,
        code: second_step::field().hint("The six digits that your app shows now.").fault(wrong),
    })
}

fn codes_page(visit: &Visit, codes: Vec<String>, notice: &str) -> Result<View, Problem> {
    let layout = visit.layout("Recovery codes").with_notice(Notice::good(notice));
    show(&CodesPage { layout, codes })
}
