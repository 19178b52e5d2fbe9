//! The files with a certificate and its key, and why a pair of them cannot be used. Opens neither.

use std::path::PathBuf;

use tokio_rustls::rustls;

/// Where a certificate and its key lie, each in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those between it and the one that clients trust.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// Both or none.
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

/// Only one file of a certificate and its key is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "TLS needs a certificate and a key: --tls-cert and --tls-key, or HOST_TLS_CERT and \
     HOST_TLS_KEY"
)]
pub struct HalfTls;

/// Why a certificate and a key cannot be used. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is no text of certificates.
    #[error("{}: has no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    /// A file is no text of a key.
    #[error("{}: has no private key in PEM form", .0.display())]
    NoKey(PathBuf),
    /// The two do not belong together, or are of a kind that is not known.
    #[error("{} and {} cannot be used: {source}", .files.certificate.display(), .files.key.display())]
    Unusable {
        /// Which ones.
        files: TlsFiles,
        /// What is wrong with them.
        source: rustls::Error,
    },
}
