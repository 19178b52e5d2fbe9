//! Formatting of SQL that people also read, in the catalogue of a database: lines of at most 100 characters.

const WIDTH: usize = 100;

/// Lines with this indentation: words, then a list with commas. A list that does not fit continues
/// on the next line, indented further.
pub(super) fn listed(indent: usize, words: &str, items: &[impl AsRef<str>], end: &str) -> String {
    joined(indent, words, items, ", ", end)
}

/// Lines like those of [`listed`], with another separator, which begins the next line.
pub(super) fn joined(
    indent: usize,
    words: &str,
    items: &[impl AsRef<str>],
    between: &str,
    end: &str,
) -> String {
    let mut text = format!("{:indent$}{words}", "");
    let mut line = text.len();
    for (place, item) in items.iter().map(AsRef::as_ref).enumerate() {
        let is_last = place + 1 == items.len();
        let needed = item.len() + if is_last { end.len() } else { between.trim_end().len() };
        if place > 0 {
            let fits = line + between.len() + needed <= WIDTH;
            let broken = match between.trim() {
                "," => format!(",\n{:1$}", "", indent + 4),
                word => format!("\n{:1$}{word} ", "", indent + 4),
            };
            text.push_str(if fits { between } else { &broken });
        }
        text.push_str(item);
        line = text.len() - text.rfind('\n').map_or(0, |end| end + 1);
    }
    text.push_str(end);
    text.push('\n');
    text
}

/// A comparison of these columns of two rows: the words before each row, and its name.
pub(super) fn compared(
    columns: &[&str],
    [(words, row), (operator, other)]: [(&str, &str); 2],
    end: &str,
) -> String {
    let of = |row: &str| columns.iter().map(|column| format!("{row}.{column}")).collect::<Vec<_>>();
    listed(0, words, &of(row), ")") + &listed(4, operator, &of(other), end)
}

/// Runs statements if a condition is met, which begins with `IF` and ends with a space or a line.
pub(super) fn conditional(condition: &str, does: &str) -> String {
    format!("{condition}THEN\n{}END IF;\n", indented(does))
}

/// The places of this many columns, by which a query groups and sorts.
pub(super) fn places(count: usize) -> String {
    (1..=count).map(|place| place.to_string()).collect::<Vec<_>>().join(", ")
}

/// Indents each line further.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
