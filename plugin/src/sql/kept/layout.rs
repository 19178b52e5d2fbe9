//! Formatting of SQL that people also read, in the catalogue of a database: lines of at most 100 characters.

const WIDTH: usize = 100;

/// Lines with this indentation: words, then a list with commas. A list that does not fit continues
/// on the next line, indented further.
pub(super) fn listed(indent: usize, words: &str, items: &[String], end: &str) -> String {
    joined(indent, words, items, ", ", end)
}

/// Lines like those of [`listed`], with another separator, which begins the next line.
pub(super) fn joined(
    indent: usize,
    words: &str,
    items: &[String],
    between: &str,
    end: &str,
) -> String {
    let mut text = format!("{:indent$}{words}", "");
    let mut line = text.len();
    for (place, item) in items.iter().enumerate() {
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

/// Indents each line further.
pub(super) fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
