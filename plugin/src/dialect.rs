//! What differs between database engines, in one table.

/// How one engine says what the others say differently.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What the engine is called.
    pub name: &'static str,
    /// Writes the placeholder of the `nth` bound value, counted from 1.
    pub placeholder: fn(&mut String, usize),
    /// Writes a test that the text in a column contains a bound text, as plain text.
    pub contains: fn(&mut String, column: &str, placeholder: usize),
    /// What follows a descending or ascending column so that unset values are the least.
    pub nulls_least: fn(descending: bool) -> &'static str,
    /// Begins a transaction that is certain to write, so that it waits its turn at once instead of
    /// failing half-way.
    pub begin_write: &'static str,
    /// Whether the engine hands a page over as one JSON text of raw cells. On an embedded engine
    /// each row would cross a thread; over a network rows are faster.
    pub pages_as_json: bool,
    /// How many values may be bound in one statement.
    pub max_binds: usize,
}

/// SQLite.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    placeholder: |sql, _| sql.push('?'),
    contains: |sql, column, _| {
        sql.push_str("instr(");
        sql.push_str(column);
        sql.push_str(", ?) > 0");
    },
    nulls_least: |_| "",
    begin_write: "BEGIN IMMEDIATE",
    pages_as_json: true,
    max_binds: 32_000,
};
