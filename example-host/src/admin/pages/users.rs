//! The list of users, and the page of a user: names, groups, password, blocking and deleting. The
//! tokens and the permissions of a user are on other pages.

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

use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Field, Layout, Moment, Notice, Tabs, View, sentence};
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
    fields: Vec<Field>,
    groups: Vec<(GroupEntry, bool)>,
    groups_fault: String,
    own: bool,
    /// Whether a new user can be invited by mail, and is to be.
    invites: Option<bool>,
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

/// The entered values of a user, checked.
struct Checked {
    profile: Profile,
    /// The hash of the password, if one was entered.
    hash: Option<String>,
}

/// The faults of the entered values, by field.
#[derive(Default)]
struct Faults {
    username: Option<String>,
    name: Option<String>,
    email: Option<String>,
    password: Option<String>,
    groups: Option<String>,
}

impl Faults {
    fn of(found: Vec<Fault>) -> Self {
        let mut faults = Self::default();
        for fault in found {
            match fault {
                Fault::Username(why) => faults.username = Some(why),
                Fault::Name(why) => faults.name = Some(why),
                Fault::Email(why) => faults.email = Some(why),
            }
        }
        faults
    }

    fn is_empty(&self) -> bool {
        let Self { username, name, email, password, groups } = self;
        [username, name, email, password, groups].iter().all(|fault| fault.is_none())
    }
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
    new_user(&visit, &Entered::default(), Faults::default()).await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let entered = Entered::of(&visit);
    let Checked { profile, hash } = match entered.check(visit.form.given("password")).await? {
        Ok(checked) => checked,
        Err(faults) => return Ok(Outcome::Again(new_user(&visit, &entered, faults).await?)),
    };
    let groups = Groups::Keys(&entered.groups);
    let added = if entered.invited {
        operations::invite(&visit.site, &profile, groups).await?
    } else {
        operations::add(&visit.site, &profile, groups, hash.as_deref()).await?
    };
    let invited = if entered.invited { " and gets a mail with an invitation" } else { "" };
    match added {
        Ok((id, recorded)) => Ok(Outcome::Done {
            recorded,
            to: href(&format!("/users/{id}")),
            message: format!("User {} was added{invited}.", profile.username),
        }),
        Err(taken) => Ok(Outcome::Again(new_user(&visit, &entered, Faults::of(taken)).await?)),
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
    one_user(&visit, user, &entered, Faults::default()).await
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let id = visit.id()?;
    let entered = Entered::of(&visit);
    let user = directory::user(visit.site.state().database(), id).await?;
    let Checked { profile, hash } = match entered.check(visit.form.given("password")).await? {
        Ok(checked) => checked,
        Err(faults) => return Ok(Outcome::Again(one_user(&visit, user, &entered, faults).await?)),
    };
    let (groups, hash) = (&entered.groups, hash.as_deref());
    match operations::change(&visit.site, id, &profile, groups, hash).await? {
        Ok(recorded) => Ok(Outcome::Done {
            recorded,
            to: href(&format!("/users/{id}")),
            message: format!("User {} was saved.", profile.username),
        }),
        Err(taken) => {
            Ok(Outcome::Again(one_user(&visit, user, &entered, Faults::of(taken)).await?))
        }
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
    Ok(Outcome::Done {
        recorded,
        to: href("/users"),
        message: format!("User {} was deleted.", user.username),
    })
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
    Outcome::Done {
        recorded,
        to: href(&format!("/users/{}", user.id)),
        message: format!("{} {effect}.", user.username),
    }
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
        let profile = self.profile().map_err(|found| faults = Faults::of(found)).ok();
        if self.groups.is_empty() {
            faults.groups = Some("a user needs at least one group".to_owned());
        }
        if self.invited && password.is_some() {
            let why = "a user who is invited chooses the password";
            faults.password = Some(why.to_owned());
        }
        let password = password.filter(|_| !self.invited);
        let hash = match password.map(|password| passwords::hash(password.to_owned())) {
            None => None,
            Some(hashing) => match hashing.await {
                Ok(hash) => Some(hash),
                Err(Error::Invalid(why)) => {
                    faults.password = Some(why);
                    None
                }
                Err(error) => return Err(error),
            },
        };
        Ok(match profile {
            Some(profile) if faults.is_empty() => Ok(Checked { profile, hash }),
            _ => Err(faults),
        })
    }

    /// The profile with the entered values. An empty name defaults to the username.
    fn profile(&self) -> Result<Profile, Vec<Fault>> {
        let named = !self.name.trim().is_empty();
        Profile::new(&self.username, if named { &self.name } else { &self.username }, &self.email)
    }
}

async fn new_user(visit: &Visit, entered: &Entered, faults: Faults) -> Result<View, Problem> {
    let mut layout = visit.layout("New user");
    if !faults.is_empty() {
        layout = layout.with_notice(Notice::bad("The user was not added. See below."));
    }
    let hint = "At least 12 characters. Needed to sign in here but not to use the API.";
    show(&UserPage {
        layout,
        tabs: None,
        user: None,
        groups: choices(visit, &entered.groups).await?,
        groups_fault: sentence(faults.groups.as_deref().unwrap_or_default()),
        fields: fields(entered, &faults, hint),
        own: false,
        invites: visit.site.mailer().site_url().map(|_| entered.invited),
    })
}

async fn one_user(
    visit: &Visit,
    user: UserDetails,
    entered: &Entered,
    faults: Faults,
) -> Result<View, Problem> {
    let mut layout = visit.layout(user.username.clone());
    if !faults.is_empty() {
        layout = layout.with_notice(Notice::bad("The user was not saved. See below."));
    }
    let hint = if user.has_password {
        "Leave it empty to keep the current password. A new one ends all sessions."
    } else {
        "This user has no password and cannot sign in here. At least 12 characters."
    };
    show(&UserPage {
        layout,
        tabs: Some(tabs(user.id, "User")),
        groups: choices(visit, &entered.groups).await?,
        groups_fault: sentence(faults.groups.as_deref().unwrap_or_default()),
        fields: fields(entered, &faults, hint),
        own: user.id == visit.session.user,
        invites: None,
        user: Some(user),
    })
}

fn fields(entered: &Entered, faults: &Faults, password_hint: &'static str) -> Vec<Field> {
    vec![
        Field::text("username", "Username")
            .hint("The name to sign in with; case is ignored.")
            .value(&entered.username)
            .fault(faults.username.as_deref()),
        Field::text("name", "Name").optional().value(&entered.name).fault(faults.name.as_deref()),
        Field::email("email", "E-mail").value(&entered.email).fault(faults.email.as_deref()),
        Field::password("password", "Password")
            .optional()
            .hint(password_hint)
            .fault(faults.password.as_deref()),
    ]
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
