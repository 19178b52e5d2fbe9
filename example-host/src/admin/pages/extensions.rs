//! Extensions: the list, the details of each, and enabling and disabling them. The effect of
//! disabling an extension is described from its registration, so it is correct for any extension.

use askama::Template;
use host_interface::{Description, Route};

use crate::extensions::registry::{ExtensionEntry, TOKEN_AUTH};
use crate::site::operations::extensions as operations;
use crate::site::{BASE_PATH, LibraryEntry, Unserved};

use crate::admin::problem::Problem;
use crate::admin::view::{Layout, Tabs, View, show};
use crate::admin::visit::{Outcome, Visit};

#[derive(Template)]
#[template(path = "admin/extensions.html")]
struct ExtensionsPage {
    layout: Layout,
    extensions: Vec<Extension>,
    unserved: Vec<Unserved>,
    may_change: bool,
}

#[derive(Template)]
#[template(path = "admin/extension.html")]
struct ExtensionPage {
    layout: Layout,
    tabs: Option<Tabs>,
    extension: Extension,
    media_type: String,
    /// The number of its assets.
    assets: usize,
    /// What its document has of records, as a sentence.
    records: String,
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
    /// Its library, if this host has loaded it.
    pub(crate) library: Option<LibraryEntry>,
    pub(crate) routes: usize,
    pub(crate) parameters: usize,
    /// The effect of disabling it.
    pub(crate) when_disabled: String,
}

impl Extension {
    fn of(visit: &Visit, entry: ExtensionEntry) -> Self {
        let loaded = visit.site.loaded(&entry.name);
        let description = loaded.map(|(description, ..)| description);
        Self {
            when_disabled: effect_of_disabling(&entry, description),
            library: loaded.map(|(_, _, library)| library.clone()),
            routes: description.map_or(0, |of| of.routes.len()),
            parameters: description.map_or(0, |of| of.parameters.len()),
            name: entry.name,
            version: entry.version,
            enabled: entry.enabled,
            built_in: entry.built_in,
        }
    }

    /// The extension of the page.
    pub(crate) async fn asked_for(visit: &Visit) -> Result<Self, Problem> {
        let name = visit.params.first().ok_or(Problem::NotFound)?;
        let found = visit.site.extensions().await?.into_iter().find(|entry| entry.name == *name);
        Ok(Self::of(visit, found.ok_or(Problem::NotFound)?))
    }

    /// Whether this host has the extension.
    pub(crate) fn is_here(&self) -> bool {
        self.built_in || self.library.is_some()
    }

    /// The tabs of its pages; `None` if there is only one page.
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

    /// The path of the library; empty if there is none.
    fn path(&self) -> &str {
        self.library.as_ref().map_or("", |library| library.file.as_str())
    }

    /// The name of that file.
    fn file(&self) -> &str {
        let path = self.path();
        std::path::Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
    }
}

pub(crate) async fn list(visit: Visit) -> Result<View, Problem> {
    let entries = visit.site.extensions().await?;
    show(&ExtensionsPage {
        layout: visit.layout("Extensions"),
        extensions: entries.into_iter().map(|entry| Extension::of(&visit, entry)).collect(),
        unserved: visit.site.unserved().to_vec(),
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
        records: records(&visit, &extension.name),
        media_type: description.media_type,
        may_change: visit.is_admin(),
        extension,
    })
}

/// What the document of an extension has of records.
fn records(visit: &Visit, extension: &str) -> String {
    let Ok(documents) = visit.catalogue.documents(&visit.site) else {
        return "An OpenAPI document cannot be read, so no records have pages here.".to_owned();
    };
    let document = documents.iter().find(|document| document.extension == extension);
    match document.map(|document| &document.records) {
        None => "It publishes no OpenAPI document, so its records have no pages here.".to_owned(),
        Some(types) if types.kinds.is_empty() => {
            "Its OpenAPI document has no list of records.".to_owned()
        }
        Some(types) if types.incomplete => {
            "Its OpenAPI document has more than is read: some types or attributes are left out."
                .to_owned()
        }
        Some(_) => String::new(),
    }
}

/// All routes of an extension.
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

pub(crate) async fn set_enabled(visit: Visit, enabled: bool) -> Result<Outcome, Problem> {
    let Extension { name, when_disabled, .. } = Extension::asked_for(&visit).await?;
    let message = if enabled {
        format!("{name} was enabled.")
    } else {
        format!("{name} was disabled. {when_disabled}")
    };
    let recorded = operations::set_enabled(&visit.site, &name, enabled).await?;
    Ok(Outcome::done(recorded, "/extensions", message))
}

/// The effect of disabling an extension, in sentences.
fn effect_of_disabling(entry: &ExtensionEntry, description: Option<&Description>) -> String {
    if entry.name == TOKEN_AUTH {
        return "No user has access to the API: every request is answered with 401. The tokens are \
             kept, and work again once it is enabled. This administration needs no token."
            .to_owned();
    }
    let Some(description) = description else {
        return
            "This host has not loaded its library, so it is not in use here, enabled or not. Its \
             data, parameters and permissions are kept."
            .to_owned();
    };
    let mut sentences = Vec::new();
    match description.routes.len() {
        0 => {}
        1 => sentences.push("Its route is answered with 404.".to_owned()),
        some => sentences.push(format!("Its {some} routes are answered with 404.")),
    }
    if description.authenticates {
        sentences.push("It authenticates no users.".to_owned());
    }
    sentences.push(
        "Its data, parameters and permissions are kept, and background work such as sending mails \
         continues."
            .to_owned(),
    );
    sentences.join(" ")
}

#[cfg(test)]
mod tests {
    use host_interface::Method;

    use super::*;

    fn effect(name: &str, description: Option<&Description>) -> String {
        let (name, version) = (name.to_owned(), "1.0.0".to_owned());
        let built_in = description.is_none() && name == TOKEN_AUTH;
        effect_of_disabling(&ExtensionEntry { name, version, enabled: true, built_in }, description)
    }

    #[test]
    fn the_effect_of_disabling_follows_from_the_registration() {
        assert!(effect(TOKEN_AUTH, None).starts_with("No user has access to the API"));
        assert!(effect("gone", None).starts_with("This host has not loaded its library"));
        let one = Description::new("1.0.0").route(Route::new(Method::Get, "a", "a.list", 0));
        assert!(effect("one", Some(&one)).starts_with("Its route is answered with 404. Its data"));
        let two = one.route(Route::new(Method::Get, "b", "b.list", 1)).authenticates();
        assert!(effect("two", Some(&two)).starts_with(
            "Its 2 routes are answered with 404. It authenticates no users. Its data"
        ));
    }
}
