//! The route of exports: which types there are, and who may export them. `crate::exports` reads them.

use host_interface::Response;

use super::route::get;
use crate::error::{Error, Fault, FaultKind};
use crate::exports;
use crate::model::registry::Registry;
use crate::model::resource::{Permissions, Resource};
use crate::service::call::{Call, Rights, VIEW};
use crate::service::hooks::{Answer, Service, Special};
use crate::wire::exporting::Export;

static EXPORTS: Resource = Resource {
    kind: "exports",
    singular: "export",
    crud: false,
    versioned: false,
    // Each type needs the permission to view its records.
    permissions: Permissions::None,
    ..Resource::CRUD
}
.checked();

pub(super) const SERVICE: Service = Service {
    special: &[Special {
        action: None,
        ..get("exports/{type}", "export", "Export all records of a type", Answer::Export, |call| {
            Box::pin(export(call))
        })
    }],
    ..Service::of(&EXPORTS)
};

/// The types that can be exported: those with a list of all records.
pub(crate) fn exportable(registry: Registry) -> impl Iterator<Item = &'static Resource> {
    registry.iter().filter(|resource| resource.lists_changes())
}

/// `GET /exports/<type>`
async fn export(call: &Call<'_>) -> Result<Response, Error> {
    let kind = call.request.params().get(0).unwrap_or_default();
    let mut types = exportable(call.shop.registry);
    let Some(resource) = types.find(|resource| resource.kind == kind) else {
        let types: Vec<&str> = exportable(call.shop.registry).map(|of| of.kind).collect();
        let detail =
            format!("There is no such type to export; the types are {}.", types.join(", "));
        return Err(Fault::new(FaultKind::NotFound, detail).into());
    };
    call.permit_any(&Rights::to(VIEW, resource))?;
    let asked = Export::read(call.request, resource, call.shop.registry)?;
    if let Some(parts) = &asked.parts {
        call.permit_any(&Rights::to(VIEW, parts.children.of))?;
    }
    exports::export(call, asked).await
}
