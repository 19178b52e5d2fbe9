//! The store's configuration: all parameters, one record that no table holds.

use host_interface::{Method, Response};

use crate::app::Call;
use crate::error::Error;
use crate::model::resource::{Gives, Resource, Special};
use crate::service::crud;
use crate::wire::document;
use crate::wire::request;

pub(super) const CONFIG: Resource = Resource {
    kind: "config",
    title: Some("Configuration"),
    singular: "configuration",
    crud: false,
    special: &[Special {
        method: Method::Get,
        path: "config",
        name: "show",
        action: Some("store.view"),
        asset: None,
        takes: None,
        gives: Gives::Open,
        run: |call, _| Box::pin(show(call)),
    }],
    ..Resource::CRUD
};

async fn show(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let parameters = call.app.parameters.current()?;
    let own = format!("{}/config", call.app.root);
    Ok(crud::answer(200, document::one("config", "1", &parameters.all, &own)?))
}
