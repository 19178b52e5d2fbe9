//! How records that contain a text are found, on engines that need tables of their own for that. Their
//! triggers fill these tables; this is how they are queried.

use crate::model::resource::Resource;

/// The records whose texts contain one, as rows of such a table.
#[derive(Debug)]
pub struct Found {
    /// The table and a test of its rows. A question mark stands for each of the values.
    pub rows: String,
    /// The values.
    pub binds: Vec<String>,
    /// The column that has the record's key.
    pub key: &'static str,
    /// That key, once for each record.
    pub keys: &'static str,
    /// Whether the text is in all of them; else some of them only may have it.
    pub exact: bool,
}

/// Finds records by an index of trigrams over all texts of a resource, asked for a phrase: all of
/// the characters between its quotes are plain. The engine goes through the records of each trigram
/// of a phrase, one by one, also where they are all the same, so a long text is looked for by where it
/// begins and where it ends.
pub fn by_phrase(resource: &Resource, columns: &[Column<'_>], text: &str) -> Option<Found> {
    const LEAST: usize = 3;
    /// How many characters are looked for as they are. So many have sixteen trigrams.
    const MOST: usize = 18;
    /// How many are looked for of either end of more than that. They have no more trigrams together.
    const END: usize = 10;
    let characters: Vec<char> = text.chars().collect();
    let table = resource.storage.search.filter(|_| characters.len() >= LEAST)?;
    let columns: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let phrase = |characters: &[char]| {
        let text: String = characters.iter().collect();
        format!("\"{}\"", text.replace('"', "\"\""))
    };
    let exact = characters.len() <= MOST;
    let sought = match exact {
        true => phrase(&characters),
        false => {
            let ends = [&characters[..END], &characters[characters.len() - END..]].map(phrase);
            if ends[0] == ends[1] { ends[0].clone() } else { format!("({})", ends.join(" AND ")) }
        }
    };
    Some(Found {
        rows: format!("{table} WHERE {table} MATCH ?"),
        binds: vec![format!("{{{}}} : {sought}", columns.join(" "))],
        key: "rowid",
        keys: "rowid",
        exact,
    })
}

/// Finds records by the pieces of a text that begin at every third character, with the two characters
/// ahead of each. A text stands at the beginning of a piece, or all but its first or its first two
/// characters do and those are ahead.
pub fn by_pieces(resource: &Resource, columns: &[Column<'_>], text: &str) -> Option<Found> {
    /// What is left of a shorter text is at the beginning of too many pieces.
    const LEAST: usize = 4;
    /// How long a piece is.
    const LENGTH: usize = 12;
    let [column] = columns else { return None };
    let (_, table) = resource.storage.pieces.iter().find(|(field, _)| *field == column.field)?;
    let characters: Vec<char> = text.chars().collect();
    if characters.len() < LEAST {
        return None;
    }
    let beginning = |from: usize| {
        let piece = characters[from..].iter().take(LENGTH);
        format!("{}%", pattern(&piece.collect::<String>()))
    };
    let ahead = |to: usize| characters[..to].iter().collect::<String>();
    Some(Found {
        rows: format!(
            "{table} WHERE (piece LIKE ? OR piece LIKE ? AND right(ahead, 1) = ? \
             OR piece LIKE ? AND ahead = ?)"
        ),
        binds: vec![beginning(0), beginning(1), ahead(1), beginning(2), ahead(2)],
        key: "record",
        keys: "DISTINCT record",
        exact: characters.len() <= LENGTH,
    })
}

/// A column that is searched, and the field that it is of.
#[derive(Debug)]
pub struct Column<'a> {
    /// The field's name.
    pub field: &'a str,
    /// The column's.
    pub name: String,
}

/// A text as a pattern takes it, so that all of its characters are plain ones.
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
    fn pieces_are_asked_for_what_a_text_begins_with() {
        let binds = [r"a\_b\%c%", r"\_b\%c%", "a", r"b\%c%", "a_"].map(str::to_owned);
        assert_eq!(found("a_b%c"), Some((binds.to_vec(), true)));
        assert_eq!(found("äöü"), None, "so little is at the beginning of too many");
        assert!(found("äöüä").is_some());
    }

    #[test]
    fn a_text_longer_than_a_piece_may_be_in_what_is_found() {
        assert!(found("abcdefghijkl").is_some_and(|(_, exact)| exact));
        let binds = ["abcdefghijkl%", "bcdefghijklm%", "a", "cdefghijklm%", "ab"];
        let binds = binds.map(str::to_owned).to_vec();
        assert_eq!(found("abcdefghijklm"), Some((binds, false)));
    }
}
