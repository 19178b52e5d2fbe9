//! Writes that happen once: the answer to a write with a key is kept in the write's own
//! transaction, and is the answer to each repetition. Independent of what a write does.
//!
//! The row of a key is there exactly if its write is, so nothing has to be tidied up after a kill,
//! and a request that failed may be repeated, corrected or not. Of requests with one key, all but
//! one wait: on one host in memory (`turns`), on several for the claim of the key in the database.

use std::io::{Read, Write};
use std::ops::ControlFlow::{self, Break, Continue};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use host_interface::Response;
use time::Duration;
use tokio::time::timeout_at;

use super::call::{Call, Shop};
use super::turns::{Turn, in_progress};
use crate::error::{Error, Fault, FaultKind};
use crate::model::moment;
use crate::model::value::Value;
use crate::sql::{self, Keyed, StoredAnswer};
use crate::store::{self, Transaction};
use crate::wire::answer;

/// Begins a write: with its transaction, or with the answer of the write that had the same key.
///
/// # Errors
/// Database errors; when the key belongs to another write, or when that takes too long.
pub async fn begin(call: &Call<'_>) -> Result<ControlFlow<Response, Transaction>, Error> {
    let mut transaction = call.shop.store.begin().await?;
    let Some(turn) = call.turn else { return Ok(Continue(transaction)) };
    let claim = sql::claim_key(keyed(turn), transaction.dialect());
    let claims = claim.is_some();
    if let Some(claim) = claim {
        let claimed = timeout_at(turn.deadline, transaction.change(claim)).await;
        if claimed.map_err(|_| in_progress())?? == 1 {
            return Ok(Continue(transaction));
        }
    }
    match find(turn, &mut transaction).await? {
        Some((fingerprint, answer)) => {
            // Nothing was written; the commit confirms what was read.
            transaction.commit().await?;
            if fingerprint == turn.fingerprint { Ok(Break(replay(answer)?)) } else { Err(reused()) }
        }
        // The row that was in the way has just been swept.
        None if claims => Err(store::interrupted()),
        None => Ok(Continue(transaction)),
    }
}

/// Commits a write with its answer, which is kept if the write has a key.
///
/// # Errors
/// Database errors; nothing is written then.
pub async fn commit(
    call: &Call<'_>,
    mut transaction: Transaction,
    answer: Response,
) -> Result<Response, Error> {
    if let Some(turn) = call.turn {
        let keep = sql::keep_answer(keyed(turn), kept(&answer)?, transaction.dialect());
        transaction.execute(keep).await?;
    }
    transaction.commit().await?;
    Ok(answer)
}

/// Removes the keys that have been kept for long enough.
///
/// # Errors
/// Database errors.
pub async fn sweep(shop: &Shop) -> Result<(), Error> {
    let days = shop.parameters.current()?.idempotency_days;
    let before = Value::Moment(moment::now().saturating_sub(Duration::days(days)));
    loop {
        let cells = shop.store.table(sql::old_keys(before.clone())).await?;
        let rows = cells.rows()?;
        let old = rows.iter().map(|row| match &row[..] {
            [key] => key.int("shop_key_id"),
            _ => Err(Error::Contract("a row of old keys has other columns")),
        });
        let old = old.collect::<Result<Vec<i64>, Error>>()?;
        if old.is_empty() {
            return Ok(());
        }
        let remove = sql::remove_keys(old, shop.store.dialect());
        store::retry(|| shop.store.write([remove.clone()])).await?;
    }
}

/// The fingerprint and the answer of the earlier request with the key.
async fn find(
    turn: &Turn<'_>,
    transaction: &mut Transaction,
) -> Result<Option<(String, StoredAnswer)>, Error> {
    let cells = transaction.table(sql::find_key(turn.user(), turn.key())).await?;
    let rows = cells.rows()?;
    let Some(row) = rows.first() else { return Ok(None) };
    let [fingerprint, status, location, etag, body] = &row[..] else {
        return Err(Error::Contract("the row of a key has other columns"));
    };
    let answer = StoredAnswer {
        status: status.int("status")?,
        location: location.text("location")?.to_owned(),
        etag: etag.text("etag")?.to_owned(),
        body: body.text("body")?.to_owned(),
    };
    Ok(Some((fingerprint.text("fingerprint")?.to_owned(), answer)))
}

/// The length of a body in bytes from which compressing it saves more than it costs.
const WORTH_COMPRESSING: usize = 1_024;

/// What is kept of an answer. The store's columns have no type for bytes, so a body is kept as text: a
/// short one as it is, which is JSON, and a longer one compressed, in base64, which has no braces.
fn kept(answer: &Response) -> Result<StoredAnswer, Error> {
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

/// The answer that was kept, byte for byte.
fn replay(kept: StoredAnswer) -> Result<Response, Error> {
    const DAMAGED: Error = Error::Contract("the kept answer to a write cannot be read");
    let status = u16::try_from(kept.status).map_err(|_| DAMAGED)?;
    let body = match kept.body.is_empty() || kept.body.starts_with('{') {
        true => kept.body.into_bytes(),
        false => {
            let compressed = BASE64_STANDARD.decode(kept.body).map_err(|_| DAMAGED)?;
            let mut body = Vec::new();
            DeflateDecoder::new(&compressed[..]).read_to_end(&mut body).map_err(|_| DAMAGED)?;
            body
        }
    };
    let mut response =
        if body.is_empty() { Response::new(status) } else { answer::document(status, body) };
    for (name, value) in [("etag", kept.etag), ("location", kept.location)] {
        if !value.is_empty() {
            response = response.with_header(name, value);
        }
    }
    Ok(response.with_header("idempotent-replayed", "true"))
}

fn keyed<'a>(turn: &'a Turn<'_>) -> Keyed<'a> {
    Keyed { user: turn.user(), key: turn.key(), fingerprint: &turn.fingerprint }
}

fn reused() -> Error {
    let detail = "This key was sent with another request; send each request with a key of its own.";
    Fault::at_header(FaultKind::KeyReused, "Idempotency-Key", detail).into()
}
