//! Pages in the order of a long text. No index takes such a text as a whole, so that of its order has the
//! beginnings, and records whose texts have the same beginning are not in order along it. Their group is
//! where it should be nevertheless. So a page along the index has the right records, except at its ends,
//! where it may have only a part of a group: these groups are sorted. Independent of SQL.

use crate::model::question::Page;
use crate::model::value::{BEGINNING, Cell, fold};

/// How many characters become of one at most when a text is folded.
const EXPANSION: usize = 3;

/// Whether a page that was read along the index is in order for certain: no text of it is longer than what the
/// index has of it. It is uncertain if the page does not show them.
pub fn are_impossible(page: &Page, rows: &[Vec<Cell<'_>>]) -> bool {
    let shown = page.columns().position(|field| page.order.field == Some(field.name));
    rows.iter().all(|row| match shown.and_then(|column| row.get(column + 1)) {
        Some(Cell::Text(text)) => is_short(text),
        Some(Cell::Null) => true,
        Some(Cell::Int(_)) | None => false,
    })
}

/// Whether the index has all of a text. Most are so short that they need not be folded to know that.
fn is_short(text: &str) -> bool {
    text.len() * EXPANSION < BEGINNING || fold(text).chars().count() < BEGINNING
}

/// A page along the index, with the groups at its ends that must be sorted.
#[derive(Clone, Debug, Default)]
pub struct Ties {
    /// The records that are on the page, in no order.
    keys: Vec<i64>,
    /// The groups.
    groups: Vec<Tied>,
}

/// The part of a page that has some of the records whose texts have the same beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tied {
    /// The beginning.
    pub beginning: String,
    /// The first of these records on the page, along the index. Those before it are on other pages.
    pub first: i64,
    /// How many of them are on the page.
    pub count: i64,
}

impl Ties {
    /// From the keys of a page along the index, with the beginnings of their texts.
    pub fn along(page: &[(i64, &str)]) -> Self {
        let groups: Vec<_> = page.chunk_by(|one, next| one.1 == next.1).collect();
        let mut ties = Self::default();
        for (place, group) in groups.iter().enumerate() {
            let [(first, beginning), ..] = group else { continue };
            let is_end = place == 0 || place + 1 == groups.len();
            if is_end && continues(beginning) {
                let count = i64::try_from(group.len()).unwrap_or(i64::MAX);
                let beginning = (*beginning).to_owned();
                ties.groups.push(Tied { beginning, first: *first, count });
            } else {
                ties.keys.extend(group.iter().map(|(key, _)| *key));
            }
        }
        ties
    }

    /// The group that must be sorted next.
    pub fn next(&self) -> Option<&Tied> {
        self.groups.last()
    }

    /// With the keys that the group which must be sorted next has on the page.
    pub fn with(mut self, keys: impl IntoIterator<Item = i64>) -> Self {
        self.groups.pop();
        self.keys.extend(keys);
        self
    }

    /// The keys of the page, in no order.
    pub fn keys(self) -> Vec<i64> {
        self.keys
    }
}

/// Whether a text may continue after this beginning.
fn continues(beginning: &str) -> bool {
    beginning.chars().nth(BEGINNING - 1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_makes_a_text_at_most_three_times_as_long() {
        let longest =
            (char::MIN..=char::MAX).map(|one| fold(&one.to_string()).chars().count()).max();
        assert_eq!(longest, Some(EXPANSION));
    }

    #[test]
    fn a_text_is_short_if_its_folded_form_has_no_more_than_its_beginning() {
        // One, two and three characters when folded.
        for character in ["a", "ß", "ΐ"] {
            for times in [0, 1, 84, 85, 127, 128, 254, 255, 256] {
                let (text, folded) = (character.repeat(times), fold(character).chars().count());
                assert_eq!(is_short(&text), folded * times < BEGINNING, "{times} of {character}");
            }
        }
    }

    #[test]
    fn only_groups_at_the_ends_of_a_page_are_sorted() {
        let [a, b, c] = ["a", "b", "c"].map(|letter| letter.repeat(BEGINNING));
        let tied = |beginning: &str, first, count| {
            Some(Tied { beginning: beginning.to_owned(), first, count })
        };
        let ties = Ties::along(&[(7, &a), (9, &a), (3, &b), (4, &b), (5, &c)]);
        assert_eq!(ties.next().cloned(), tied(&c, 5, 1));
        let ties = ties.with([6]);
        assert_eq!(ties.next().cloned(), tied(&a, 7, 2));
        let ties = ties.with([1, 7]);
        assert_eq!(ties.next(), None);
        assert_eq!(ties.keys(), [3, 4, 6, 1, 7]);
    }

    #[test]
    fn a_group_of_texts_without_more_than_their_beginning_is_in_order() {
        let short = "ä".repeat(BEGINNING - 1);
        let ties = Ties::along(&[(2, ""), (5, ""), (1, &short)]);
        assert_eq!(ties.next(), None);
        assert_eq!(ties.keys(), [2, 5, 1]);
        let all = "ä".repeat(BEGINNING);
        let ties = Ties::along(&[(1, &all), (2, &all)]);
        assert_eq!(ties.next(), Some(&Tied { beginning: all, first: 1, count: 2 }));
        assert_eq!(Ties::along(&[]).next(), None);
    }
}
