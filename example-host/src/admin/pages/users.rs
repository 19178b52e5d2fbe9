//! The list of users, and the page of a user: names, groups, password, blocking and deleting. The
//! tokens and the permissions of a user are on other pages.

use std::collections::HashMap;

use askama::Template;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::base::error::Error;
use crate::identity::administrators::Force;
use crate::identity::directory::{self, Cursor, Filter, Listed, UserDetails};
use crate::identity::groups::{self, GroupEntry};
use crate::identity::passwords;
use crate::identity::users::{Fault, Profile};
use crate::site::operations::Recorded;
use crate::site::operations::users::{self as operations, Groups, Who};

use crate::admin::form;
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, Moment, Notice, Tabs, View, sentence, show};
use crate::admin::visit::{Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/users.html")]
struct UsersPage {
    layout: Layout,
    listed: Listed,
    groups: Vec<GroupEntry>,
    wanted: Filter,
    /// The addresses of the previous and the next page.
    before: Option<String>,
    after: Option<String>,
}

impl UsersPage {
    /// Whether a filter is set.
    fn is_filtered(&self) -> bool {
        let Filter { search, blocked, group, .. } = &self.wanted;
        !search.is_empty() || blocked.is_some() || group.is_some()
    }
}

#[derive(Template)]
#[template(path = "admin/user.html")]
struct UserPage {
    layout: Layout,
    tabs: Option<Tabs>,
    user: Option<UserDetails>,
    /// What shows whether somebody has changed the user since the form was opened.
    seen: String,
    fields: Vec<Field>,
    groups: Vec<(GroupEntry, bool)>,
    groups_fault: String,
    own: bool,
    /// Whether a new user can be invited by mail, and is to be.
    invites: Option<bool>,
    /// Whether another invitation can be sent to the user.
    invitable: bool,
}

#[derive(Template)]
#[template(path = "admin/user_delete.html")]
struct ConfirmPage {
    layout: Layout,
    user: UserDetails,
}

/// The entered values of a user.
#[derive(Default)]
struct Entered {
    username: String,
    name: String,
    email: String,
    groups: Vec<i64>,
    invited: bool,
}

/// The entered values of a user, checked, with the hash of the password if one was entered.
type Checked = (Profile, Option<String>);

/// The field with what shows whether somebody has changed the user.
const SEEN: &str = "seen";

/// What is wrong with the entered values, by field.
type Faults = HashMap<&'static str, String>;

fn faults_of(found: Vec<Fault>) -> Faults {
    let of_field = |fault| match fault {
        Fault::Username(why) => ("username", why),
        Fault::Name(why) => ("name", why),
        Fault::Email(why) => ("email", why),
    };
    found.into_iter().map(of_field).collect()
}

pub(crate) async fn list(visit: Visit) -> Result<View, Problem> {
    let query = &visit.query;
    let wanted = Filter {
        search: query.get("search").trim().chars().take(100).collect(),
        blocked: match query.get("state") {
            "blocked" => Some(true),
            "active" => Some(false),
            _ => None,
        },
        group: query.get("group").parse().ok(),
        from: match (query.given("after"), query.given("before")) {
            (Some(name), _) => Cursor::After(name.to_owned()),
            (_, Some(name)) => Cursor::Before(name.to_owned()),
            _ => Cursor::Start,
        },
    };
    let listed = directory::list(visit.site.state().database(), &wanted).await?;
    let beside = |way: &str, name: &String| {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let group = wanted.group.map(|group| group.to_string()).unwrap_or_default();
        let (search, state) = (encoded(&wanted.search), encoded(query.get("state")));
        let name = encoded(name);
        href(&format!("/users?search={search}&state={state}&group={group}&{way}={name}"))
    };
    let before = listed.before.as_ref().map(|name| beside("before", name));
    let after = listed.after.as_ref().map(|name| beside("after", name));
    let groups = visit.site.groups().await?;
    show(&UsersPage { layout: visit.layout("Users"), listed, groups, wanted, before, after })
}

/// The form for a new user.
pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    render(&visit, None, &Entered::default(), Faults::default()).await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let entered = Entered::of(&visit);
    let (profile, hash) = match entered.check(visit.form.given("password")).await? {
        Ok(checked) => checked,
        Err(faults) => return again(&visit, None, &entered, faults).await,
    };
    let groups = Groups::Keys(&entered.groups);
    let added = if entered.invited {
        let added = operations::invite(&visit.site, &profile, groups).await?;
        added.map(|(id, mail, recorded)| {
            visit.site.send(mail);
            (id, recorded)
        })
    } else {
        operations::add(&visit.site, &profile, groups, hash.as_deref()).await?
    };
    let invited = if entered.invited { " and gets a mail with an invitation" } else { "" };
    match added {
        Ok((id, recorded)) => {
            let message = format!("User {} was added{invited}.", profile.username);
            Ok(Outcome::done(recorded, &format!("/users/{id}"), message))
        }
        Err(taken) => again(&visit, None, &entered, faults_of(taken)).await,
    }
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let user = asked_for(&visit).await?;
    let entered = Entered {
        username: user.username.clone(),
        name: user.name.clone(),
        email: user.email.clone(),
        groups: user.groups.clone(),
        invited: false,
    };
    render(&visit, Some(user), &entered, Faults::default()).await
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let id = visit.id()?;
    let entered = Entered::of(&visit);
    let user = directory::user(visit.site.state().database(), id).await?;
    if visit.form.given(SEEN).is_some_and(|seen| seen != fingerprint(&user)) {
        let notice = "Somebody has changed this user in the meantime. If you save now, your values replace theirs.";
        let layout = visit.layout(&user.username).with_notice(Notice::bad(notice));
        let view = form_with(&visit, layout, Some(user), &entered, Faults::default()).await?;
        return Ok(Outcome::Again(view));
    }
    let (profile, hash) = match entered.check(visit.form.given("password")).await? {
        Ok(checked) => checked,
        Err(faults) => return again(&visit, Some(user), &entered, faults).await,
    };
    let (groups, hash) = (&entered.groups, hash.as_deref());
    match operations::change(&visit.site, id, &profile, groups, hash).await? {
        Ok(recorded) => {
            let message = format!("User {} was saved.", profile.username);
            Ok(Outcome::done(recorded, &format!("/users/{id}"), message))
        }
        Err(taken) => again(&visit, Some(user), &entered, faults_of(taken)).await,
    }
}

pub(crate) async fn block(visit: Visit) -> Result<Outcome, Problem> {
    let user = asked_for(&visit).await?;
    let recorded = operations::block(&visit.site, Who::Key(user.id), Force::No).await?;
    let effect = "was blocked: the API tokens and all sessions have stopped working";
    Ok(done(recorded, &user, effect))
}

pub(crate) async fn unblock(visit: Visit) -> Result<Outcome, Problem> {
    let user = asked_for(&visit).await?;
    let recorded = operations::unblock(&visit.site, Who::Key(user.id)).await?;
    Ok(done(recorded, &user, "was unblocked: the API tokens and the password work again"))
}

/// Sends another invitation to a user without a password.
pub(crate) async fn invite(visit: Visit) -> Result<Outcome, Problem> {
    let user = asked_for(&visit).await?;
    let (mail, recorded) = operations::invite_again(&visit.site, Who::Key(user.id)).await?;
    visit.site.send(mail);
    Ok(done(recorded, &user, "gets a mail with an invitation"))
}

/// Ends all sessions of a user.
pub(crate) async fn sign_out(visit: Visit) -> Result<Outcome, Problem> {
    let user = asked_for(&visit).await?;
    let recorded = operations::sign_out(&visit.site, user.id).await?;
    Ok(done(recorded, &user, "was signed out everywhere"))
}

/// Asks for confirmation before a user is deleted.
pub(crate) async fn confirm(visit: Visit) -> Result<View, Problem> {
    let user = asked_for(&visit).await?;
    show(&ConfirmPage { layout: visit.layout(format!("Delete {}?", user.username)), user })
}

pub(crate) async fn delete(visit: Visit) -> Result<Outcome, Problem> {
    let user = asked_for(&visit).await?;
    let recorded = operations::remove(&visit.site, Who::Key(user.id), Force::No).await?;
    Ok(Outcome::done(recorded, "/users", format!("User {} was deleted.", user.username)))
}

/// The tabs of a user's pages.
pub(crate) fn tabs(id: i64, current: &str) -> Tabs {
    let pages = [("User", ""), ("API tokens", "/token"), ("Permissions", "/permissions")];
    Tabs::new("About this user", &format!("/users/{id}"), &pages, current)
}

/// The user in the path.
async fn asked_for(visit: &Visit) -> Result<UserDetails, Problem> {
    Ok(directory::user(visit.site.state().database(), visit.id()?).await?)
}

/// Back to the page of a user, with what has become of the user.
fn done(recorded: Recorded, user: &UserDetails, effect: &str) -> Outcome {
    let UserDetails { id, username, .. } = user;
    Outcome::done(recorded, &format!("/users/{id}"), format!("{username} {effect}."))
}

impl Entered {
    fn of(visit: &Visit) -> Self {
        Self {
            username: visit.form.get("username").to_owned(),
            name: visit.form.get("name").to_owned(),
            email: visit.form.get("email").to_owned(),
            groups: visit.form.keys("group"),
            invited: visit.form.given("invite").is_some(),
        }
    }

    /// Checks the entered values and this password; returns all faults at once.
    async fn check(&self, password: Option<&str>) -> Result<Result<Checked, Faults>, Error> {
        let mut faults = Faults::default();
        let profile = self.profile().map_err(|found| faults = faults_of(found)).ok();
        if self.groups.is_empty() {
            faults.insert("groups", "a user needs at least one group".to_owned());
        }
        if self.invited && password.is_some() {
            faults.insert("password", "a user who is invited chooses the password".to_owned());
        }
        let password = password.filter(|_| !self.invited);
        let hash = match password.map(|password| passwords::hash(password.to_owned())) {
            None => None,
            Some(hashing) => match hashing.await {
                Ok(hash) => Some(hash),
                Err(Error::Invalid(why)) => {
                    faults.insert("password", why);
                    None
                }
                Err(error) => return Err(error),
            },
        };
        Ok(match profile {
            Some(profile) if faults.is_empty() => Ok((profile, hash)),
            _ => Err(faults),
        })
    }

    /// The profile with the entered values. An empty name defaults to the username.
    fn profile(&self) -> Result<Profile, Vec<Fault>> {
        let named = !self.name.trim().is_empty();
        Profile::new(&self.username, if named { &self.name } else { &self.username }, &self.email)
    }
}

/// The form again, with what is wrong with it.
async fn again(
    visit: &Visit,
    user: Option<UserDetails>,
    entered: &Entered,
    faults: Faults,
) -> Result<Outcome, Problem> {
    Ok(Outcome::Again(render(visit, user, entered, faults).await?))
}

/// A hash that shows whether what the form has of a user has changed.
fn fingerprint(user: &UserDetails) -> String {
    let UserDetails { username, name, email, groups, .. } = user;
    let mut groups = groups.clone();
    groups.sort_unstable();
    let groups = groups.iter().map(i64::to_string);
    form::fingerprint([username, name, email].into_iter().cloned().chain(groups))
}

/// The form of a user; without one, that for a new user.
async fn render(
    visit: &Visit,
    user: Option<UserDetails>,
    entered: &Entered,
    faults: Faults,
) -> Result<View, Problem> {
    let (title, refused) = match &user {
        None => ("New user", "The user was not added. See below."),
        Some(user) => (user.username.as_str(), "The user was not saved. See below."),
    };
    let layout = visit.layout(title).warning_if(!faults.is_empty(), refused);
    form_with(visit, layout, user, entered, faults).await
}

async fn form_with(
    visit: &Visit,
    layout: Layout,
    user: Option<UserDetails>,
    entered: &Entered,
    faults: Faults,
) -> Result<View, Problem> {
    let hint = match &user {
        None => "At least 12 characters. Needed to sign in here but not to use the API.",
        Some(user) if user.has_password => {
            "Leave it empty to keep the current password. A new one ends all sessions."
        }
        Some(_) => "This user has no password and cannot sign in here. At least 12 characters.",
    };
    let fault = |field| faults.get(field).map(String::as_str);
    show(&UserPage {
        layout,
        seen: user.as_ref().map(fingerprint).unwrap_or_default(),
        tabs: user.as_ref().map(|user| tabs(user.id, "User")),
        groups: choices(visit, &entered.groups).await?,
        groups_fault: sentence(fault("groups").unwrap_or_default()),
        fields: vec![
            Field::text("username", "Username")
                .hint("The name to sign in with; case is ignored.")
                .value(&entered.username)
                .fault(fault("username")),
            Field::text("name", "Name").optional().value(&entered.name).fault(fault("name")),
            Field::email("email", "E-mail").value(&entered.email).fault(fault("email")),
            Field::password("password", "Password").optional().hint(hint).fault(fault("password")),
        ],
        own: user.as_ref().is_some_and(|user| user.id == visit.session.user),
        invitable: visit.site.mailer().site_url().is_some()
            && user.as_ref().is_some_and(|user| !user.has_password && !user.blocked),
        invites: match user {
            None => visit.site.mailer().site_url().map(|_| entered.invited),
            Some(_) => None,
        },
        user,
    })
}

/// All groups in the order of the tree, and whether each is selected.
async fn choices(visit: &Visit, chosen: &[i64]) -> Result<Vec<(GroupEntry, bool)>, Problem> {
    let all = groups::as_tree(visit.site.groups().await?);
    let choice = |(group, _): (GroupEntry, usize)| {
        let is_chosen = chosen.contains(&group.id);
        (group, is_chosen)
    };
    Ok(all.into_iter().map(choice).collect())
}
