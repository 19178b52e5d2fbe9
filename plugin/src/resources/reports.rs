//! The routes of reports. `crate::reports` makes the documents.

use host_interface::{Method, Response};

use crate::error::Error;
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Report, Resource};
use crate::reports::{Asked, Show, customers, inventory, products, sales};
use crate::service::call::Call;
use crate::service::hooks::{Answer, Operation, Service, Special};
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
        report("reports/sales", "sales", &sales::REPORT, |call| {
            Box::pin(show(call, &sales::REPORT, |asked, store, _| {
                Box::pin(sales::show(asked, store))
            }))
        }),
        report("reports/products", "products", &products::REPORT, |call| {
            Box::pin(show(call, &products::REPORT, |asked, store, days| {
                Box::pin(products::show(asked, store, &days.products))
            }))
        }),
        report("reports/customers", "customers", &customers::REPORT, |call| {
            Box::pin(show(call, &customers::REPORT, |asked, store, days| {
                Box::pin(customers::show(asked, store, &days.customers))
            }))
        }),
        report("reports/inventory", "inventory", &inventory::REPORT, |call| {
            Box::pin(show(call, &inventory::REPORT, |asked, store, _| {
                Box::pin(inventory::show(asked, store))
            }))
        }),
    ],
    ..Service::of(&REPORTS)
};

const fn report(
    path: &'static str,
    name: &'static str,
    report: &'static Report,
    run: Operation,
) -> Special {
    Special {
        method: Method::Get,
        path,
        name,
        action: Some("store.view"),
        asset: None,
        body: None,
        answer: Answer::Report(report),
        run,
    }
}

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
