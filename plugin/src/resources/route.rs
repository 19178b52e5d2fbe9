//! Additional routes of resources. Independent of what they do.

use host_interface::Method;

use crate::model::resource::Resource;
use crate::service::call::VIEW;
use crate::service::hooks::{Answer, Operation, Special};

/// A route that reads. It needs the permission to view the resource.
pub(super) const fn get(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    answer: Answer,
    run: Operation,
) -> Special {
    let action = Some(VIEW);
    Special {
        method: Method::Get,
        path,
        name,
        summary,
        action,
        asset: None,
        body: None,
        answer,
        run,
    }
}

/// A route that takes a body. It needs the permission to edit the resource.
pub(super) const fn post(
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    body: &'static Resource,
    answer: Answer,
    run: Operation,
) -> Special {
    let (action, body) = (Some("store.edit"), Some(body));
    Special { method: Method::Post, path, name, summary, action, asset: None, body, answer, run }
}
