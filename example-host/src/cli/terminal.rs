//! Lines and passwords at the terminal, and the one line that the program fails with.

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};

/// Why the program ends with an error: one line for people.
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// One line each. A reader that has seen enough and goes away is no error.
pub(super) fn print<T: Display>(lines: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written =
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

pub(super) fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A password: typed twice and not shown, or a line of standard input.
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
