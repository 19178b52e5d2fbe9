//! The table of all pages: their paths, their places in the navigation, the permissions that they need, and what
//! their forms do. `mod.rs` is the only one that runs them.

use std::pin::Pin;

use crate::site::Site;
use crate::site::operations::{self, Operation};

use super::catalogue::Catalogue;
use super::pages::{
    account, api, audit, dashboard, export, extensions, groups, import, parameters, permissions,
    privacy, records, second_factor, token, token_new, token_rotate, tokens, users, why,
};
use super::paths::{ADMIN, MANAGE, Needed, SECOND_FACTOR};
use super::problem::Problem;
use super::view::View;
use super::visit::{Outcome, Visit};

/// All pages. The pages in the navigation are in its order.
pub(super) const PAGES: &[Page] = &[
    Page::at("/", "administration.dashboard")
        .in_navigation("Dashboard", "dashboard")
        .reads(MANAGE, |visit| Box::pin(dashboard::page(visit))),
    Page::at("/users", "administration.users")
        .in_navigation("Users", "users")
        .reads(MANAGE, |visit| Box::pin(users::list(visit))),
    Page::at("/users/new", "administration.users.new")
        .reads(MANAGE, |visit| Box::pin(users::blank(visit)))
        .does(&operations::users::ADD, |visit| Box::pin(users::add(visit)))
        .confirmed(),
    Page::at("/users/{id}", "administration.users.edit")
        .reads(MANAGE, |visit| Box::pin(users::page(visit)))
        .does(&operations::users::CHANGE, |visit| Box::pin(users::save(visit)))
        .confirmed(),
    Page::at("/users/{id}/token", "administration.users.token")
        .reads(MANAGE, |visit| Box::pin(token::page(visit)))
        .does(&operations::tokens::GENERATE, |visit| Box::pin(token::generate(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/new", "administration.users.token.new")
        .reads(MANAGE, |visit| Box::pin(token_new::blank(visit)))
        .does(&operations::tokens::CREATE, |visit| Box::pin(token_new::add(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/{token}/rotate", "administration.users.token.rotate")
        .reads(MANAGE, |visit| Box::pin(token_rotate::page(visit)))
        .does(&operations::tokens::ROTATE, |visit| Box::pin(token_rotate::rotate(visit)))
        .confirmed(),
    Page::at("/users/{id}/token/{token}/revoke", "administration.users.token.revoke")
        .does(&operations::tokens::REVOKE, |visit| Box::pin(token::revoke(visit)))
        .confirmed(),
    Page::at("/users/{id}/permissions", "administration.users.permissions")
        .reads(MANAGE, |visit| Box::pin(why::of_user(visit))),
    Page::at("/users/{id}/block", "administration.users.block")
        .does(&operations::users::BLOCK, |visit| Box::pin(users::block(visit))),
    Page::at("/users/{id}/unblock", "administration.users.unblock")
        .does(&operations::users::UNBLOCK, |visit| Box::pin(users::unblock(visit)))
        .confirmed(),
    Page::at("/users/{id}/invite", "administration.users.invite")
        .does(&operations::users::INVITE, |visit| Box::pin(users::invite(visit)))
        .confirmed(),
    Page::at("/users/{id}/sign-out", "administration.users.sign_out")
        .does(&operations::users::SIGN_OUT, |visit| Box::pin(users::sign_out(visit))),
    Page::at("/users/{id}/second-factor/remove", "administration.users.second_factor.remove")
        .does(&operations::second_factor::REMOVE, |visit| Box::pin(second_factor::remove(visit)))
        .confirmed(),
    Page::at("/users/{id}/delete", "administration.users.delete")
        .reads(MANAGE, |visit| Box::pin(users::confirm(visit)))
        .does(&operations::users::REMOVE, |visit| Box::pin(users::delete(visit)))
        .confirmed(),
    Page::at("/tokens", "administration.tokens")
        .in_navigation("API tokens", "tokens")
        .reads(MANAGE, |visit| Box::pin(tokens::page(visit))),
    Page::at("/groups", "administration.groups")
        .in_navigation("Groups", "groups")
        .reads(MANAGE, |visit| Box::pin(groups::list(visit))),
    Page::at("/groups/new", "administration.groups.new")
        .reads(ADMIN, |visit| Box::pin(groups::blank(visit)))
        .does(&operations::groups::ADD, |visit| Box::pin(groups::add(visit)))
        .confirmed(),
    Page::at("/groups/{id}", "administration.groups.edit")
        .reads(ADMIN, |visit| Box::pin(groups::page(visit)))
        .does(&operations::groups::CHANGE, |visit| Box::pin(groups::save(visit)))
        .confirmed(),
    Page::at("/groups/{id}/delete", "administration.groups.delete")
        .reads(ADMIN, |visit| Box::pin(groups::confirm(visit)))
        .does(&operations::groups::REMOVE, |visit| Box::pin(groups::delete(visit)))
        .confirmed(),
    Page::at("/permissions", "administration.permissions")
        .in_navigation("Permissions", "permissions")
        .reads(MANAGE, |visit| Box::pin(permissions::page(visit)))
        .does(&operations::permissions::CHANGE, |visit| Box::pin(permissions::save(visit)))
        .confirmed(),
    Page::at("/permissions/why", "administration.permissions.why")
        .reads(MANAGE, |visit| Box::pin(why::page(visit))),
    Page::at("/extensions", "administration.extensions")
        .in_navigation("Extensions", "extensions")
        .reads(MANAGE, |visit| Box::pin(extensions::list(visit))),
    Page::at("/extensions/{name}", "administration.extensions.extension")
        .reads(MANAGE, |visit| Box::pin(extensions::page(visit))),
    Page::at("/extensions/{name}/routes", "administration.extensions.routes")
        .reads(MANAGE, |visit| Box::pin(extensions::routes(visit))),
    Page::at("/extensions/{name}/parameters", "administration.extensions.parameters")
        .reads(MANAGE, |visit| Box::pin(parameters::page(visit)))
        .does(&operations::extensions::CHANGE_PARAMETERS, |visit| {
            Box::pin(parameters::save(visit))
        }),
    Page::at("/extensions/{name}/enable", "administration.extensions.enable")
        .does(&operations::extensions::ENABLE, |visit| {
            Box::pin(extensions::set_enabled(visit, true))
        })
        .confirmed(),
    Page::at("/extensions/{name}/disable", "administration.extensions.disable")
        .does(&operations::extensions::DISABLE, |visit| {
            Box::pin(extensions::set_enabled(visit, false))
        }),
    Page::at("/api", "administration.api")
        .in_navigation("API", "api")
        .reads(MANAGE, |visit| Box::pin(api::list(visit))),
    Page::at("/api/openapi.json", "administration.api.document")
        .reads(MANAGE, |visit| Box::pin(api::download(visit))),
    Page::at("/api/{extension}/{operation}", "administration.api.operation")
        .reads(MANAGE, |visit| Box::pin(api::page(visit)))
        .asks(MANAGE, |visit| Box::pin(api::ask(visit)))
        .confirmed_if(api::is_about_persons),
    Page::at("/import", "administration.import")
        .in_navigation("Import", "import")
        .offered(import::is_offered)
        .reads(MANAGE, |visit| Box::pin(import::page(visit)))
        .asks(MANAGE, |visit| Box::pin(import::check(visit)))
        .takes_file(),
    Page::at("/import/{upload}", "administration.import.run")
        .offered(import::is_offered)
        .asks(MANAGE, |visit| Box::pin(import::run(visit))),
    Page::at("/import/{upload}/faults", "administration.import.faults")
        .offered(import::is_offered)
        .reads(MANAGE, |visit| Box::pin(import::faults(visit))),
    Page::at("/export", "administration.export")
        .in_navigation("Export", "export")
        .offered(export::is_offered)
        .reads(MANAGE, |visit| Box::pin(export::page(visit))),
    Page::at("/export/file", "administration.export.file")
        .offered(export::is_offered)
        .reads(MANAGE, |visit| Box::pin(export::file(visit))),
    Page::at("/export/list/{extension}/{type}", "administration.records.file")
        .reads(MANAGE, |visit| Box::pin(records::file::page(visit))),
    Page::at("/export/list/{extension}/{type}/{id}/{part}", "administration.records.part.file")
        .reads(MANAGE, |visit| Box::pin(records::file::page(visit))),
    Page::at("/search", "administration.search")
        .offered(records::search::is_offered)
        .reads(MANAGE, |visit| Box::pin(records::search::page(visit))),
    Page::at("/records/{extension}/{type}", "administration.records")
        .reads(MANAGE, |visit| Box::pin(records::list::page(visit))),
    Page::at("/records/{extension}/{type}/{id}", "administration.records.record")
        .reads(MANAGE, |visit| Box::pin(records::detail::page(visit))),
    Page::at("/records/{extension}/{type}/new", "administration.records.new")
        .reads(MANAGE, |visit| Box::pin(records::making::blank(visit)))
        .asks(MANAGE, |visit| Box::pin(records::making::add(visit))),
    Page::at("/records/{extension}/{type}/{id}/edit", "administration.records.edit")
        .reads(MANAGE, |visit| Box::pin(records::edit::page(visit)))
        .asks(MANAGE, |visit| Box::pin(records::edit::save(visit))),
    Page::at("/records/{extension}/{type}/{id}/delete", "administration.records.delete")
        .reads(MANAGE, |visit| Box::pin(records::delete::page(visit)))
        .asks(MANAGE, |visit| Box::pin(records::delete::delete(visit))),
    Page::at("/records/{extension}/{type}/{id}/do/{action}", "administration.records.do")
        .reads(MANAGE, |visit| Box::pin(records::making::page(visit)))
        .asks(MANAGE, |visit| Box::pin(records::making::run(visit)))
        .confirmed_if(records::making::is_about_persons),
    Page::at("/audit", "administration.audit")
        .in_navigation("Audit", "audit")
        .reads(ADMIN, |visit| Box::pin(audit::page(visit))),
    Page::at("/audit/export", "administration.audit.export")
        .reads(ADMIN, |visit| Box::pin(audit::export(visit))),
    Page::at("/privacy", "administration.privacy")
        .in_navigation("Privacy", "privacy")
        .offered(privacy::is_offered)
        .reads(MANAGE, |visit| Box::pin(privacy::page(visit)))
        .asks(MANAGE, |visit| Box::pin(privacy::find(visit))),
    Page::at("/privacy/retention", "administration.privacy.retention")
        .offered(privacy::is_offered)
        .asks(MANAGE, |visit| Box::pin(privacy::retention(visit))),
    Page::at("/privacy/export", "administration.privacy.export")
        .offered(privacy::is_offered)
        .does(&operations::persons::EXPORT, |visit| Box::pin(privacy::export(visit)))
        .confirmed(),
    Page::at("/privacy/erase", "administration.privacy.erase")
        .offered(privacy::is_offered)
        .does(&operations::persons::ERASE, |visit| Box::pin(privacy::erase(visit)))
        .confirmed(),
    Page::at("/account", "administration.account")
        .reads(MANAGE, |visit| Box::pin(account::page(visit)))
        .does(&operations::users::CHANGE_OWN_PASSWORD, |visit| {
            Box::pin(account::set_password(visit))
        }),
    Page::at(SECOND_FACTOR, "administration.account.second_factor")
        .reads(MANAGE, |visit| Box::pin(second_factor::page(visit)))
        .does(&operations::second_factor::TURN_ON, |visit| Box::pin(second_factor::turn_on(visit)))
        .confirmed(),
    Page::at("/account/second-factor/codes", "administration.account.second_factor.codes")
        .does(&operations::second_factor::RENEW_CODES, |visit| {
            Box::pin(second_factor::renew_codes(visit))
        })
        .confirmed(),
    Page::at("/account/second-factor/remove", "administration.account.second_factor.remove")
        .does(&operations::second_factor::TURN_OFF, |visit| {
            Box::pin(second_factor::turn_off(visit))
        })
        .confirmed(),
    Page::at("/account/sign-out-everywhere", "administration.account.sign_out_everywhere")
        .does(&operations::users::SIGN_OUT_EVERYWHERE, |visit| {
            Box::pin(account::sign_out_everywhere(visit))
        }),
];

pub(super) type Work<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;
pub(super) type Read = fn(Visit) -> Work<View>;
pub(super) type Write = fn(Visit) -> Work<Outcome>;
pub(super) type Confirmed = fn(&Visit) -> bool;
pub(super) type Offered = fn(&Site, &Catalogue, i64) -> bool;

/// A page: its path, and the permissions to read and to change.
pub(super) struct Page {
    pub(super) path: &'static str,
    /// Its name in logs and metrics.
    pub(super) name: &'static str,
    pub(super) navigation: Option<Entry>,
    pub(super) read: Option<(Needed, Read)>,
    pub(super) write: Option<(Needed, Write)>,
    /// The operation that its form does.
    pub(super) operation: Option<&'static Operation>,
    /// Whether there is anything on it for a user; others see no sign of it.
    pub(super) offered: Offered,
    /// Whether its form has a file.
    pub(super) takes_file: bool,
    /// Whether a form changes access or permissions, or the data of a person, so that the user must have entered the
    /// password recently.
    pub(super) confirmed: Confirmed,
}

/// A page in the navigation.
pub(super) struct Entry {
    pub(super) title: &'static str,
    pub(super) icon: &'static str,
}

impl Page {
    const fn at(path: &'static str, name: &'static str) -> Self {
        Self {
            path,
            name,
            navigation: None,
            read: None,
            write: None,
            operation: None,
            offered: |_, _, _| true,
            takes_file: false,
            confirmed: |_| false,
        }
    }

    const fn in_navigation(mut self, title: &'static str, icon: &'static str) -> Self {
        self.navigation = Some(Entry { title, icon });
        self
    }

    const fn reads(mut self, needed: Needed, read: Read) -> Self {
        self.read = Some((needed, read));
        self
    }

    /// A form that does an operation, whose permission it needs.
    const fn does(mut self, operation: &'static Operation, write: Write) -> Self {
        self.write = Some((operation.needs, write));
        self.operation = Some(operation);
        self
    }

    /// A form that sends a request to the API, or only asks for something.
    const fn asks(mut self, needed: Needed, write: Write) -> Self {
        self.write = Some((needed, write));
        self
    }

    /// A page that is only there for users with something on it.
    const fn offered(mut self, offered: Offered) -> Self {
        self.offered = offered;
        self
    }

    /// A form with a file.
    const fn takes_file(mut self) -> Self {
        self.takes_file = true;
        self
    }

    const fn confirmed(self) -> Self {
        self.confirmed_if(|_| true)
    }

    /// A form of which some need it.
    const fn confirmed_if(mut self, confirmed: Confirmed) -> Self {
        self.confirmed = confirmed;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages whose forms become requests to the API, or change nothing.
    const ONLY_ASK: [&str; 9] = [
        "administration.api.operation",
        "administration.import",
        "administration.import.run",
        "administration.privacy",
        "administration.privacy.retention",
        "administration.records.new",
        "administration.records.edit",
        "administration.records.delete",
        "administration.records.do",
    ];

    #[test]
    fn the_forms_do_the_operations_of_the_table() {
        for page in PAGES.iter().filter(|page| page.write.is_some()) {
            match page.operation {
                Some(operation) => {
                    assert_eq!(operation.page, Some(page.name));
                    assert!(
                        operations::ALL.contains(&operation),
                        "{} is in no table",
                        operation.what
                    );
                }
                None => {
                    assert!(ONLY_ASK.contains(&page.name), "{} does no operation", page.name)
                }
            }
        }
        for operation in operations::ALL {
            let Some(name) = operation.page else { continue };
            let page = PAGES.iter().find(|page| page.name == name);
            let does_one = page.is_some_and(|page| page.operation.is_some());
            assert!(does_one, "{} is on no page {name}", operation.what);
        }
    }
}
