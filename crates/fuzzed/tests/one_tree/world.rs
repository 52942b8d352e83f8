//! The servers of one tree, and two clients of each kind: of a server in this process, or of some that run.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use ::smb::wire::security::Ace;
use afp::catalogue::Catalogue;
use auth::{Account, Accounts, Identity, Refusal, UnixAccounts};
use nfs::server::{CallEndpoint, CallNetwork, Company, ExchangeFuture, Export, ExportOptions, HandleSecret};
use tokio::runtime::Runtime;
use vfs::backend::Backend;
use vfs::index::Index;
use vfs::{Time, Volume, VolumeOptions};

use crate::afp::Afp;
use crate::link::{Link, peer};
use crate::nfs3::Nfs3;
use crate::nfs4::{Line, Nfs4};
use crate::op::{Data, LINK, LockBits, Op, PLACES, ServerAnswer, Slot, Who};
use crate::smb::Smb;

/// How long a client asks again after it was told to wait.
pub const WAITS: Duration = Duration::from_secs(20);
/// How long a server takes to see that a connection was lost, and to bring the states of files from the other server, if the
/// machine is not busy.
const SEES_LOSS: Duration = Duration::from_millis(500);
/// The same on a busy machine.
const SETTLES: Duration = Duration::from_secs(10);
/// How long it may take until all that clients had open is closed.
const CLEARS: Duration = Duration::from_secs(30);
/// The machines of the clients of each protocol.
pub const MACHINES: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2))];
const CREATED: Time = Time { secs: 1_500_000_000, nanos: 0 };

/// Finder info of these letters; 0 stands for no Finder info.
pub fn info_of(seed: u8) -> [u8; 8] {
    [seed; 8]
}

/// The letter of Finder info; nothing for none.
pub fn info_seed(info: &[u8]) -> Vec<u8> {
    if info.iter().all(|byte| *byte == 0) { Vec::new() } else { info.to_vec() }
}

/// Who the clients are.
pub struct User {
    pub name: String,
    pub password: String,
    pub uid: u32,
}

/// That of `FOURFOLD_MODEL_USER`, or one of the server in this process.
pub fn user() -> &'static User {
    static USER: OnceLock<User> = OnceLock::new();
    USER.get_or_init(|| {
        let text = std::env::var("FOURFOLD_MODEL_USER").unwrap_or_else(|_| "ada:Passwort:1000".into());
        let parts: Vec<&str> = text.split(':').collect();
        let [name, password, uid] = parts[..] else { panic!("FOURFOLD_MODEL_USER is not NAME:PASSWORD:UID") };
        User { name: name.into(), password: password.into(), uid: uid.parse().expect("a uid") }
    })
}

pub fn share() -> &'static str {
    static SHARE: OnceLock<String> = OnceLock::new();
    SHARE.get_or_init(|| std::env::var("FOURFOLD_MODEL_SHARE").unwrap_or_else(|_| "share".into()))
}

/// Whether the servers that run lack this.
pub fn lacks(what: &str) -> bool {
    std::env::var("FOURFOLD_MODEL_LACKS").is_ok_and(|text| text.split(',').any(|lacking| lacking == what))
}

/// A server that runs: its ports at one address.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    host: IpAddr,
    smb: u16,
    afp: u16,
    nfs: u16,
}

/// Those of `FOURFOLD_MODEL_SERVERS`. The clients of the first machine use the first, those of the second the last.
pub fn addresses() -> Option<Vec<Address>> {
    let text = std::env::var("FOURFOLD_MODEL_SERVERS").ok()?;
    let address = |text: &str| {
        let parts: Vec<&str> = text.split(':').collect();
        let [host, smb, afp, nfs] = parts[..] else { return None };
        let [smb, afp, nfs] = [smb.parse().ok()?, afp.parse().ok()?, nfs.parse().ok()?];
        Some(Address { host: host.parse().ok()?, smb, afp, nfs })
    };
    let all: Option<Vec<Address>> = text.split(',').map(address).collect();
    Some(all.expect("FOURFOLD_MODEL_SERVERS is HOST:SMB:AFP:NFS,..."))
}

struct People(Account);

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        (name == self.0.name).then(|| self.0.clone())
    }

    fn verify(&self, name: &str, _: &str) -> Result<Account, Refusal> {
        self.find(name).ok_or(Refusal::Unknown)
    }
}

/// No host answers.
struct Silent;

impl CallNetwork for Silent {
    fn exchange<'a>(&'a self, _: &'a CallEndpoint, _: Vec<u8>) -> ExchangeFuture<'a> {
        Box::pin(async { Err(std::io::ErrorKind::TimedOut.into()) })
    }

    fn address_towards(&self, _: IpAddr) -> Option<IpAddr> {
        Some([192, 0, 2, 200].into())
    }
}

/// The services over one volume.
struct Servers {
    smb: Arc<smb::server::Service>,
    afp: Arc<afp::server::Service>,
    nfs: Arc<nfs::server::Service>,
    volume: Arc<Volume>,
}

impl Servers {
    fn new(disk: Arc<dyn Backend>, index: &Index) -> Self {
        let volume = Arc::new(Volume::new(disk, VolumeOptions::default()));
        let account = Account {
            name: user().name.clone(),
            identity: Identity::new(user().uid, 100, &[]),
            disabled: false,
            secrets: vec![auth::Secret::Nt(auth::nt_hash(&user().password))],
        };
        let accounts: Arc<dyn Accounts> = Arc::new(People(account));
        let unix = Arc::new(UnixAccounts::parse("ada:x:1000:100::/:\n", "users:x:100:\n"));
        let root = volume.root().expect("a root").object.key();
        let catalogue = Catalogue::open(index, index.volume(share()).expect("a volume"), root).expect("ids");
        let parts = (volume.clone(), catalogue);
        let options = afp::server::ShareOptions::default();
        let share = afp::server::Share::new(share(), parts, *b"a volume's uuid!", CREATED, options);
        let mut config = afp::server::Config::new(vec![share], accounts.clone());
        (config.unix, config.logins.cleartext) = (unix.clone(), true);
        let afp = afp::server::Service::new(config);
        let kind = smb::server::ShareKind::Disk { volume: volume.clone(), serial: 1, created: CREATED };
        let options = smb::server::ShareOptions::default();
        let share = smb::server::Share { name: self::share().into(), comment: String::new(), kind, options };
        let mut config = smb::server::Config::new(vec![Arc::new(share)], accounts);
        config.unix = unix;
        let smb = smb::server::Service::new(config);
        let options = ExportOptions { shortens_names: false, ..ExportOptions::default() };
        let export = Export { name: self::share().into(), tag: 1, volume: volume.clone(), options };
        let company = Company { network: Arc::new(Silent), ..Company::default() };
        let nfs = nfs::server::Service::in_company(
            vec![export],
            HandleSecret::new([7; 16]),
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            company,
        );
        nfs.set_versions(3..=4);
        nfs.set_minor_versions(&[0, 1, 2]);
        Self { smb, afp, nfs, volume }
    }
}

/// Where the servers are.
enum Ground {
    Here(Servers),
    There(Vec<Address>),
}

impl Ground {
    fn smb(&self, machine: usize) -> Link {
        match self {
            Self::Here(servers) => {
                Link::new(smb::server::protocol(servers.smb.clone(), peer(MACHINES[machine])))
            }
            Self::There(_) => self.connect(machine, |at| at.smb),
        }
    }

    fn afp(&self, machine: usize) -> Link {
        match self {
            Self::Here(servers) => {
                Link::new(afp::server::protocol(servers.afp.clone(), peer(MACHINES[machine])))
            }
            Self::There(_) => self.connect(machine, |at| at.afp),
        }
    }

    fn nfs(&self, machine: usize) -> Link {
        match self {
            Self::Here(servers) => {
                Link::new(nfs::server::protocol(servers.nfs.clone(), &peer(MACHINES[machine])))
            }
            Self::There(_) => self.connect(machine, |at| at.nfs),
        }
    }

    fn connect(&self, machine: usize, port: impl Fn(&Address) -> u16) -> Link {
        let Self::There(all) = self else { unreachable!("a server in this process") };
        let at = &all[machine.min(all.len() - 1)];
        Link::connect(SocketAddr::from((at.host, port(at))))
    }
}

/// A number that no client of NFSv4 had before: servers that run remember them.
fn life() -> u64 {
    static LIVES: AtomicU64 = AtomicU64::new(1);
    static BEGAN: OnceLock<u64> = OnceLock::new();
    let began =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    (*BEGAN.get_or_init(began) << 32) + LIVES.fetch_add(1, Ordering::Relaxed)
}

pub struct World {
    smb: [Smb; 2],
    afp: [Afp; 2],
    nfs3: [Nfs3; 2],
    nfs4: [Nfs4; 2],
    ground: Ground,
    runtime: Runtime,
    /// When a client has lost its connection last.
    lost: Option<Instant>,
    _state: Option<tempfile::TempDir>,
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

impl World {
    /// A server on this disk, whose root the user may write to.
    pub fn new(disk: Arc<dyn Backend>) -> Self {
        let (runtime, state) = (runtime(), tempfile::tempdir().expect("a folder"));
        let servers = {
            let _entered = runtime.enter();
            Servers::new(disk, &Index::open(state.path()).expect("an index"))
        };
        Self::on(Ground::Here(servers), runtime, Some(state))
    }

    /// Servers that run. Nothing is in their share.
    pub fn at(servers: Vec<Address>) -> Self {
        Self::on(Ground::There(servers), runtime(), None)
    }

    fn on(ground: Ground, runtime: Runtime, state: Option<tempfile::TempDir>) -> Self {
        let entered = runtime.enter();
        let afp = [0, 1].map(|machine| Afp::new(ground.afp(machine), runtime.handle()));
        let smb = [0, 1].map(|machine| runtime.block_on(Smb::new(ground.smb(machine), machine)));
        let nfs3 = [0, 1].map(|machine| runtime.block_on(Nfs3::new(ground.nfs(machine), machine)));
        let nfs4 = [0, 1].map(|machine| runtime.block_on(Nfs4::new(ground.nfs(machine), machine, life())));
        drop(entered);
        Self { smb, afp, nfs3, nfs4, ground, runtime, lost: None, _state: state }
    }

    /// Whether the servers run elsewhere, so that what one does takes a moment to be done at another.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.ground, Ground::There(_))
    }

    /// Whether a busy server may not have seen yet that a connection was lost.
    pub fn is_settling(&self) -> bool {
        self.lost.is_some_and(|lost| lost.elapsed() < SETTLES)
    }

    /// Whether the clients of the two machines use different servers.
    pub fn is_apart(&self) -> bool {
        matches!(&self.ground, Ground::There(all) if all.len() > 1)
    }

    /// Removes all that a run has left in the share, for the next one.
    ///
    /// # Panics
    /// It is not empty after a time: something is still held that no client has open.
    pub fn clear(&mut self) {
        Who::ALL.into_iter().for_each(|who| self.lose(who));
        let until = Instant::now() + CLEARS;
        loop {
            let refused = self.remove_all();
            let left = self.apply(&Op::List(Who::Nfs4B, ""), |_| Who::Nfs4B);
            if left == Ok(Data::Names(BTreeSet::new())) {
                return;
            }
            assert!(Instant::now() < until, "the share has {left:?}: {refused:?}");
            std::thread::sleep(SEES_LOSS);
        }
    }

    /// The operations that were refused, of files and folders that are there.
    fn remove_all(&mut self) -> Vec<(Op, i64)> {
        let unlocked = LockBits::default();
        // Files before the folders that they are in.
        let mut places = PLACES;
        places.sort_by_key(|at| !at.contains('/'));
        let mut refused = Vec::new();
        for at in places {
            if self.apply(&Op::Stat(Who::Nfs4B, at), |_| Who::Nfs4B).is_err() {
                continue;
            }
            let ops = [
                Op::SetLocked(Who::AfpA, at, unlocked),
                Op::SetReadOnly(Who::SmbA, at, false),
                Op::Remove(Who::SmbA, at),
                Op::RemoveFolder(Who::SmbA, at),
            ];
            for op in ops {
                let done = self.apply(&op, |_| Who::SmbA);
                refused.extend(done.err().map(|status| (op, status))); // or it is a folder, or a file
            }
        }
        let _ = self.apply(&Op::Remove(Who::Nfs3A, LINK), |_| Who::Nfs3A); // there may be none
        refused
    }

    /// Does an operation that this client can do. `of` is the client of a slot.
    pub fn apply(&mut self, op: &Op, of: impl Fn(Slot) -> Who) -> ServerAnswer {
        if let Op::Lose(who) = op {
            self.lose(*who);
            return Ok(Data::Nothing);
        }
        let runtime = &self.runtime;
        match op.client(of) {
            Who::SmbA => runtime.block_on(self.smb[0].apply(op)),
            Who::SmbB => runtime.block_on(self.smb[1].apply(op)),
            Who::AfpA => self.afp[0].apply(op),
            Who::AfpB => self.afp[1].apply(op),
            Who::Nfs3A => runtime.block_on(self.nfs3[0].apply(op)),
            Who::Nfs3B => runtime.block_on(self.nfs3[1].apply(op)),
            Who::Nfs4A => runtime.block_on(self.nfs4[0].apply(op)),
            Who::Nfs4B => runtime.block_on(self.nfs4[1].apply(op)),
        }
    }

    /// From now on the share is a team folder.
    pub fn set_roles(&self, roles: Arc<auth::Roles>) {
        let Ground::Here(servers) = &self.ground else { unreachable!("a server in this process") };
        servers.volume.set_roles(Some(roles));
        let root = servers.volume.root().expect("a root");
        servers.volume.stored_rights().settle(&root).expect("rights of a team folder");
    }

    /// A client of NFSv3 asks for the attributes of the share's folder.
    pub fn nfs3_getattr(&mut self) {
        self.runtime.block_on(self.nfs3[0].getattr());
    }

    /// The list of a file, as a client of NFSv4 reads it.
    pub fn nfs_acl(&mut self, at: &str) -> Vec<Line> {
        self.runtime.block_on(self.nfs4[0].acl(at)).expect("a list")
    }

    /// A client of NFSv4 sets the list of a file.
    pub fn set_nfs_acl(&mut self, at: &str, list: &[Line]) {
        self.runtime.block_on(self.nfs4[0].set_acl(at, list)).expect("a list that can be set");
    }

    /// The list of a file, as a client of SMB reads it.
    pub fn smb_acl(&mut self, at: &str) -> Vec<Ace> {
        self.runtime.block_on(self.smb[0].acl(at)).expect("a list")
    }

    /// A client of SMB sets the list of a file.
    pub fn set_smb_acl(&mut self, at: &str, list: Vec<Ace>) {
        self.runtime.block_on(self.smb[0].set_acl(at, list)).expect("a list that can be set");
    }

    /// The bytes of a named attribute, as a client of NFSv4 reads them.
    pub fn nfs_attribute(&mut self, at: &str, attribute: &str) -> Result<Vec<u8>, i64> {
        self.runtime.block_on(self.nfs4[0].attribute(at, attribute))
    }

    /// A client of NFSv4 makes a named attribute, or writes it anew.
    pub fn set_nfs_attribute(&mut self, at: &str, attribute: &str, bytes: &[u8]) {
        self.runtime.block_on(self.nfs4[0].set_attribute(at, attribute, bytes)).expect("an attribute");
    }

    /// The bytes of a stream, as a client of SMB reads them.
    pub fn smb_stream(&mut self, stream: &str) -> Vec<u8> {
        self.runtime.block_on(self.smb[0].get(stream)).expect("a stream")
    }

    /// A client of SMB makes a stream, or writes it anew.
    pub fn set_smb_stream(&mut self, stream: &str, bytes: &[u8]) {
        self.runtime.block_on(self.smb[0].put(stream, bytes)).expect("a stream");
    }

    fn lose(&mut self, who: Who) {
        let (ground, runtime) = (&self.ground, &self.runtime);
        let _entered = runtime.enter();
        match who {
            Who::SmbA => self.smb[0] = runtime.block_on(Smb::new(ground.smb(0), 0)),
            Who::SmbB => self.smb[1] = runtime.block_on(Smb::new(ground.smb(1), 1)),
            Who::AfpA => self.afp[0] = Afp::new(ground.afp(0), runtime.handle()),
            Who::AfpB => self.afp[1] = Afp::new(ground.afp(1), runtime.handle()),
            Who::Nfs3A | Who::Nfs3B => {
                let machine = who.machine();
                self.nfs3[machine] = runtime.block_on(Nfs3::new(ground.nfs(machine), machine));
                runtime.block_on(self.nfs3[machine].restart());
            }
            Who::Nfs4A => self.nfs4[0] = runtime.block_on(Nfs4::new(ground.nfs(0), 0, life())),
            Who::Nfs4B => self.nfs4[1] = runtime.block_on(Nfs4::new(ground.nfs(1), 1, life())),
        }
        if self.is_elsewhere() {
            self.lost = Some(Instant::now());
            std::thread::sleep(SEES_LOSS);
        }
    }
}
