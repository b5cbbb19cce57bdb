//! The authorities whose certificates are trusted: the authorities of the system, or of the file that
//! `SSL_CERT_FILE` names.

use std::io;
use std::sync::Arc;

use hyper_rustls::HttpsConnectorBuilder;
use hyper_rustls::builderstates::WantsSchemes;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};

/// A builder of connectors that trust them.
///
/// # Errors
/// If they cannot be read.
#[cfg(not(target_os = "macos"))]
pub fn trusting() -> io::Result<HttpsConnectorBuilder<WantsSchemes>> {
    HttpsConnectorBuilder::new().with_provider_and_platform_verifier(default_provider())
}

/// A builder of connectors that trust them. On macOS only the keychain knows all authorities, and only a
/// framework of Apple's SDK can ask it. The authorities that come with the system are also in a file.
///
/// # Errors
/// If they cannot be read.
#[cfg(target_os = "macos")]
pub fn trusting() -> io::Result<HttpsConnectorBuilder<WantsSchemes>> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    const OF_SYSTEM: &str = "/etc/ssl/cert.pem";
    let file = std::env::var_os("SSL_CERT_FILE").unwrap_or_else(|| OF_SYSTEM.into());
    let mut authorities = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(io::Error::other)?;
    authorities.add_parsable_certificates(certificates.filter_map(Result::ok));
    Ok(HttpsConnectorBuilder::new().with_tls_config(trusting_those(authorities)))
}

/// A configuration that trusts only these authorities.
pub fn trusting_those(authorities: RootCertStore) -> ClientConfig {
    let provider: Arc<CryptoProvider> = default_provider().into();
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the versions of TLS that rustls has by default")
        .with_root_certificates(authorities)
        .with_no_client_auth()
}
