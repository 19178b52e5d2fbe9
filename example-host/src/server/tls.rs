//! TLS with a certificate and its key from files. When the files change, new connections use the
//! new pair; open connections keep theirs.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use sha2::{Digest, Sha256};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::base::lock::lock;
use crate::base::tls_files::{TlsError, TlsFiles};

/// How often the files are read.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The pair in use, and its files.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    /// What was read of the files when they were applied last: a pair, or why there was none.
    applied: Mutex<Seen>,
    config: ArcSwap<ServerConfig>,
}

/// What was read of the files.
type Seen = Result<Fingerprint, String>;

impl Tls {
    pub(crate) fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        let pair = Pair::read(files)?;
        let config = ArcSwap::from_pointee(pair.config(files)?);
        let applied = Mutex::new(Ok(pair.fingerprint()));
        Ok(Self { files: files.clone(), applied, config })
    }

    /// The acceptor for a new connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }

    /// Reads the files periodically, until the future is dropped.
    ///
    /// The certificate and its key are replaced one after the other, so a change is applied only
    /// after it was read twice.
    pub(crate) async fn follow(&self) {
        let mut last = None;
        loop {
            tokio::time::sleep(POLL_EVERY).await;
            let Some((read, seen)) = self.read().await else { continue };
            if last.as_ref() == Some(&seen) {
                self.apply(read, &seen);
            }
            last = Some(seen);
        }
    }

    /// Reads the files at once, because somebody who has replaced both asks for it.
    pub(crate) async fn reload(&self) {
        if let Some((read, seen)) = self.read().await {
            self.apply(read, &seen);
        }
    }

    async fn read(&self) -> Option<(Result<Pair, TlsError>, Seen)> {
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || Pair::read(&files)).await.ok()?;
        let seen = match &read {
            Ok(pair) => Ok(pair.fingerprint()),
            Err(error) => Err(error.to_string()),
        };
        Some((read, seen))
    }

    /// Uses what was read, unless it was applied last.
    fn apply(&self, read: Result<Pair, TlsError>, seen: &Seen) {
        let mut applied = lock(&self.applied);
        if *applied == *seen {
            return;
        }
        match read.and_then(|pair| pair.config(&self.files)) {
            Ok(config) => {
                self.config.store(Arc::new(config));
                tracing::info!("new connections get the new certificate");
            }
            Err(error) => tracing::error!(%error, "the previous certificate stays in use"),
        }
        applied.clone_from(seen);
    }
}

/// Identifies a pair without revealing the key.
type Fingerprint = [u8; 32];

/// The contents of the two files.
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
