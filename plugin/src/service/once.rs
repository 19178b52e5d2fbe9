//! Writes that happen once: the answer to a write with a key is kept in the write's own
//! transaction, and is the answer to each repetition. Independent of what a write does.
//!
//! The row of a key exists exactly if its write does, so nothing has to be cleaned up after a kill,
//! and a request that failed may be repeated, corrected or not. Of requests with the same key, all but
//! one wait: on one host in memory (`key_queue`), on several for the claim of the key in the database.

use std::io::{Read, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use host_interface::Response;
use time::Duration;
use tokio::time::{Instant, timeout_at};

use super::call::{Call, Shop};
use super::key_queue::{HeldKey, in_progress};
use crate::error::{Error, Fault, FaultKind, StoredAnswer};
use crate::model::field::{created_on, int, text, user};
use crate::model::moment;
use crate::model::personal::Personal;
use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::sql::{self, KeptAnswer, Keyed};
use crate::store::{self, Transaction};
use crate::wire::answer;

/// Begins the transaction of a write.
///
/// # Errors
/// [`Error::Repeated`] with the answer, if the write with the same key has been done; when the key
/// belongs to another write, or when that takes too long.
pub async fn begin(call: &Call<'_>) -> Result<Transaction, Error> {
    let mut transaction = call.shop.store.begin().await?;
    let Some(key) = call.key else { return Ok(transaction) };
    let Some((fingerprint, answer)) = claim(keyed(key), key.deadline, &mut transaction).await?
    else {
        return Ok(transaction);
    };
    // Nothing was written; the commit confirms what was read.
    transaction.commit().await?;
    let is_same = fingerprint == key.fingerprint;
    Err(if is_same { Error::Repeated(Box::new(answer)) } else { reused() })
}

/// Takes the key of a request that keeps what it has done in a record of its own, so that no other request gets it.
///
/// # Errors
/// When the key belongs to another request, or when that takes too long.
pub async fn take(key: &HeldKey<'_>, transaction: &mut Transaction) -> Result<(), Error> {
    let of = Keyed { fingerprint: TAKEN, ..keyed(key) };
    let deadline = key.deadline_from_now();
    if let Some((fingerprint, _)) = claim(of, deadline, transaction).await? {
        return Err(if fingerprint == TAKEN { in_progress() } else { reused() });
    }
    let keep = sql::keep_answer(of, StoredAnswer::default(), transaction.dialect());
    transaction.execute(keep).await
}

/// Commits a write, and returns its answer, which is stored if the write has a key.
pub async fn commit(
    call: &Call<'_>,
    mut transaction: Transaction,
    answer: Response,
) -> Result<Response, Error> {
    if let Some(key) = call.key {
        let keep = sql::keep_answer(keyed(key), stored(&answer)?, transaction.dialect());
        transaction.execute(keep).await?;
    }
    transaction.commit().await?;
    Ok(answer)
}

/// The answer to a repeated write, byte for byte as it was the first time.
///
/// # Errors
/// When what was stored is damaged.
pub fn replay(stored: StoredAnswer) -> Result<Response, Error> {
    let status = u16::try_from(stored.status).map_err(|_| DAMAGED)?;
    let body = body_of(stored.body)?;
    let mut response =
        if body.is_empty() { Response::new(status) } else { answer::document(status, body) };
    for (name, value) in [("etag", stored.etag), ("location", stored.location)] {
        if !value.is_empty() {
            response = response.with_header(name, value);
        }
    }
    Ok(response.with_header("idempotent-replayed", "true"))
}

/// The body of an answer from its stored text.
///
/// # Errors
/// When what was stored is damaged.
pub fn body_of(stored: String) -> Result<Vec<u8>, Error> {
    if stored.is_empty() || stored.starts_with('{') {
        return Ok(stored.into_bytes());
    }
    let compressed = BASE64_STANDARD.decode(stored).map_err(|_| DAMAGED)?;
    let mut body = Vec::new();
    DeflateDecoder::new(&compressed[..]).read_to_end(&mut body).map_err(|_| DAMAGED)?;
    Ok(body)
}

/// The fingerprint beside a key that was taken; no request has it.
const TAKEN: &str = "taken";

const DAMAGED: Error = Error::Contract("the kept answer to a write cannot be read");

/// Removes the keys that are older than the site keeps them.
pub async fn sweep(shop: &Shop) -> Result<(), Error> {
    let days = shop.parameters.current()?.idempotency_days;
    let before = Value::Moment(moment::now().saturating_sub(Duration::days(days)));
    shop.store.sweep(|| sql::old_keys(before.clone()), sql::remove_keys).await
}

/// Claims a key that is free; otherwise the fingerprint and the answer of the earlier request with it.
async fn claim(
    of: Keyed<'_>,
    deadline: Instant,
    transaction: &mut Transaction,
) -> Result<Option<(String, StoredAnswer)>, Error> {
    let claim = sql::claim_key(of, transaction.dialect());
    let claims = claim.is_some();
    if let Some(claim) = claim {
        let claimed = timeout_at(deadline, transaction.change(claim)).await;
        if claimed.map_err(|_| in_progress())?? == 1 {
            return Ok(None);
        }
    }
    match find(of, transaction).await? {
        // The row that was in the way has just been swept.
        None if claims => Err(store::interrupted()),
        found => Ok(found),
    }
}

/// The fingerprint and the answer of the earlier request with the key.
async fn find(
    of: Keyed<'_>,
    transaction: &mut Transaction,
) -> Result<Option<(String, StoredAnswer)>, Error> {
    let found = transaction.rows(sql::find_key(of.user, of.key)).await?;
    Ok(found.into_iter().next().map(|found| {
        let KeptAnswer { fingerprint, status, location, etag, body } = found;
        (fingerprint, StoredAnswer { status, location, etag, body })
    }))
}

/// The length of a body in bytes from which compressing it saves more than it costs.
const WORTH_COMPRESSING: usize = 1_024;

/// What is stored of an answer. The store's columns have no type for bytes, so a body is stored as text: a
/// short one as it is, which is JSON, and a longer one compressed, in base64, which has no braces.
fn stored(answer: &Response) -> Result<StoredAnswer, Error> {
    let header = |name| {
        let header = answer.headers().iter().find(|header| header.name() == name);
        header.map_or_else(String::new, |header| header.value().to_owned())
    };
    let body = match std::str::from_utf8(answer.body()) {
        Ok(text) if text.len() < WORTH_COMPRESSING => text.to_owned(),
        _ => {
            let mut compressed = DeflateEncoder::new(Vec::new(), Compression::fast());
            let compressed = compressed.write_all(answer.body()).and_then(|()| compressed.finish());
            BASE64_STANDARD.encode(compressed.map_err(host_interface::Error::failed)?)
        }
    };
    let (status, location, etag) = (answer.status().into(), header("location"), header("etag"));
    Ok(StoredAnswer { status, location, etag, body })
}

/// The table of keys, which no route shows.
pub(crate) static KEYS: Resource = Resource {
    kind: "keys",
    singular: "stored answer",
    table: "shop_keys",
    key: "shop_key_id",
    list: &[
        user("user_id").personal(Personal::Identifier),
        text("idempotency_key", 255).personal(Personal::Identifier),
        created_on(),
        int("status"),
        text("location", 255).personal(Personal::Identifier),
        text("body", usize::MAX).personal(Personal::FreeText),
    ],
    crud: false,
    versioned: false,
    folds: false,
    ..Resource::CRUD
}
.checked();

fn keyed<'a>(key: &'a HeldKey<'_>) -> Keyed<'a> {
    Keyed { user: key.user(), key: key.text(), fingerprint: &key.fingerprint }
}

fn reused() -> Error {
    let detail = "This key was sent with another request; send each request with a key of its own.";
    Fault::at_header(FaultKind::KeyReused, "Idempotency-Key", detail).into()
}
