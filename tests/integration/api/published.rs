//! `plugin/openapi.json`, the document that integrators take from the repository, and two short views of it that are
//! reviewed: a line for each route, and a line for each property.

use std::fmt::Write;

use serde_json::Value;

/// What a program prints after `openapi`.
const PUBLISHED: &str = include_str!("../../../plugin/openapi.json");

#[test]
fn the_published_document_is_that_of_the_store() {
    let document = plugin::app::openapi("/api/index.php");
    let text = serde_json::to_string_pretty(&document).unwrap();
    let differs = PUBLISHED.lines().zip(text.lines()).position(|(published, now)| published != now);
    assert!(
        PUBLISHED.trim_end() == text,
        "line {differs:?} differs; cargo run -- openapi > plugin/openapi.json publishes the new document"
    );
}

#[test]
fn the_routes_are_the_reviewed_ones() {
    let document = plugin::app::openapi("/api/index.php");
    let mut lines = String::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            writeln!(lines, "{} {path}", method.to_uppercase()).unwrap();
            let name = operation["operationId"].as_str().unwrap();
            writeln!(lines, "    {name}, {}", permission(operation)).unwrap();
            let body = &operation["requestBody"]["content"];
            for (media_type, content) in body.as_object().into_iter().flatten() {
                writeln!(lines, "    takes {media_type}: {}", brief(&content["schema"])).unwrap();
            }
            let mut refusals = Vec::new();
            for (status, response) in operation["responses"].as_object().unwrap() {
                let contents = response["content"].as_object();
                match contents {
                    None if status.starts_with('2') => {
                        writeln!(lines, "    gives {status}").unwrap()
                    }
                    None => refusals.push(status.as_str()),
                    Some(contents) => {
                        for (media_type, content) in contents {
                            let schema = brief(&content["schema"]);
                            writeln!(lines, "    gives {status} {media_type}: {schema}").unwrap();
                        }
                    }
                }
            }
            writeln!(lines, "    refuses {}", refusals.join(" ")).unwrap();
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let names: Vec<String> = parameters.map(parameter).collect();
            writeln!(lines, "    parameters {}", names.join(" ")).unwrap();
        }
    }
    insta::assert_snapshot!("routes", lines);
}

#[test]
fn the_properties_are_the_reviewed_ones() {
    let document = plugin::app::openapi("/api/index.php");
    let mut lines = String::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        match schema["properties"].as_object() {
            None => writeln!(lines, "{name}: {}", brief(schema)).unwrap(),
            Some(properties) => {
                writeln!(lines, "{name}").unwrap();
                for (property, of) in properties {
                    let mark = if requires(schema, property) { "!" } else { "" };
                    writeln!(lines, "    {property}{mark}: {}", brief(of)).unwrap();
                }
            }
        }
    }
    insta::assert_snapshot!("properties", lines);
}

/// The permission that an operation needs.
fn permission(operation: &Value) -> String {
    let needed = &operation["x-permission"];
    match (needed["action"].as_str(), needed["asset"].as_str()) {
        (Some(action), Some(asset)) => format!("{action} on {asset}"),
        _ => "no permission".to_owned(),
    }
}

/// The name of a parameter.
fn parameter(parameter: &Value) -> String {
    parameter["name"].as_str().map_or_else(|| reference(parameter), str::to_owned)
}

/// A schema in short, without descriptions and examples.
fn brief(schema: &Value) -> String {
    for (member, between) in [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema[member].as_array() {
            return parts.iter().map(brief).collect::<Vec<_>>().join(between);
        }
    }
    if schema.get("$ref").is_some() {
        return reference(schema);
    }
    let mut text = match (&schema["type"], schema["enum"].as_array(), schema.get("const")) {
        (_, _, Some(only)) => only.to_string(),
        (_, Some(words), _) => words.iter().map(Value::to_string).collect::<Vec<_>>().join("/"),
        (Value::String(kind), ..) => kind.clone(),
        (Value::Array(kinds), ..) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("/")
        }
        _ => "anything".to_owned(),
    };
    for member in ["format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"]
    {
        if let Some(value) = schema.get(member) {
            write!(text, " {member} {value}").unwrap();
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        write!(text, " /{pattern}/").unwrap();
    }
    if schema["items"].is_object() {
        write!(text, " of ({})", brief(&schema["items"])).unwrap();
    }
    if let Some(properties) = schema["properties"].as_object() {
        let properties = properties.iter().map(|(name, of)| {
            let mark = if requires(schema, name) { "!" } else { "" };
            format!("{name}{mark}: {}", brief(of))
        });
        write!(text, " {{{}}}", properties.collect::<Vec<_>>().join(", ")).unwrap();
    }
    if let Some(others) = schema.get("additionalProperties") {
        write!(
            text,
            " others {}",
            if others.is_object() { brief(others) } else { others.to_string() }
        )
        .unwrap();
    }
    text
}

fn requires(schema: &Value, property: &str) -> bool {
    schema["required"]
        .as_array()
        .is_some_and(|required| required.iter().any(|name| name == property))
}

/// The last part of a reference.
fn reference(value: &Value) -> String {
    let name = value["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.unwrap_or_default().to_owned()
}
