//! Where an order goes, and how: fields that a body may give beside the attributes, and that a warehouse
//! reads. They are a snapshot: the names of country and zone stay when these are renamed or deleted.

use crate::error::Error;
use crate::model::field::{Field, Handle, identifier, key, text};
use crate::model::personal::Personal;
use crate::model::question::Page;
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::resources::countries::{self, COUNTRIES};
use crate::resources::zones::{self, ZONES};
use crate::service::write::Write;
use crate::wire::draft::Draft;

/// What a client writes.
pub(super) const FIRST_NAME: Field = text("shipping_first_name", 255).personal(Personal::Name);
pub(super) const LAST_NAME: Field = text("shipping_last_name", 255).personal(Personal::Name);
pub(super) const COMPANY: Field = text("shipping_company", 255).personal(Personal::Name);
pub(super) const PHONE_1: Field = text("shipping_phone_1", 255).personal(Personal::Contact);
pub(super) const PHONE_2: Field = text("shipping_phone_2", 255).personal(Personal::Contact);
pub(super) const ADDRESS_1: Field = text("shipping_address_1", 255).personal(Personal::Address);
pub(super) const ADDRESS_2: Field = text("shipping_address_2", 255).personal(Personal::Address);
pub(super) const CITY: Field = text("shipping_city", 255).personal(Personal::Address);
pub(super) const ZIP: Field = text("shipping_zip", 255).personal(Personal::Address);
pub(super) const ZONE: Handle<i64> = key("shipping_zone_id", ZONES.kind)
    .nullable()
    .within_that("shipping_country_id", "country_id")
    .snapshot()
    .number();
pub(super) const COUNTRY: Handle<i64> =
    key("shipping_country_id", COUNTRIES.kind).nullable().snapshot().number();
pub(super) const TAX_NUMBER: Field =
    text("shipping_tax_number", 255).personal(Personal::Identifier);
pub(super) const METHOD_NAME: Field = text("ordershipping_name", 255);
pub(super) const METHOD_CODE: Field = identifier("ordershipping_code", 255);
pub(super) const METHOD_TYPE: Field = text("ordershipping_type", 255);

/// What the store adds.
pub(super) const ZONE_NAME: Handle<String> = text("shipping_zone_name", 255).read_only().words();
pub(super) const COUNTRY_NAME: Handle<String> =
    text("shipping_country_name", 255).read_only().words();

/// A record whose key and name an order keeps.
struct Region {
    key: Handle<i64>,
    name: Handle<String>,
    of: &'static Resource,
    shown: Handle<String>,
}

/// Notes the names of the country and the zone that a draft sets. The check of references reports a
/// missing one, and those of the present record may be gone.
pub(super) async fn name_places(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let country =
        Region { key: COUNTRY, name: COUNTRY_NAME, of: &COUNTRIES, shown: countries::NAME };
    let zone = Region { key: ZONE, name: ZONE_NAME, of: &ZONES, shown: zones::NAME };
    for Region { key, name, of, shown } in [country, zone] {
        let Some(given) = draft.given(&key)? else { continue };
        let present = before.map(|before| before.value(key.name)).transpose()?;
        if present == Some(given) {
            continue;
        }
        let named = match draft.get(&key)? {
            Some(key) => write.transaction.page(&Page::of_one(of, key)).await?.records(of)?,
            None => Vec::new(),
        };
        let named = named.first().map(|place| place.need(&shown)).transpose()?;
        draft.set(&name, named.unwrap_or_default().to_owned())?;
    }
    Ok(())
}
