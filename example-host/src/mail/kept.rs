//! The mails in the folder that a person may ask for: those to an address of theirs, and those whose text contains one.
//! Reads mails as this program writes them, and not every form that a mail can have.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use crate::base::error::Error;

/// A mail in the folder.
#[derive(Debug, Serialize)]
pub(crate) struct KeptMail {
    /// The name of its file.
    file: String,
    /// The whole mail, with its headers.
    text: String,
}

/// The mails of a person, whose addresses are recognised by `is_theirs`.
pub(super) fn find(
    folder: &Path,
    is_theirs: &dyn Fn(&str) -> bool,
) -> Result<Vec<KeptMail>, Error> {
    let mut found = Vec::new();
    for path in files(folder)? {
        let text = match std::fs::read(&path) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            // A program that collects mails has taken it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::file(path, error)),
        };
        if is_about(&text, is_theirs) {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.push(KeptMail { file, text });
        }
    }
    Ok(found)
}

/// Removes these mails from the folder.
pub(super) fn remove(folder: &Path, mails: &[KeptMail]) -> Result<(), Error> {
    for KeptMail { file, .. } in mails {
        let path = folder.join(file);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::file(path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Every mail in their order, and what is left of those that were not completed.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::file(folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| Error::file(folder, error))?.path();
        if path.extension().is_some_and(|end| end == "eml" || end == "part") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn is_about(mail: &str, is_theirs: &dyn Fn(&str) -> bool) -> bool {
    let mail = mail.replace("\r\n", "\n");
    let (head, body) = mail.split_once("\n\n").unwrap_or((&mail, ""));
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let encoding = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-transfer-encoding"));
    let encoding = encoding.map(|(_, value)| value.trim().to_ascii_lowercase());
    let body = match encoding.as_deref() {
        Some("base64") => decoded(body),
        Some("quoted-printable") => unquoted(body),
        _ => body.to_owned(),
    };
    // The address that all mails are from is nobody's.
    let head = head.lines().filter(|line| !line.starts_with("From:") && !line.contains("-ID:"));
    head.flat_map(addresses).chain(addresses(&body)).any(is_theirs)
}

/// The words that may be addresses.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "<>()[]{}\",;:".contains(c);
    text.split(ends).map(|word| word.trim_matches(['.', '\''])).filter(|word| word.contains('@'))
}

fn decoded(body: &str) -> String {
    let letters: String = body.split_whitespace().collect();
    String::from_utf8_lossy(&BASE64_STANDARD.decode(letters).unwrap_or_default()).into_owned()
}

/// A quoted-printable text (RFC 2045) as it was.
fn unquoted(body: &str) -> String {
    let body = body.replace("=\n", "");
    let mut parts = body.split('=');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (code, part.get(2..)) {
            (Some(byte), Some(rest)) => {
                bytes.push(byte);
                bytes.extend_from_slice(rest.as_bytes());
            }
            _ => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_about_its_addressee_and_every_address_in_its_text() {
        let to = "From: shop@example.com\r\nTo: \"A. Berg\" <ann@example.com>\r\n";
        let encoded = BASE64_STANDARD.encode("Grüße an ann@example.com.");
        for (head, body, is_hers) in [
            (to, "Hello", true),
            ("To: bob@example.com\r\n", "ann@example.com has ordered.", true),
            ("To: bob@example.com\r\n", "Not hann@example.com", false),
            ("From: ann@example.com\r\nTo: bob@example.com\r\n", "Hello", false),
            (
                "To: b@example.com\r\nContent-Transfer-Encoding: quoted-printable\r\n",
                "F=C3=BCr ann@exam=\r\nple=2Ecom",
                true,
            ),
            ("To: b@example.com\r\nContent-Transfer-Encoding: base64\r\n", &encoded, true),
        ] {
            let mail = format!("{head}\r\n{body}\r\n");
            assert_eq!(is_about(&mail, &|word| word == "ann@example.com"), is_hers, "{mail}");
        }
    }
}
