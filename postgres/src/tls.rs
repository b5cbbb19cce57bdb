//! Encrypted connections, with rustls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callstack_core::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is asked of the server's certificate.
#[derive(Debug, Clone)]
pub(crate) enum Verification {
    /// Nothing, as with PostgreSQL's `require`.
    None,
    /// It is valid for the host, and signed by one of these authorities, or one that the system trusts.
    Full { roots: Option<PathBuf> },
}

/// Makes the connector of encrypted connections.
///
/// # Errors
/// [`Error::Io`] if the file with the certificates cannot be read, or the system has none.
pub(crate) fn connector(verification: &Verification) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::io("set up", "encryption", error.to_string()))?;
    let config = match verification {
        Verification::None => config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
        Verification::Full { roots } => config.with_root_certificates(trusted(roots.as_deref())?).with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn trusted(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let place = file.map_or_else(|| "the certificates of the system".to_owned(), |file| file.display().to_string());
    let failed = |message: String| Error::io("read", place.clone(), message);
    match file {
        Some(file) => {
            let certificates = CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                roots.add(certificate).map_err(|error| failed(error.to_string()))?;
            }
        }
        None => {
            // Certificates that cannot be read are of no use, but the others may be the right ones.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() { Err(failed("there are none".into())) } else { Ok(roots) }
}

/// Accepts any certificate: the connection is encrypted, but the other side can be any server.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
