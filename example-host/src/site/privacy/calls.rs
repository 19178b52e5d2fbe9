//! What a site answers to plugins that ask about persons. What they learn of a failure is a sentence; its cause is in the
//! log.

use std::sync::Arc;

use futures_util::TryStreamExt;
use futures_util::future::BoxFuture;
use host_interface::{Body, ErasedEverywhere, Erasure, Error, Person};

use crate::base::error::Error as SiteError;
use crate::base::text::{fold, one_line};
use crate::identity::persons;
use crate::site::persons::Persons;
use crate::site::{Inner, Site};
use crate::watch::audit::Actor;

impl Persons for Inner {
    fn export(
        self: Arc<Self>,
        extension: String,
        person: Person,
        by: i64,
    ) -> BoxFuture<'static, Result<Body, Error>> {
        Box::pin(async move {
            let site = acting(self, &extension, "export a person", by, None).await;
            let copy = async { site?.copy_person(&person).await }.await;
            let (copy, _) = copy.map_err(|error| answered(&extension, error))?;
            Ok(Body::new(copy.map_err(move |error| answered(&extension, error))))
        })
    }

    fn erase(
        self: Arc<Self>,
        extension: String,
        erasure: Erasure,
    ) -> BoxFuture<'static, Result<ErasedEverywhere, Error>> {
        Box::pin(async move {
            let (by, person) = (erasure.by, &erasure.person);
            let site = acting(self, &extension, "erase a person", by, Some(person)).await;
            let done = async { site?.erase_person(&erasure).await }.await;
            done.map_err(|error| answered(&extension, error))
        })
    }

    fn erase_again(self: Arc<Self>, extension: String) -> BoxFuture<'static, Result<u64, Error>> {
        Box::pin(async move {
            let site = acting(self, &extension, "erase persons again", 0, None).await;
            let done = async { site?.erase_again().await }.await;
            done.map_err(|error| answered(&extension, error))
        })
    }
}

/// The site on behalf of an extension, and of the user who has asked it. A user who asks for their own erasure is not
/// named, because no entry of it names the erased person.
async fn acting(
    inner: Arc<Inner>,
    extension: &str,
    action: &str,
    by: i64,
    erased: Option<&Person>,
) -> Result<Site, SiteError> {
    let site = Site { inner, actor: None };
    let user = match by {
        0 => None,
        by => persons::by_key(site.state().database(), by).await?,
    };
    let is_own = |user: &persons::Known| {
        erased.is_some_and(|person| {
            let email = person.email.as_deref().map(|email| fold(email.trim()));
            person.user == Some(user.id) || email == Some(fold(&user.email))
        })
    };
    let username = user.filter(|user| !is_own(user)).map(|user| user.username);
    let by = (by, username.unwrap_or_default());
    Ok(site.on_behalf_of(Actor::of_extension(extension, action.to_owned(), by)))
}

/// What an extension learns of an error.
fn answered(extension: &str, error: SiteError) -> Error {
    match error {
        SiteError::Invalid(why) => Error::Refused(why),
        error => {
            let error = one_line(error);
            tracing::error!(extension, error, "a person's data could not be copied or erased");
            Error::failed(
                "the person's data could not be copied or erased; the host's log has the reason",
            )
        }
    }
}
