//! How people see the records of a resource in lists and in a navigation, as far as that does not follow from its
//! fields. The document has it in `x-` members.

/// How the records of a resource are shown.
#[derive(Clone, Copy, Debug)]
pub struct Presentation {
    /// Its place in a navigation.
    pub group: Option<Group>,
    /// The fields that name a record, one after the other.
    pub label: &'static [&'static str],
    /// The fields that a list shows.
    pub columns: &'static [&'static str],
    /// The field with the path or the address of a picture.
    pub picture: Option<&'static str>,
}

/// A group of a navigation, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is sold.
    Catalogue,
    /// What was sold, and to whom.
    Sales,
    /// Computed rows.
    Reports,
    /// What the others refer to.
    Settings,
    /// What goes in and out.
    Exchange,
}

impl Presentation {
    /// As the fields suggest.
    pub const PLAIN: Presentation =
        Presentation { group: None, label: &[], columns: &[], picture: None };
}

impl Group {
    /// All groups, in the order of the navigation.
    pub const ALL: [Group; 5] =
        [Group::Catalogue, Group::Sales, Group::Reports, Group::Settings, Group::Exchange];

    /// The name that people see.
    pub fn title(self) -> &'static str {
        match self {
            Group::Catalogue => "Catalogue",
            Group::Sales => "Sales",
            Group::Reports => "Reports",
            Group::Settings => "Settings",
            Group::Exchange => "Exchange",
        }
    }
}
