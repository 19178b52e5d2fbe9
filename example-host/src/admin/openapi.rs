//! What each reader of an OpenAPI document needs: methods by their names, and JSON as people read it.

use host_interface::Method;
use serde_json::Value;

/// The method of an operation.
pub(crate) fn method_of(name: &str) -> Option<Method> {
    let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
    all.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
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
