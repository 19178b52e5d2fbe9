//! The addresses of the server and their handlers, with the layers that all requests have in
//! common.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension as FromRequest, State};
use axum::http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request as HttpRequest,
    Response as HttpResponse, header,
};
use host_interface::CHANGE_OUTCOME;
use host_service::{Handled, REQUEST_ID, Refusal, RequestId, Streamed, body, compressed_tag};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::admin::BASE;
use crate::base::error::Error;
use crate::base::settings::ServerSettings;

use super::context::Context;
use super::{access_log, administration, health};

/// Smaller answers fit into one or two packets without compression.
const WORTH_COMPRESSING: u64 = 1024;

/// An address of the server.
enum Address {
    /// A route of an extension.
    Api,
    /// A page of the administration.
    Administration,
    /// The health of the site.
    Health,
    /// Whether the process answers at all.
    Alive,
    Unknown,
}

impl Address {
    /// The table of all addresses.
    fn of(context: &Context, path: &str) -> Self {
        if context.api.below(path).is_some() {
            return Self::Api;
        }
        match path.strip_prefix(BASE) {
            Some(below) if below.is_empty() || below.starts_with('/') => Self::Administration,
            _ if path == "/health" => Self::Health,
            _ if path == "/livez" => Self::Alive,
            _ => Self::Unknown,
        }
    }
}

/// The routers for connections within the limit and above it.
pub(crate) fn routers(
    context: &Arc<Context>,
    settings: &ServerSettings,
) -> Result<(Router, Router), Error> {
    let within = around(context, settings, Router::new().fallback(answer))?;
    let above = around(context, settings, Router::new().fallback(answer_above_limit))?;
    Ok((within, above))
}

/// Answers any request.
async fn answer(
    State(context): State<Arc<Context>>,
    FromRequest(id): FromRequest<RequestId>,
    request: HttpRequest<Body>,
) -> HttpResponse<Body> {
    match Address::of(&context, request.uri().path()) {
        Address::Api => context.api.answer(&id, request).await,
        // In boxes, because every request would be as large as one of these otherwise, also those that
        // wait.
        Address::Administration => Box::pin(administration::answer(context, &id, request)).await,
        Address::Health => Box::pin(answer_health(&context, &id, request.method())).await,
        Address::Alive => answer_alive(&id, request.method()),
        Address::Unknown => Refusal::NotFound.response(&id),
    }
}

/// Answers a request on a connection above the limit: checks of health and life are answered as usual, all
/// other requests get a 503.
async fn answer_above_limit(
    State(context): State<Arc<Context>>,
    FromRequest(id): FromRequest<RequestId>,
    request: HttpRequest<Body>,
) -> HttpResponse<Body> {
    let (parts, body) = request.into_parts();
    let response = match Address::of(&context, parts.uri.path()) {
        Address::Health => answer_health(&context, &id, &parts.method).await,
        Address::Alive => answer_alive(&id, &parts.method),
        _ => Refusal::Unavailable.response(&id),
    };
    if !parts.headers.contains_key(header::EXPECT) {
        body::discard(body).await;
    }
    response
}

async fn answer_health(
    context: &Context,
    id: &RequestId,
    method: &HttpMethod,
) -> HttpResponse<Body> {
    if let Some(refusal) = unless_read(method) {
        return refusal.response(id);
    }
    let response = if context.phases.is_serving() {
        health::answer(&context.api.access().site, &context.health).await
    } else {
        health::stopping()
    };
    handled("health", response)
}

/// Answers whether the process answers at all, whatever its database does. It asks nobody.
fn answer_alive(id: &RequestId, method: &HttpMethod) -> HttpResponse<Body> {
    match unless_read(method) {
        Some(refusal) => refusal.response(id),
        None => handled("livez", health::alive()),
    }
}

fn unless_read(method: &HttpMethod) -> Option<Refusal> {
    let reads = matches!(*method, HttpMethod::GET | HttpMethod::HEAD);
    (!reads).then(|| Refusal::MethodNotAllowed { allow: "GET, HEAD".to_owned() })
}

/// The answer with the name of its route, for the log.
fn handled(route: &'static str, mut response: HttpResponse<Body>) -> HttpResponse<Body> {
    response.extensions_mut().insert(Handled { route: route.into(), ..Handled::default() });
    response
}

/// Adds the layers that all requests have in common. The router removes the bodies of answers to `HEAD` at
/// the very end, so that they have the headers of those to `GET`, compressed ones too.
fn around(
    context: &Arc<Context>,
    settings: &ServerSettings,
    answers: Router<Arc<Context>>,
) -> Result<Router, Error> {
    let mut router = answers.with_state(Arc::clone(context));
    if !settings.cors_origins.is_empty() {
        router = router.layer(cors(&settings.cors_origins)?);
    }
    // Outside of CORS, so that preflights are logged and have an id too.
    let router = router
        .layer(axum::middleware::from_fn_with_state(Arc::clone(context), access_log::observe));
    // A body in pieces is not compressed, because that would hold pieces back.
    let whole =
        |_, _, _: &HeaderMap, extensions: &Extensions| extensions.get::<Streamed>().is_none();
    let worth = SizeAbove::new(WORTH_COMPRESSING).and(whole);
    // Outermost, so that the log has the uncompressed size of an answer.
    let router = router.layer(CompressionLayer::new().compress_when(worth));
    Ok(router.layer(axum::middleware::map_response(tag_compressed)))
}

/// A strong tag stands for the very bytes of a body, so a compressed one has a tag of its own.
async fn tag_compressed(mut response: HttpResponse<Body>) -> HttpResponse<Body> {
    let headers = response.headers_mut();
    if headers.contains_key(header::CONTENT_ENCODING)
        && let Some(tag) = headers.get(header::ETAG).and_then(compressed_tag)
    {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn cors(origins: &[String]) -> Result<CorsLayer, Error> {
    let origins = origins
        .iter()
        .map(|origin| {
            HeaderValue::from_str(origin)
                .map_err(|_| Error::Invalid(format!("{origin:?} is not an origin")))
        })
        .collect::<Result<Vec<HeaderValue>, Error>>()?;
    Ok(CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([
            HttpMethod::GET,
            HttpMethod::POST,
            HttpMethod::PUT,
            HttpMethod::PATCH,
            HttpMethod::DELETE,
        ])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            header::CONTENT_ENCODING,
            HeaderName::from_static("idempotency-key"),
            HeaderName::from_static("import-of"),
            HeaderName::from_static("prefer"),
        ])
        .expose_headers([
            HeaderName::from_static(REQUEST_ID),
            header::CONTENT_DISPOSITION,
            header::LOCATION,
            header::ETAG,
            HeaderName::from_static("export-cursor"),
            HeaderName::from_static(CHANGE_OUTCOME),
            HeaderName::from_static("idempotent-replayed"),
            HeaderName::from_static("preference-applied"),
            HeaderName::from_static("ratelimit-policy"),
            HeaderName::from_static("ratelimit"),
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
        ]))
}

/// The value of the HSTS header, which makes browsers use only HTTPS for this site after their
/// first visit by HTTPS.
pub(crate) fn strict_transport(settings: &ServerSettings) -> Result<Option<HeaderValue>, Error> {
    if settings.tls.is_none() || settings.hsts_max_age == 0 {
        return Ok(None);
    }
    let value = HeaderValue::try_from(format!("max-age={}", settings.hsts_max_age));
    value.map(Some).map_err(|error| Error::Invalid(error.to_string()))
}
