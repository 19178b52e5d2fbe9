//! TLS: a certificate and its key from files, and a new pair as soon as the files have another.
//! Open connections keep the pair that they were opened with.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::base::tls_files::{TlsError, TlsFiles};

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A pair that is in use, and the files that it is from.
pub(crate) struct Tls {
    files: TlsFiles,
    first: Fingerprint,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        let pair = Pair::read(files)?;
        let config = ArcSwap::from_pointee(pair.config(files)?);
        Ok(Self { files: files.clone(), first: pair.fingerprint(), config })
    }

    /// What a new connection is taken with.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }

    /// Follows the files until it is dropped.
    ///
    /// Whoever replaces a certificate and its key writes one after the other, so what is there
    /// counts only when it has been seen twice.
    pub(crate) async fn follow(&self) {
        let mut settled = Ok(self.first);
        let mut last = settled.clone();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let files = self.files.clone();
            let reading = tokio::task::spawn_blocking(move || Pair::read(&files));
            let Ok(read) = reading.await else { continue };
            let seen = match &read {
                Ok(pair) => Ok(pair.fingerprint()),
                Err(error) => Err(error.to_string()),
            };
            if seen != settled && seen == last {
                match read.and_then(|pair| pair.config(&self.files)) {
                    Ok(config) => {
                        self.config.store(Arc::new(config));
                        tracing::info!("new connections get the new certificate");
                    }
                    Err(error) => tracing::error!(%error, "the previous certificate stays in use"),
                }
                settled = seen.clone();
            }
            last = seen;
        }
    }
}

/// What tells one pair from another, without its secret.
type Fingerprint = [u8; 32];

/// The text of two files.
struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
        };
        Ok(Self { certificate: read(&files.certificate)?, key: read(&files.key)? })
    }

    fn fingerprint(&self) -> Fingerprint {
        let digest = Sha256::new().chain_update(&self.certificate).chain_update(&self.key);
        digest.finalize().into()
    }

    fn config(&self, files: &TlsFiles) -> Result<ServerConfig, TlsError> {
        let unusable = |source| TlsError::Unusable { files: files.clone(), source };
        let chain = CertificateDer::pem_slice_iter(&self.certificate)
            .collect::<Result<Vec<_>, pem::Error>>()
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or_else(|| TlsError::NoCertificate(files.certificate.clone()))?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|_| TlsError::NoKey(files.key.clone()))?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}
