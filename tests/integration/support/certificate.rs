//! Self-signed certificates for tests.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate for this machine, and its key.
pub struct Pair {
    pub der: CertificateDer<'static>,
    /// In PEM form.
    pub certificate: String,
    /// In PEM form.
    pub key: String,
    key_der: PrivateKeyDer<'static>,
}

impl Pair {
    pub fn new() -> Pair {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        Pair {
            der: made.cert.der().clone(),
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
            key_der: PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap(),
        }
    }

    /// Writes `cert.pem` and `key.pem`.
    pub fn write(&self, folder: &Path) {
        std::fs::write(folder.join("cert.pem"), &self.certificate).unwrap();
        std::fs::write(folder.join("key.pem"), &self.key).unwrap();
    }

    /// The TLS acceptor of a server.
    pub fn acceptor(&self) -> TlsAcceptor {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.der.clone()], self.key_der.clone_key())
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}
