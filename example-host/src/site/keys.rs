//! The key of the secrets of a site, where the site moves: it is in no copy, and in a backup only on request, so that
//! whoever has one of them has none of the secrets. Opens no secret.

use std::path::Path;

use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::secret_key::SecretKey;
use crate::secrets::Secrets;

/// The secrets of the site with these databases, under this key or under that in a file.
pub(crate) fn secrets(databases: &Databases, key: Option<SecretKey>) -> Secrets {
    Secrets::new(key, databases.host().beside("secret.key"))
}

/// The file with the key in the folder of a backup that has it.
const IN_BACKUP: &str = "secret.key";

/// The id of the key, which is noted in a backup. The key itself is written to its folder only on request.
pub(super) fn back_up(
    secrets: &Secrets,
    folder: &Path,
    with_key: bool,
) -> Result<Option<String>, Error> {
    let id = secrets.key_id()?;
    if with_key {
        secrets.write_key(&folder.join(IN_BACKUP))?;
    } else if let (Some(id), Some(file)) = (id, secrets.file()) {
        let file = file.display();
        tracing::info!(
            key = id,
            "the key of secrets, {file}, is not part of the backup; keep a copy of it elsewhere, or use \
             --with-key"
        );
    }
    Ok(id.map(str::to_owned))
}

/// Puts the key in a backup, if it has one, where a site without a key has its own.
pub(super) fn restore(backup: &Path, secrets: &Secrets) -> Result<(), Error> {
    secrets.take_key(&backup.join(IN_BACKUP))
}

/// Warns if the secrets of a site were made with a key that is not here.
pub(super) fn compare(made_with: Option<&str>, here: &Secrets) -> Result<(), Error> {
    let Some(key) = made_with else { return Ok(()) };
    match (here.key_id()?, here.file()) {
        (Some(id), _) if id == key => {}
        (Some(id), _) => tracing::warn!(
            key,
            "the secrets of this site were made with another key than the one here, {id}; without \
             theirs they have to be made anew"
        ),
        (None, file) => {
            let file = file.map(|file| file.display().to_string()).unwrap_or_default();
            tracing::warn!(
                key,
                "the key of the secrets of this site was not copied; put it to {file} or into \
                 HOST_SECRET_KEY, without it they have to be made anew"
            );
        }
    }
    Ok(())
}
