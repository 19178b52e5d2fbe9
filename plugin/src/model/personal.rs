//! Which fields have data of persons, and of which kind. A field is marked where it is declared; what is done with
//! marked fields is decided elsewhere.

/// The kind of a person's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Personal {
    /// A name of a person or of their company.
    Name,
    /// Where they live, without country and region.
    Address,
    /// How they are reached: an e-mail address or a telephone number.
    Contact,
    /// Text that anybody may have written about them.
    FreeText,
    /// What identifies them elsewhere, such as the number of a parcel or of a payment.
    Identifier,
}

impl Personal {
    /// What it is called, in the plural.
    pub fn title(self) -> &'static str {
        match self {
            Personal::Name => "names",
            Personal::Address => "addresses",
            Personal::Contact => "e-mail addresses and telephone numbers",
            Personal::FreeText => "free texts",
            Personal::Identifier => "identifiers",
        }
    }

    /// Whether an erasure may keep it in orders until a day, because invoices must have it.
    pub fn is_of_invoices(self) -> bool {
        matches!(self, Personal::Name | Personal::Address)
    }
}
