//! The requests to measure, each with its bar.

use super::stores::{CUSTOMER, Engine, Size};

/// The limit of a request's cost in the large store.
pub enum Bar {
    /// At most 1.5 times as much as in the small one, or 0.3 ms more.
    Growth,
    /// At most this many milliseconds: on SQLite, PostgreSQL and MariaDB.
    Absolute([f64; 3]),
    /// At most twice as much as the plain list of products in the same store.
    TwicePlain,
    /// No limit.
    Open,
}

impl Bar {
    /// Whether the numbers of both stores are within the limit; `plain` is that of the plain list in
    /// the large one, if it was measured.
    pub fn is_met(&self, engine: Engine, small: f64, large: f64, plain: Option<f64>) -> bool {
        match self {
            Bar::Growth => large <= (small * 1.5).max(small + 0.3),
            Bar::Absolute(most) => large <= most[engine as usize],
            Bar::TwicePlain => plain.is_none_or(|plain| large <= 2.0 * plain),
            Bar::Open => true,
        }
    }

    pub fn text(&self, engine: Engine) -> String {
        match self {
            Bar::Growth => "1.5 × or + 0.3".to_owned(),
            Bar::Absolute(most) => format!("{} ms", most[engine as usize]),
            Bar::TwicePlain => format!("2 × {PLAIN}"),
            Bar::Open => "none".to_owned(),
        }
    }
}

/// The plain list, which is measured first.
pub const PLAIN: &str = "`/products`";

pub struct Case {
    pub name: String,
    path: Path,
    pub bar: Bar,
}

enum Path {
    Fixed(String),
    /// A path that depends on the numbers of products and orders.
    Sized(fn(Size) -> String),
}

impl Case {
    pub fn path(&self, size: Size) -> String {
        match &self.path {
            Path::Fixed(path) => path.clone(),
            Path::Sized(path) => path(size),
        }
    }
}

fn grows(path: &str) -> Case {
    Case { name: format!("`{path}`"), path: Path::Fixed(path.to_owned()), bar: Bar::Growth }
}

fn sized(name: &str, bar: Bar, path: fn(Size) -> String) -> Case {
    Case { name: name.to_owned(), path: Path::Sized(path), bar }
}

fn within(name: &str, bar: [f64; 3], path: &str) -> Case {
    Case { name: name.to_owned(), path: Path::Fixed(path.to_owned()), bar: Bar::Absolute(bar) }
}

/// All requests that read.
pub fn reads() -> Vec<Case> {
    let mut cases = Vec::new();
    for list in ["/products", "/orders", "/customers", "/inventory", "/variants"] {
        cases.push(grows(list));
    }
    for path in [
        "/products?fields[products]=sku,price,quantity",
        "/products?include=category,manufacturer",
        "/products?include=category,manufacturer&fields[products]=sku,price,quantity",
    ] {
        cases.push(Case { bar: Bar::TwicePlain, ..grows(path) });
    }
    for path in ["/products?include=variants", "/orders?include=items,history"] {
        cases.push(grows(path));
    }
    for (kind, filters) in [
        (
            "products",
            &[
                "category]=30",
                "manufacturer]=3",
                "product_type]=variable",
                "product_type]=downloadable",
                "enabled]=0",
                "enabled]=1",
                "visibility]=0",
                "sku]=00123",
                "enabled]=1&filter[manufacturer]=3",
                "enabled]=1&filter[category]=30",
                "enabled]=0&filter[manufacturer]=3&filter[category]=30",
            ][..],
        ),
        (
            "orders",
            &[
                "status]=1",
                "status]=6",
                "payment_type]=payment_invoice",
                "status]=1&filter[payment_type]=payment_invoice",
                "date_from]=2026-06-01&filter[date_to]=2026-06-30",
                "date_from]=2026-01-01",
                "status]=1&filter[date_from]=2026-06-01&filter[date_to]=2026-06-30",
            ],
        ),
        ("customers", &["country]=2"]),
        ("variants", &["product]=7", "sku_exact]=STR-00001", "search]=00123"]),
    ] {
        for filter in filters {
            cases.push(grows(&format!("/{kind}?filter[{filter}")));
        }
    }
    for kind in ["products", "orders", "customers", "inventory", "variants"] {
        let resource = plugin::resources::REGISTRY.find(kind).unwrap();
        for field in std::iter::once(resource.key).chain(resource.list.iter().map(|f| f.name)) {
            for direction in ["", "&list[direction]=desc"] {
                cases.push(grows(&format!("/{kind}?list[ordering]={field}{direction}")));
            }
        }
    }
    for path in [
        "/products?filter[enabled]=1&list[ordering]=created_on&list[direction]=desc",
        "/products?filter[manufacturer]=3&list[ordering]=price",
        "/products?filter[category]=30&list[ordering]=product_name",
        "/orders?filter[status]=6&list[ordering]=order_total&list[direction]=desc",
        "/orders?filter[status]=1&list[ordering]=created_on",
    ] {
        cases.push(grows(path));
    }
    for path in ["/products/1", "/products/7", "/orders/7", "/customers/7", "/inventory/7"] {
        cases.push(grows(path));
    }
    for path in
        ["/products/1/variants", "/products/7/variants", "/variants/7", "/variants/7/ledger"]
    {
        cases.push(grows(path));
    }
    for path in ["/orders/7/items", "/orders/7/history"] {
        cases.push(grows(path));
    }
    let orders = format!("/customers/{CUSTOMER}/orders");
    cases.push(grows(&orders));
    cases.push(grows(&format!("{orders}?filter[status]=1")));
    cases.push(grows(&format!("{orders}?list[ordering]=order_total")));

    let deep = || Bar::Absolute([8.0, 5.0, 5.0]);
    cases.push(sized("products at half of the list", deep(), |size| {
        format!("/products?page[offset]={}", size.products / 2)
    }));
    cases.push(sized("products at half, by created_on", deep(), |size| {
        format!("/products?page[offset]={}&list[ordering]=created_on", size.products / 2)
    }));
    cases.push(sized("orders at half of the list", deep(), |size| {
        format!("/orders?page[offset]={}", size.orders / 2)
    }));
    // In a million names, `ing` occurs in about 200,000, and so on.
    let (few, many) = ("/products?filter[search]=wren+1234", "/products?filter[search]=wren+17");
    cases.push(within("search, 16 matches", [3.0, 3.0, 3.0], few));
    cases.push(within("search, 1,776 matches", [3.0, 12.0, 12.0], many));
    let most = "/products?filter[search]=ing";
    cases.push(within("search, 200,000 matches", [25.0, 120.0, 320.0], most));
    let orders = "/orders?filter[search]=rossi";
    cases.push(within("search of orders by a name", [25.0, 180.0, f64::INFINITY], orders));
    cases.push(Case {
        name: "search of orders by what all addresses have".to_owned(),
        path: Path::Fixed("/orders?filter[search]=customer12".to_owned()),
        bar: Bar::Open,
    });

    // Of two million orders 500 are open, the latest ones.
    let pick_list = [
        ("pick list, 20 of 500 open orders", "/fulfilments?include=items,shipments"),
        (
            "pick list, 100 of 500 open orders",
            "/fulfilments?include=items,shipments&page[limit]=100",
        ),
    ];
    for (name, path) in pick_list {
        cases.push(within(name, [5.0, 8.0, 8.0], path));
        cases.push(Case { name: format!("{name}, flat"), ..grows(path) });
    }
    for path in [
        "/fulfilments",
        "/fulfilments?filter[country]=83",
        "/fulfilments?filter[date_from]=2026-01-01",
        "/fulfilments?filter[state]=fulfilled",
        "/fulfilments?filter[state]=fulfilled&filter[country]=83",
        "/fulfilments?filter[status]=8",
        "/orders/7/fulfilment?include=items,shipments",
    ] {
        cases.push(grows(path));
    }

    cases.push(within("sales, 30 days", [5.0; 3], "/reports/sales"));
    let year = "/reports/sales?filter[date_from]=2025-11-01&filter[date_to]=2026-10-31&filter[period]=month";
    cases.push(within("sales, a year by month", [15.0; 3], year));
    cases.push(within("products report, 30 days", [60.0; 3], "/reports/products"));
    cases.push(within("customers report, 30 days", [60.0; 3], "/reports/customers"));
    cases.push(Case {
        name: "inventory report".to_owned(),
        path: Path::Fixed("/reports/inventory".to_owned()),
        bar: Bar::Open,
    });
    cases
}
