//! What differs between database engines, in one table.

/// How one engine says what the others say differently.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What the engine is called.
    pub name: &'static str,
    /// Writes a test that the text in a column contains a bound text, which [`Dialect::sought`] has
    /// prepared.
    pub contains: fn(&mut String, column: &str),
    /// A text as that test takes it, so that all of its characters are plain ones.
    pub sought: fn(&str) -> String,
    /// What follows a descending or ascending column so that unset values are the least.
    pub nulls_least: fn(descending: bool) -> &'static str,
    /// The function that counts the characters of a text.
    pub char_length: &'static str,
    /// Begins a transaction that is certain to write. Where one writer goes at a time it waits its
    /// turn at once, instead of failing half-way; elsewhere each statement sees what others have
    /// committed, and locks keep rows as they were read.
    pub begin_write: &'static str,
    /// How a transaction keeps the rows that it has read from others.
    pub locks: Option<Locks>,
    /// Whether the engine hands a page over as one JSON text of raw cells. On an embedded engine
    /// each row would cross a thread; over a network rows are faster.
    pub pages_as_json: bool,
    /// Whether an insertion has to say that it gives the key back.
    pub returns_keys: bool,
    /// Whether keys that were inserted have to be passed over by those that the engine gives.
    pub keys_follow: bool,
    /// How many values may be bound in one statement.
    pub max_binds: usize,
}

/// What follows a query that keeps its rows until the transaction ends.
#[derive(Clone, Copy, Debug)]
pub struct Locks {
    /// Nobody else reads them to write, nor refers to them.
    pub alone: &'static str,
    /// Nobody changes or removes them.
    pub shared: &'static str,
}

/// SQLite.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    contains: |sql, column| {
        sql.push_str("instr(");
        sql.push_str(column);
        sql.push_str(", ?) > 0");
    },
    sought: str::to_owned,
    nulls_least: |_| "",
    char_length: "length",
    begin_write: "BEGIN IMMEDIATE",
    locks: None,
    pages_as_json: true,
    returns_keys: false,
    keys_follow: false,
    max_binds: 32_000,
};

/// PostgreSQL.
pub static POSTGRES: Dialect = Dialect {
    name: "PostgreSQL",
    // The form that an index of trigrams serves.
    contains: |sql, column| {
        sql.push_str(column);
        sql.push_str(" LIKE ?");
    },
    sought: |text| {
        let mut pattern = String::with_capacity(text.len() + 2);
        pattern.push('%');
        for character in text.chars() {
            if matches!(character, '%' | '_' | '\\') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('%');
        pattern
    },
    nulls_least: |descending| if descending { " NULLS LAST" } else { " NULLS FIRST" },
    char_length: "char_length",
    begin_write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    locks: Some(Locks { alone: " FOR UPDATE", shared: " FOR SHARE" }),
    pages_as_json: false,
    returns_keys: true,
    keys_follow: true,
    max_binds: 65_535,
};

/// MariaDB and MySQL.
pub static MYSQL: Dialect = Dialect {
    name: "MariaDB",
    contains: |sql, column| {
        sql.push_str("instr(");
        sql.push_str(column);
        sql.push_str(", ?) > 0");
    },
    sought: str::to_owned,
    nulls_least: |_| "",
    char_length: "char_length",
    begin_write: "START TRANSACTION",
    locks: Some(Locks { alone: " FOR UPDATE", shared: " LOCK IN SHARE MODE" }),
    pages_as_json: false,
    returns_keys: false,
    keys_follow: false,
    max_binds: 65_535,
};
