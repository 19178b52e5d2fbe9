//! The routes of the reports: what was sold, to whom, and what is left. What a report comes to is computed
//! in `reports`, which knows no routes.

use host_interface::{Method, Response};

use crate::error::Error;
use crate::model::resource::Resource;
use crate::reports::{self, Asked, Maker};
use crate::service::call::Call;
use crate::service::hooks::{Gives, Operation, Service, Special};
use crate::wire::answer;

pub(crate) static REPORTS: Resource =
    Resource { kind: "reports", singular: "report", crud: false, ..Resource::CRUD };

pub(crate) const SERVICE: Service = Service {
    special: &[
        report("reports/sales", "sales", &reports::SALES, |call| {
            Box::pin(show(call, &reports::SALES))
        }),
        report("reports/products", "products", &reports::PRODUCTS, |call| {
            Box::pin(show(call, &reports::PRODUCTS))
        }),
        report("reports/customers", "customers", &reports::CUSTOMERS, |call| {
            Box::pin(show(call, &reports::CUSTOMERS))
        }),
        report("reports/inventory", "inventory", &reports::INVENTORY, |call| {
            Box::pin(show(call, &reports::INVENTORY))
        }),
    ],
    ..Service::of(&REPORTS)
};

const fn report(
    path: &'static str,
    name: &'static str,
    maker: &'static Maker,
    run: Operation,
) -> Special {
    Special {
        method: Method::Get,
        path,
        name,
        action: Some("store.view"),
        asset: None,
        takes: None,
        gives: Gives::Report(maker.report),
        run,
    }
}

async fn show(call: &Call<'_>, maker: &'static Maker) -> Result<Response, Error> {
    let (request, shop) = (call.request, call.shop);
    let asked = Asked::read(request.path(), request.query(), &*shop.parameters.current()?)?;
    let document = reports::show(asked, maker, shop.reports(), &shop.daily).await?;
    Ok(answer::document(200, document))
}
