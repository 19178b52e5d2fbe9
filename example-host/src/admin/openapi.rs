//! What each reader of an OpenAPI document needs: methods by their names, and JSON as people read it.

use host_interface::Method;
use serde_json::Value;

/// The method of an operation.
pub(crate) fn method_of(name: &str) -> Option<Method> {
    let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    all.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
}

/// The name of an operation: its own, or else one of its method and path.
pub(crate) fn name_of(operation: &Value, method: Method, path: &str) -> String {
    let own = operation["operationId"].as_str();
    own.map_or_else(|| format!("{method}{}", path.replace('/', ".")), str::to_owned)
}

/// The members of an array; none of anything else.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text, or the texts in an array.
pub(crate) fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_str().into_iter().chain(members(value).filter_map(Value::as_str))
}

/// A text; empty for anything else.
pub(crate) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A value as text, without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Indented JSON.
pub(crate) fn indented(value: &Value) -> String {
    // A JSON value can always be serialised.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
