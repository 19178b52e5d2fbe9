//! The records of imports of the last days, with what was wrong. Whoever may view a type sees the imports of it.
//! `crate::imports` takes the files.

use crate::error::Error;
use crate::imports::{DONE, INTERRUPTED, RUNNING};
use crate::model::field::{choice, count, created_on, flag, json_list, moment, text, user};
use crate::model::personal::Personal;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::Condition;
use crate::model::resource::{Nested, Order, Permissions, Resource};
use crate::model::value::{Kind, Value};
use crate::service::call::{Call, Rights, VIEW};
use crate::service::hooks::Service;
use crate::wire::importing::{self, MODES};

static IMPORTS: Resource = Resource {
    kind: "imports",
    singular: "import",
    table: "shop_imports",
    key: "shop_import_id",
    list: &[
        text(RECORD_TYPE, 64),
        choice("mode", &MODES),
        text("key_field", 64),
        flag("dry_run").default(0),
        choice("state", &[RUNNING, DONE, INTERRUPTED]),
        count("lines_read"),
        count("created"),
        count("updated"),
        count("unchanged"),
        count("failed"),
        count("committed_lines"),
        user("user_id"),
        text("token_name", 255),
        created_on(),
        moment("ended_on"),
    ],
    detail: &[text("sha256", 64), text("reason", 65_535), text("request_id", 64)],
    hidden: &[
        moment("seen_on").read_only(),
        text("idempotency_key", 255).read_only(),
        text("fingerprint", 255).read_only(),
        count("run").read_only(),
    ],
    crud: false,
    readable: true,
    listed_at: Some("imports"),
    order: Order { field: None, descending: true },
    versioned: false,
    folds: false,
    // Each type needs the permission to view its records.
    permissions: Permissions::None,
    shown: Presentation {
        group: Some(Group::Exchange),
        label: &["record_type"],
        columns: &[
            "record_type",
            "state",
            "created_on",
            "lines_read",
            "created",
            "updated",
            "failed",
        ],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

static FAULTS: Resource = Resource {
    kind: "importfaults",
    title: Some("Import faults"),
    singular: "import fault",
    table: "shop_import_faults",
    key: "shop_import_fault_id",
    // In the order of the file, and no other.
    detail: &[
        // Not a relationship: who may see an import depends on its type.
        count("import_id"),
        count("line"),
        text("record_key", 255).personal(Personal::Identifier),
        json_list("errors", ERRORS).personal(Personal::FreeText),
    ],
    hidden: &[text(RECORD_TYPE, 64).read_only()],
    crud: false,
    nested: &[Nested { parent: "imports", segment: "faults", by: "import_id", filters: &[] }],
    versioned: false,
    folds: false,
    permissions: Permissions::None,
    shown: Presentation {
        label: &["record_key"],
        columns: &["record_key", "line", "errors"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// The type that is imported.
const RECORD_TYPE: &str = "record_type";

/// The members of what was wrong with a line.
const ERRORS: &[(&str, Kind)] =
    &[("status", Kind::COUNT), ("code", Kind::WORD), ("title", Kind::WORD), ("detail", Kind::WORD)];

pub(super) const SERVICE: Service =
    Service { visible: Some(visible), takes_files: true, ..Service::of(&IMPORTS) };

pub(super) const FAULT_SERVICE: Service =
    Service { visible: Some(visible), ..Service::of(&FAULTS) };

/// The imports of types that the user may view.
fn visible(call: &Call<'_>) -> Result<Vec<Condition>, Error> {
    let (mut kinds, mut refusal) = (Vec::new(), None);
    for resource in importing::importable(call.shop.registry) {
        match call.permit_any(&Rights::to(VIEW, resource)) {
            Ok(()) => kinds.push(Value::Text(resource.kind.to_owned())),
            Err(error) => refusal = Some(error),
        }
    }
    match refusal {
        None => Ok(Vec::new()),
        Some(refusal) if kinds.is_empty() => Err(refusal),
        Some(_) => Ok(vec![Condition::OneOf(RECORD_TYPE, kinds)]),
    }
}
