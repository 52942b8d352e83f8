//! Clients for tests of commands: a server on volumes in memory, without sockets. Tests pass frames
//! to the connection as `conn` does, and decode the answers.
//!
//! ```text
//! let server = Server::new();
//! let mut ada = server.log_in(ADA, Version::V3_4);          // logins have their own tests
//! let reply = ada.call(command::FLUSH, |w| { w.u8(0); w.u16_be(volume); }).await;
//! assert_eq!(reply.code, ResultCode::NO_ERROR);
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, SystemTime};

use auth::{Account, Accounts, Identity, Refusal, SharePolicy, UnixAccounts};
use bytes::BytesMut;
use conn::{InFlight, Peer, Protocol, ToClient};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vfs::backend::Backend;
use vfs::backend::memory::Memory;
use vfs::index::Index;
use vfs::{Caller, Time, Volume, VolumeOptions};
use wire::{Reader, Writer};

use super::config::{Config, Share, ShareOptions, Version};
use super::connection::Connection;
use super::frames::AfpProtocol;
use super::service::Service;
use super::transport::Transport;
use crate::catalogue::Catalogue;
use crate::server::sessions::session::{Session, SessionUser};
use crate::wire::ResultCode;
use crate::wire::dsi::{Command, DsiHeader};

/// More than any condition takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until the condition holds. Fails with `what` if it never does.
pub(super) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.expect(what);
}

/// How long a test waits for an expected message.
const PATIENCE: Duration = Duration::from_secs(10);

/// The accounts of [`Server`], with their passwords and numbers.
pub(crate) const ADA: (&str, &str, u32) = ("ada", "Passwort", 1000);
pub(crate) const BOB: (&str, &str, u32) = ("bob", "hidden", 1001);

struct People(Vec<Account>);

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        self.0.iter().find(|account| account.name == name).cloned()
    }

    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal> {
        let knows = [ADA, BOB].iter().any(|(user, theirs, _)| (*user, *theirs) == (name, password));
        let account = self.find(name).ok_or(Refusal::Unknown)?;
        if knows { Ok(account) } else { Err(Refusal::WrongPassword) }
    }
}

fn account((name, password, uid): (&str, &str, u32)) -> Account {
    Account {
        name: name.into(),
        identity: Identity::new(uid, 100, &[]),
        disabled: false,
        secrets: vec![auth::Secret::Nt(auth::nt_hash(password))],
    }
}

/// A directory of these accounts.
pub(crate) fn people(all: &[(&str, &str, u32)]) -> Arc<dyn Accounts> {
    Arc::new(People(all.iter().map(|who| account(*who)).collect()))
}

/// A server with the shares "share", "guests" (guests may use it) and "readonly".
pub(crate) struct Server {
    pub(crate) service: Arc<Service>,
    /// The directory of the files' numbers, for as long as the server lives.
    _state: Option<tempfile::TempDir>,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(|_| ())
    }

    /// The same server with other settings.
    pub(crate) fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::on_with(Arc::new(Memory::ticking()), change)
    }

    /// The same server with another disk under "share".
    pub(crate) fn on(disk: Arc<dyn Backend>) -> Self {
        Self::on_with(disk, |_| ())
    }

    fn on_with(disk: Arc<dyn Backend>, change: impl FnOnce(&mut Config)) -> Self {
        let state = tempfile::tempdir().unwrap();
        let index = Index::open(state.path()).unwrap();
        let shares = Self::shares(disk, &index);
        Self { _state: Some(state), ..Self::of(shares, change) }
    }

    fn shares(disk: Arc<dyn Backend>, index: &Index) -> Vec<Arc<Share>> {
        let plain = ShareOptions::default;
        vec![
            share_on(disk, index, "share", plain()),
            share(index, "guests", ShareOptions { policy: SharePolicy::for_guests(), ..plain() }),
            share(
                index,
                "readonly",
                ShareOptions { policy: SharePolicy { read_only: true, ..SharePolicy::default() }, ..plain() },
            ),
        ]
    }

    /// A server with these shares.
    pub(crate) fn of(shares: Vec<Arc<Share>>, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::new(shares, people(&[ADA, BOB]));
        config.signature = *b"a test signature";
        config.guest = Some(Identity::new(65_534, 65_534, &[]));
        config.unix = Arc::new(UnixAccounts::parse(
            "ada:x:1000:100::/:\nbob:x:1001:100::/:\n",
            "users:x:100:\nstaff:x:50:ada\n",
        ));
        change(&mut config);
        Self { service: Service::new(config), _state: None }
    }

    /// The volume of a share, to check or change what clients see.
    pub(crate) fn volume(&self, share: &str) -> Arc<Volume> {
        self.service.share(|one| one.name == share).unwrap().volume.clone()
    }

    /// A new connection with an open DSI session.
    pub(crate) fn connect(&self) -> Client {
        self.connect_over(Transport::Tcp)
    }

    /// The same over another transport.
    pub(crate) fn connect_over(&self, transport: Transport) -> Client {
        Client::new(&self.service, transport)
    }

    /// A new connection with a login without a password.
    pub(crate) fn log_in(&self, (name, _, uid): (&str, &str, u32), version: Version) -> Client {
        self.log_in_over(Transport::Tcp, (name, "", uid), version)
    }

    /// The same over another transport.
    pub(crate) fn log_in_over(
        &self,
        transport: Transport,
        (name, _, uid): (&str, &str, u32),
        version: Version,
    ) -> Client {
        let user = SessionUser { name: Some(name.into()), caller: Caller::new(uid, 100, &[]) };
        self.log_in_as(user, version, transport)
    }

    /// The same for a guest.
    pub(crate) fn log_in_guest(&self, version: Version) -> Client {
        let user = SessionUser { name: None, caller: Caller::new(65_534, 65_534, &[]) };
        self.log_in_as(user, version, Transport::Tcp)
    }

    fn log_in_as(&self, user: SessionUser, version: Version, transport: Transport) -> Client {
        let mut client = self.connect_over(transport);
        let opened = client.open_session_now();
        assert_eq!(opened.code, ResultCode::NO_ERROR);
        client.connection.log_in(version, user).unwrap();
        client
    }
}

/// An empty share in memory that all users may write to.
pub(crate) fn share(index: &Index, name: &str, options: ShareOptions) -> Arc<Share> {
    share_on(Arc::new(Memory::ticking()), index, name, options)
}

/// The same share on a disk.
fn share_on(disk: Arc<dyn Backend>, index: &Index, name: &str, options: ShareOptions) -> Arc<Share> {
    share_of(Volume::new(disk, VolumeOptions::default()), index, name, options)
}

/// The same share with this volume.
pub(crate) fn share_of(volume: Volume, index: &Index, name: &str, options: ShareOptions) -> Arc<Share> {
    let volume = Arc::new(volume);
    let root = volume.root().unwrap().object.key();
    let catalogue = Catalogue::open(index, index.volume(name).unwrap(), root).unwrap();
    let created = Time { secs: 1_500_000_000, nanos: 0 };
    Share::new(name, (volume, catalogue), *b"a volume's uuid!", created, options)
}

/// The server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: ResultCode,
    pub(crate) payload: Vec<u8>,
}

impl Answer {
    /// The payload of an answer that must be successful.
    pub(crate) fn well(self) -> Vec<u8> {
        assert_eq!(self.code, ResultCode::NO_ERROR);
        self.payload
    }
}

/// A client's connection to a server in the same process. Its drop loses the connection.
pub(crate) struct Client {
    pub(in crate::server) connection: Arc<Connection>,
    /// Unsolicited frames of the server; `None` when it closes.
    pub(crate) told: UnboundedReceiver<Option<Vec<u8>>>,
    next_id: u16,
}

impl Client {
    fn new(service: &Arc<Service>, transport: Transport) -> Self {
        static PORT: AtomicU16 = AtomicU16::new(1);
        let address = ([192, 0, 2, 1], PORT.fetch_add(1, Ordering::Relaxed)).into();
        let peer = Peer {
            address,
            local: None,
            since: SystemTime::now(),
            counters: Arc::default(),
            memory: Arc::default(),
        };
        let connection = Connection::new(service.clone(), peer, transport);
        let (sender, told) = unbounded_channel();
        AfpProtocol(connection.clone()).began(ToClient::of(move |reply| {
            sender.send(reply.map(|reply| reply.into_bytes().expect("data in memory"))).is_ok()
        }));
        Self { connection, told, next_id: 1 }
    }

    /// The number of the next request.
    pub(crate) fn next_id(&self) -> u16 {
        self.next_id
    }

    /// Sets the number of the next request.
    pub(crate) fn set_next_id(&mut self, id: u16) {
        self.next_id = id;
    }

    /// The session of the login.
    pub(super) fn session(&self) -> Arc<Session> {
        self.connection.session().expect("somebody is logged in")
    }

    /// Sends a frame; returns the answer, if there is one.
    pub(crate) async fn frame(&mut self, command: Command, code: u32, payload: &[u8]) -> Option<Answer> {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        let header = DsiHeader { is_reply: false, command, id, code, length: payload.len() as u32 };
        let mut w = Writer::new();
        header.encode(&mut w);
        w.put(payload);
        let bytes = w.into_bytes();
        let served = AfpProtocol(self.connection.clone());
        assert_eq!(served.message_length(&bytes), Ok(Some(bytes.len())));
        // Half of each frame arrives first, which makes no difference.
        let (half, whole) = (&bytes[..bytes.len() / 2], BytesMut::from(&bytes[..]));
        let answer = match served.begin_early(half, bytes.len(), &InFlight::default()) {
            Some(mut early) => {
                early.write(half);
                early.answer(whole, InFlight::default())
            }
            None => served.answer(whole, InFlight::default()),
        };
        let reply = tokio::time::timeout(PATIENCE, answer).await.expect("an answer in time")?;
        let reply = reply.into_bytes().unwrap();
        let header = DsiHeader::decode(&mut Reader::new(&reply)).unwrap();
        assert!(header.is_reply && header.command == command && header.id == id);
        assert_eq!(header.length as usize, reply.len() - DsiHeader::LEN);
        Some(Answer { code: ResultCode(header.code as i32), payload: reply[DsiHeader::LEN..].to_vec() })
    }

    /// Opens a DSI session.
    pub(crate) async fn open_session(&mut self) -> Answer {
        self.frame(Command::OPEN_SESSION, 0, &[]).await.unwrap()
    }

    /// The same in code that cannot wait.
    fn open_session_now(&mut self) -> Answer {
        let mut opening = Box::pin(self.open_session());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match opening.as_mut().poll(&mut context) {
            std::task::Poll::Ready(answer) => answer,
            std::task::Poll::Pending => panic!("opening a session does not wait"),
        }
    }

    /// Sends a command: its number, followed by the output of `body`.
    pub(crate) async fn call(&mut self, number: u8, body: impl FnOnce(&mut Writer)) -> Answer {
        let mut w = Writer::new();
        w.u8(number);
        body(&mut w);
        self.frame(Command::COMMAND, 0, w.as_bytes()).await.unwrap()
    }

    /// Sends a command with data after it (DSI write).
    pub(crate) async fn call_with_data(
        &mut self,
        number: u8,
        body: impl FnOnce(&mut Writer),
        data: &[u8],
    ) -> Answer {
        let mut w = Writer::new();
        w.u8(number);
        body(&mut w);
        let at = w.len() as u32;
        w.put(data);
        self.frame(Command::WRITE, at, w.as_bytes()).await.unwrap()
    }

    /// Opens a share without a command; returns its number.
    pub(crate) fn open_volume(&self, name: &str) -> u16 {
        let session = self.session();
        let share = session.service.share(|share| share.name == name).unwrap();
        let grant = share.options.policy.grant_to_host([192, 0, 2, 1].into()).unwrap();
        session.volumes.open(&share, grant, None).unwrap().id
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        AfpProtocol(self.connection.clone()).ended();
    }
}

#[tokio::test]
async fn nothing_is_answered_before_a_session_is_open_nor_before_a_login() {
    let server = Server::new();
    let mut client = server.connect();
    assert_eq!(client.call(10, |w| w.zeros(3)).await.code, ResultCode::SESSION_CLOSED);
    client.open_session().await.well();
    assert_eq!(client.call(10, |w| w.zeros(3)).await.code, ResultCode::USER_NOT_AUTH);
    let mut ada = server.log_in(ADA, Version::V3_4);
    assert_eq!(ada.call(250, |_| ()).await.code, ResultCode::CALL_NOT_SUPPORTED);
    assert_eq!(ada.frame(Command::COMMAND, 0, &[]).await.unwrap().code, ResultCode::PARAM_ERROR);
}
