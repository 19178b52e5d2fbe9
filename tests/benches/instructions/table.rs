//! The table of what requests may cost, a file that people review.

use std::fmt;
use std::path::PathBuf;

/// The head of the table.
pub const HEAD: &str =
    "| request | before | now | bound | tested | its bound |\n|---|---|---|---|---|---|";

/// How far a count may be above its bound: other versions of the compiler and of the C library move it.
const TOLERANCE: f64 = 1.03;

/// The program that is counted.
#[derive(Clone, Copy)]
pub enum Compiled {
    /// For release, with full optimisation.
    ForRelease,
    /// For the tests, with a little.
    ForTests,
}

/// The file: what stands before the table, and its rows.
pub struct Table {
    introduction: String,
    rows: Vec<Row>,
}

/// A row, in millions of instructions.
#[derive(Clone)]
pub struct Row {
    pub name: String,
    /// What the request cost at the commit that the introduction names; `None` if it was not there yet.
    before: Option<f64>,
    released: Cost,
    tested: Cost,
}

/// What a request costs a program.
#[derive(Clone, Copy)]
pub struct Cost {
    /// What it cost when the row was written.
    pub now: f64,
    /// What it may cost.
    bound: f64,
}

impl Table {
    pub fn read() -> Table {
        let text = std::fs::read_to_string(file()).unwrap();
        let (introduction, rows) = text.split_once(HEAD).expect("the file has the table");
        let rows = rows.lines().filter(|line| !line.is_empty()).map(Row::read).collect();
        Table { introduction: introduction.to_owned(), rows }
    }

    pub fn write(&self) {
        let rows: String = self.rows.iter().map(|row| format!("{row}\n")).collect();
        std::fs::write(file(), format!("{}{HEAD}\n{rows}", self.introduction)).unwrap();
    }

    pub fn names(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.name.as_str()).collect()
    }

    pub fn rows(&mut self) -> impl Iterator<Item = &mut Row> {
        self.rows.iter_mut()
    }

    pub fn row(&mut self, name: &str) -> &mut Row {
        self.rows().find(|row| row.name == name).expect("each request has its row")
    }
}

impl Row {
    fn read(line: &str) -> Row {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, before, numbers @ ..] = &cells[..] else { panic!("{line:?} is not a row") };
        let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{line:?}"));
        let before = (!before.is_empty()).then(|| number(before));
        let numbers: Vec<f64> = numbers.iter().map(|text| number(text)).collect();
        let [now, bound, tested, its_bound] = numbers[..] else { panic!("{line:?} is not a row") };
        let released = Cost { now, bound };
        Row {
            name: (*name).to_owned(),
            before,
            released,
            tested: Cost { now: tested, bound: its_bound },
        }
    }

    /// What the request costs a program that is compiled like this.
    pub fn cost(&mut self, compiled: Compiled) -> &mut Cost {
        match compiled {
            Compiled::ForRelease => &mut self.released,
            Compiled::ForTests => &mut self.tested,
        }
    }
}

impl Cost {
    /// What is wrong with a count, if anything is.
    pub fn verdict(self, counted: f64) -> Option<&'static str> {
        (counted > self.bound * TOLERANCE).then_some(" **above its bound**")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { name, before, released, tested } = self;
        let before = before.map_or_else(String::new, |before| format!("{before:.3}"));
        write!(f, "| {name} | {before} | {released} | {tested} |")
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} | {:.3}", self.now, self.bound)
    }
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/table.md"))
}
