//! The routes of reports. `crate::reports` makes the documents.

use host_interface::Response;

use super::route::get;
use crate::error::Error;
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Report, Resource};
use crate::reports::{Asked, Show, customers, inventory, products, sales};
use crate::service::call::Call;
use crate::service::hooks::{Answer, Service};
use crate::wire::answer;

static REPORTS: Resource = Resource {
    kind: "reports",
    singular: "report",
    crud: false,
    versioned: false,
    shown: Presentation { group: Some(Group::Reports), ..Presentation::PLAIN },
    ..Resource::CRUD
}
.checked();

pub(super) const SERVICE: Service = Service {
    special: &[
        get("reports/sales", "sales", "Report on sales", Answer::Report(&sales::REPORT), |call| {
            Box::pin(show(call, &sales::REPORT, |asked, store, _| {
                Box::pin(sales::show(asked, store))
            }))
        }),
        get(
            "reports/products",
            "products",
            "Report on products",
            Answer::Report(&products::REPORT),
            |call| {
                Box::pin(show(call, &products::REPORT, |asked, store, days| {
                    Box::pin(products::show(asked, store, &days.products))
                }))
            },
        ),
        get(
            "reports/customers",
            "customers",
            "Report on customers",
            Answer::Report(&customers::REPORT),
            |call| {
                Box::pin(show(call, &customers::REPORT, |asked, store, days| {
                    Box::pin(customers::show(asked, store, &days.customers))
                }))
            },
        ),
        get(
            "reports/inventory",
            "inventory",
            "Report on inventory",
            Answer::Report(&inventory::REPORT),
            |call| {
                Box::pin(show(call, &inventory::REPORT, |asked, store, _| {
                    Box::pin(inventory::show(asked, store))
                }))
            },
        ),
    ],
    ..Service::of(&REPORTS)
};

/// Answers with a report.
async fn show(call: &Call<'_>, report: &Report, show: Show) -> Result<Response, Error> {
    let today = time::UtcDateTime::now().date();
    let parameters = call.shop.parameters.current()?;
    let request = call.request;
    let place = (request.path(), call.limit);
    let asked = Asked::read(place, request.query(), report.row, &parameters, today)?;
    if report.of_days {
        asked.periods()?;
    }
    let body = call.shop.daily.show(asked, call.shop.reports(), show).await?;
    Ok(answer::document(200, call.send(body)?))
}
