//! The query of an export: the filters, the order and the fields of the list of a type, and the form of the
//! table. Independent of how records are read.

use host_interface::Request;
use time::PrimitiveDateTime;

use super::parameters::OwnParameters;
use super::request::{Listing, Read, Scope};
use super::table::{Form, Format};
use crate::error::{Error, Fault, FaultKind};
use crate::model::question::{Condition, Page, Shape};
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::table::{Column, Naming, Parts};

/// The parameter for cells that a spreadsheet does not compute.
pub const SAFE: &str = "safe";
/// The parameter for the columns of related records.
pub const COLUMNS: &str = "columns";
/// The parameter for the parts of records, such as the items of orders.
pub const PARTS: &str = "parts";
/// The values of [`COLUMNS`].
pub const KEYS_OR_NAMES: [&str; 2] = ["keys", "names"];

/// What a client wants to export.
#[derive(Debug)]
pub struct Export {
    /// The resource.
    pub resource: &'static Resource,
    /// The columns.
    pub columns: Vec<Column>,
    /// The parts of the records, if they are wanted.
    pub parts: Option<Parts>,
    /// The form.
    pub form: Form,
    /// The moment since which the records must have changed.
    pub modified_since: Option<PrimitiveDateTime>,
    listing: Listing,
}

impl Export {
    /// Reads a request for the records of this resource.
    ///
    /// # Errors
    /// All faults of the query.
    pub fn read(
        request: &Request,
        resource: &'static Resource,
        registry: Registry,
    ) -> Result<Self, Error> {
        let query = request.query();
        let Read { value: listing, view, mut faults } =
            Listing::read_selecting(query, Scope::All(resource), registry);
        let mut refuse = |name: &str, detail: &str| {
            faults.push(Fault::at_parameter(FaultKind::UnknownParameter, name, detail));
        };
        if listing.paged || listing.resume.is_some() {
            refuse("page", "An export has no pages: it has all records.");
        }
        if view.include.is_some() {
            refuse("include", "An export has no related records.");
        }
        let mut own = OwnParameters::read(query, [SAFE, COLUMNS, PARTS], faults);
        let (safe, with_parts) = (own.switch(SAFE), own.switch(PARTS));
        let parts = Parts::of(resource).filter(|_| with_parts);
        if with_parts && parts.is_none() {
            own.refuse(PARTS, format!("{} have no parts.", resource.title()));
        }
        let names = own.word(COLUMNS, &KEYS_OR_NAMES) == KEYS_OR_NAMES[1];
        if !own.faults.is_empty() {
            return Err(own.faults.into());
        }
        let columns = match view.shape {
            Shape::Selected(selection) => {
                let shown = selection.attributes.with(selection.relationships);
                let namings: Vec<Naming> =
                    Naming::of(resource, registry).filter(|_| names).collect();
                let fields = resource.fields().enumerate();
                let fields = fields.filter(|(position, _)| shown.contains(*position));
                let own = fields.map(|(_, field)| Column::Own(field).named(&namings));
                let key = selection.key.then_some(Column::Key(resource));
                key.into_iter().chain(own).collect()
            }
            Shape::List | Shape::Detail | Shape::Record => Column::all(resource, names, registry),
        };
        if columns.is_empty() {
            let name = format!("fields[{}]", resource.kind);
            let detail = format!("{name} must name a field to export.");
            return Err(Fault::at_parameter(FaultKind::InvalidParameter, &name, detail).into());
        }
        let form = Form { format: Format::accepted(request), safe };
        let modified_since = listing.modified_since;
        Ok(Self { resource, columns, parts, form, modified_since, listing })
    }

    /// The records, under these further conditions.
    pub fn page(&self, further: impl IntoIterator<Item = Condition>) -> Page {
        let conditions = self.listing.conditions.iter().cloned().chain(further).collect();
        self.listing.page(self.resource, conditions)
    }
}
