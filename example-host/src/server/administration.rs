//! Requests to the administration: reads the request, and passes it to the pages in `admin`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use host_service::{Handled, Refusal, RequestId, body, is_change};

use crate::admin::{BASE, Expected, FileLimits, PageRequest, late};

use super::client::{self, Peer};
use super::context::Context;
use super::limits::Permit;

/// The header in which a proxy sends the protocol of its client.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How much longer a form with a file may take. A pause has a limit of its own, and a form without a session is
/// not waited for.
const FILE_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Answers a request to the administration.
pub(crate) async fn answer(
    context: Arc<Context>,
    id: &RequestId,
    request: Request<Body>,
) -> Response<Body> {
    let mut time = context.api.limits().request_timeout;
    if has_file(request.headers()) {
        time += FILE_TIME;
    }
    match tokio::time::timeout(time, page(context, id, request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(refusal)) => refusal.response(id),
        Err(_) => late(id),
    }
}

async fn page(
    context: Arc<Context>,
    id: &RequestId,
    request: Request<Body>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let Some(path) = parts.uri.path().strip_prefix(BASE).filter(|path| !path.is_empty()) else {
        return Ok(to_the_first_page());
    };
    let peer = parts.extensions.get::<Peer>().copied().ok_or(Refusal::Internal)?;
    let connection = parts.extensions.get::<Weak<Permit>>().cloned().unwrap_or_default();
    let mut request = PageRequest {
        path: path.to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: Vec::new(),
        received: None,
        client: client::of(peer, &parts.headers, &context.trusted_proxies),
        encrypted: context.encrypted || speaks_tls(&context, peer, &parts.headers),
        id: id.as_str().to_owned(),
        id_of_client: id.of_client().map(str::to_owned),
        method: parts.method,
        headers: parts.headers,
        session: None,
    };
    let answered = if is_change(&request.method) {
        receive(&context, &mut request, &connection, body).await?;
        let slot = context.forms.slot().await.ok_or(Refusal::Unavailable)?;
        let at = Arc::clone(&context);
        // A form is processed completely, even if the browser disconnects.
        let processing = async move { at.administration.answer(request).await };
        match context.forms.run(slot, processing).await {
            Ok(Some(answered)) => answered,
            Ok(None) => return Err(Refusal::Unavailable),
            Err(error) => {
                tracing::error!(%error, "a form was not processed completely");
                return Err(Refusal::Internal);
            }
        }
    } else {
        context.administration.answer(request).await
    };
    let mut response = answered.response;
    let handled = Handled { route: answered.page.into(), user: answered.user };
    response.extensions_mut().insert(handled);
    Ok(response)
}

/// Receives what is sent to a page, up to the size that is allowed for its sender.
async fn receive(
    context: &Context,
    request: &mut PageRequest,
    connection: &Weak<Permit>,
    mut body: Body,
) -> Result<(), Refusal> {
    let expected = context.administration.recognise(request).await.map_err(|error| {
        tracing::error!(%error, "a session could not be looked up");
        Refusal::Unavailable
    })?;
    let is_signed_in = matches!(request.session, Some(Some(_)));
    let limits = context.api.limits();
    let read = match expected {
        Expected::Form { longest } => {
            let limit = longest.min(limits.body_limit);
            let read = if body::is_too_large(&request.headers, limit) {
                Err(Refusal::BodyTooLarge { limit })
            } else if is_signed_in {
                body::read(&mut body, limit, limits.stall_timeout).await
            } else {
                context.arrivals.receive(request.client, connection, &mut body, limit).await
            };
            read.map(|form| request.body = form)
        }
        Expected::File { boundary, secret } => {
            let of_file = FileLimits { size: limits.bulk_limit, stall: limits.stall_timeout };
            let received = context.administration.receive(&mut body, boundary, &secret, of_file);
            let received = received.await;
            if received.as_ref().is_ok_and(|received| received.is_foreign()) {
                body::discard(std::mem::take(&mut body)).await;
            }
            received.map(|received| request.received = Some(received))
        }
        Expected::Nothing => {
            body::discard(body).await;
            return Ok(());
        }
    };
    if matches!(read, Err(Refusal::BodyTooLarge { .. }))
        && !request.headers.contains_key(header::EXPECT)
    {
        body::discard(body).await;
    }
    read
}

/// Whether a form may have a file, which may arrive for as long as its client sends.
fn has_file(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    media_type.is_some_and(|media_type| media_type.starts_with("multipart/form-data"))
}

/// Whether a trusted proxy reports that its client uses TLS.
fn speaks_tls(context: &Context, peer: Peer, headers: &HeaderMap) -> bool {
    let trusted = client::is_trusted(peer, &context.trusted_proxies);
    trusted && headers.get(FORWARDED_PROTO).is_some_and(|protocol| protocol == "https")
}

fn to_the_first_page() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    let page = HeaderValue::try_from(format!("{BASE}/"));
    if let Ok(page) = page {
        response.headers_mut().insert(header::LOCATION, page);
    }
    response
}
