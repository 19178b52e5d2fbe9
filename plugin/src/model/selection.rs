//! A selection of a resource's fields: those that a client has named, and those that are read for
//! another reason. Independent of how they are named.

/// How many fields of a resource a selection can distinguish.
pub const MAX_FIELDS: usize = 64;

/// The fields of a resource that are read, and those that a document shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Whether the primary key is one of the attributes.
    pub key: bool,
    /// The fields that are attributes.
    pub attributes: Positions,
    /// The fields whose relationships are shown.
    pub relationships: Positions,
    /// The fields that are read, apart from the hidden ones, which always are.
    pub read: Positions,
}

/// A set of fields, by their position among [all fields](super::resource::Resource::fields).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positions(u64);

impl Positions {
    /// Adds a position.
    pub fn insert(&mut self, position: usize) {
        self.0 |= bit(position);
    }

    /// Whether a position is in the set.
    pub fn contains(self, position: usize) -> bool {
        self.0 & bit(position) != 0
    }

    /// The positions of both sets.
    pub fn with(self, other: Positions) -> Positions {
        Positions(self.0 | other.0)
    }
}

impl FromIterator<usize> for Positions {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        Positions(positions.into_iter().fold(0, |set, position| set | bit(position)))
    }
}

/// The bit of a position. A descriptor with more than [`MAX_FIELDS`] does not compile.
fn bit(position: usize) -> u64 {
    u32::try_from(position).ok().and_then(|position| 1_u64.checked_shl(position)).unwrap_or(0)
}
