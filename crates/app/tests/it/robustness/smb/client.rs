//! An SMB client that waits for each answer, with a timeout for every wait: `smb::client` over a
//! blocking socket.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::smb::client::{
    self, Answer, Credentials, Error, FrameProtection, Link, Offer, Request, Session, SetUp,
};
pub(crate) use ::smb::client::{open_request, read_request};
use ::smb::wire::create::{self, Disposition};
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::security::AccessMask;
use ::smb::wire::{
    Command, FileKey, InfoType, Status, close, flush, frame, read, set_info, tree_connect, write,
};
use wire::Writer;

use crate::robustness::server::USER;

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A blocking socket: its futures are ready at the first poll.
pub(crate) struct Blocking(pub(crate) TcpStream);

impl Blocking {
    pub(crate) fn connect(port: u16) -> io::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self(stream))
    }

    /// The client's end.
    pub(crate) fn local_address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// The next frame without its prefix.
    pub(crate) fn frame(&mut self) -> io::Result<Vec<u8>> {
        let mut prefix = [0; frame::PREFIX_LEN];
        self.0.read_exact(&mut prefix)?;
        let mut message = vec![0; frame::decode(prefix).expect("a prefix of direct TCP")];
        self.0.read_exact(&mut message)?;
        Ok(message)
    }

    /// Whether the server closes the connection within this time; data that it still sends are
    /// ignored.
    pub(crate) fn is_closed_within(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).unwrap();
        let closed = loop {
            match self.0.read(&mut [0; 4096]) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(error) => {
                    break !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                }
            }
        };
        let _ = self.0.set_read_timeout(Some(PATIENCE)); // the connection may be over
        closed
    }
}

impl Link for Blocking {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.write_all(frame)
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.frame()
    }
}

/// The value of a future that never waits.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking socket does not wait"),
    }
}

/// A connection after NEGOTIATE.
pub(crate) fn connect(port: u16, offer: &Offer) -> client::Client<Blocking> {
    let mut client = client::Client::new(Blocking::connect(port).unwrap());
    now(client.negotiate(offer)).unwrap();
    client
}

/// A login without an account.
const GUEST: (&str, &str) = ("guest", "");

/// A user's session with a share. Requests are signed.
pub(crate) struct Smb {
    pub(crate) client: client::Client<Blocking>,
    pub(crate) session: Arc<Session>,
    pub(crate) tree: u32,
    /// A guest's requests have no signature: both sides know no key.
    is_guest: bool,
}

impl Smb {
    /// Logs in as [`USER`], in the share "share".
    pub(crate) fn enter(port: u16) -> Self {
        Self::enter_share(port, "share", USER).unwrap()
    }

    /// The same as another client machine.
    pub(crate) fn enter_as_machine(port: u16, number: u8) -> Self {
        let mut offer = Offer::default();
        offer.guid[15] = number;
        Self::enter_with(port, &offer, "share", USER).unwrap()
    }

    /// Logs in as a guest, on the client machine of this number, in the share "share".
    pub(crate) fn enter_as_guest(port: u16, number: u8) -> Self {
        let mut offer = Offer::default();
        offer.guid[15] = number;
        Self::enter_with(port, &offer, "share", GUEST).unwrap()
    }

    /// Logs in as any user, in any share.
    pub(crate) fn enter_share(port: u16, share: &str, who: (&str, &str)) -> Result<Self, Status> {
        Self::enter_with(port, &Offer::default(), share, who)
    }

    pub(crate) fn enter_with(
        port: u16,
        offer: &Offer,
        share: &str,
        (name, password): (&str, &str),
    ) -> Result<Self, Status> {
        let mut client = connect(port, offer);
        let who = Credentials::new(name, password);
        let session = match now(client.log_in(&who, SetUp::New { previous: 0 })) {
            Ok(session) => session,
            Err(Error::Refused(status)) => return Err(status),
            Err(error) => panic!("{error}"),
        };
        let mut smb = Self { client, session, tree: 0, is_guest: name == GUEST.0 };
        smb.tree = smb.connect_tree(share)?;
        Ok(smb)
    }

    /// Connects to another tree.
    pub(crate) fn connect_tree(&mut self, share: &str) -> Result<u32, Status> {
        let path = format!("\\\\127.0.0.1\\{share}").encode_utf16().collect();
        let request = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
        let answer = self.call(Command::TREE_CONNECT, |w| request.encode(w));
        ok(&answer).map(|()| answer.header.tree_id())
    }

    /// A request of this session and tree.
    pub(crate) fn request(&self, command: Command, encode: impl FnOnce(&mut Writer)) -> Request {
        Request::new(command, encode).on(self.session.id, self.tree)
    }

    /// Sends a request; gives its message id.
    pub(crate) fn start(&mut self, request: Request) -> Result<u64, Error> {
        let session = self.session.clone();
        let how = if self.is_guest { FrameProtection::Plain } else { FrameProtection::Signed(&session) };
        now(self.client.send(vec![request], how)).map(|ids| ids[0])
    }

    /// Receives the final answer.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Answer, Error> {
        now(self.client.answer(id))
    }

    /// Receives a message without a request: a break of an oplock or lease.
    pub(crate) fn notified(&mut self) -> Answer {
        now(self.client.wait_for(|answer| answer.header.message_id == u64::MAX)).unwrap()
    }

    /// The interim response to a request.
    pub(crate) fn told_to_wait(&mut self, id: u64) -> Answer {
        let is_it =
            |answer: &Answer| answer.header.message_id == id && answer.header.status == Status::PENDING;
        now(self.client.wait_for(is_it)).unwrap()
    }

    /// A request and its answer; fails if the connection is over.
    pub(crate) fn try_call(
        &mut self,
        command: Command,
        encode: impl FnOnce(&mut Writer),
    ) -> Result<Answer, Error> {
        let request = self.request(command, encode);
        self.try_request(request)
    }

    pub(crate) fn try_request(&mut self, request: Request) -> Result<Answer, Error> {
        let id = self.start(request)?;
        self.answer(id)
    }

    /// A request and its answer.
    pub(crate) fn call(&mut self, command: Command, encode: impl FnOnce(&mut Writer)) -> Answer {
        self.try_call(command, encode).unwrap()
    }

    /// Opens or makes a file, as `change` says: by default for reading, writing and deleting,
    /// shared with others.
    pub(crate) fn open(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> Result<FileKey, Status> {
        self.try_open(name, change).unwrap()
    }

    /// The same; the outer error is that of the connection.
    pub(crate) fn try_open(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> Result<Result<FileKey, Status>, Error> {
        let mut request = open_request(name);
        change(&mut request);
        let answer = self.try_call(Command::CREATE, |w| request.encode(w))?;
        Ok(ok(&answer).map(|()| create::Response::decode(&answer.message).unwrap().file))
    }

    /// Makes a file with this content, and leaves it open.
    pub(crate) fn make(&mut self, name: &str, content: &[u8]) -> FileKey {
        let file = self.open(name, |_| ()).unwrap();
        self.write(file, 0, content).unwrap();
        file
    }

    pub(crate) fn read(&mut self, file: FileKey, offset: u64, length: u32) -> Result<Vec<u8>, Status> {
        let request = self.request(Command::READ, |w| read_request(file, offset, length).encode(w));
        let answer = self.try_request(request.charge(charge(length as usize))).unwrap();
        ok(&answer).map(|()| read::Response::decode(&answer.message).unwrap().data)
    }

    /// Everything in an open file.
    pub(crate) fn content(&mut self, file: FileKey) -> Result<Vec<u8>, Status> {
        let mut content = Vec::new();
        loop {
            match self.read(file, content.len() as u64, 1 << 16) {
                Ok(more) => content.extend(more),
                Err(Status::END_OF_FILE) => return Ok(content),
                Err(status) => return Err(status),
            }
        }
    }

    /// WRITE of at most 64 KiB.
    pub(crate) fn write(&mut self, file: FileKey, offset: u64, data: &[u8]) -> Result<(), Status> {
        self.try_write(file, offset, data, write::Flags::NONE).unwrap()
    }

    /// The same; the outer error is that of the connection.
    pub(crate) fn try_write(
        &mut self,
        file: FileKey,
        offset: u64,
        data: &[u8],
        flags: write::Flags,
    ) -> Result<Result<(), Status>, Error> {
        let request = write::Request { data: 0..0, offset, file, channel: 0, remaining_bytes: 0, flags };
        let request = self.request(Command::WRITE, |w| request.encode(data, w));
        Ok(ok(&self.try_request(request.charge(charge(data.len())))?))
    }

    /// FLUSH; the outer error is that of the connection.
    pub(crate) fn try_flush(&mut self, file: FileKey) -> Result<Result<(), Status>, Error> {
        let request = flush::Request { reserved: 0, file };
        Ok(ok(&self.try_call(Command::FLUSH, |w| request.encode(w))?))
    }

    pub(crate) fn close(&mut self, file: FileKey) -> Result<(), Status> {
        let request = close::Request { flags: close::Flags::NONE, file };
        ok(&self.call(Command::CLOSE, |w| request.encode(w)))
    }

    /// Opens a file to delete it, and closes it.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), Status> {
        let file = self.open(name, |request| {
            request.desired_access = AccessMask::DELETE.0;
            request.disposition = Disposition::OPEN;
            request.options = create::Options::DELETE_ON_CLOSE;
        })?;
        self.close(file)
    }

    /// Gives a file a new name; the target is replaced.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), Status> {
        let file = self.open(from, |request| {
            request.desired_access = AccessMask::DELETE.0;
            request.disposition = Disposition::OPEN;
        })?;
        let target = Target { replace_if_exists: true, root_directory: 0, name: to.encode_utf16().collect() };
        let renamed = self.set(file, FileClass::RENAME, |w| target.encode(w));
        self.close(file)?;
        renamed
    }

    /// SET_INFO of a file, MS-SMB2 2.2.39.
    pub(crate) fn set(
        &mut self,
        file: FileKey,
        class: FileClass,
        encode: impl FnOnce(&mut Writer),
    ) -> Result<(), Status> {
        self.try_set(file, class, encode).unwrap()
    }

    /// The same; the outer error is that of the connection.
    pub(crate) fn try_set(
        &mut self,
        file: FileKey,
        class: FileClass,
        encode: impl FnOnce(&mut Writer),
    ) -> Result<Result<(), Status>, Error> {
        let mut data = Writer::new();
        encode(&mut data);
        let data = data.into_bytes();
        let request = set_info::Request {
            info_type: InfoType::FILE,
            information_class: class.0,
            additional_information: 0,
            file,
            data: &data,
        };
        Ok(ok(&self.try_call(Command::SET_INFO, |w| request.encode(w))?))
    }

    pub(crate) fn echo(&mut self) -> Result<(), Error> {
        self.try_call(Command::ECHO, |w| ::smb::wire::echo::Request.encode(w)).map(drop)
    }
}

/// The status of an answer.
pub(crate) fn ok(answer: &Answer) -> Result<(), Status> {
    match answer.status() {
        Status::SUCCESS => Ok(()),
        status => Err(status),
    }
}

/// The credit charge of this many bytes, MS-SMB2 3.2.4.1.5.
pub(crate) fn charge(length: usize) -> u16 {
    length.div_ceil(1 << 16).max(1) as u16
}
