//! Reading the body of a request within its limits, and discarding the body of a refused request.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// How much of an unwanted body is read before the connection is closed.
const DISCARD_BYTES: usize = 16 * 1024 * 1024;
/// How long that may take.
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// How many bodies may be discarded at the same time. Anybody can send one that is refused, and as slowly
/// as they like, so these must not occupy all connections.
static DISCARDING: Semaphore = Semaphore::const_new(64);

/// Whether the body is too large according to its `Content-Length`.
pub fn is_too_large(headers: &HeaderMap, limit: usize) -> bool {
    length(headers).is_some_and(|length| length > limit as u64)
}

/// The length of the body according to its `Content-Length`.
pub(crate) fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads the whole body. The client may not pause for longer than `stall`.
///
/// # Errors
/// When it has more than `limit` bytes, pauses for too long, or breaks off.
pub async fn read(body: &mut Body, limit: usize, stall: Duration) -> Result<Vec<u8>, Refusal> {
    Ok(read_until(body, usize::MAX, limit, stall).await?.0)
}

/// Reads a body until it ends or is larger than `enough`, and returns whether it has ended.
pub(crate) async fn read_until(
    body: &mut Body,
    enough: usize,
    limit: usize,
    stall: Duration,
) -> Result<(Vec<u8>, bool), Refusal> {
    let mut whole = Vec::new();
    let next = async |body: &mut Body| {
        timeout(stall, body.frame()).await.map_err(|_| Refusal::BodyTooSlow)
    };
    while let Some(frame) = next(body).await? {
        let frame = frame.map_err(|error| {
            tracing::debug!(%error, "a body ended early");
            Refusal::BodyIncomplete
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > limit.saturating_sub(whole.len()) {
            return Err(Refusal::BodyTooLarge { limit });
        }
        if whole.is_empty() {
            // Nearly every body arrives in one piece, which is not copied.
            whole = Vec::from(data);
        } else {
            whole.extend_from_slice(&data);
        }
        if whole.len() > enough {
            return Ok((whole, false));
        }
    }
    Ok((whole, true))
}

/// Reads and discards the rest of a body: a client that is still sending when the connection is
/// closed would not receive the answer. If many others are being discarded, it is left unread.
pub async fn discard(mut body: Body) {
    let Ok(_place) = DISCARDING.try_acquire() else { return };
    let reading = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let read = frame.data_ref().map_or(0, |data| data.len());
            match left.checked_sub(read) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // After the timeout the rest is ignored.
    let _ = timeout(DISCARD_TIME, reading).await;
}
