//! This server as one of several of one tree.

mod adding;
pub(crate) mod certificates;
mod choosing;
pub(crate) mod in_common;
pub(crate) mod luns;
pub(crate) mod part;
mod removing;
pub(crate) mod settings;
mod status;
pub(crate) mod taking;
mod texts;
pub(crate) mod witness;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use admin::settings::{ClusterAddress, ClusterSettings};
use admin::{ServerSettings, Settings, ShareSettings};
use anyhow::Context;
use cluster::{Address, Cluster, ClusterConfig, ShareIdentity, StartError};
use vfs::Site;
use vfs::served::ServedTree;

use crate::cli::{ClusterCommand, ClusterDrain};
use crate::host::here;
use crate::shares::snapshots::Live;
use crate::shares::stores;
use crate::shares::volumes::Volumes;
use crate::terminal::{exit, out};
use certificates::{endpoints, files};

/// The exit code of a server that lost its membership, so that a service manager starts it again.
const FENCED: i32 = 75;
/// How long the other servers may take to say what they have.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A cluster, and what the volumes of this server share in it.
pub(crate) struct Membership {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) site: Arc<Site>,
}

/// Joins the cluster of the settings, if there is one. No client is served before.
pub(crate) async fn join(server: &ServerSettings, witness: bool) -> anyhow::Result<Option<Membership>> {
    let Some(settings) = server.cluster.clone() else { return Ok(None) };
    let etcd = endpoints(&settings.etcd).context("the cluster cannot be joined")?;
    let files = files(&settings);
    let portals = luns::portals(server, here::privileged());
    let config = ClusterConfig {
        etcd,
        cluster: settings.name,
        name: settings.server,
        listen: settings.listen,
        files,
        portals,
        grace: server.grace_period,
        own: witness::own_addresses(&server.listen, &settings.addresses),
        witness,
        addresses: settings.addresses.into_iter().map(address).collect(),
        address_command: settings.address_command,
    };
    let mut site = None;
    let tree = |state| {
        let joined = Arc::new(Site::joined(state));
        site = Some(joined.clone());
        joined as Arc<dyn ServedTree>
    };
    let cluster = match Cluster::start(config, Arc::new(stores::Evicting), tree, end).await {
        Ok(cluster) => Arc::new(cluster),
        Err(StartError::Io(error)) => return Err(error).context("the cluster cannot be joined"),
        Err(StartError::Join(error)) => return Err(error).context("the cluster cannot be joined"),
    };
    let fence = cluster.fence().clone();
    conn::set_fence(move || fence.is_over());
    if !cluster.ready(READY_WITHIN).await {
        tracing::warn!(
            "the other servers of the cluster have not said what they have: operations wait for that"
        );
    }
    let site = site.context("the cluster has not asked for the tree")?;
    Ok(Some(Membership { cluster, site }))
}

fn address(address: ClusterAddress) -> Address {
    Address { ip: address.ip, prefix: address.prefix, device: address.device }
}

/// Ends the process at once: nothing may be answered, and nothing more be written.
fn end() {
    tracing::error!(
        "this server could not renew its membership in the cluster in time: it ends, and the others take over"
    );
    cephfs::exit(FENCED);
}

/// A folder is shared: the other servers must know its file system.
pub(crate) fn share(cluster: Option<&Arc<Cluster>>, live: &Live) -> anyhow::Result<()> {
    let Some(cluster) = cluster else { return Ok(()) };
    let root = live.backend().root()?.object;
    cluster.share(root.id().device, &root.key()).map_err(anyhow::Error::msg)
}

/// The identity of a share that clients see. The same on all servers of a cluster.
pub(crate) fn identity(volumes: &Volumes, share: &ShareSettings) -> anyhow::Result<ShareIdentity> {
    let own = volumes.identity(share)?;
    let own = ShareIdentity { id: own.id, tag: own.tag.0 };
    let found = volumes.cluster.as_ref().map_or(Ok(own), |cluster| cluster.share_identity(&share.name, own));
    found.map_err(anyhow::Error::msg).context("the identity of the share in the cluster is not known")
}

/// The secret of NFS's file handles: that of the cluster, or else `own`.
pub(crate) fn handle_secret(cluster: Option<&Arc<Cluster>>, own: [u8; 16]) -> anyhow::Result<[u8; 16]> {
    let found = cluster.map_or(Ok(own), |cluster| cluster.handle_secret(own));
    found.map_err(anyhow::Error::msg).context("the secret of file handles in the cluster is not known")
}

/// By which Macs know the server: that of the cluster, or else `own`.
pub(crate) fn signature(cluster: Option<&Arc<Cluster>>, own: [u8; 16]) -> anyhow::Result<[u8; 16]> {
    let found = cluster.map_or(Ok(own), |cluster| cluster.signature(own));
    found.map_err(anyhow::Error::msg).context("the signature of the servers of the cluster is not known")
}

/// Executes a command.
pub(crate) fn run(command: &ClusterCommand) -> anyhow::Result<ExitCode> {
    let arguments = command.place().arguments(here::privileged(), here::folder()?);
    if let ClusterCommand::Add(asked) = command {
        return adding::run(asked, &arguments); // the files that the settings name may be missing yet
    }
    let settings = match Settings::load(&arguments) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        ClusterCommand::Add(_) => Ok(ExitCode::SUCCESS),
        ClusterCommand::Remove(asked) => removing::run(asked, &settings),
        ClusterCommand::Settings(asked) => choosing::run(asked, &arguments, &settings),
        ClusterCommand::Status(asked) => status::run(asked, &settings),
        ClusterCommand::Drain(asked) => drain(asked, &settings),
    }
}

fn drain(asked: &ClusterDrain, settings: &Settings) -> anyhow::Result<ExitCode> {
    let cluster = of(settings)?;
    let within = Duration::from_secs(asked.within);
    let left = runtime()?.block_on(cluster::drain::drain(
        endpoints(&cluster.etcd)?,
        &cluster.name,
        &asked.name,
        within,
    ));
    let left = left.with_context(|| format!("{} was not drained", asked.name))?;
    let names: Vec<String> = left.into_iter().map(|member| member.name).collect();
    out::print(format!("{} has left the cluster. What it served is at {}\n", asked.name, names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

/// The cluster of the settings.
fn of(settings: &Settings) -> anyhow::Result<ClusterSettings> {
    settings.server.cluster.clone().context("the settings have no `cluster`: this server is alone")
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
