//! The ways in: each protocol as a part of the program. A protocol is a file or folder here, and a row of [`FRONTS`].

mod afp;
mod announcers;
pub(crate) mod bind;
mod bonjour;
mod connections;
mod iscsi;
mod list;
mod nfs;
mod smb;
mod wsd;

use std::pin::Pin;
use std::sync::Arc;

use admin::control::{Disconnect, LunAnswer, LunRequest, Progress};
use admin::recipe::PortmapServices;
use admin::settings::BoundPorts;
use admin::{Protocol, ServerSettings, Settings};
use auth::LoginGuard;
use conn::{Budget, Loops, Peer};
use tokio::sync::{Notify, watch};

use self::bind::ProtocolListeners;
use self::bonjour::Service;
use crate::gateway::witness;
use crate::serve::component::Component;
use crate::serve::current::Current;
use crate::shares::volumes::{OpenFile, Volumes};

pub(crate) use afp::{AppleTalk, appletalk_line};
pub(crate) use announcers::Announcers;
pub(crate) use list::{AllListeners, Fronts};

/// The protocols, in the order of the documentation.
const FRONTS: [FrontRow; 4] = [nfs::ROW, smb::ROW, afp::ROW, iscsi::ROW];

/// Work that goes on by itself.
pub(crate) type Task<T = ()> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A front that starts.
type Starting<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Arc<dyn Front>>> + 'a>>;

/// What the program knows of a protocol before it runs.
struct FrontRow {
    protocol: Protocol,
    /// Opens the listeners that it has besides those of its port, as a process with or without privileges.
    beside: fn(&ServerSettings, bool) -> anyhow::Result<Option<witness::Listeners>>,
    start: for<'a> fn(&'a Launch<'a>) -> Starting<'a>,
    /// What Bonjour announces for the shares of these settings, at this port.
    services: fn(&Settings, u16) -> Vec<Service>,
    /// Says in the announcement of a share that Macs may back up over this protocol; 0: they may not.
    backup_flag: u8,
    /// The systems whose clients can use it.
    clients: &'static [FrontClient],
    /// Why the certificate that the settings name for it cannot be used.
    wrong_certificate: fn(&ServerSettings) -> Option<String>,
}

/// A system whose clients can use a protocol.
struct FrontClient {
    system: ClientSystem,
    /// Its mount command, as `fourfold advise --mount` calls it.
    mount: &'static str,
    /// Why the system is made for this protocol; `None`: it is made for another.
    reason: Option<&'static str>,
}

impl FrontClient {
    const fn new(system: ClientSystem, mount: &'static str) -> Self {
        Self { system, mount, reason: None }
    }

    const fn made_for_it(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }
}

/// The protocol that a system is made for, and why.
pub(crate) fn best_for(system: ClientSystem) -> Option<(Protocol, &'static str)> {
    FRONTS.iter().find_map(|row| {
        let client = row.clients.iter().find(|client| client.system == system)?;
        Some((row.protocol, client.reason?))
    })
}

/// The name of the mount command of such clients for a protocol in `fourfold advise --mount`.
pub(crate) fn mount_command(system: ClientSystem, protocol: Protocol) -> Option<&'static str> {
    let row = FRONTS.iter().find(|row| row.protocol == protocol)?;
    Some(row.clients.iter().find(|client| client.system == system)?.mount)
}

/// Why certificates that the settings name for protocols cannot be used, each after its setting.
pub(crate) fn wrong_certificates(settings: &ServerSettings) -> impl Iterator<Item = String> {
    FRONTS.iter().filter_map(|row| (row.wrong_certificate)(settings))
}

/// For a protocol that listens at its port only.
fn nothing_beside(_: &ServerSettings, _: bool) -> anyhow::Result<Option<witness::Listeners>> {
    Ok(None)
}

/// What fronts start with.
pub(crate) struct Launch<'a> {
    pub(crate) current: &'a Arc<Current>,
    pub(crate) state: &'a admin::State,
    pub(crate) volumes: &'a Arc<Volumes>,
    /// The ports that were bound.
    pub(crate) ports: BoundPorts,
    /// Signalled when a user has changed a password.
    pub(crate) accounts_changed: &'a Arc<Notify>,
    /// Limits and logs logins, over all protocols.
    pub(crate) login_guard: &'a Arc<LoginGuard>,
    /// The memory that clients of all protocols may make the server hold.
    pub(crate) budget: &'a Arc<Budget>,
    pub(crate) loops: &'a Arc<Loops>,
    pub(crate) appletalk: Arc<AppleTalk>,
}

/// What a front listens on.
#[derive(Default)]
pub(crate) struct FrontListeners {
    /// At its port; `None`: it is off.
    pub(crate) own: Option<ProtocolListeners>,
    pub(crate) beside: Option<witness::Listeners>,
}

/// A connection that the doctor examines.
pub(crate) struct ExaminedConnection {
    pub(crate) protocol: Protocol,
    pub(crate) peer: Peer,
    pub(crate) of: PeerSession,
}

/// What is known of the client of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PeerSession {
    /// Who has logged in.
    pub(crate) user: Option<String>,
    pub(crate) system: ClientSystem,
    /// The client has said that it sleeps.
    pub(crate) is_asleep: bool,
}

/// The system of a client, as far as it has said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClientSystem {
    Mac,
    /// A Mac without TCP or with AFP before 3.
    ClassicMac,
    Linux,
    /// Any other SMB client.
    Windows,
    #[default]
    Unknown,
}

/// A protocol as a part of the running program.
pub(crate) trait Front: Component {
    /// Answers on these listeners until the server stops. Returns the services that clients find through port 111.
    fn serve(
        self: Arc<Self>,
        listeners: FrontListeners,
        current: Arc<Current>,
        stopping: watch::Receiver<bool>,
    ) -> Task<PortmapServices>;

    /// Looks after what changes by itself. Called every few seconds, on a thread that may wait.
    fn tend(&self) {}

    /// The connections that are wanted. Each is asked for.
    fn examined(&self, _is_wanted: &dyn Fn(Protocol, &Peer) -> bool) -> Vec<ExaminedConnection> {
        Vec::new()
    }

    /// Shows a message to the users of the sessions that match; returns how many clients were told. `None`: the protocol is
    /// off, or has no messages.
    fn say(&self, _text: &str, _to: &Disconnect) -> Option<usize> {
        None
    }

    /// Ends the matching sessions, or closes `file` in them. Returns a line about what was done, if
    /// anything was.
    fn disconnect(&self, _what: &Disconnect, _file: Option<&OpenFile>) -> Option<String> {
        None
    }

    /// Executes a request about LUNs, if they belong to the protocol.
    fn lun(
        &self,
        _current: &Arc<Current>,
        _request: &LunRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Option<anyhow::Result<LunAnswer>> {
        None
    }

    /// Tells clients that the server shuts down, and lets their connections end.
    fn goodbye(self: Arc<Self>) -> Task {
        Box::pin(async {})
    }

    /// Waits until every connection has ended.
    fn stopped(self: Arc<Self>) -> Task;
}

/// The line about the number of ended sessions or closed opens.
fn counted(count: usize, of: &str) -> Option<String> {
    let plural = if count == 1 { "" } else { "s" };
    (count > 0).then(|| format!("{count} {of}{plural} ended"))
}
