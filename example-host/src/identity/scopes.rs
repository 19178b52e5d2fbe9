//! Scopes: what a token is limited to. There is one for each action on each asset that extensions declare,
//! such as `articles:view`, and `*:view`, which views everything that it is not kept from. What the user of a
//! token may do is decided in `acl.rs`; a token never allows more than that.

use std::collections::{BTreeSet, HashMap};

use host_interface::Description;

use crate::base::error::Error;

/// The scope that views everything, apart from the assets that must be named.
pub(crate) const VIEW_ALL: &str = "*:view";

/// The action that it is about.
const VIEW: &str = "view";

/// The scopes that exist on a site.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    scopes: Vec<Scope>,
    /// The position of a scope by its asset and its action.
    places: HashMap<String, HashMap<String, usize>>,
}

/// An action on an asset, as the limit of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    /// The name of the extension that has it.
    pub(crate) extension: String,
    /// The name of the asset without what precedes its last dot, for example `articles`.
    pub(crate) kind: String,
    /// The name of the action without what precedes its last dot, for example `view`.
    pub(crate) action: String,
    /// The title of the asset.
    pub(crate) title: String,
    /// Whether `*:view` does not cover it.
    pub(crate) named_only: bool,
    /// Whether another extension has a scope of the same name.
    shared: bool,
}

impl Scope {
    /// The name, for example `articles:view`. That of the extension precedes it if another extension has one
    /// of the same name.
    pub(crate) fn name(&self) -> String {
        if self.shared { self.full_name() } else { format!("{}:{}", self.kind, self.action) }
    }

    /// The name by which it is stored. It means the same whatever extensions come later.
    fn full_name(&self) -> String {
        format!("{}/{}:{}", self.extension, self.kind, self.action)
    }

    fn is_viewed_with_all(&self) -> bool {
        self.action == VIEW && !self.named_only
    }
}

/// The scopes of a token: a position in the catalogue for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Granted(BTreeSet<usize>);

impl Catalogue {
    /// The scopes of extensions.
    pub(crate) fn new(descriptions: &[Description]) -> Self {
        let mut catalogue = Self::default();
        for description in descriptions {
            catalogue.add(description);
        }
        let mut names: HashMap<String, usize> = HashMap::new();
        for scope in &catalogue.scopes {
            *names.entry(scope.name()).or_default() += 1;
        }
        for scope in &mut catalogue.scopes {
            scope.shared = names.get(&scope.name()).is_some_and(|count| *count > 1);
        }
        catalogue
    }

    /// Only an asset without others below it is asked about.
    fn add(&mut self, description: &Description) {
        let is_parent = |name: &str| description.assets.iter().any(|asset| asset.parent == name);
        for asset in description.assets.iter().filter(|asset| !is_parent(&asset.name)) {
            for action in &description.actions {
                let place = self.scopes.len();
                self.scopes.push(Scope {
                    extension: description.name.clone(),
                    kind: last(&asset.name).to_owned(),
                    action: last(&action.name).to_owned(),
                    title: asset.title.clone(),
                    named_only: asset.named_only,
                    shared: false,
                });
                let actions = self.places.entry(asset.name.clone()).or_default();
                actions.insert(action.name.clone(), place);
            }
        }
    }

    /// All scopes, in the order of declaration.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// What is stored for the scopes of a new token, each in the form that its administrator gave.
    pub(crate) fn stored(&self, given: &[String]) -> Result<String, Error> {
        if given.is_empty() {
            let fault = "a token with scopes needs at least one of them";
            return Err(Error::Invalid(fault.to_owned()));
        }
        let mut stored = BTreeSet::new();
        for scope in given.iter().map(|scope| scope.trim()) {
            stored.insert(self.stored_name(scope)?);
        }
        Ok(stored.into_iter().collect::<Vec<_>>().join(" "))
    }

    /// A scope to name beside one that there is not: with a type that begins alike, if there is one.
    fn nearest(&self, given: &str) -> Option<&Scope> {
        let (kind, action) = given.split_once(':').unwrap_or((given, "view"));
        let begins = |scope: &&Scope| !kind.is_empty() && scope.kind.starts_with(kind);
        let alike = || self.scopes.iter().filter(begins);
        let exact = alike().find(|scope| scope.action == action);
        exact.or_else(|| alike().next()).or(self.scopes.first())
    }

    fn stored_name(&self, given: &str) -> Result<String, Error> {
        if given == VIEW_ALL {
            return Ok(VIEW_ALL.to_owned());
        }
        let is_it = |scope: &&Scope| scope.name() == given || scope.full_name() == given;
        if let Some(scope) = self.scopes.iter().find(is_it) {
            return Ok(scope.full_name());
        }
        let short = |scope: &&Scope| format!("{}:{}", scope.kind, scope.action) == given;
        let alike: Vec<String> = self.scopes.iter().filter(short).map(Scope::full_name).collect();
        let known = if alike.is_empty() {
            let example = self.nearest(given).map(Scope::name).unwrap_or_default();
            format!("a type and an action, such as {example}, or {VIEW_ALL}")
        } else {
            alike.join(" or ")
        };
        Err(Error::Invalid(format!("{given:?} is not a scope; a scope is {known}")))
    }

    /// The scopes that are stored with a token. One of an extension that is not loaded grants nothing.
    pub(crate) fn granted(&self, stored: &str) -> Granted {
        let all = self.scopes.iter().enumerate();
        let covered = all.filter(|(_, scope)| {
            let full = scope.full_name();
            stored
                .split(' ')
                .any(|stored| stored == full || (stored == VIEW_ALL && scope.is_viewed_with_all()))
        });
        Granted(covered.map(|(place, _)| place).collect())
    }

    /// The names of the scopes that are stored with a token, for people.
    pub(crate) fn names(&self, stored: &str) -> Vec<String> {
        let name = |stored: &str| {
            let scope = self.scopes.iter().find(|scope| scope.full_name() == stored);
            scope.map_or_else(|| stored.to_owned(), Scope::name)
        };
        stored.split(' ').map(name).collect()
    }

    /// Checks whether scopes cover an action on an asset.
    pub(crate) fn check(
        &self,
        granted: &Granted,
        action: &str,
        asset: &str,
    ) -> Result<(), Uncovered> {
        let place = self.places.get(asset).and_then(|actions| actions.get(action));
        let Some(place) = place else { return Err(Uncovered::ByAny) };
        match (granted.0.contains(place), self.scopes.get(*place)) {
            (true, _) => Ok(()),
            (false, Some(scope)) => Err(Uncovered::Lacks(scope.name())),
            (false, None) => Err(Uncovered::ByAny),
        }
    }
}

/// Why the scopes of a token do not cover something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Uncovered {
    /// The token lacks the scope of this name.
    Lacks(String),
    /// No scope covers it.
    ByAny,
}

/// What follows the last dot of a name.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use host_interface::{Action, Asset};
    use serde_json::json;

    use super::*;

    /// A description as the host reads one.
    fn description(name: &str, prefix: &str) -> Option<Description> {
        let actions = ["view", "edit"].map(|action| Action::new(format!("{prefix}.{action}"), ""));
        let all = format!("com_{prefix}");
        let assets = [
            Asset::new(all.as_str(), "root", ""),
            Asset::new(format!("{all}.articles"), all.as_str(), "Articles"),
            Asset::new(format!("{all}.config"), "root", "Configuration").named_only(),
        ];
        let description = Description::new("1").actions(actions).assets(assets);
        let mut value = serde_json::to_value(description).ok()?;
        value["name"] = json!(name);
        serde_json::from_value(value).ok()
    }

    fn catalogue(extensions: &[(&str, &str)]) -> Catalogue {
        let descriptions = extensions.iter().filter_map(|(name, prefix)| description(name, prefix));
        Catalogue::new(&descriptions.collect::<Vec<_>>())
    }

    fn stored(catalogue: &Catalogue, given: &[&str]) -> Result<String, String> {
        let given: Vec<String> = given.iter().map(|scope| (*scope).to_owned()).collect();
        catalogue.stored(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scope_covers_one_action_on_one_asset() {
        let shop = catalogue(&[("shop", "store")]);
        let names: Vec<String> = shop.scopes().iter().map(Scope::name).collect();
        assert_eq!(names, ["articles:view", "articles:edit", "config:view", "config:edit"]);
        let text = stored(&shop, &["articles:view"]);
        assert_eq!(text.as_deref(), Ok("shop/articles:view"));
        let granted = shop.granted("shop/articles:view");
        assert_eq!(shop.check(&granted, "store.view", "com_store.articles"), Ok(()));
        let lacks = |scope: &str| Err(Uncovered::Lacks(scope.to_owned()));
        assert_eq!(
            shop.check(&granted, "store.edit", "com_store.articles"),
            lacks("articles:edit")
        );
        assert_eq!(shop.check(&granted, "store.view", "com_store.config"), lacks("config:view"));
        for (action, asset) in [
            ("core.admin", "root"),
            ("store.view", "root"),
            ("store.view", "com_store"),
            ("other.view", "com_store.articles"),
        ] {
            assert_eq!(shop.check(&granted, action, asset), Err(Uncovered::ByAny));
        }
    }

    #[test]
    fn view_of_all_does_not_cover_what_must_be_named() {
        let shop = catalogue(&[("shop", "store")]);
        let all = shop.granted(VIEW_ALL);
        assert_eq!(shop.check(&all, "store.view", "com_store.articles"), Ok(()));
        assert!(shop.check(&all, "store.view", "com_store.config").is_err());
        assert!(shop.check(&all, "store.edit", "com_store.articles").is_err());
        let both = shop.granted("*:view shop/config:view");
        assert_eq!(shop.check(&both, "store.view", "com_store.config"), Ok(()));
    }

    #[test]
    fn a_name_that_two_extensions_have_is_qualified() {
        let both = catalogue(&[("shop", "store"), ("till", "till")]);
        assert_eq!(
            stored(&both, &["articles:view"]),
            Err("\"articles:view\" is not a scope; a scope is shop/articles:view or till/articles:view"
                .to_owned())
        );
        assert_eq!(stored(&both, &["till/articles:view"]).as_deref(), Ok("till/articles:view"));
        let granted = both.granted("till/articles:view");
        assert!(both.check(&granted, "till.view", "com_till.articles").is_ok());
        assert_eq!(
            both.check(&granted, "store.view", "com_store.articles"),
            Err(Uncovered::Lacks("shop/articles:view".to_owned()))
        );
        // What was given to a token before the other extension came is still that of its own.
        assert_eq!(
            catalogue(&[("till", "till")]).names("shop/articles:view"),
            ["shop/articles:view"]
        );
    }

    #[test]
    fn what_is_no_scope_is_refused() {
        let shop = catalogue(&[("shop", "store")]);
        for wrong in
            ["", "articles", "articles:*", "*:edit", "*", "com_store:view", "articles:view x"]
        {
            assert!(stored(&shop, &[wrong]).is_err(), "{wrong}");
        }
        assert!(stored(&shop, &[]).is_err());
    }
}
