//! The SMB server as a part of the program: it gets settings and reports its status.

use std::sync::Arc;
use std::time::SystemTime;

use admin::control::{Disconnect, Status};
use admin::recipe::PortmapServices;
use admin::{Protocol, Settings, ShareSettings};
use auth::{Identity, LoginGuard};
use conn::{Peer, Server};
use smb::server::{
    Config, Dialect, EncryptionPolicy, Guests, OpenHome, Service, SessionInfo, Share, ShareKind, ShareOptions,
};
use tokio::sync::watch;
use vfs::Volume;

use super::connections::{Connections, MOST_CONNECTIONS};
use super::{
    ClientSystem, ExaminedConnection, Front, FrontClient, FrontListeners, FrontRow, Launch, PeerSession,
    Task, bonjour, counted,
};
use crate::gateway;
use crate::gateway::witness;
use crate::host::here;
use crate::people::{accounts, logons, tickets};
use crate::serve::component::{Component, ResourceCounts};
use crate::serve::current::Current;
use crate::shares::browsing::BrowsedShare;
use crate::shares::volumes::{Homes, OpenFile, Volumes, backup_limits, name_owners};

pub(super) const ROW: FrontRow = FrontRow {
    protocol: Protocol::Smb,
    beside: witness::open,
    start: |launch| Box::pin(async move { Ok(SmbFront::new(launch)? as Arc<dyn Front>) }),
    services: |settings, port| bonjour::one("_smb._tcp", Protocol::Smb, settings, port),
    backup_flag: 0x02,
    clients: &[
        FrontClient::new(ClientSystem::Mac, "macOS (SMB)").made_for_it(
            "macOS 10.9 and later are made for SMB, which gives listings with Finder info, and macOS 27 has no AFP.",
        ),
        FrontClient::new(ClientSystem::Windows, "Windows (SMB)").made_for_it("Windows is made for it."),
        FrontClient::new(ClientSystem::Linux, "Linux (SMB)"),
        FrontClient::new(ClientSystem::Unknown, "Linux (SMB)"),
    ],
    wrong_certificate: |_| None,
};

/// The SMB server.
struct SmbFront {
    service: Arc<Service>,
    connections: Connections,
    /// Those to the witness of a cluster.
    witness: Arc<Server>,
    volumes: Arc<Volumes>,
    guid: [u8; 16],
    login_guard: Arc<LoginGuard>,
}

impl SmbFront {
    /// A server for the shares of these settings.
    fn new(launch: &Launch<'_>) -> anyhow::Result<Arc<Self>> {
        let Launch { current, state, volumes, login_guard, .. } = *launch;
        let guid = *state.server_id();
        tickets::tell(current, "SMB", "cifs");
        let service = Service::new(config(current, guid, volumes, login_guard)?);
        if let Some(cluster) = &volumes.cluster {
            cluster.set_successor(service.share_with(cluster.clone()));
        }
        Ok(Arc::new(Self {
            service,
            connections: Connections::new(ROW.protocol, launch),
            witness: Server::new(MOST_CONNECTIONS, launch.budget.clone()).on(launch.loops),
            volumes: volumes.clone(),
            guid,
            login_guard: login_guard.clone(),
        }))
    }
}

fn config(
    current: &Arc<Current>,
    guid: [u8; 16],
    volumes: &Arc<Volumes>,
    login_guard: &Arc<LoginGuard>,
) -> anyhow::Result<Config> {
    let settings = &current.settings;
    let shares =
        settings.shares.iter().filter(|share| share.protocols.contains(&Protocol::Smb) && !share.homes);
    let guests = settings.shares.iter().any(|share| share.guests);
    Ok(Config {
        guid,
        name: here::host_name(),
        comment: "Fourfold".into(),
        shares: shares
            .map(|share| one(share, settings, volumes))
            .chain(volumes.browsed().over(ROW.protocol).map(|one| browsed(&one, volumes)))
            .collect::<anyhow::Result<_>>()?,
        homes: Homes::of(volumes, current, Protocol::Smb).map(homes).collect(),
        accounts: Arc::new(current.accounts.clone()),
        kerberos: tickets::kerberos(current),
        domain: logons::for_protocol(current),
        unix: Arc::new(current.accounts.site()),
        guests: Guests { identity: guests.then(Identity::anonymous), unknown_users: guests },
        login_guard: login_guard.clone(),
        require_signing: settings.server.protocols.smb.signing_required,
        encryption: match settings.server.protocols.smb.encryption {
            admin::Encryption::Off => EncryptionPolicy::Off,
            admin::Encryption::Optional => EncryptionPolicy::Optional,
            admin::Encryption::Required => EncryptionPolicy::Required,
        },
        directory_leases: settings.server.protocols.smb.directory_leases,
        posix: settings.server.protocols.smb.posix,
        oldest: dialect(&settings.server.protocols.smb.min_dialect),
        newest: Dialect::V3_1_1,
        session_lifetime: None,
        namespace: volumes.namespace().clone(),
        listens_on: settings.server.listen.clone(),
        model: here::MODEL.into(),
    })
}

/// A dialect by its name; the oldest one is that of the settings' default.
fn dialect(name: &str) -> Dialect {
    Dialect::ALL.into_iter().find(|dialect| dialect.name() == name).unwrap_or(Dialect::V2_0_2)
}

fn homes(homes: Homes) -> smb::server::HomesShare {
    smb::server::HomesShare {
        name: homes.share.flat_name(),
        comment: homes.share.comment.clone(),
        policy: accounts::policy(&homes.share),
        settings: homes.settings(),
        opener: Arc::new(homes),
    }
}

impl OpenHome for Homes {
    fn open(&self, account: &str, caller: &Identity, name: &str) -> Option<Arc<Share>> {
        let disk = |home: &ShareSettings, volume| {
            let share = disk(home, volume, &self.volumes)?;
            let options = ShareOptions { home_in: Some(self.share.flat_name()), ..share.options };
            Ok(Arc::new(Share { name: name.to_owned(), options, ..share }))
        };
        Homes::open(self, account, caller, disk)
    }
}

fn one(share: &ShareSettings, settings: &Settings, volumes: &Volumes) -> anyhow::Result<Arc<Share>> {
    Ok(Arc::new(disk(share, volumes.open(share, settings)?, volumes)?))
}

/// The contents of a disk image.
fn browsed(one: &BrowsedShare, volumes: &Volumes) -> anyhow::Result<Arc<Share>> {
    Ok(Arc::new(disk(&one.share, one.volume.clone(), volumes)?))
}

fn disk(share: &ShareSettings, volume: Arc<Volume>, volumes: &Volumes) -> anyhow::Result<Share> {
    let identity = gateway::identity(volumes, share)?;
    let serial = u64::from_be_bytes(std::array::from_fn(|at| identity.id[at]));
    let created = std::fs::metadata(&share.path).and_then(|folder| folder.created());
    Ok(Share {
        name: share.flat_name(),
        comment: share.comment.clone(),
        kind: ShareKind::Disk { volume, serial, created: created.unwrap_or(SystemTime::UNIX_EPOCH).into() },
        options: ShareOptions {
            policy: accounts::policy(share),
            case_sensitive: share.case_sensitive,
            require_encryption: share.encryption_required,
            time_machine: share.time_machine,
            size_limits: backup_limits(share),
            dfs: share.dfs,
            witnessed: volumes.cluster.as_ref().is_some_and(|cluster| cluster.is_witness()),
            continuous: share.continuous,
            hidden: share.name.ends_with('$'),
            hide: share.hide.clone(),
            show: share.show.clone(),
            characters: share.characters.clone(),
            home_in: None,
        },
    })
}

/// Who has logged in over a connection.
fn session_of(sessions: Vec<SessionInfo>) -> impl Fn(&Peer) -> PeerSession {
    let known = |session: &SessionInfo| PeerSession {
        user: Some(session.user.clone()),
        system: match session.system {
            smb::server::ClientSystem::Mac => ClientSystem::Mac,
            smb::server::ClientSystem::Linux => ClientSystem::Linux,
            smb::server::ClientSystem::Other => ClientSystem::Windows,
        },
        is_asleep: false,
    };
    move |peer| {
        let session = sessions.iter().find(|session| session.peers.contains(&peer.address));
        session.map(known).unwrap_or_default()
    }
}

impl Component for SmbFront {
    fn report(&self, status: &mut Status) {
        let sessions = self.service.sessions();
        let people = sessions.iter().map(|session| {
            let name = if session.user.is_empty() { "nobody" } else { &session.user };
            (session.client, name.to_owned(), session.peers.first().map(|peer| peer.ip()))
        });
        name_owners(people, status);
        status.sessions.extend(self.connections.status(session_of(sessions)));
    }

    fn count(&self, held: &mut ResourceCounts) {
        self.connections.count(held);
    }

    fn reload(&self, current: &Arc<Current>) -> Vec<String> {
        match config(current, self.guid, &self.volumes, &self.login_guard) {
            Ok(config) => {
                self.service.set_config(config);
                Vec::new()
            }
            Err(error) => vec![format!("the SMB shares stay as they were: {error:#}")],
        }
    }
}

impl Front for SmbFront {
    fn serve(
        self: Arc<Self>,
        listeners: FrontListeners,
        _: Arc<Current>,
        stopping: watch::Receiver<bool>,
    ) -> Task<PortmapServices> {
        if let (Some(listeners), Some(cluster)) = (listeners.beside, &self.volumes.cluster) {
            witness::serve(listeners, &self.service, cluster, &self.witness, &stopping);
        }
        let (service, bound) = (self.service.clone(), listeners.own.into_iter().flat_map(|bound| bound.tcp));
        self.connections.accept(bound, &stopping, move |stream, peer, watchdog| {
            smb::server::serve_stream(service.clone(), stream, peer, watchdog)
        });
        Box::pin(async { PortmapServices::default() })
    }

    fn examined(&self, is_wanted: &dyn Fn(Protocol, &Peer) -> bool) -> Vec<ExaminedConnection> {
        self.connections.examined(is_wanted, || session_of(self.service.sessions()))
    }

    fn disconnect(&self, what: &Disconnect, file: Option<&OpenFile>) -> Option<String> {
        let which = |session: &SessionInfo| what.means(Some(&session.user), &session.peers);
        let (count, of) = match file {
            None => (self.service.disconnect(which), "SMB session"),
            Some(file) => (self.service.close_file(&file.volume, file.id, which), "SMB open"),
        };
        counted(count, of)
    }

    fn stopped(self: Arc<Self>) -> Task {
        Box::pin(async move {
            self.connections.ended().await;
            self.service.leave_durables();
        })
    }
}
