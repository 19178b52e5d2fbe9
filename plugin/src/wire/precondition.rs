//! `If-Match`: the versions that a client expects a record to have. Independent of how a record is
//! read and locked.

use host_interface::Request;

use crate::error::{Fault, FaultKind};

/// Checks that a record has one of the versions that the client expects. A client may expect any, or
/// leave the header out unless it is `required`.
///
/// # Errors
/// When the record has another version, or a required header is missing.
pub fn check(request: &Request, version: i64, required: bool) -> Result<(), Fault> {
    let mut sent = (0..).map_while(|nth| request.header_at("if-match", nth)).peekable();
    if sent.peek().is_none() {
        return if required {
            Err(fault(
                FaultKind::PreconditionRequired,
                "Send If-Match with the ETag of the record that you have read.",
            ))
        } else {
            Ok(())
        };
    }
    let own = version.to_string();
    let mut weak = false;
    for tag in sent.flat_map(|list| list.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii) {
        if tag == b"*" || number(tag) == Some(own.as_bytes()) {
            return Ok(());
        }
        weak |= tag.starts_with(b"W/");
    }
    let detail = if weak {
        // That is the tag of a list, or one that a proxy has weakened.
        "If-Match compares strong tags only: send the ETag of the record, or in quotes the \
         meta.version that you have read."
            .to_owned()
    } else {
        format!("The record has the version {version}, which If-Match does not name.")
    };
    Err(fault(FaultKind::VersionMismatch, detail).with_meta("current_version", version))
}

fn fault(kind: FaultKind, detail: impl Into<String>) -> Fault {
    Fault::at_header(kind, "If-Match", detail)
}

/// The version in a strong tag, which is all of it that counts: the digest after it also covers
/// what the record shows of others.
fn number(tag: &[u8]) -> Option<&[u8]> {
    let opaque = tag.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    opaque.split(|byte| *byte == b'-').next()
}
