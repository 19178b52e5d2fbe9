//! The store's configuration: all parameters as one record, which has no table.

use host_interface::Response;

use super::route::get;
use crate::error::Error;
use crate::model::resource::Resource;
use crate::service::call::Call;
use crate::service::hooks::{Answer, Service};
use crate::wire::answer;
use crate::wire::document;
use crate::wire::request;

pub(crate) static CONFIG: Resource = Resource {
    kind: "config",
    title: Some("Configuration"),
    singular: "configuration",
    crud: false,
    versioned: false,
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    special: &[get("config", "show", "Read the configuration", Answer::Open, |call| {
        Box::pin(show(call))
    })],
    ..Service::of(&CONFIG)
};

async fn show(call: &Call<'_>) -> Result<Response, Error> {
    let parameters = call.shop.parameters.current()?;
    let known: Vec<&str> = parameters.all.keys().map(String::as_str).collect();
    let only = request::attributes(call.request.query(), CONFIG.kind, &known)?;
    let own = format!("{}/config", call.shop.root);
    let (all, only) = (&parameters.all, only.as_deref());
    let body = document::one(CONFIG.kind, "1", all, only, &own, call.limit)?;
    Ok(answer::document(200, call.send(body)?))
}
