//! TLS to the server, always with its certificate checked.
//!
//! Invariant: an encrypted connection is to the server it says it is: the chain must end in a root that is trusted by
//! the system, or named by `sslrootcert`, and the name must match. Deliberately absent: encryption without a check,
//! and client certificates.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whom to trust.
pub(in crate::postgres) enum TrustedRoots<'a> {
    /// Nobody: the connection stays on this machine and is not encrypted.
    Nobody,
    /// Whom the system trusts.
    System,
    /// Only the roots in this file.
    File(&'a Path),
}

pub(in crate::postgres) fn connector(
    trust: TrustedRoots<'_>,
) -> Result<MakeRustlsConnect, Box<dyn Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    match trust {
        TrustedRoots::Nobody => {}
        TrustedRoots::System => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("the system has no trusted roots; name a file with sslrootcert".into());
            }
        }
        TrustedRoots::File(path) => {
            for root in CertificateDer::pem_file_iter(path)? {
                roots.add(root?)?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
