//! What a document offers to do with records, as plain data. `reading.rs` makes it; pages show it.

use host_interface::Method;

use crate::admin::permission::Permission;

/// The types of records of an extension.
#[derive(Default)]
pub(crate) struct Types {
    pub(crate) extension: String,
    /// In the order of the document.
    pub(crate) kinds: Vec<Kind>,
    /// The groups of the navigation that come first, in their order.
    pub(crate) groups: Vec<String>,
    /// Whether the document has more than is read.
    pub(crate) incomplete: bool,
}

/// A type of records.
pub(crate) struct Kind {
    /// Its name in the API and in addresses: letters, digits, `_`, `.` and `-`.
    pub(crate) name: String,
    /// What several of them are called.
    pub(crate) title: String,
    /// What one of them is called, in lower case.
    pub(crate) singular: String,
    /// Its group in the navigation.
    pub(crate) group: Option<String>,
    /// The attributes that name a record, one after the other.
    pub(crate) label: Vec<String>,
    /// The attributes that a list shows.
    pub(crate) columns: Vec<String>,
    /// The attribute with the key, where a record has it nowhere else.
    pub(crate) key: Option<String>,
    pub(crate) attributes: Vec<Attribute>,
    /// The list of all records; `None` for a type that is only listed below others.
    pub(crate) list: Option<Route>,
    pub(crate) show: Option<Route>,
    pub(crate) create: Option<Route>,
    pub(crate) update: Option<Route>,
    pub(crate) delete: Option<Route>,
    pub(crate) actions: Vec<Action>,
    pub(crate) nested: Vec<Nested>,
    pub(crate) relations: Vec<Relation>,
    pub(crate) filters: Vec<Filter>,
    /// The attributes by which a list can be sorted, both ways.
    pub(crate) sorts: Vec<String>,
    pub(crate) query: Query,
    /// Whether the extension exports all records of the type.
    pub(crate) exported: bool,
}

/// A route of the API.
pub(crate) struct Route {
    /// Its name in the document.
    pub(crate) id: String,
    pub(crate) method: Method,
    /// The path of its address, with `{id}` in place of the record's key, and `{parent}` in place of the key of the
    /// record that it belongs to.
    pub(crate) path: String,
    /// One of them is enough; empty if the document names no permission.
    pub(crate) permissions: Vec<Permission>,
    pub(crate) summary: String,
    /// The members of its body, if it takes a JSON object.
    pub(crate) body: Option<Vec<Attribute>>,
    /// The media type of the body; empty without one.
    pub(crate) media_type: String,
    /// The media type of the answers.
    pub(crate) accept: String,
    /// Whether it takes an `Idempotency-Key`.
    pub(crate) takes_key: bool,
    /// Whether it takes an `If-Match`.
    pub(crate) takes_version: bool,
    /// The types of the records that are deleted with a record.
    pub(crate) cascade: Vec<String>,
}

/// Something else that can be done with a record.
pub(crate) struct Action {
    /// The end of its path, with `-` between segments.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) route: Route,
    /// The type of the record whose key is `{parent}` in the path.
    pub(crate) parent: Option<String>,
}

/// Records below a record: a list, or one.
pub(crate) struct Nested {
    /// Their type.
    pub(crate) kind: String,
    /// The end of its path, with `-` between segments.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) route: Route,
    pub(crate) single: bool,
    pub(crate) query: Query,
}

/// A relationship of a record.
pub(crate) struct Relation {
    pub(crate) name: String,
    /// The type of the related records, if the document has it.
    pub(crate) kind: Option<String>,
    pub(crate) many: bool,
    /// Whether a list can include the related records.
    pub(crate) included: bool,
}

/// The names of the parameters of a list that each list has, where it takes them.
#[derive(Clone, Default)]
pub(crate) struct Query {
    pub(crate) search: Option<String>,
    /// The parameter with a whole text that identifies a record.
    pub(crate) exact: Option<String>,
    /// The parameter with the keys of some records, separated by commas.
    pub(crate) keys: Option<String>,
    pub(crate) sort: Option<String>,
    pub(crate) offset: Option<String>,
    pub(crate) limit: Option<String>,
    /// The maximum of `limit`, if the document has one.
    pub(crate) most_rows: Option<u64>,
    pub(crate) include: Option<String>,
    /// The parameters with the attributes that an answer has, each of one type.
    pub(crate) fields: Vec<String>,
}

/// A filter of a list.
pub(crate) struct Filter {
    /// The name of the parameter.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) shape: Shape,
    /// The type of the record whose key it takes.
    pub(crate) reference: Option<String>,
}

/// A member of a record or a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) read_only: bool,
    pub(crate) nullable: bool,
    /// Empty without one.
    pub(crate) example: String,
    pub(crate) default: Option<String>,
    /// The type of the record whose key it is.
    pub(crate) reference: Option<String>,
    pub(crate) minimum: Option<String>,
    pub(crate) maximum: Option<String>,
    pub(crate) max_length: Option<usize>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Text,
    LongText,
    /// An integer.
    Whole,
    /// An exact decimal, as text.
    Decimal,
    /// A day.
    Date,
    /// A date and a time.
    Moment,
    /// Yes or no, as a boolean or as 0 and 1.
    Flag,
    Choice(Vec<String>),
    /// The path or the address of a picture.
    Picture,
    /// A list of values of this shape.
    List(Box<Shape>),
    /// A list of objects.
    Parts(Vec<Attribute>),
    Object(Vec<Attribute>),
    /// Anything else, as JSON.
    Raw,
}

impl Attribute {
    /// Whether it is an integer that identifies something, such as a key or the number of an invoice.
    pub(crate) fn identifies(&self) -> bool {
        let last = self.name.rsplit('_').next();
        self.shape == Shape::Whole && matches!(last, Some("id" | "key" | "number"))
    }
}

impl Types {
    /// The type with this name.
    pub(crate) fn kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }
}

impl Query {
    /// Whether a parameter leads to a page of the list. The pages of some orders have cursors.
    pub(crate) fn is_place(&self, name: &str) -> bool {
        let is_cursor = name.starts_with("page[") && self.limit.as_deref() != Some(name);
        is_cursor || self.offset.as_deref() == Some(name)
    }
}

impl Route {
    /// The members of its body.
    pub(crate) fn members(&self) -> &[Attribute] {
        self.body.as_deref().unwrap_or_default()
    }
}

impl Kind {
    /// The attribute with this name.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}
