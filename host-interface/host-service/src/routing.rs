//! Finds the route of an extension for a method and a path. The table is built once, when a host
//! starts.

use std::sync::Arc;

use axum::http::Method as HttpMethod;
use host_interface::{Method, Pattern, Segment};

use crate::error::Error;
use crate::extension::Extension;

/// Every route of every extension.
pub(crate) struct Routes {
    router: matchit::Router<Vec<Endpoint>>,
    extensions: Vec<Extension>,
}

/// The routes of a pattern, one for each method.
struct Endpoint {
    /// The pattern without the names of its parameters, to recognise the same pattern.
    shape: String,
    /// For each parameter, whether it matches only digits.
    digits: Vec<bool>,
    routes: Vec<Route>,
}

/// One route.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) name: Arc<str>,
    pub(crate) public: bool,
    /// Whether the plugin takes a large body in pieces.
    pub(crate) streams: bool,
    /// Whether its bodies are files.
    pub(crate) bulk: bool,
    /// Whether the plugin may hold an answer open.
    pub(crate) waits: bool,
    /// The media types of its answers, where they are not that of the extension.
    media_types: Arc<[String]>,
    /// The kind of record: the segment of the pattern before its first parameter, or its last
    /// segment.
    kind: Arc<str>,
    pub(crate) handler: u32,
    pub(crate) extension: Extension,
}

impl Route {
    /// The media types of its answers, of which a client must accept one; none if it need not.
    pub(crate) fn media_types(&self) -> &[String] {
        let of_all = &self.extension.description().media_type;
        match &*self.media_types {
            [] if of_all.is_empty() => &[],
            [] => std::slice::from_ref(of_all),
            own => own,
        }
    }
}

/// The record that a request refers to, as far as its path names it: for example `products` and `5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// The segment of the path before the record's id, or the last one.
    pub kind: String,
    /// Its id; may be empty.
    pub id: String,
}

/// A path that matched a pattern, with the values of its parameters.
pub(crate) struct Matched<'routes, 'path> {
    endpoint: &'routes Endpoint,
    params: matchit::Params<'routes, 'path>,
}

impl Routes {
    /// Collects what the extensions register.
    pub(crate) fn new(extensions: Vec<Extension>) -> Result<Self, Error> {
        let mut router: matchit::Router<Vec<Endpoint>> = matchit::Router::new();
        for extension in &extensions {
            for route in &extension.description().routes {
                let wrong = |reason: &str| {
                    let reason = format!("route {} /{}: {reason}", route.method, route.pattern);
                    Error::description(extension.name(), reason)
                };
                let (key, shape, digits) = keys(&route.pattern);
                let target = Route {
                    method: route.method,
                    name: route.name.as_str().into(),
                    public: route.public,
                    streams: route.streams,
                    bulk: route.bulk,
                    waits: route.waits,
                    media_types: route.media_types.as_slice().into(),
                    kind: kind(&route.pattern).into(),
                    handler: route.handler,
                    extension: extension.clone(),
                };
                let endpoint = Endpoint { shape, digits, routes: vec![target] };
                insert(&mut router, &key, endpoint).map_err(|reason| wrong(&reason))?;
            }
        }
        Ok(Self { router, extensions })
    }

    /// Finds a path, which is relative to the base path and has no leading slash.
    pub(crate) fn at<'routes, 'path>(
        &'routes self,
        path: &'path str,
    ) -> Option<Matched<'routes, 'path>> {
        let found = self.router.at(path).ok()?;
        let fits = |endpoint: &&Endpoint| {
            endpoint.digits.iter().zip(found.params.iter()).all(|(digits, (_, value))| {
                !*digits || value.bytes().all(|byte| byte.is_ascii_digit())
            })
        };
        let endpoint = found.value.iter().find(fits)?;
        Some(Matched { endpoint, params: found.params })
    }

    /// The extensions whose routes these are.
    pub(crate) fn extensions(&self) -> &[Extension] {
        &self.extensions
    }
}

impl Matched<'_, '_> {
    /// The routes of the path that belong to enabled extensions.
    pub(crate) fn enabled(&self, enabled: impl Fn(&str) -> bool) -> Vec<&Route> {
        self.endpoint.routes.iter().filter(|route| enabled(route.extension.name())).collect()
    }

    /// The record that a request on this route refers to, as far as its path names it.
    pub(crate) fn record(&self, route: &Route) -> Record {
        let id = self.params().next().unwrap_or_default().to_owned();
        Record { kind: route.kind.as_ref().to_owned(), id }
    }

    /// The values of the pattern's parameters, in order.
    pub(crate) fn params(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|(_, value)| value)
    }
}

/// The contract's method of a request; `HEAD` is answered from `GET`.
pub(crate) fn method(method: &HttpMethod) -> Option<Method> {
    match *method {
        HttpMethod::GET | HttpMethod::HEAD => Some(Method::Get),
        HttpMethod::POST => Some(Method::Post),
        HttpMethod::PUT => Some(Method::Put),
        HttpMethod::PATCH => Some(Method::Patch),
        HttpMethod::DELETE => Some(Method::Delete),
        _ => None,
    }
}

/// The value of an `Allow` header.
pub(crate) fn allow(routes: &[&Route]) -> String {
    let mut methods: Vec<Method> = routes.iter().map(|route| route.method).collect();
    methods.sort_unstable();
    let names = methods.into_iter().flat_map(|method| match method {
        Method::Get => vec!["GET", "HEAD"],
        other => vec![other.as_str()],
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The segment before the first parameter of a pattern, or its last segment.
fn kind(pattern: &str) -> String {
    let pattern = Pattern::parse(pattern);
    let words = pattern.segments().iter().map_while(|segment| match segment {
        Segment::Literal(text) => Some(text),
        Segment::Any(_) | Segment::Digits(_) => None,
    });
    words.last().map(ToString::to_string).unwrap_or_default()
}

/// The pattern in the router's syntax, its shape, and which parameters are digits only. Names of
/// parameters are replaced by their positions, so that patterns may name them differently.
fn keys(pattern: &str) -> (String, String, Vec<bool>) {
    let mut digits = Vec::new();
    let mut key = Vec::new();
    let mut shape = Vec::new();
    for segment in Pattern::parse(pattern).segments() {
        match segment {
            Segment::Literal(text) => {
                key.push(text.replace('{', "{{").replace('}', "}}"));
                shape.push(format!("={text}"));
            }
            Segment::Any(_) => {
                key.push(format!("{{p{}}}", digits.len()));
                shape.push("*".to_owned());
                digits.push(false);
            }
            Segment::Digits(_) => {
                key.push(format!("{{p{}}}", digits.len()));
                shape.push("#".to_owned());
                digits.push(true);
            }
        }
    }
    (key.join("/"), shape.join("/"), digits)
}

fn insert(
    router: &mut matchit::Router<Vec<Endpoint>>,
    key: &str,
    endpoint: Endpoint,
) -> Result<(), String> {
    // The router has no way to change a value other than to remove it.
    let mut endpoints = router.remove(key).unwrap_or_default();
    match endpoints.iter_mut().find(|known| known.shape == endpoint.shape) {
        Some(known) => {
            for route in endpoint.routes {
                if known.routes.iter().any(|other| other.method == route.method) {
                    return Err("is registered twice".to_owned());
                }
                known.routes.push(route);
            }
        }
        None => endpoints.push(endpoint),
    }
    // If both match, digits take precedence over any text, as a literal does over a parameter.
    endpoints.sort_by_key(|endpoint| {
        endpoint.digits.iter().map(|digits| !digits).collect::<Vec<bool>>()
    });
    router.insert(key, endpoints).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_differ_by_shape_and_not_by_the_names_of_parameters() {
        let (key, shape, digits) = keys("v1/things/{id:digits}/parts/{part}");
        assert_eq!(key, "v1/things/{p0}/parts/{p1}");
        assert_eq!(shape, "=v1/=things/#/=parts/*");
        assert_eq!(digits, [true, false]);
        assert_eq!(keys("v1/things/{number:digits}/parts/{name}"), (key, shape, digits));
    }

    #[test]
    fn the_kind_of_a_route_is_the_segment_before_its_parameter() {
        assert_eq!(kind("v1/shop/orders/{id:digits}/history"), "orders");
        assert_eq!(kind("v1/shop/manufacturers"), "manufacturers");
        assert_eq!(kind("{name}"), "");
    }

    #[test]
    fn literal_braces_are_escaped_for_the_router() {
        assert_eq!(keys("a{b/c").0, "a{{b/c");
    }

    #[test]
    fn head_is_answered_where_get_is() {
        assert_eq!(method(&HttpMethod::HEAD), Some(Method::Get));
        assert_eq!(method(&HttpMethod::OPTIONS), None);
    }
}
