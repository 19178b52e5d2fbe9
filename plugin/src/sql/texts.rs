//! Substring search on engines that need tables of texts. Triggers fill these tables; this module
//! queries them.

use std::iter;

use crate::model::resource::{Resource, SharedTexts};

/// The records that contain a text, as rows of such a table.
#[derive(Debug)]
pub struct Found {
    /// The table and a condition on its rows. Each question mark is a placeholder for a value.
    pub rows: String,
    /// The values.
    pub binds: Vec<String>,
    /// The column with the record's key.
    pub key: &'static str,
    /// An expression for that key, once for each record.
    pub keys: &'static str,
    /// Whether all of these records contain the text; otherwise they are candidates.
    pub exact: bool,
}

impl Found {
    /// These records of a resource, and those that share the texts of others, which are found in the same way.
    pub(super) fn or_sharing(
        self,
        others: Self,
        shared: &SharedTexts,
        resource: &Resource,
    ) -> Self {
        let Resource { table, key, .. } = resource;
        let SharedTexts { by, only: (only, value), .. } = shared;
        // Without the sign, an engine may read all of these records to find the few that share a text.
        let rows = format!(
            "(SELECT {} AS record FROM {} UNION ALL SELECT {key} FROM {table} \
             WHERE {by} IN (SELECT {} FROM {}) AND +{only} = {value}) found",
            self.keys, self.rows, others.key, others.rows
        );
        let binds = [self.binds, others.binds].concat();
        Self { rows, binds, key: "record", keys: "record", exact: self.exact && others.exact }
    }
}

/// Finds records with an index of trigrams over all texts of a resource, which is queried for a
/// phrase: the characters between its quotes have no special meaning. The engine visits the records
/// of each trigram of a phrase one by one, even if they are all the same, so a long text is looked
/// up by its beginning and its end.
pub fn by_phrase(resource: &Resource, columns: &[Column<'_>], text: &str) -> Option<Found> {
    const LEAST: usize = 3;
    /// The greatest length that is looked up as a whole. It has sixteen trigrams.
    const MOST: usize = 18;
    /// The length of the beginning and of the end of a longer text. Together they have no more
    /// trigrams.
    const END: usize = 10;
    let characters: Vec<char> = text.chars().collect();
    let table = resource.storage.search.filter(|_| characters.len() >= LEAST)?;
    let columns: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let phrase = |characters: &[char]| {
        let text: String = characters.iter().collect();
        format!("\"{}\"", text.replace('"', "\"\""))
    };
    // Many addresses share what follows the sign, and each of its trigrams would lead to all of them.
    let local = characters.iter().position(|of| *of == '@').map_or(0, |at| at + 1);
    let rare = if local < LEAST { &characters } else { &characters[..local] };
    let exact = characters.len() <= MOST && rare.len() == characters.len();
    let sought = if rare.len() <= MOST {
        phrase(rare)
    } else if rare.len() < characters.len() {
        phrase(&rare[rare.len() - MOST..])
    } else {
        let ends = [&characters[..END], &characters[characters.len() - END..]].map(phrase);
        if ends[0] == ends[1] { ends[0].clone() } else { format!("({})", ends.join(" AND ")) }
    };
    Some(Found {
        rows: format!("{table} WHERE {table} MATCH ?"),
        binds: vec![format!("{{{}}} : {sought}", columns.join(" "))],
        key: "rowid",
        keys: "rowid",
        exact,
    })
}

/// Finds records by the pieces of a text that begin at every third character, with the two
/// characters before each. A search text is at the beginning of a piece, or all but its first one
/// or two characters are, which are then before the piece.
pub fn by_pieces(resource: &Resource, columns: &[Column<'_>], text: &str) -> Option<Found> {
    /// The rest of a shorter text would be at the beginning of too many pieces.
    const LEAST: usize = 4;
    /// The length of a piece.
    const LENGTH: usize = 12;
    let [column] = columns else { return None };
    let (_, table) = resource.storage.pieces.iter().find(|(field, _)| *field == column.field)?;
    let characters: Vec<char> = text.chars().collect();
    if characters.len() < LEAST {
        return None;
    }
    let ahead = |to: usize| characters[..to].iter().collect::<String>();
    let [[first, last], [second, second_last], [third, third_last]] =
        [0, 1, 2].map(|from| beginning(&characters[from..], LENGTH));
    Some(Found {
        rows: format!(
            "{table} WHERE (piece BETWEEN ? AND ? OR piece BETWEEN ? AND ? AND right(ahead, 1) = ? \
             OR piece BETWEEN ? AND ? AND ahead = ?)"
        ),
        binds: vec![first, last, second, second_last, ahead(1), third, third_last, ahead(2)],
        key: "record",
        keys: "DISTINCT record",
        exact: characters.len() <= LENGTH,
    })
}

/// The first and the last piece that begins with a text. This is not a pattern: the engine would look
/// for its matches up to U+FFFF only, and so miss pieces that continue with a character above it.
fn beginning(text: &[char], length: usize) -> [String; 2] {
    let first: String = text.iter().take(length).collect();
    let rest = length.saturating_sub(text.len());
    let last = first.chars().chain(iter::repeat_n(char::MAX, rest)).collect();
    [first, last]
}

/// A searched column and its field.
#[derive(Debug)]
pub struct Column<'a> {
    /// The field's name.
    pub field: &'a str,
    /// The column's name.
    pub name: String,
}

/// Escapes a text for use in a pattern, so that all of its characters are literal.
pub fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::resource::Storage;

    const SEARCHED: Resource = Resource {
        storage: Storage {
            search: Some("shop_products_search"),
            pieces: &[("sku", "shop_product_sku_pieces")],
            ..Storage::PLAIN
        },
        ..Resource::CRUD
    };

    fn found(text: &str) -> Option<(Vec<String>, bool)> {
        let column = Column { field: "sku", name: "sku_fold".to_owned() };
        let found = by_pieces(&SEARCHED, &[column], text)?;
        Some((found.binds, found.exact))
    }

    fn phrase(text: &str) -> Option<(Vec<String>, bool)> {
        let column = Column { field: "sku", name: "sku_fold".to_owned() };
        let found = by_phrase(&SEARCHED, &[column], text)?;
        Some((found.binds, found.exact))
    }

    #[test]
    fn a_phrase_has_few_trigrams_however_long_the_text_is() {
        let whole = |text: &str| Some((vec![format!("{{sku_fold}} : {text}")], true));
        assert_eq!(phrase("ab"), None);
        assert_eq!(phrase("a\"b"), whole("\"a\"\"b\""));
        assert_eq!(phrase("abcdefghijklmnopqr"), whole("\"abcdefghijklmnopqr\""));
        let ends = "{sku_fold} : (\"abcdefghij\" AND \"jklmnopqrs\")".to_owned();
        assert_eq!(phrase("abcdefghijklmnopqrs"), Some((vec![ends], false)));
        let zeros = "{sku_fold} : \"0000000000\"".to_owned();
        assert_eq!(phrase(&"0".repeat(255)), Some((vec![zeros], false)));
    }

    #[test]
    fn an_address_is_looked_up_by_what_precedes_its_sign() {
        let found = |text: &str, exact| Some((vec![format!("{{sku_fold}} : {text}")], exact));
        assert_eq!(phrase("ada@example.com"), found("\"ada@\"", false));
        assert_eq!(phrase("ada@"), found("\"ada@\"", true));
        assert_eq!(phrase("a@b.org"), found("\"a@b.org\"", true));
        let long = "ada.byron.of.lovelace@example.com";
        assert_eq!(phrase(long), found("\"byron.of.lovelace@\"", false));
    }

    #[test]
    fn pieces_are_matched_with_the_beginning_of_a_text() {
        let last = |text: &str| format!("{text:\u{10FFFF}<12}");
        let (whole, but_one, but_two) = (last("a_b%c"), last("_b%c"), last("b%c"));
        let binds = ["a_b%c", &whole, "_b%c", &but_one, "a", "b%c", &but_two, "a_"];
        let binds = binds.map(str::to_owned).to_vec();
        assert_eq!(found("a_b%c"), Some((binds, true)));
        assert_eq!(found("äöü"), None, "such a short text is at the beginning of too many pieces");
        assert!(found("äöüä").is_some());
    }

    #[test]
    fn a_text_longer_than_a_piece_gives_candidates_only() {
        assert!(found("abcdefghijkl").is_some_and(|(_, exact)| exact));
        let last = "cdefghijklm\u{10FFFF}";
        let binds = [
            "abcdefghijkl",
            "abcdefghijkl",
            "bcdefghijklm",
            "bcdefghijklm",
            "a",
            "cdefghijklm",
            last,
            "ab",
        ];
        let binds = binds.map(str::to_owned).to_vec();
        assert_eq!(found("abcdefghijklm"), Some((binds, false)));
    }
}
