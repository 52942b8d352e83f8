//! The files with which a server of a cluster authenticates to the others and to etcd.

use admin::Diagnostic;
use admin::settings::{ClusterSettings, EtcdSettings, EtcdTls, Place, Severity};
use cluster::etcd::{Endpoints, EtcdLogin};
use cluster::tls::{CertificateFiles, Tls, to_service};

use crate::shares::links::account::LinkAccount;

/// How etcd is reached. Reads the files that are needed for it.
pub(crate) fn endpoints(settings: &EtcdSettings) -> anyhow::Result<Endpoints> {
    let EtcdSettings { members, tls, credentials } = settings.clone();
    let tls = match tls {
        Some(EtcdTls { certificate, key, ca }) => {
            Some(to_service(&CertificateFiles { certificate, key, ca })?)
        }
        None => None,
    };
    let account = credentials.map(|file| LinkAccount::read(&file)).transpose().map_err(anyhow::Error::msg)?;
    let login = account.map(|LinkAccount { user, password }| EtcdLogin { user, password });
    Ok(Endpoints { members, tls, login })
}

pub(super) fn files(settings: &ClusterSettings) -> CertificateFiles {
    let ClusterSettings { certificate, key, ca, .. } = settings.clone();
    CertificateFiles { certificate, key, ca }
}

/// Whether all files can be used; etcd is not asked.
pub(crate) fn try_load(settings: &ClusterSettings) -> anyhow::Result<()> {
    Tls::load(&files(settings), &settings.server)?;
    endpoints(&settings.etcd).map(drop)
}

/// What `fourfold check` says of files that can be read, and cannot be used.
pub(crate) fn refused(settings: Option<&ClusterSettings>) -> Option<Diagnostic> {
    let error = try_load(settings?).err()?;
    Some(Diagnostic {
        severity: Severity::Error,
        place: Place::Default,
        what: format!("the cluster cannot be joined: {error:#}"),
        instead: "docs/cluster.md describes the certificates of a cluster".to_owned(),
    })
}
