//! The paths of a certificate and its key, and the errors of such a pair. Opens no file.

use std::path::PathBuf;

use tokio_rustls::rustls;

/// The paths of a certificate and its key, both in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by the intermediate certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Both files, or `None` if neither is named.
    ///
    /// # Errors
    /// When only one of them is named.
    pub fn both(
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
    ) -> Result<Option<Self>, HalfTls> {
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Self { certificate, key })),
            _ => Err(HalfTls),
        }
    }
}

/// Only one of the two files is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "TLS needs a certificate and a key: --tls-cert and --tls-key, or HOST_TLS_CERT and \
     HOST_TLS_KEY"
)]
pub struct HalfTls;

/// Why a certificate and a key cannot be used. Each message names the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file contains no certificate.
    #[error("{}: has no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    /// A file contains no private key.
    #[error("{}: has no private key in PEM form", .0.display())]
    NoKey(PathBuf),
    /// The two do not belong together, or are of an unsupported kind.
    #[error("{} and {} cannot be used: {source}", .files.certificate.display(), .files.key.display())]
    Unusable {
        /// The two files.
        files: TlsFiles,
        /// The reason.
        source: rustls::Error,
    },
}
