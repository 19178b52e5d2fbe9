//! The OpenAPI document of the store, and whether values match its schemas.

use boon::{Compiler, Schemas};
use serde_json::Value;

/// The name under which the schemas refer to each other.
const ADDRESS: &str = "https://shop.example/openapi.json";

/// The document, with a validator of its schemas.
pub struct Document {
    pub json: Value,
    compiler: Compiler,
    schemas: Schemas,
}

impl Document {
    pub fn new(json: Value) -> Document {
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(ADDRESS, json.clone()).unwrap();
        Document { json, compiler, schemas: Schemas::new() }
    }

    /// That of the store that is linked into the tests.
    pub fn of_the_store() -> Document {
        Document::new(plugin::app::openapi("/api/index.php"))
    }

    /// What keeps a value from matching the schema at a reference such as `#/components/schemas/x`.
    pub fn faults(&mut self, reference: &str, value: &Value) -> Option<String> {
        let address = format!("{ADDRESS}{reference}");
        let schema = self.compiler.compile(&address, &mut self.schemas).unwrap();
        self.schemas.validate(value, schema).err().map(|fault| fault.to_string())
    }

    /// Fails unless a value matches the schema of a component.
    pub fn check(&mut self, component: &str, value: &Value) {
        self.check_at(&format!("#/components/schemas/{component}"), value, component);
    }

    /// Fails unless a value matches the schema at a reference.
    pub fn check_at(&mut self, reference: &str, value: &Value, of: &str) {
        if let Some(faults) = self.faults(reference, value) {
            panic!("{of}: {faults}\n{value:#}");
        }
    }

    /// What a reference in the document leads to, or the value itself.
    pub fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => {
                let found = self.json.pointer(reference.trim_start_matches('#'));
                self.resolve(found.unwrap_or_else(|| panic!("{reference} exists")))
            }
            None => value,
        }
    }

    /// The operations: method, path, and description.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let paths = self.json["paths"].as_object().unwrap().iter();
        paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
        })
    }
}
