//! Reports: their routes. What they show is made in `crate::reports`.

use host_interface::{Method, Response};

use super::products::PRODUCTS;
use crate::app::Call;
use crate::error::Error;
use crate::model::resource::{Gives, Operation, Report, Resource, Special};
use crate::reports::{Asked, Show, customers, inventory, products, sales};
use crate::service::crud;

pub(super) const REPORTS: Resource = Resource {
    kind: "reports",
    singular: "report",
    crud: false,
    special: &[
        report("reports/sales", "sales", &sales::REPORT, |call, _| {
            Box::pin(show(call, &sales::REPORT, |asked, store, _| {
                Box::pin(sales::show(asked, store))
            }))
        }),
        report("reports/products", "products", &products::REPORT, |call, _| {
            Box::pin(show(call, &products::REPORT, |asked, store, days| {
                Box::pin(products::show(asked, store, &days.products))
            }))
        }),
        report("reports/customers", "customers", &customers::REPORT, |call, _| {
            Box::pin(show(call, &customers::REPORT, |asked, store, days| {
                Box::pin(customers::show(asked, store, &days.customers))
            }))
        }),
        report("reports/inventory", "inventory", &inventory::REPORT, |call, _| {
            Box::pin(show(call, &inventory::REPORT, |asked, store, _| {
                Box::pin(inventory::show(asked, store, &STOCK))
            }))
        }),
    ],
    ..Resource::CRUD
};

/// Products as the report on what is in stock reads them.
static STOCK: Resource = Resource { list: inventory::STOCK, detail: &[], hidden: &[], ..PRODUCTS };

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
        takes: None,
        gives: Gives::Report(report),
        run,
    }
}

/// Answers with a report.
async fn show(call: &Call<'_>, report: &Report, show: Show) -> Result<Response, Error> {
    let today = time::UtcDateTime::now().date();
    let parameters = call.app.parameters.current()?;
    let request = call.request;
    let asked = Asked::read(request.path(), request.query(), &parameters, today)?;
    if report.of_days {
        asked.periods()?;
    }
    Ok(crud::answer(200, call.app.daily.show(asked, call.app.reports(), show).await?))
}
