//! The server as the pipes of one session see it.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use auth::SidName;
use spotlight::{Store, VolumeStore};

use crate::server::clients::grants::{grant, grant_by};
use crate::server::clients::open::OpenedObject;
use crate::server::clients::session;
use crate::server::clients::tree::Tree;
use crate::server::config::{self, Config, HomesShare};
use crate::server::files::sids::shown;
use crate::server::pipes::pipe::{
    Caller, CallerRank, Connection, LocalAccount, OpenFile, PipeHost, Server, Session, Share, ShareKind, Sid,
};
use crate::server::service::Service;
use crate::wire::rpc::srvsvc::share_type;
use crate::wire::security::AccessMask;

/// The longest NetBIOS name.
const MAX_NAME: usize = 15;
/// MS-SRVS 2.2.2.3: a guest's session.
const GUEST_SESSION: u32 = 1;

/// The server and the pipe's session. The reference is weak: a pipe that kept its own session alive
/// would keep it from ending.
pub(super) struct Host {
    service: Arc<Service>,
    session: Weak<session::Session>,
}

impl Host {
    pub(super) fn new(service: &Arc<Service>, session: &Arc<session::Session>) -> Self {
        Self { service: service.clone(), session: Arc::downgrade(session) }
    }

    fn uses(&self, share: &Arc<config::Share>) -> u32 {
        let sessions = self.service.all_sessions();
        sessions.iter().map(|session| session.trees.count_of(share)).sum::<usize>() as u32
    }

    fn describe(&self, share: &Arc<config::Share>) -> Share {
        let (kind, path) = match share.kind {
            config::ShareKind::Disk { .. } => (ShareKind::Disk, path_of(&share.name)),
            config::ShareKind::Pipes => (ShareKind::Ipc, String::new()),
        };
        let (name, comment, uses) = (share.name.clone(), share.comment.clone(), self.uses(share));
        Share { name, kind, comment, path, uses, max_uses: None, flags: 0 }
    }
}

impl Host {
    /// The home of the pipe's user. It need not be open.
    fn describe_home(&self, homes: &HomesShare, name: &str) -> Share {
        let is_it = |tree: &Arc<Tree>| tree.share.options.home_in.is_some() && tree.share.name == name;
        let uses =
            |session: &Arc<session::Session>| session.trees.all().iter().filter(|tree| is_it(tree)).count();
        Share {
            name: name.into(),
            kind: ShareKind::Disk,
            comment: homes.comment.clone(),
            path: path_of(name),
            uses: self.service.all_sessions().iter().map(uses).sum::<usize>() as u32,
            max_uses: None,
            flags: 0,
        }
    }
}

/// The path of a share that clients are shown. The path on the host is not shown.
fn path_of(share: &str) -> String {
    format!("C:\\{share}")
}

/// The server's NetBIOS name.
fn short_name(config: &Config) -> String {
    let first = config.name.split('.').next().unwrap_or_default();
    first.to_uppercase().chars().take(MAX_NAME).collect()
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

fn client_of(session: &session::Session) -> String {
    session.connections().first().map(|first| first.peer.address.ip().to_string()).unwrap_or_default()
}

impl PipeHost for Host {
    fn server(&self) -> Server {
        let config = self.service.config();
        Server {
            name: short_name(&config),
            comment: config.comment.clone(),
            group: "WORKGROUP".into(),
            major: 10,
            minor: 0,
            sid: config.own_domain(),
        }
    }

    fn caller(&self) -> Caller {
        let Some(session) = self.session.upgrade() else {
            return Caller { name: String::new(), rank: CallerRank::Anonymous };
        };
        let user = session.user();
        let rank = match (user.anonymous, user.guest, user.caller.uid) {
            (true, ..) => CallerRank::Anonymous,
            (_, true, _) => CallerRank::Guest,
            (_, _, 0) => CallerRank::Administrator,
            _ => CallerRank::User,
        };
        Caller { name: user.name.clone(), rank }
    }

    fn shares(&self) -> Vec<Share> {
        let Some(session) = self.session.upgrade() else { return Vec::new() };
        let (user, config) = (session.user(), self.service.config());
        // Clients hide names that end with `$`, but may ask for them, so these are always listed.
        let shown = |share: &config::Share| !share.options.hidden || share.name.ends_with('$');
        let Some(address) = session.connections().first().map(|first| first.peer.address.ip()) else {
            return Vec::new();
        };
        let may_enter = |share: &config::Share| grant(share, &user, address).is_some();
        let shares = config.shares.iter().filter(|share| shown(share) && may_enter(share));
        let homes = config
            .homes
            .iter()
            .filter(|homes| user.has_account() && grant_by(&homes.policy, &user, address).is_some());
        let homes = homes.map(|homes| self.describe_home(homes, config.home_name(homes, &user.name)));
        let shares = shares.chain([self.service.pipes()]).map(|share| self.describe(share));
        shares.chain(homes).collect()
    }

    fn sessions(&self) -> Vec<Session> {
        let sessions = self.service.all_sessions();
        let one = |session: &Arc<session::Session>| {
            let user = session.user();
            Session {
                client: client_of(session),
                user: user.name.clone(),
                opens: session.opens.len() as u32,
                active_secs: seconds(session.started.elapsed()),
                idle_secs: 0,
                flags: if user.has_account() { 0 } else { GUEST_SESSION },
            }
        };
        sessions.iter().map(one).collect()
    }

    fn opens(&self) -> Vec<OpenFile> {
        let mut all = Vec::new();
        for session in self.service.all_sessions() {
            let user = session.user();
            for open in session.opens.all() {
                let path = match &open.what {
                    OpenedObject::File(file) => String::from_utf16_lossy(&file.opened_as()),
                    OpenedObject::Pipe(pipe) => format!("\\PIPE\\{}", pipe.name()),
                };
                let has = |right, bit| if open.granted.contains(right) { bit } else { 0 };
                all.push(OpenFile {
                    id: open.key.volatile as u32,
                    permissions: has(AccessMask::READ_DATA, 1)
                        | has(AccessMask::WRITE_DATA, 2)
                        | has(AccessMask::APPEND_DATA, 4),
                    locks: 0,
                    path: path_of(&open.tree.share.name) + &path,
                    user: user.name.clone(),
                });
            }
        }
        all
    }

    fn connections(&self, share_or_client: &str) -> Vec<Connection> {
        let asked = share_or_client.trim_start_matches('\\');
        let mut all = Vec::new();
        for session in self.service.all_sessions() {
            let (user, client) = (session.user(), client_of(&session));
            for tree in session.trees.all() {
                let share = &tree.share;
                let of_client = asked.eq_ignore_ascii_case(&client);
                if !of_client && asked.to_lowercase() != share.name.to_lowercase() {
                    continue;
                }
                let opens = session.opens.all().iter().filter(|open| Arc::ptr_eq(&open.tree, &tree)).count();
                all.push(Connection {
                    id: tree.id,
                    kind: match share.kind {
                        config::ShareKind::Disk { .. } => share_type::DISK_TREE,
                        config::ShareKind::Pipes => share_type::IPC,
                    },
                    opens: opens as u32,
                    users: 1,
                    active_secs: seconds(session.started.elapsed()),
                    user: user.name.clone(),
                    other: if of_client { share.name.clone() } else { client.clone() },
                });
            }
        }
        all
    }

    fn accounts(&self) -> Vec<LocalAccount> {
        let account = |account: auth::Account| {
            let auth::Account { name, identity, disabled, .. } = account;
            let groups = [identity.gid].into_iter().chain(identity.groups.iter().copied());
            LocalAccount { name, uid: identity.uid, groups: groups.collect(), disabled }
        };
        self.service.config().accounts.all().into_iter().map(account).collect()
    }

    fn user(&self, uid: u32) -> Option<String> {
        Some(self.service.config().unix.user_numbered(uid)?.name.clone())
    }

    fn group(&self, gid: u32) -> Option<String> {
        Some(self.service.config().unix.group_numbered(gid)?.name.clone())
    }

    fn uid(&self, name: &str) -> Option<u32> {
        Some(self.service.config().unix.user(name)?.uid)
    }

    fn gid(&self, name: &str) -> Option<u32> {
        Some(self.service.config().unix.group(name)?.gid)
    }

    fn named(&self, sid: &Sid) -> Option<SidName> {
        let config = self.service.config();
        let domain = config.unix.domain()?;
        domain.name(&shown(domain, *sid))
    }

    fn sid(&self, name: &str) -> Option<SidName> {
        self.service.config().unix.domain()?.named(name)
    }

    fn searchable(&self, share: &str) -> Option<Arc<dyn Store>> {
        let session = self.session.upgrade()?;
        let (user, address) = (session.user(), session.connections().first()?.peer.address.ip());
        let asked = share.to_lowercase();
        // A home is connected, and no share of the settings.
        let connected = session.trees.all().into_iter().map(|tree| tree.share.clone());
        let share = connected.into_iter().find(|share| share.name.to_lowercase() == asked);
        let share = share.or_else(|| self.service.share(&asked))?;
        grant(&share, &user, address)?;
        if share.options.require_encryption && !session.requires_encryption() {
            return None; // the pipe may be read on the way, and names of files are as secret as their contents
        }
        let config::ShareKind::Disk { volume, serial, .. } = &share.kind else { return None };
        let mut uuid = self.service.config().guid;
        uuid.iter_mut().zip(serial.to_le_bytes()).for_each(|(byte, of_share)| *byte ^= of_share);
        let (caller, numbered) = (volume.acting(user.caller.clone()), volume.clone());
        let numbering = move |entry: &vfs::FoundEntry| Some(numbered.number(entry.found.attributes.id));
        let store =
            VolumeStore::new(volume, caller, share.folding(), (&share.name, uuid), Box::new(numbering))?;
        Some(Arc::new(store))
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
