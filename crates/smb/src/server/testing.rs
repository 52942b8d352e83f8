//! Clients for tests of commands: a server on volumes in memory, without sockets. The client (`crate::client`) signs or
//! seals as told; frames go to [`SmbProtocol`] and what comes back is decoded by the types of `wire`.
//!
//! ```text
//! let mut ada = User::new(&service()).await;             // 3.1.1, signed, in the share "share"
//! let file = ada.make("notes", b"abc").await;             // its FileKey
//! let answer = ada.call(Command::FLUSH, |w| flush::Request { file }.encode(w)).await;
//! assert_eq!(answer.status(), Status::SUCCESS);
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, SystemTime};

use auth::{Account, Accounts, Identity, Refusal, SharePolicy};
use bytes::BytesMut;
use conn::{InFlight, Peer, Protocol, ToClient};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use vfs::backend::memory::Memory;
use vfs::{Volume, VolumeOptions};
use wire::Writer;

use super::connection::Connection;
use super::context::poll_once;
use super::frames::SmbProtocol;
use super::{Config, Service, Share, ShareKind, ShareOptions};
use crate::client::{Answer, Client, Credentials, FrameProtection, Link, Offer, Request, Session, SetUp};
pub(crate) use crate::client::{open_request, read_request};
use crate::wire::create::{self, ShareAccess};
use crate::wire::create_context::RawContext;
use crate::wire::security::AccessMask;
use crate::wire::{Command, FileKey, Status, close, read, tree_connect, write};

/// How long a test waits for an answer that should come at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// The accounts of [`service`] with their passwords. Each has its own uid.
pub(crate) const ADA: (&str, &str) = ("ada", "Passwort");
pub(crate) const BOB: (&str, &str) = ("bob", "hidden");
/// Disabled.
pub(crate) const GONE: (&str, &str) = ("gone", "secret");

struct People(Vec<Account>);

impl Accounts for People {
    fn find(&self, name: &str) -> Option<Account> {
        self.0.iter().find(|account| account.name == name).cloned()
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

fn account((name, password): (&str, &str), uid: u32) -> Account {
    Account {
        name: name.into(),
        identity: Identity::new(uid, 100, &[]),
        disabled: uid == 1002,
        secrets: vec![auth::Secret::Nt(auth::nt_hash(password))],
    }
}

/// These accounts. Each has its own uid.
pub(crate) fn people(all: &[(&str, &str)]) -> Arc<dyn Accounts> {
    let uid = |name: &str| [ADA, BOB, GONE].iter().position(|known| known.0 == name).unwrap() as u32 + 1000;
    Arc::new(People(all.iter().map(|who| account(*who, uid(who.0))).collect()))
}

/// An empty share in memory that all users may write to.
pub(crate) fn share(name: &str, options: ShareOptions) -> Arc<Share> {
    share_of(name, Arc::new(Memory::ticking()), options)
}

/// A share of what a backend has.
pub(crate) fn share_of(
    name: &str,
    backend: Arc<dyn vfs::backend::Backend>,
    options: ShareOptions,
) -> Arc<Share> {
    let volume = Arc::new(Volume::new(backend, VolumeOptions::default()));
    let kind =
        ShareKind::Disk { volume, serial: 0x1234_5678, created: vfs::Time { secs: 1_500_000_000, nanos: 0 } };
    Arc::new(Share { name: name.into(), comment: format!("the share {name}"), kind, options })
}

/// A server with the shares "share", "guests", "sealed" and "readonly".
pub(crate) fn service() -> Arc<Service> {
    service_with(|_| ())
}

/// The same with other settings.
pub(crate) fn service_with(change: impl FnOnce(&mut Config)) -> Arc<Service> {
    let plain = ShareOptions::default;
    let shares = vec![
        share("share", plain()),
        share("guests", ShareOptions { policy: SharePolicy::for_guests(), ..plain() }),
        share("sealed", ShareOptions { require_encryption: true, ..plain() }),
        share(
            "readonly",
            ShareOptions { policy: SharePolicy { read_only: true, ..SharePolicy::default() }, ..plain() },
        ),
    ];
    let mut config = Config::new(shares, people(&[ADA, BOB, GONE]));
    config.guid = *b"the server's guid"[..16].first_chunk().unwrap();
    config.comment = "a server".into();
    change(&mut config);
    Service::new(config)
}

/// The volume of a share. Tests use it to look at or change files directly.
pub(crate) fn volume(service: &Service, share: &str) -> Arc<Volume> {
    match &service.share(share).unwrap().kind {
        ShareKind::Disk { volume, .. } => volume.clone(),
        ShareKind::Pipes => panic!("no folder"),
    }
}

/// A connection to a server in the same process. Dropping it loses the connection.
pub(crate) struct Loop {
    pub(super) connection: Arc<Connection>,
    is_over: Arc<AtomicBool>,
    sender: UnboundedSender<Vec<u8>>,
    inbox: UnboundedReceiver<Vec<u8>>,
    /// Changes every frame that is sent.
    pub(crate) damage: Option<Damage>,
    /// How long to wait for an answer.
    pub(crate) patience: Duration,
}

type Damage = Box<dyn Fn(&mut Vec<u8>) + Send>;

impl Loop {
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        static PORT: AtomicU16 = AtomicU16::new(1);
        let address = ([192, 0, 2, 1], PORT.fetch_add(1, Ordering::Relaxed)).into();
        let peer = Peer {
            address,
            local: None,
            since: SystemTime::now(),
            counters: Arc::default(),
            memory: Arc::default(),
        };
        let connection = Connection::new(service.clone(), peer);
        let (sender, inbox) = unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let (to, over) = (sender.clone(), is_over.clone());
        SmbProtocol(connection.clone()).began(ToClient::of(move |reply| match reply {
            Some(reply) if !over.load(Ordering::Relaxed) => to.send(message(reply)).is_ok(),
            _ => {
                over.store(true, Ordering::Relaxed);
                false
            }
        }));
        Self { connection, is_over, sender, inbox, damage: None, patience: PATIENCE }
    }

    /// Whether the server has ended it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A frame without its prefix. Checks the prefix.
fn message(reply: conn::Reply) -> Vec<u8> {
    let mut frame = reply.into_bytes().expect("data in memory");
    let message = frame.split_off(4);
    assert_eq!(frame, (message.len() as u32).to_be_bytes(), "the prefix says how long the message is");
    message
}

impl Link for Loop {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        if self.is_over() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let served = SmbProtocol(self.connection.clone());
        let mut frame = frame.to_vec();
        if let Some(damage) = &self.damage {
            damage(&mut frame);
        }
        let frame = &frame[..];
        if served.message_length(frame) != Ok(Some(frame.len())) {
            self.connection.close();
            return Ok(());
        }
        // Half of each frame arrives first, which makes no difference.
        let half = &frame[..frame.len() / 2];
        let whole = BytesMut::from(frame);
        let mut answer = match served.begin_early(half, frame.len(), &InFlight::default()) {
            Some(mut early) => {
                early.write(half);
                early.answer(whole, InFlight::default())
            }
            None => served.answer(whole, InFlight::default()),
        };
        let sender = self.sender.clone();
        match poll_once(answer.as_mut()) {
            Some(Some(reply)) => drop(sender.send(message(reply))),
            Some(None) => {}
            None => drop(tokio::spawn(async move {
                if let Some(reply) = answer.await {
                    let _ = sender.send(message(reply));
                }
            })),
        }
        Ok(())
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        if let Ok(message) = self.inbox.try_recv() {
            return Ok(message);
        }
        let over = self.is_over.clone();
        let ended = async move {
            while !over.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            biased;
            message = self.inbox.recv() => Ok(message.expect("a sender of our own")),
            () = ended => Err(io::ErrorKind::UnexpectedEof.into()),
            () = tokio::time::sleep(self.patience) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        SmbProtocol(self.connection.clone()).ended();
    }
}

/// A connection after NEGOTIATE with this offer.
pub(crate) async fn connect(service: &Arc<Service>, offer: &Offer) -> Client<Loop> {
    let mut client = Client::new(Loop::new(service));
    client.negotiate(offer).await.unwrap();
    client
}

/// A user that has logged in and connected to a share.
pub(crate) struct User {
    pub(crate) client: Client<Loop>,
    pub(crate) session: Arc<Session>,
    pub(crate) tree: u32,
    /// Requests are sealed if set; otherwise they are signed.
    pub(crate) seals: bool,
}

impl User {
    /// Ada in "share", with 3.1.1.
    pub(crate) async fn new(service: &Arc<Service>) -> Self {
        Self::with(service, &Offer::default(), ADA, "share").await
    }

    /// The same over another dialect.
    pub(crate) async fn speaking(service: &Arc<Service>, dialect: crate::wire::Dialect) -> Self {
        Self::with(service, &Offer::of(dialect), ADA, "share").await
    }

    /// Any user in any share. Another guid in the offer is another machine.
    pub(crate) async fn with(
        service: &Arc<Service>,
        offer: &Offer,
        (name, password): (&str, &str),
        share: &str,
    ) -> Self {
        let mut client = connect(service, offer).await;
        let who = Credentials::new(name, password);
        let session = client.log_in(&who, SetUp::New { previous: 0 }).await.unwrap();
        let mut user = Self { client, session, tree: 0, seals: false };
        user.tree = user.enter(share).await.unwrap();
        user
    }

    /// How requests are protected.
    fn how(session: &Session, seals: bool) -> FrameProtection<'_> {
        if seals { FrameProtection::Sealed(session) } else { FrameProtection::Signed(session) }
    }

    /// Another tree of the session.
    pub(crate) async fn enter(&mut self, share: &str) -> Result<u32, Status> {
        let path = format!("\\\\fourfold\\{share}").encode_utf16().collect();
        let request = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
        let answer = self.call(Command::TREE_CONNECT, |w| request.encode(w)).await;
        match answer.status() {
            Status::SUCCESS => Ok(answer.header.tree_id()),
            status => Err(status),
        }
    }

    /// Sends a request. Returns its message id.
    pub(crate) async fn start(&mut self, command: Command, encode: impl FnOnce(&mut Writer)) -> u64 {
        let request = Request::new(command, encode).on(self.session.id, self.tree);
        self.start_chain(vec![request]).await[0]
    }

    /// Sends requests in one frame.
    pub(crate) async fn start_chain(&mut self, requests: Vec<Request>) -> Vec<u64> {
        let how = Self::how(&self.session, self.seals);
        self.client.send(requests, how).await.unwrap()
    }

    /// The final answer to a message.
    pub(crate) async fn answer(&mut self, message_id: u64) -> Answer {
        self.client.answer(message_id).await.unwrap()
    }

    /// A message that the server sends on its own, such as a break of an oplock: the next message
    /// that no request asked for.
    pub(crate) async fn notified(&mut self) -> Answer {
        self.client.wait_for(|answer| answer.header.message_id == u64::MAX).await.unwrap()
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Answer {
        self.client.wait_for(|_| true).await.unwrap()
    }

    /// The interim response to a message.
    pub(crate) async fn told_to_wait(&mut self, message_id: u64) -> Answer {
        let is_interim = |answer: &Answer| {
            answer.header.message_id == message_id && answer.header.status == Status::PENDING
        };
        self.client.wait_for(is_interim).await.unwrap()
    }

    /// A request and its answer.
    pub(crate) async fn call(&mut self, command: Command, encode: impl FnOnce(&mut Writer)) -> Answer {
        let id = self.start(command, encode).await;
        self.answer(id).await
    }

    /// A chain and its answers.
    pub(crate) async fn call_chain(&mut self, requests: Vec<Request>) -> Vec<Answer> {
        let mut answers = Vec::new();
        for id in self.start_chain(requests).await {
            answers.push(self.answer(id).await);
        }
        answers
    }

    /// A request of this session and tree.
    pub(crate) fn request(&self, command: Command, encode: impl FnOnce(&mut Writer)) -> Request {
        Request::new(command, encode).on(self.session.id, self.tree)
    }

    /// Opens or makes a file, as `change` says. By default it reads, writes and deletes, and shares
    /// all of these.
    pub(crate) async fn open(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> Result<create::Response<'static>, Status> {
        let mut request = open_request(name);
        change(&mut request);
        let answer = self.call(Command::CREATE, |w| request.encode(w)).await;
        match answer.status() {
            Status::SUCCESS => Ok(owned(create::Response::decode(&answer.message).unwrap())),
            status => Err(status),
        }
    }

    /// A file with this content, which stays open.
    pub(crate) async fn make(&mut self, name: &str, content: &[u8]) -> FileKey {
        let file = self.open(name, |_| ()).await.unwrap().file;
        if !content.is_empty() {
            assert_eq!(self.write(file, 0, content).await, Status::SUCCESS);
        }
        file
    }

    /// WRITE.
    pub(crate) async fn write(&mut self, file: FileKey, offset: u64, data: &[u8]) -> Status {
        self.call(Command::WRITE, |w| write_request(file, offset).encode(data, w)).await.status()
    }

    /// READ.
    pub(crate) async fn read(&mut self, file: FileKey, offset: u64, length: u32) -> Result<Vec<u8>, Status> {
        let request = read_request(file, offset, length);
        let answer = self.call(Command::READ, |w| request.encode(w)).await;
        match answer.status() {
            Status::SUCCESS => Ok(read::Response::decode(&answer.message).unwrap().data),
            status => Err(status),
        }
    }

    /// CLOSE.
    pub(crate) async fn close(&mut self, file: FileKey) -> Status {
        let request = close::Request { flags: close::Flags::NONE, file };
        self.call(Command::CLOSE, |w| request.encode(w)).await.status()
    }
}

fn owned(response: create::Response<'_>) -> create::Response<'static> {
    let contexts = response.contexts.into_iter();
    let contexts = contexts
        .map(|context| RawContext {
            tag: context.tag.into_owned().into(),
            data: context.data.into_owned().into(),
        })
        .collect();
    create::Response { contexts, ..response }
}

/// A WRITE, without its data.
pub(crate) fn write_request(file: FileKey, offset: u64) -> write::Request {
    write::Request { data: 0..0, offset, file, channel: 0, remaining_bytes: 0, flags: write::Flags::NONE }
}

mod tests {
    use super::*;
    use crate::client::Proof;
    use crate::wire::Dialect as Revision;

    #[tokio::test]
    async fn a_file_is_made_written_read_and_closed_in_every_dialect() {
        let service = service();
        for dialect in [
            Revision::SMB_2_0_2,
            Revision::SMB_2_1,
            Revision::SMB_3_0,
            Revision::SMB_3_0_2,
            Revision::SMB_3_1_1,
        ] {
            let mut ada = User::speaking(&service, dialect).await;
            let file = ada.make("notes", b"abc").await;
            assert_eq!(ada.read(file, 1, 10).await, Ok(b"bc".to_vec()));
            assert_eq!(ada.close(file).await, Status::SUCCESS);
            assert_eq!(ada.close(file).await, Status::FILE_CLOSED);
        }
    }

    #[tokio::test]
    async fn answers_are_signed_or_sealed_as_their_requests_were() {
        let service = service();
        let mut ada = User::new(&service).await;
        let file = ada.make("notes", b"abc").await;
        let echo = |w: &mut Writer| crate::wire::echo::Request.encode(w);
        assert_eq!(ada.call(Command::ECHO, echo).await.proof, Proof::Signed);
        ada.seals = true;
        assert_eq!(ada.call(Command::ECHO, echo).await.proof, Proof::Sealed);
        assert_eq!(ada.read(file, 0, 3).await, Ok(b"abc".to_vec()));
    }

    #[tokio::test]
    async fn a_lost_connection_gives_back_what_it_had_open() {
        let service = service();
        let mut ada = User::new(&service).await;
        ada.open("notes", |request| request.share_access = ShareAccess::NONE).await.unwrap();
        let mut bob = User::with(&service, &Offer::default(), BOB, "share").await;
        let reads = |request: &mut create::Request<'_>| request.desired_access = AccessMask::READ_DATA.0;
        assert_eq!(bob.open("notes", reads).await, Err(Status::SHARING_VIOLATION));
        drop(ada);
        assert!(bob.open("notes", reads).await.is_ok());
    }
}
