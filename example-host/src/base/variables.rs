//! The environment variables of the host. Each is declared once, with its default and its meaning: the settings are
//! read from this list, the help of the command line prints it, and a test compares the table of the README with it.
//!
//! They are no arguments of clap, because an empty variable counts as one that is not set, and because most of them
//! should not be options too.

use std::fmt::Write;

/// An environment variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its value where it is not set; empty for none.
    pub(crate) default: &'static str,
    /// What it means, in a few words.
    pub(crate) meaning: &'static str,
}

/// Declares the variables, and the list of all in the order of the help.
macro_rules! variables {
    ($($name:ident = $default:literal, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub(crate) const $name: Variable =
                Variable { name: stringify!($name), default: $default, meaning: $meaning };
        )*
        /// All of them, in the order of the help.
        pub(crate) const ALL: &[Variable] = &[$($name),*];
    };
}

variables! {
    HOST_PLUGIN = "",
        "libraries to load, separated like PATH; without any, the library beside the program";
    HOST_LISTEN = "127.0.0.1:8080", "where to listen";
    HOST_LOG = "info", "filter of log lines, e.g. info or debug,access=off";
    HOST_LOG_FILTER_FILE = "", "a file with such a filter in its place, read anew on SIGHUP";
    HOST_LOG_FORMAT = "text", "text or json";
    HOST_CORS_ORIGINS = "", "origins whose pages may call the API, comma-separated";
    HOST_REQUEST_TIMEOUT = "30", "seconds allowed for a request";
    HOST_HEADER_TIMEOUT = "10", "seconds allowed for the headers of a request";
    HOST_STALL_TIMEOUT = "10", "seconds before a client that neither sends nor reads is disconnected";
    HOST_DRAIN_TIME = "0",
        "seconds for which requests are still answered after the signal to stop, while balancers take the host out; 0 for none";
    HOST_STOP_TIMEOUT = "25", "seconds allowed for stopping, after that";
    HOST_CONNECTIONS = "1024", "simultaneous connections";
    HOST_CONNECTIONS_PER_ADDRESS = "256", "simultaneous connections of one client";
    HOST_WAITERS = "1000",
        "requests that may wait, whose connections are not counted meanwhile; 0 for none";
    HOST_TLS_CERT = "", "the file of the certificate for HTTPS";
    HOST_TLS_KEY = "", "the file of its key";
    HOST_HSTS_MAX_AGE = "31536000",
        "seconds for which browsers use only HTTPS after a visit by HTTPS; 0 sends no such header";
    HOST_METRICS = "", "where to serve metrics, e.g. 127.0.0.1:9090";
    HOST_TRUSTED_PROXIES = "",
        "proxies whose X-Forwarded-For is trusted, e.g. 127.0.0.1,10.0.0.0/8";
    HOST_BODY_LIMIT = "1048576", "maximum size of a request body in bytes";
    HOST_IMPORT_LIMIT = "1073741824", "maximum size of a file that is imported in bytes, once it is expanded";
    HOST_ANSWER_LIMIT = "8388608", "maximum size of an answer in bytes";
    HOST_STREAM_ABOVE = "65536",
        "size in bytes above which an extension gets a request body in pieces, where it takes it so";
    HOST_AUDIT_DAYS = "365",
        "days for which the audit trail keeps entries about users, groups, rules, tokens, extensions and parameters";
    HOST_AUDIT_ENTRIES = "100000", "number of other entries that it keeps";
    HOST_SECOND_FACTOR = "allowed",
        "second factors of users in the administration: off, allowed or required";
    HOST_TOKEN_LIFETIME = "0", "days after which a token ends at the latest; 0 for no limit";
    HOST_DELIVER_TO = "",
        "networks that extensions may send requests to although they are not public, e.g. 10.0.0.0/8, also without TLS";
    HOST_SECRET_KEY = "",
        "32 bytes in base64 that encrypt secrets; without them, the file secret.key beside the database";
    HOST_SMTP_URL = "",
        "the mail server, e.g. smtps://user:password@mail.example.com; without one, mails are written to the folder mail";
    HOST_SMTP_TIMEOUT = "30", "seconds allowed for sending a mail";
    HOST_URL = "",
        "the address of the site in links of mails, e.g. https://www.example.com; without it, no links are sent";
    HOST_PASSWORD_RESET = "on", "whether users may choose a new password by a link in a mail: on or off";
    HOST_MAIL_FROM = "no-reply@localhost", "sender of mails";
}

/// The list as the help shows it: a name, and beside it meaning and default.
pub(crate) fn help() -> String {
    /// Where the meanings begin, and where lines end.
    const COLUMN: usize = 24;
    const WIDTH: usize = 100;
    let mut help = String::new();
    for Variable { name, default, meaning } in ALL {
        let default = if default.is_empty() { "none" } else { default };
        // The default is not broken.
        let default = format!("[default: {default}]");
        let mut line = format!("  {name:<width$}", width = COLUMN - 3);
        for (position, word) in meaning.split(' ').chain([&*default]).enumerate() {
            if position > 0 && line.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(help, "{line}");
                line = " ".repeat(COLUMN - 1);
            }
            let _ = write!(line, " {word}");
        }
        let _ = writeln!(help, "{line}");
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of a table, without the marks of code.
    fn plain(cell: &str) -> String {
        cell.split('`').nth(1).unwrap_or(cell).trim().to_owned()
    }

    #[test]
    fn the_readme_has_each_variable_with_its_default() {
        let readme = include_str!("../../README.md");
        let rows = readme.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
        let described: Vec<(String, String)> = rows
            .filter(|row| row.len() == 4 && row[1].starts_with("`HOST_"))
            .map(|row| (plain(row[1]), plain(row[2])))
            .collect();
        let shown = |variable: &Variable| {
            let mut rows = described.iter().filter(|(name, _)| name == variable.name);
            rows.next().map(|(_, default)| default.clone())
        };
        for variable in ALL {
            let expected = match (variable.name, variable.default) {
                ("HOST_PLUGIN", _) => "the library beside the program",
                (_, "") => "none",
                (_, default) => default,
            };
            assert_eq!(shown(variable).as_deref(), Some(expected), "{}", variable.name);
        }
        let known = |name: &String| ALL.iter().any(|variable| variable.name == name);
        assert!(
            described.iter().all(|(name, _)| known(name)),
            "a variable is described that is not there"
        );
    }

    #[test]
    fn the_help_has_short_lines() {
        assert!(help().lines().all(|line| line.len() <= 100), "{}", help());
        assert!(help().contains("  HOST_LOG              filter of log lines"));
    }
}
