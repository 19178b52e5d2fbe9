//! The list of products as a minimal program would serve it: one axum handler, one query, the rows
//! as JSON. It has no permissions, no parameters and no other route, and sends the same bytes.

use std::str::FromStr;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use plugin::wire::document::MEDIA_TYPE;
use rust_decimal::Decimal;
use serde::Serialize;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{ColumnIndex, Decode, FromRow, PgPool, SqlitePool, Type};
use time::PrimitiveDateTime;

use super::load::ROOT;

/// The query, with types that all engines share.
const SQLITE: &str = "SELECT (SELECT sum(n) FROM shop_product_counts), shop_product_id, \
    product_source_id, product_type, product_name, visibility, enabled, manufacturer_id, \
    has_options, sku, price, sale_price, quantity, main_image, created_on, category_id, version \
    FROM shop_products ORDER BY shop_product_id LIMIT 20";
const POSTGRES: &str = "SELECT (SELECT sum(n) FROM shop_product_counts)::bigint, \
    shop_product_id, product_source_id, product_type, product_name, visibility::bigint, \
    enabled::bigint, manufacturer_id, has_options::bigint, sku, price, sale_price, \
    quantity::bigint, main_image, created_on, category_id, version::bigint \
    FROM shop_products ORDER BY shop_product_id LIMIT 20";

/// A row as the engine returns it, with its own types of money and time, and the version of the record.
type Row<Money, Moment> = (Columns<Money, Moment>, i64);

/// The first columns: the driver reads no more than 16 into a tuple.
type Columns<Money, Moment> = (
    i64,
    i64,
    Option<i64>,
    String,
    String,
    i64,
    i64,
    Option<i64>,
    i64,
    String,
    Money,
    Option<Money>,
    i64,
    String,
    Moment,
    Option<i64>,
);

/// The handler for the store at this address.
pub async fn router(url: &str) -> Router {
    let path = format!("{ROOT}/products");
    if url.starts_with("postgres") {
        let pool = PgPoolOptions::new().max_connections(8).test_before_acquire(false);
        let pool = pool.connect_lazy(url).unwrap();
        return Router::new().route(&path, get(from_postgres)).with_state(pool);
    }
    let file = SqliteConnectOptions::from_str(url)
        .unwrap()
        .read_only(true)
        .busy_timeout(Duration::from_secs(5));
    let pool = SqlitePoolOptions::new().max_connections(4).test_before_acquire(false);
    Router::new().route(&path, get(from_sqlite)).with_state(pool.connect_lazy_with(file))
}

async fn from_sqlite(State(pool): State<SqlitePool>) -> impl IntoResponse {
    let rows = sqlx::query(SQLITE).fetch_all(&pool).await.unwrap();
    let rows: Vec<Row<i64, String>> = rows.iter().map(read).collect();
    answer(rows, |units| money(Decimal::new(*units, 5)), Clone::clone)
}

async fn from_postgres(State(pool): State<PgPool>) -> impl IntoResponse {
    let rows = sqlx::query(POSTGRES).fetch_all(&pool).await.unwrap();
    let rows: Vec<Row<Decimal, PrimitiveDateTime>> = rows.iter().map(read).collect();
    answer(
        rows,
        |amount| money(*amount),
        |moment| {
            let (day, time) = (moment.date(), moment.time());
            let (hour, minute, second) = time.as_hms();
            format!("{day}T{hour:02}:{minute:02}:{second:02}")
        },
    )
}

fn read<'r, Found, First>(row: &'r Found) -> (First, i64)
where
    Found: sqlx::Row,
    First: FromRow<'r, Found>,
    usize: ColumnIndex<Found>,
    i64: Decode<'r, Found::Database> + Type<Found::Database>,
{
    (First::from_row(row).unwrap(), row.get(16))
}

/// At least two fraction digits, without further trailing zeros.
fn money(amount: Decimal) -> String {
    let mut amount = amount.normalize();
    if amount.scale() < 2 {
        amount.rescale(2);
    }
    amount.to_string()
}

fn answer<Money, Moment>(
    rows: Vec<Row<Money, Moment>>,
    money: impl Fn(&Money) -> String,
    moment: impl Fn(&Moment) -> String,
) -> impl IntoResponse {
    let total = rows.first().map_or(0, |(row, _)| row.0);
    let page =
        |offset: i64| format!("{ROOT}/products?page%5Boffset%5D={offset}&page%5Blimit%5D=20");
    let data = rows.iter().map(|(row, version)| Product {
        r#type: "products",
        id: row.1.to_string(),
        attributes: Attributes {
            shop_product_id: row.1,
            product_source_id: row.2,
            product_type: &row.3,
            product_name: &row.4,
            visibility: row.5,
            enabled: row.6,
            manufacturer_id: row.7,
            has_options: row.8,
            sku: &row.9,
            price: money(&row.10),
            sale_price: row.11.as_ref().map(&money),
            quantity: row.12,
            main_image: &row.13,
            created_on: moment(&row.14),
        },
        relationships: Relationships {
            manufacturer: relation("manufacturers", row.7),
            category: relation("categories", row.15),
        },
        links: Own { own: format!("{ROOT}/products/{}", row.1) },
        meta: Version { version: *version },
    });
    let document = Document {
        links: Links {
            own: format!("{ROOT}/products"),
            first: page(0),
            next: page(20),
            last: page((total - 1) / 20 * 20),
        },
        data: data.collect(),
        meta: Meta { total_pages: (total + 19) / 20, total },
    };
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], serde_json::to_vec(&document).unwrap())
}

fn relation(kind: &'static str, key: Option<i64>) -> Relation {
    Relation {
        links: key.map(|key| Related { related: format!("{ROOT}/{kind}/{key}") }),
        data: key.map(|key| Identifier { r#type: kind, id: key.to_string() }),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    links: Links,
    data: Vec<Product<'a>>,
    meta: Meta,
}

#[derive(Serialize)]
struct Links {
    #[serde(rename = "self")]
    own: String,
    first: String,
    next: String,
    last: String,
}

#[derive(Serialize)]
struct Meta {
    #[serde(rename = "total-pages")]
    total_pages: i64,
    total: i64,
}

#[derive(Serialize)]
struct Product<'a> {
    r#type: &'static str,
    id: String,
    attributes: Attributes<'a>,
    relationships: Relationships,
    links: Own,
    meta: Version,
}

#[derive(Serialize)]
struct Version {
    version: i64,
}

#[derive(Serialize)]
struct Attributes<'a> {
    shop_product_id: i64,
    product_source_id: Option<i64>,
    product_type: &'a str,
    product_name: &'a str,
    visibility: i64,
    enabled: i64,
    manufacturer_id: Option<i64>,
    has_options: i64,
    sku: &'a str,
    price: String,
    sale_price: Option<String>,
    quantity: i64,
    main_image: &'a str,
    created_on: String,
}

#[derive(Serialize)]
struct Relationships {
    manufacturer: Relation,
    category: Relation,
}

#[derive(Serialize)]
struct Relation {
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Related>,
    data: Option<Identifier>,
}

#[derive(Serialize)]
struct Related {
    related: String,
}

#[derive(Serialize)]
struct Identifier {
    r#type: &'static str,
    id: String,
}

#[derive(Serialize)]
struct Own {
    #[serde(rename = "self")]
    own: String,
}
