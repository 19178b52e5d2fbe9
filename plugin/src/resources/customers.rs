//! Customers and their addresses: two views of one table. A customer is an address with the fields
//! that a list of people shows; the addresses of a user are all rows of that user.

use crate::model::field::{Field, choice, email, key, text, user};
use crate::model::kept;
use crate::model::personal::Personal;
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{Join, Nested, Resource, Storage, filter, index, search};

pub(crate) static CUSTOMERS: Resource = Resource {
    kind: "customers",
    singular: "customer",
    list: &[USER_ID, FIRST_NAME, LAST_NAME, EMAIL, CITY, COUNTRY_NAME, ZONE_NAME, PHONE_1, COMPANY],
    detail: &[ADDRESS_1, ADDRESS_2, ZIP, ZONE_ID, COUNTRY_ID],
    hidden: &[TYPE, PHONE_2, TAX_NUMBER],
    filters: &[
        search(&["first_name", "last_name", "email", "company"]),
        filter("country", "country_id"),
    ],
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["first_name", "last_name"],
        columns: &["first_name", "last_name", "email", "city", "country_name", "company"],
        ..Presentation::PLAIN
    },
    ..ADDRESS
}
.checked();

pub(crate) static ADDRESSES: Resource = Resource {
    kind: "addresses",
    singular: "address",
    list: &[USER_ID, FIRST_NAME, LAST_NAME, EMAIL, CITY, COUNTRY_NAME, ZONE_NAME, PHONE_1, TYPE],
    detail: &[ADDRESS_1, ADDRESS_2, ZIP, ZONE_ID, COUNTRY_ID, PHONE_2, COMPANY, TAX_NUMBER],
    crud: false,
    readable: true,
    nested: &[Nested { parent: "customers", segment: "addresses", by: "user_id", filters: &[] }],
    shown: Presentation {
        label: &["first_name", "last_name"],
        columns: &["first_name", "last_name", "type", "address_1", "zip", "city"],
        ..Presentation::PLAIN
    },
    ..ADDRESS
}
.checked();

static ADDRESS: Resource = Resource {
    table: "shop_addresses",
    key: "shop_address_id",
    storage: Storage {
        counts: &[&kept::ADDRESS_COUNTS, &kept::ADDRESS_COUNTS_BY_ZONE],
        steps: &[&kept::ADDRESS_BLOCKS],
        indexes: &[
            index("shop_addresses_country", &["country_id"]),
            index("shop_addresses_user", &["user_id"]),
            index("shop_addresses_zone", &["zone_id"]),
        ],
        search: Some(kept::ADDRESS_SEARCH),
        ..Storage::PLAIN
    },
    joins: &[
        Join { alias: "c", table: "shop_countries", key: "shop_country_id", by: "country_id" },
        Join { alias: "z", table: "shop_zones", key: "shop_zone_id", by: "zone_id" },
    ],
    ..Resource::CRUD
};

const USER_ID: Field = user("user_id").personal(Personal::Identifier);
const FIRST_NAME: Field = text("first_name", 255).required().personal(Personal::Name);
const LAST_NAME: Field = text("last_name", 255).required().personal(Personal::Name);
const EMAIL: Field = email("email").required().personal(Personal::Contact);
const CITY: Field = text("city", 255).personal(Personal::Address);
const COUNTRY_NAME: Field = text("country_name", 255).joined("c", "country_name");
const ZONE_NAME: Field = text("zone_name", 255).joined("z", "zone_name");
const PHONE_1: Field = text("phone_1", 255).personal(Personal::Contact);
const COMPANY: Field = text("company", 255).personal(Personal::Name);
const TYPE: Field = choice("type", &["billing", "shipping"]);
const ADDRESS_1: Field = text("address_1", 255).personal(Personal::Address);
const ADDRESS_2: Field = text("address_2", 255).personal(Personal::Address);
const ZIP: Field = text("zip", 255).personal(Personal::Address);
const ZONE_ID: Field = key("zone_id", "zones").nullable().within("country_id");
const COUNTRY_ID: Field = key("country_id", "countries").nullable();
const PHONE_2: Field = text("phone_2", 255).personal(Personal::Contact);
const TAX_NUMBER: Field = text("tax_number", 255).personal(Personal::Identifier);
