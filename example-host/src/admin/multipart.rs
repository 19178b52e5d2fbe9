//! A form with a file, which is kept as it arrives and never as a whole in memory. The token of the session comes
//! first in the form: without it, nothing is kept.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use host_service::Refusal;
use http_body_util::BodyDataStream;
use multer::{Field, Multipart};
use tokio::time::timeout;

use super::form::{self, Form};
use super::spool::Spool;
use super::uploads::SentFile;

/// The maximum size of everything in such a form but the file.
const LONGEST: usize = 16 * 1024;

/// A form with a file.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) form: Form,
    pub(crate) file: Option<Arc<SentFile>>,
}

impl Received {
    /// Whether it was not of the session, so that the rest was not read.
    pub(crate) fn is_foreign(&self) -> bool {
        self.form.fields().next().is_none()
    }
}

/// The limits of a form with a file.
pub(crate) struct FileLimits {
    /// The maximum size of the file.
    pub(crate) size: usize,
    /// How long the client may pause.
    pub(crate) stall: Duration,
}

/// What separates the parts of a form with a file; `None` if a request has no such form.
pub(crate) fn boundary(headers: &HeaderMap) -> Option<String> {
    let media_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    multer::parse_boundary(media_type).ok()
}

/// Receives a form of a session. One that does not begin with the session's token has no fields and no file.
pub(crate) async fn receive(
    body: &mut Body,
    boundary: String,
    secret: &str,
    limits: &FileLimits,
) -> Result<Received, Refusal> {
    let mut parts = Multipart::new(BodyDataStream::new(body), boundary);
    let (mut fields, mut file, mut size) = (Vec::new(), None, 0);
    loop {
        let next = timeout(limits.stall, parts.next_field());
        let next = next.await.map_err(|_| Refusal::BodyTooSlow)?.map_err(broken)?;
        let Some(mut part) = next else { break };
        let name = part.name().unwrap_or_default().to_owned();
        if let Some(file_name) = part.file_name().map(str::to_owned) {
            if fields.is_empty() {
                break;
            }
            let content = Spool::new();
            while let Some(chunk) = chunk(&mut part, limits).await? {
                let kept = content.size() + chunk.len() as u64;
                if kept > limits.size as u64 {
                    return Err(Refusal::BodyTooLarge { limit: limits.size });
                }
                content.append(&chunk).map_err(|error| {
                    tracing::error!(%error, "a file that arrives cannot be kept");
                    Refusal::Unavailable
                })?;
            }
            let is_chosen = content.size() > 0 || !file_name.is_empty();
            let sent = SentFile { name: file_name, content: Arc::new(content) };
            file = Some(Arc::new(sent)).filter(|_| is_chosen);
            continue;
        }
        let mut value = Vec::new();
        while let Some(chunk) = chunk(&mut part, limits).await? {
            value.extend_from_slice(&chunk);
            size += chunk.len();
            if size > LONGEST {
                return Err(Refusal::BodyTooLarge { limit: LONGEST });
            }
        }
        fields.push((name, String::from_utf8_lossy(&value).into_owned()));
        if fields.len() == 1 && !form::is_of_session(&Form::of_fields(fields.clone()), secret) {
            break;
        }
    }
    let form = Form::of_fields(fields);
    let is_of_session = form::is_of_session(&form, secret);
    Ok(if is_of_session { Received { form, file } } else { Received::default() })
}

async fn chunk(part: &mut Field<'_>, limits: &FileLimits) -> Result<Option<bytes::Bytes>, Refusal> {
    let chunk = timeout(limits.stall, part.chunk()).await;
    chunk.map_err(|_| Refusal::BodyTooSlow)?.map_err(broken)
}

fn broken(error: multer::Error) -> Refusal {
    tracing::debug!(%error, "a form with a file ended early or is not well-formed");
    Refusal::BodyIncomplete
}
