//! The table of routes, generated from the resources: the operation of each, and the permission
//! that it needs.

use host_interface::Method;

use crate::model::resource::{Nested, Permissions, Resource};
use crate::service::call::{Rights, VIEW, asset};
use crate::service::hooks::{Service, Special};

/// A route and everything needed to answer it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The method.
    pub method: Method,
    /// The path below the store's.
    pub path: String,
    /// The name, for example `zones.list`.
    pub name: String,
    /// What the user must be permitted; `None` where a valid token is enough.
    pub rights: Option<Rights>,
    /// The operation.
    pub operation: Operation,
    /// The resource and its service, on which the operation works.
    pub service: &'static Service,
}

impl Endpoint {
    /// The resource that the route answers with.
    pub fn resource(&self) -> &'static Resource {
        self.service.of
    }
}

/// The operation of a route.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Reads a page of records.
    List,
    /// Reads one record.
    Show,
    /// Creates a record.
    Create,
    /// Changes a record.
    Update,
    /// Removes a record.
    Delete,
    /// Reads a page of the records below another one.
    Nested(&'static Nested),
    /// Takes a file of records of any type.
    Import,
    /// An operation that the resource's file defines.
    Special(&'static Special),
}

/// The table of the routes of these services.
pub fn endpoints(services: &'static [Service]) -> Vec<Endpoint> {
    services.iter().flat_map(endpoints_of).collect()
}

fn endpoints_of(service: &'static Service) -> impl Iterator<Item = Endpoint> {
    let resource = service.of;
    let endpoint = move |method, path: String, name: &str, action, operation| Endpoint {
        method,
        path,
        name: format!("{}.{name}", resource.kind),
        rights: (resource.permissions != Permissions::None).then(|| Rights::to(action, resource)),
        operation,
        service,
    };
    let all = resource.listed_at.unwrap_or(resource.kind).to_owned();
    let one = match resource.below {
        Some((parent, segment)) => format!("{parent}/{{id:digits}}/{segment}"),
        None => format!("{}/{{id:digits}}", resource.kind),
    };
    // To remove a part is to change the whole, unless it has permissions of its own.
    let is_part = resource.editable && resource.permissions != Permissions::Own;
    let removal = if is_part { "store.edit" } else { "store.delete" };
    let crud = [
        endpoint(Method::Get, all.clone(), "list", VIEW, Operation::List),
        endpoint(Method::Post, all, "create", "store.create", Operation::Create),
        endpoint(Method::Get, one.clone(), "show", VIEW, Operation::Show),
        endpoint(Method::Patch, one.clone(), "update", "store.edit", Operation::Update),
        endpoint(Method::Delete, one, "delete", removal, Operation::Delete),
    ];
    let has = move |endpoint: &Endpoint| match endpoint.operation {
        Operation::Show => resource.has_own_route(),
        Operation::List => resource.crud || resource.listed_at.is_some(),
        Operation::Update | Operation::Delete => resource.crud || resource.editable,
        _ => resource.crud,
    };
    let nested = resource.nested.iter().map(move |nested| {
        let path = format!("{}/{{id:digits}}/{}", nested.parent, nested.segment);
        let name = format!("list_of_{}", nested.parent);
        endpoint(Method::Get, path, &name, VIEW, Operation::Nested(nested))
    });
    let special = service.special.iter().map(move |special| Endpoint {
        method: special.method,
        path: special.path.to_owned(),
        name: format!("{}.{}", resource.kind, special.name),
        rights: special.action.map(|action| match special.asset {
            Some(other) => Rights { actions: vec![action], asset: asset(other) },
            None => Rights::to(action, resource),
        }),
        operation: Operation::Special(special),
        service,
    });
    // The permissions that it needs follow from the query.
    let import = service.takes_files.then(|| Endpoint {
        rights: None,
        ..endpoint(Method::Post, resource.kind.to_owned(), "create", "", Operation::Import)
    });
    crud.into_iter().filter(has).chain(import).chain(nested).chain(special)
}
