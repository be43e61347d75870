//! TLS by rustls.

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

/// From a certificate chain and its key, both as PEM.
pub(crate) fn config(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let tell = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|e| tell(certificates, &e))?;
    if chain.is_empty() {
        return Err(tell(certificates, &"there is no certificate in it; expected a chain as PEM"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| tell(key, &e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| tell(key, &e))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|e| tell(key, &e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
