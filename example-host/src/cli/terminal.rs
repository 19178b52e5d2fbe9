//! Reading and printing lines at the terminal, and the type of the program's errors.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};

/// Why the program failed; it is printed as one line.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Prints each item on a line. A closed pipe is no error: the reader has read enough.
pub(super) fn print<T: Display>(lines: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written =
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    is_read(written).map(drop)
}

/// Writes a piece of a longer text, and returns whether anybody still reads it.
pub(super) fn write(text: &[u8]) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    is_read(out.write_all(text).and_then(|()| out.flush()))
}

fn is_read(written: std::io::Result<()>) -> Result<bool, Failure> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => Ok(written.map(|()| true)?),
    }
}

pub(super) fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Reads a password: entered twice without echo, or a line of standard input.
pub(super) fn ask_password(username: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    let password = rpassword::prompt_password(format!("New password for {username}: "))?;
    if rpassword::prompt_password("Repeat the password: ")? != password {
        return Err("the passwords differ; nothing was changed".into());
    }
    Ok(password)
}

/// Reads the value of a secret parameter: entered without echo, or a line of standard input.
pub(super) fn ask_secret(parameter: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    Ok(rpassword::prompt_password(format!("New value of {parameter}: "))?)
}
