//! The parts of a site: the extensions with their maps of personal data, those without, and the places where the host
//! itself keeps some.

use std::sync::Arc;

use host_interface::{Description, LoadedPlugin, PersonalData, Privacy};

use crate::base::error::Error;
use crate::extensions::registry;
use crate::identity::persons;
use crate::site::Site;

/// The name of the host's own part.
pub(crate) const HOST: &str = "host";

/// Where the host keeps data of persons beside [what it keeps of users](persons::PLACES): the name, what is kept, what
/// for, and how long.
const OTHERS: [[&str; 4]; 3] = [
    [
        "mails",
        "mails that were written to a folder, because no mail server is set",
        "delivery by another program",
        "until that program removes them; those to an erased person, or with their address in the text, are removed",
    ],
    [
        "trail",
        "the user names of those who changed something, and addresses from which a password was entered",
        "proof of who changed what",
        "a number of days and of entries that the site sets; erasing a person changes none, because the entries \
         prove each other",
    ],
    [
        "log",
        "keys of users, and addresses of clients",
        "operation and security of the site",
        "as long as the system keeps its log; it contains no e-mail addresses",
    ],
];

/// The places of one part.
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) places: Vec<PersonalData>,
}

impl Site {
    /// The extensions that this host serves and that have a map of personal data, enabled or not.
    pub(super) fn mapped(
        &self,
    ) -> impl Iterator<Item = (&Description, &Privacy, &Arc<LoadedPlugin>)> {
        self.plugins().filter_map(|(of, plugin)| Some((of, of.privacy.as_ref()?, plugin)))
    }

    /// The extensions that nothing is known about: those without a map, and those that this host does not serve.
    pub(crate) async fn unmapped(&self) -> Result<Vec<String>, Error> {
        let known = registry::all(self.state().database()).await?.into_iter();
        let known = known.filter(|entry| !entry.built_in).map(|entry| entry.name);
        Ok(known.filter(|name| self.mapped().all(|(of, ..)| of.name != *name)).collect())
    }

    /// All places where the site keeps data of persons, that of the host first.
    pub(crate) fn places_of_personal_data(&self) -> Vec<Part> {
        let users = persons::PLACES.iter().map(|of| [of.name, of.what, of.purpose, of.kept]);
        let own = users
            .chain(OTHERS)
            .map(|[name, what, purpose, kept]| PersonalData::new(name, what, purpose, kept));
        let own = Part { name: HOST.to_owned(), places: own.collect() };
        let of_extensions = self
            .mapped()
            .map(|(of, privacy, _)| Part { name: of.name.clone(), places: privacy.places.clone() });
        std::iter::once(own).chain(of_extensions).collect()
    }

    /// Whether a permission is that of a map of personal data.
    pub(crate) fn is_about_persons(&self, action: &str, asset: &str) -> bool {
        self.mapped().any(|(_, map, _)| map.action == action && map.asset == asset)
    }

    /// Whether a user has the permission of every map.
    pub(crate) fn may_see_persons(&self, user: i64) -> bool {
        let snapshot = self.state().snapshot();
        self.mapped().all(|(_, map, _)| snapshot.access.allows(user, &map.action, &map.asset))
    }
}
