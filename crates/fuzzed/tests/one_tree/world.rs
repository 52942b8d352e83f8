//! The server: one tree, and a client of each kind.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ::smb::wire::security::Ace;
use afp::catalogue::Catalogue;
use auth::{Account, Accounts, Identity, Refusal, UnixAccounts};
use nfs::server::{Company, Endpoint, Exchanged, Export, ExportOptions, HandleSecret, Network};
use tokio::runtime::Runtime;
use vfs::backend::Backend;
use vfs::index::Index;
use vfs::{Time, Volume, VolumeOptions};

use crate::afp::Afp;
use crate::nfs3::Nfs3;
use crate::nfs4::{Line, Nfs4};
use crate::op::{Answered, Data, Op, Slot, Who};
use crate::smb::Smb;

pub const SHARE: &str = "share";
pub const USER: (&str, &str) = ("ada", "Passwort");
pub const UID: u32 = 1000;
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

impl Network for Silent {
    fn exchange<'a>(&'a self, _: &'a Endpoint, _: Vec<u8>) -> Exchanged<'a> {
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
}

impl Servers {
    fn new(disk: Arc<dyn Backend>, index: &Index) -> Self {
        let volume = Arc::new(Volume::new(disk, VolumeOptions::default()));
        let account = Account {
            name: USER.0.into(),
            identity: Identity::new(UID, 100, &[]),
            disabled: false,
            secrets: vec![auth::Secret::Nt(auth::nt_hash(USER.1))],
        };
        let accounts: Arc<dyn Accounts> = Arc::new(People(account));
        let unix = Arc::new(UnixAccounts::parse("ada:x:1000:100::/:\n", "users:x:100:\n"));
        let root = volume.root().expect("a root").object.key();
        let catalogue = Catalogue::open(index, index.volume(SHARE).expect("a volume"), root).expect("ids");
        let parts = (volume.clone(), catalogue);
        let options = afp::server::ShareOptions::default();
        let share = afp::server::Share::new(SHARE, parts, *b"a volume's uuid!", CREATED, options);
        let mut config = afp::server::Config::new(vec![share], accounts.clone());
        (config.unix, config.logins.cleartext) = (unix.clone(), true);
        let afp = afp::server::Service::new(config);
        let kind = smb::server::ShareKind::Disk { volume: volume.clone(), serial: 1, created: CREATED };
        let options = smb::server::ShareOptions::default();
        let share = smb::server::Share { name: SHARE.into(), comment: String::new(), kind, options };
        let mut config = smb::server::Config::new(vec![Arc::new(share)], accounts);
        config.unix = unix;
        let smb = smb::server::Service::new(config);
        let options = ExportOptions { shortens_names: false, ..ExportOptions::default() };
        let export = Export { name: SHARE.into(), tag: 1, volume, options };
        let company = Company { network: Arc::new(Silent), ..Company::default() };
        let nfs = nfs::server::Service::in_company(
            vec![export],
            HandleSecret::new([7; 16]),
            SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            company,
        );
        nfs.set_versions(3..=4);
        nfs.set_minor_versions(&[0, 1, 2]);
        Self { smb, afp, nfs }
    }
}

pub struct World {
    smb: [Smb; 2],
    afp: [Afp; 2],
    nfs3: [Nfs3; 2],
    nfs4: [Nfs4; 2],
    lives: u64,
    servers: Servers,
    runtime: Runtime,
    _state: tempfile::TempDir,
}

impl World {
    /// A server on this disk, whose root the user may write to.
    pub fn new(disk: Arc<dyn Backend>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let state = tempfile::tempdir().expect("a folder");
        let entered = runtime.enter();
        let servers = Servers::new(disk, &Index::open(state.path()).expect("an index"));
        let afp = [0, 1].map(|machine| Afp::new(&servers.afp, runtime.handle(), machine));
        let smb = [0, 1].map(|machine| runtime.block_on(Smb::new(&servers.smb, machine)));
        let nfs3 = [0, 1].map(|machine| runtime.block_on(Nfs3::new(&servers.nfs, machine)));
        let nfs4 = [0, 1].map(|machine| runtime.block_on(Nfs4::new(&servers.nfs, machine, 1)));
        drop(entered);
        Self { smb, afp, nfs3, nfs4, lives: 1, servers, runtime, _state: state }
    }

    /// Does an operation that this client can do. `of` is the client of a slot.
    pub fn apply(&mut self, op: &Op, of: impl Fn(Slot) -> Who) -> Answered {
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
        self.lives += 1;
        let (servers, runtime) = (&self.servers, &self.runtime);
        let _entered = runtime.enter();
        match who {
            Who::SmbA => self.smb[0] = runtime.block_on(Smb::new(&servers.smb, 0)),
            Who::SmbB => self.smb[1] = runtime.block_on(Smb::new(&servers.smb, 1)),
            Who::AfpA => self.afp[0] = Afp::new(&servers.afp, runtime.handle(), 0),
            Who::AfpB => self.afp[1] = Afp::new(&servers.afp, runtime.handle(), 1),
            Who::Nfs3A => runtime.block_on(self.nfs3[0].lose()),
            Who::Nfs3B => runtime.block_on(self.nfs3[1].lose()),
            Who::Nfs4A => self.nfs4[0] = runtime.block_on(Nfs4::new(&servers.nfs, 0, self.lives)),
            Who::Nfs4B => self.nfs4[1] = runtime.block_on(Nfs4::new(&servers.nfs, 1, self.lives)),
        }
    }
}
