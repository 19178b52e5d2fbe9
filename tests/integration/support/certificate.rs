//! Self-signed certificates for tests.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::support::waiting::patiently;

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

/// Encrypts the connection of a client that trusts only these certificates; `None` if the server has none of them.
pub async fn connect(stream: TcpStream, trusted: &[&Pair]) -> Option<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    for pair in trusted {
        roots.add(pair.der.clone()).unwrap();
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    patiently("TLS", connecting).await.ok()
}
