//! Customers of a demo store. All of them are guests, because users belong to the host.

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::make::{chance, pick};
use super::world::{DemoStep, World};
use crate::bulk::rows::{folded, key, keyed_rows_of, push, text};

pub(super) static CUSTOMERS: DemoStep = DemoStep {
    name: "customers",
    count: "SELECT count(*), coalesce(max(shop_address_id), 0) FROM shop_addresses",
    wanted: |world| world.customers,
    make,
    tables: || vec![keyed_rows_of("shop_addresses", &["shop_address_id"])],
    last: |_| None,
};

/// A customer.
pub(super) struct Person {
    pub(super) first_name: &'static str,
    pub(super) last_name: &'static str,
    pub(super) email: String,
    pub(super) country: &'static str,
    pub(super) language: &'static str,
    pub(super) city: &'static str,
}

/// Where a customer lives.
pub(super) struct Home {
    pub(super) phone: String,
    pub(super) company: String,
    pub(super) address: String,
    pub(super) zip: String,
}

const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bruno", "Chloé", "Dag", "Elif", "Finn", "Greta", "Hugo", "Ines", "Jonas", "Kaja",
    "Lars", "Mina", "Noël", "Olga", "Piotr", "Quentin", "Rosa", "Søren", "Tilda", "Uwe", "Vera",
    "Willem", "Zoë",
];
const LAST_NAMES: [&str; 24] = [
    "Adler",
    "Bakker",
    "Castel",
    "Dubois",
    "Ekström",
    "Fischer",
    "Garnier",
    "Holm",
    "Ivars",
    "Jansen",
    "Kowalski",
    "Lind",
    "Müller",
    "Nowak",
    "Olsen",
    "Petit",
    "Quist",
    "Rossi",
    "Schmidt",
    "Torres",
    "Urban",
    "Vogel",
    "Weiß",
    "Zieliński",
];
/// Country, language, city.
const PLACES: [(&str, &str, &str); 14] = [
    ("DE", "de-DE", "Hamburg"),
    ("DE", "de-DE", "Köln"),
    ("DE", "de-DE", "Leipzig"),
    ("AT", "de-AT", "Graz"),
    ("CH", "de-CH", "Zürich"),
    ("FR", "fr-FR", "Lyon"),
    ("NL", "nl-NL", "Utrecht"),
    ("DK", "da-DK", "Aarhus"),
    ("SE", "sv-SE", "Malmö"),
    ("NO", "nb-NO", "Bergen"),
    ("PL", "pl-PL", "Łódź"),
    ("GB", "en-GB", "Leeds"),
    ("US", "en-US", "Portland"),
    ("JP", "ja-JP", "Kobe"),
];

/// The customer with this number; always the same for the same number.
pub(super) fn person(number: u64) -> Person {
    let mut rng = chance(4, number);
    let (country, language, city) = pick(&mut rng, &PLACES);
    Person {
        first_name: pick(&mut rng, &FIRST_NAMES),
        last_name: pick(&mut rng, &LAST_NAMES),
        email: email(number),
        country,
        language,
        city,
    }
}

/// The unique e-mail address of the customer with this number.
pub(super) fn email(number: u64) -> String {
    format!("customer{}@example.com", number + 1)
}

/// Where the customer with this number lives.
pub(super) fn home(number: u64, person: &Person) -> Home {
    let mut rng = chance(5, number);
    let phone = format!("+{} {}", rng.u32(30..49), rng.u32(1_000_000..9_999_999));
    let company =
        if rng.u8(..6) == 0 { format!("{} & Co", person.last_name) } else { String::new() };
    let address = format!("{} Lane {}", person.last_name, rng.u32(1..120));
    Home { phone, company, address, zip: format!("{:05}", rng.u32(1_000..99_999)) }
}

fn make(world: &World, number: u64, tables: &mut [RowsOf]) {
    let person = person(number);
    let Home { phone, company, address, zip } = home(number, &person);
    let country = world.setup.countries.get(person.country);
    let zone = country.and_then(|country| country.zone.as_ref());
    push!(
        tables[0],
        ("shop_address_id", key(number)),
        ("first_name", text(person.first_name)),
        ("first_name_fold", folded(person.first_name)),
        ("last_name", text(person.last_name)),
        ("last_name_fold", folded(person.last_name)),
        ("email", text(&person.email)),
        ("email_fold", folded(&person.email)),
        ("city", text(person.city)),
        ("city_fold", folded(person.city)),
        ("phone_1", text(&phone)),
        ("phone_1_fold", folded(&phone)),
        ("company", text(&company)),
        ("company_fold", folded(&company)),
        ("address_1", text(address)),
        ("zip", text(zip)),
        ("zone_id", zone.map_or(Value::Null, |(zone, _)| Value::Int(*zone))),
        ("country_id", country.map_or(Value::Null, |country| Value::Int(country.key))),
    );
}
