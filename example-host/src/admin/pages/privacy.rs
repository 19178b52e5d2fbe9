//! The page about a person's data: finding somebody, what there is, a copy of it, and its removal; and what is kept no
//! longer, of anybody. An address is only ever sent in forms, so that it is in no log and in no history of a browser.

use std::collections::BTreeSet;

use askama::Template;
use axum::body::{Body, Bytes};
use futures_util::TryStreamExt;
use host_interface::{ErasedEverywhere, Erasure, Person, with_separators};

use crate::admin::catalogue::Catalogue;
use crate::admin::openapi::plain;
use crate::admin::problem::Problem;
use crate::admin::records::schema::in_words;
use crate::admin::view::{Field, Layout, Notice, View, sentence, show};
use crate::admin::visit::{Outcome, Visit};
use crate::base::error::Error;
use crate::site::Site;
use crate::site::privacy::erasures::Done;
use crate::site::privacy::places::Part;
use crate::site::privacy::retention;

#[derive(Template)]
#[template(path = "admin/privacy.html")]
struct PrivacyPage {
    layout: Layout,
    find: Vec<Field>,
    found: Option<Found>,
    /// The extensions that remove what they keep no longer.
    retaining: Vec<String>,
    /// What this would be, if that was asked for.
    expired: Vec<Expired>,
    parts: Vec<Part>,
    /// The extensions without a map.
    unmapped: Vec<String>,
    /// The extensions that the site has, but that this host does not serve.
    unserved: Vec<String>,
}

/// A person, with what there is, or what was erased.
struct Found {
    asked: Asked,
    counts: Vec<Count>,
    /// What is not completed.
    open: Vec<String>,
    has_erased: bool,
    /// The fields for an erasure.
    fields: Vec<Field>,
}

/// The records in one place.
struct Count {
    part: String,
    place: String,
    records: u64,
    remaining: u64,
}

/// What an extension keeps no longer, as it reports it.
struct Expired {
    extension: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// What was entered.
#[derive(Clone, Default)]
struct Asked {
    email: String,
    user: String,
    reason: String,
    keep_until: String,
    force: bool,
}

/// Whether a user may do for all parts of the site what the page is for.
pub(crate) fn is_offered(site: &Site, _catalogue: &Catalogue, user: i64) -> bool {
    site.may_see_persons(user)
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, &Asked::default(), None, None).await
}

/// Counts what there is about a person. Nothing is changed.
pub(crate) async fn find(visit: Visit) -> Result<Outcome, Problem> {
    let asked = Asked::of(&visit);
    let counted = async { visit.site.erase(&asked.erasure(&visit.site).await?.dry_run()).await };
    match counted.await.map_err(refusal) {
        Ok(Done { everywhere, .. }) => {
            let found = Found::new(&asked, everywhere, false);
            Ok(Outcome::Answered(render(&visit, &asked, Some(found), None).await?))
        }
        Err(why) => again(&visit, &asked, why?).await,
    }
}

/// Counts what is kept no longer. Nothing is changed.
pub(crate) async fn retention(visit: Visit) -> Result<Outcome, Problem> {
    let expired = visit.site.expired().await?.into_iter().map(Expired::from).collect();
    let page = PrivacyPage { expired, ..page_of(&visit, &Asked::default(), None, None).await? };
    Ok(Outcome::Answered(show(&page)?))
}

/// Downloads a copy of everything about a person.
pub(crate) async fn export(visit: Visit) -> Result<Outcome, Problem> {
    let asked = Asked::of(&visit);
    let site = visit.site.shown();
    let copied = async { site.copy_person(&asked.person(&site).await?).await };
    match copied.await.map_err(refusal) {
        Ok((copy, recorded)) => {
            let copy = Body::from_stream(copy.map_ok(Bytes::from_owner));
            let view = View::file("application/json", "person.json", copy);
            Ok(Outcome::shown(recorded, view))
        }
        Err(why) => again(&visit, &asked, why?).await,
    }
}

pub(crate) async fn erase(visit: Visit) -> Result<Outcome, Problem> {
    let asked = Asked::of(&visit);
    let site = visit.site.shown();
    let erased = async { site.erase(&asked.erasure(&site).await?).await };
    match erased.await.map_err(refusal) {
        Ok(Done { everywhere, recorded: Some(recorded) }) => {
            let found = Found::new(&asked, everywhere, true);
            let notice = if found.is_complete() {
                Notice::good("The person was erased.")
            } else {
                Notice::bad("A second search has found something that was not erased. See below.")
            };
            let view = render(&visit, &Asked::default(), Some(found), Some(notice)).await?;
            Ok(Outcome::shown(recorded, view))
        }
        Ok(Done { everywhere, recorded: None }) => {
            let found = Found::new(&asked, everywhere, false);
            let notice =
                Notice::bad("Nothing was erased, because something is not completed. See below.");
            Ok(Outcome::Again(render(&visit, &asked, Some(found), Some(notice)).await?))
        }
        Err(why) => again(&visit, &asked, why?).await,
    }
}

/// The page again, with the reason why nothing was done.
async fn again(visit: &Visit, asked: &Asked, why: String) -> Result<Outcome, Problem> {
    let notice = Notice::bad(sentence(&why));
    Ok(Outcome::Again(render(visit, asked, None, Some(notice)).await?))
}

/// What is wrong with what was entered, or the problem of the site.
fn refusal(error: Error) -> Result<String, Problem> {
    match error {
        Error::Invalid(why) => Ok(why),
        missing @ Error::NotFound { .. } => Ok(missing.to_string()),
        error => Err(error.into()),
    }
}

impl Asked {
    fn of(visit: &Visit) -> Self {
        let field = |name| visit.form.get(name).trim().to_owned();
        Self {
            email: field("email"),
            user: field("user"),
            reason: field("reason"),
            keep_until: field("keep_until"),
            force: visit.form.given("force").is_some(),
        }
    }

    async fn person(&self, site: &Site) -> Result<Person, Error> {
        let mut person = Person::default();
        person.email = Some(self.email.clone()).filter(|email| !email.is_empty());
        if !self.user.is_empty() {
            person.user = Some(site.key_of_user(&self.user).await?);
        }
        Ok(person)
    }

    async fn erasure(&self, site: &Site) -> Result<Erasure, Error> {
        let mut erasure = Erasure::new(self.person(site).await?, self.reason.clone());
        erasure.keep_until = Some(self.keep_until.clone()).filter(|day| !day.is_empty());
        erasure.force = self.force;
        Ok(erasure)
    }
}

impl Found {
    fn new(asked: &Asked, everywhere: ErasedEverywhere, has_erased: bool) -> Self {
        let mut counts = Vec::new();
        let mut open = Vec::new();
        for (part, erased) in everywhere.parts {
            let places = erased.counts.keys().chain(erased.remaining.keys());
            let places: BTreeSet<&String> = places.collect();
            counts.extend(places.into_iter().map(|place| Count {
                part: part.clone(),
                place: place.clone(),
                records: erased.counts.get(place).copied().unwrap_or_default(),
                remaining: erased.remaining.get(place).copied().unwrap_or_default(),
            }));
            open.extend(erased.open);
        }
        let fields = vec![
            Field::text("reason", "Reason")
                .longest(Some(500))
                .hint("For the audit trail, without names or addresses of the person.")
                .value(&asked.reason),
            Field::date("keep_until", "Keep names and addresses until")
                .optional()
                .hint("In what is younger than this day, where a law demands it. They are erased then.")
                .value(&asked.keep_until),
        ];
        Self { asked: asked.clone(), counts, open, has_erased, fields }
    }

    /// Whether nothing is left but what is kept until a day.
    fn is_complete(&self) -> bool {
        !self.asked.keep_until.is_empty() || self.counts.iter().all(|count| count.remaining == 0)
    }

    /// The person, as they were asked for.
    fn who(&self) -> String {
        let Asked { email, user, .. } = &self.asked;
        let email = (!email.is_empty()).then(|| email.clone());
        let user = (!user.is_empty()).then(|| format!("user {user}"));
        [email, user].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl From<retention::Expired> for Expired {
    fn from(retention::Expired { extension, rows }: retention::Expired) -> Self {
        let columns = rows.first().into_iter().flat_map(|row| row.keys());
        Self {
            columns: columns.map(|name| in_words(name, false)).collect(),
            rows: rows
                .iter()
                .map(|row| row.values().map(|value| with_separators(plain(value))).collect())
                .collect(),
            extension,
        }
    }
}

async fn render(
    visit: &Visit,
    asked: &Asked,
    found: Option<Found>,
    notice: Option<Notice>,
) -> Result<View, Problem> {
    show(&page_of(visit, asked, found, notice).await?)
}

async fn page_of(
    visit: &Visit,
    asked: &Asked,
    found: Option<Found>,
    notice: Option<Notice>,
) -> Result<PrivacyPage, Problem> {
    let is_served = |name: &String| visit.site.loaded(name).is_some();
    let (unmapped, unserved) =
        visit.site.unmapped().await?.into_iter().partition(|name| is_served(name));
    Ok(PrivacyPage {
        layout: visit.layout("Privacy").with_notice(notice),
        find: vec![
            Field::text("email", "E-mail address").maybe_empty().value(&asked.email),
            Field::text("user", "User")
                .maybe_empty()
                .hint("The username or the id.")
                .value(&asked.user),
        ],
        found,
        retaining: visit.site.retaining().map(|(extension, _)| extension.to_owned()).collect(),
        expired: Vec::new(),
        parts: visit.site.places_of_personal_data(),
        unmapped,
        unserved,
    })
}
