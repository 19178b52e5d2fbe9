//! Extensions: which there are, what each has registered, and the switch that puts one out of use.
//! What a switch means is said by what an extension has registered, so that any extension has it.

use askama::Template;
use host_interface::{Description, Route};

use crate::extensions::registry::{self, ExtensionEntry, TOKEN_AUTH};
use crate::site::state::change;
use crate::site::{BASE_PATH, LibraryEntry};

use crate::admin::authority::Authority;
use crate::admin::place::href;
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Layout, Tabs, View};
use crate::admin::visit::{Change, Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/extensions.html")]
struct ListPage {
    layout: Layout,
    extensions: Vec<Extension>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "admin/extension.html")]
struct ExtensionPage {
    layout: Layout,
    tabs: Option<Tabs>,
    extension: Extension,
    media_type: String,
    /// How many parts of the site it asks permissions about.
    assets: usize,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "admin/extension_routes.html")]
struct RoutesPage {
    layout: Layout,
    tabs: Option<Tabs>,
    extension: Extension,
    base: &'static str,
    routes: Vec<Route>,
}

/// An extension as its pages show it.
pub(crate) struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) enabled: bool,
    pub(crate) built_in: bool,
    /// Its library, where this host has loaded it.
    pub(crate) library: Option<LibraryEntry>,
    pub(crate) routes: usize,
    pub(crate) parameters: usize,
    /// What it means that it is switched off.
    pub(crate) off: String,
}

impl Extension {
    fn of(visit: &Visit, entry: ExtensionEntry) -> Self {
        let loaded = visit.site.loaded(&entry.name);
        let description = loaded.map(|(description, ..)| description);
        Self {
            off: meaning_of_off(&entry, description),
            library: loaded.map(|(_, _, library)| library.clone()),
            routes: description.map_or(0, |of| of.routes.len()),
            parameters: description.map_or(0, |of| of.parameters.len()),
            name: entry.name,
            version: entry.version,
            enabled: entry.enabled,
            built_in: entry.built_in,
        }
    }

    /// The one that a page is about.
    pub(crate) async fn asked_for(visit: &Visit) -> Result<Self, Problem> {
        let name = visit.params.first().ok_or(Problem::NotFound)?;
        let found = visit.site.extensions().await?.into_iter().find(|entry| entry.name == *name);
        Ok(Self::of(visit, found.ok_or(Problem::NotFound)?))
    }

    /// Whether this host could serve it at all.
    pub(crate) fn is_here(&self) -> bool {
        self.built_in || self.library.is_some()
    }

    /// The pages about it, of which this one is shown. One without any has no tabs.
    pub(crate) fn tabs(&self, current: &str) -> Option<Tabs> {
        let pages = [
            ("Extension", "", true),
            ("Parameters", "/parameters", self.parameters > 0),
            ("Routes", "/routes", self.routes > 0),
        ];
        let there: Vec<(&'static str, &str)> = pages
            .into_iter()
            .filter(|(_, _, there)| *there)
            .map(|(title, path, _)| (title, path))
            .collect();
        let path = format!("/extensions/{}", self.name);
        (there.len() > 1).then(|| Tabs::new("About this extension", &path, &there, current))
    }

    /// The library's file, where there is one.
    fn path(&self) -> &str {
        self.library.as_ref().map_or("", |library| library.file.as_str())
    }

    /// The name of that file, without the folders that it lies in.
    fn file(&self) -> &str {
        let path = self.path();
        std::path::Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
    }
}

pub(crate) async fn list(visit: Visit) -> Result<View, Problem> {
    let entries = visit.site.extensions().await?;
    show(&ListPage {
        layout: visit.layout("Extensions"),
        extensions: entries.into_iter().map(|entry| Extension::of(&visit, entry)).collect(),
        may_change: visit.is_admin(),
    })
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let extension = Extension::asked_for(&visit).await?;
    let loaded = visit.site.loaded(&extension.name);
    let description = loaded.map(|(description, ..)| description.clone()).unwrap_or_default();
    show(&ExtensionPage {
        layout: visit.layout(extension.name.clone()),
        tabs: extension.tabs("Extension"),
        assets: description.assets.len(),
        media_type: description.media_type,
        may_change: visit.is_admin(),
        extension,
    })
}

/// Every route that an extension has registered.
pub(crate) async fn routes(visit: Visit) -> Result<View, Problem> {
    let extension = Extension::asked_for(&visit).await?;
    let (description, ..) = visit.site.loaded(&extension.name).ok_or(Problem::NotFound)?;
    show(&RoutesPage {
        layout: visit.layout(format!("Routes of {}", extension.name)),
        tabs: extension.tabs("Routes"),
        base: BASE_PATH,
        routes: description.routes.clone(),
        extension,
    })
}

pub(crate) async fn switch_on(visit: Visit) -> Result<Outcome, Problem> {
    switch(visit, true).await
}

pub(crate) async fn switch_off(visit: Visit) -> Result<Outcome, Problem> {
    switch(visit, false).await
}

async fn switch(visit: Visit, on: bool) -> Result<Outcome, Problem> {
    let Extension { name, off, .. } = Extension::asked_for(&visit).await?;
    let (what, says) = match on {
        true => ("enable an extension", format!("{name} is enabled.")),
        false => ("disable an extension", format!("{name} is disabled. {off}")),
    };
    let recorded = change!(visit.site.state(), |transaction| {
        Authority::of(&visit, transaction).await?;
        registry::switch(transaction, &name, on).await?;
        visit.record(transaction, Change { what, record: format!("extension {name}") }).await
    })?;
    Ok(Outcome::Done { recorded, to: href("/extensions"), says })
}

/// What it means that an extension is switched off, in sentences.
fn meaning_of_off(entry: &ExtensionEntry, description: Option<&Description>) -> String {
    if entry.name == TOKEN_AUTH {
        return "Nobody has access to the API: every request is answered with 401. The tokens are \
             kept, and work again once it is enabled. This administration needs no token."
            .to_owned();
    }
    let Some(description) = description else {
        return
            "This host has not loaded its library, so it is not in use here, enabled or not. Its \
             data, parameters and permissions are kept."
            .to_owned();
    };
    let mut said = Vec::new();
    match description.routes.len() {
        0 => {}
        1 => said.push("Its route is answered with 404.".to_owned()),
        some => said.push(format!("Its {some} routes are answered with 404.")),
    }
    if description.authenticates {
        said.push("It authenticates nobody.".to_owned());
    }
    said.push(
        "Its data, parameters and permissions are kept, and background work such as sending mails \
         continues."
            .to_owned(),
    );
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use host_interface::Method;

    use super::*;

    fn off(name: &str, description: Option<&Description>) -> String {
        let (name, version) = (name.to_owned(), "1.0.0".to_owned());
        let built_in = description.is_none() && name == TOKEN_AUTH;
        meaning_of_off(&ExtensionEntry { name, version, enabled: true, built_in }, description)
    }

    #[test]
    fn what_a_switch_means_follows_from_what_is_registered() {
        assert!(off(TOKEN_AUTH, None).starts_with("Nobody has access to the API"));
        assert!(off("gone", None).starts_with("This host has not loaded its library"));
        let one = Description::new("1.0.0").route(Route::new(Method::Get, "a", "a.list", 0));
        assert!(off("one", Some(&one)).starts_with("Its route is answered with 404. Its data"));
        let two = one.route(Route::new(Method::Get, "b", "b.list", 1)).authenticates();
        assert!(
            off("two", Some(&two)).starts_with(
                "Its 2 routes are answered with 404. It authenticates nobody. Its data"
            )
        );
    }
}
