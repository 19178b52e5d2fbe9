//! Which receivers are trusted: those with a certificate of the authorities that the system knows, or of those in the
//! file that `SSL_CERT_FILE` names. They are read once, before the first connection.

use std::io;
use std::sync::Arc;

use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What checks certificates, once it was needed.
#[derive(Default)]
pub(super) struct Tls(OnceCell<TlsConnector>);

impl Tls {
    pub(super) async fn connector(&self) -> io::Result<&TlsConnector> {
        self.0
            .get_or_try_init(|| async {
                let made = tokio::task::spawn_blocking(connector).await;
                made.map_err(io::Error::other)?
            })
            .await
    }
}

fn connector() -> io::Result<TlsConnector> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(authorities())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

fn authorities() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "authorities of certificates could not be read");
    }
    let mut authorities = RootCertStore::empty();
    let all = found.certs.into_iter().chain(left_out());
    let (trusted, _) = authorities.add_parsable_certificates(all);
    if trusted == 0 {
        tracing::error!("no receiver is trusted, because the system has no authorities");
    }
    authorities
}

/// The authorities of the system, where those of the variable were read in their place.
#[cfg(all(unix, not(target_os = "macos")))]
fn left_out() -> Vec<CertificateDer<'static>> {
    if std::env::var_os("SSL_CERT_FILE").is_none() {
        return Vec::new();
    }
    let folders = openssl_probe::candidate_cert_dirs();
    let read = |folder| rustls_native_certs::load_certs_from_paths(None, Some(folder)).certs;
    folders.flat_map(read).collect()
}

/// Elsewhere a system keeps no files of them, and the variable takes their place.
#[cfg(not(all(unix, not(target_os = "macos"))))]
fn left_out() -> Vec<CertificateDer<'static>> {
    Vec::new()
}
