//! SMB 2.0.2 to 3.1.1, with the client of the crate `smb`. It takes no leases and no oplocks.

mod acl;
mod answers;
mod classes;
mod durable;
mod metadata;
mod names;
mod offer;
mod opens;
mod tree;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use ::smb::client::read_request;
use ::smb::client::{Answer, Client, Credentials, FrameProtection as Protection, Link, Request, SetUp};
use ::smb::wire::create::{self, Disposition, Options, ShareAccess};
use ::smb::wire::fscc::directory;
use ::smb::wire::fscc::{FileClass, ea};
use ::smb::wire::query_directory::Flags as ListFlags;
use ::smb::wire::security::AccessMask;
use ::smb::wire::session_setup::SessionFlags;
use ::smb::wire::tree_connect::{self, RequestFlags, ShareFlags};
use ::smb::wire::{
    Command, Dialect, FileKey, InfoType, SecurityMode, Status, flush, frame, lock, query_info, set_info,
    write,
};
use wire::Writer;

use answers::{malformed, read_answer, refused, said};
use offer::{offer, random};

pub(super) use answers::decode_answer;

use super::pages::Pages;
use super::socket::Socket;
use super::{
    Abilities, Completion, DataTransfer, MacService, OpenFileId, OpenIntent, Reach, Session, Slots, Ticket,
    Traffic,
};
use crate::{Error, Result, Target};

/// The longest message of a server.
const MAX_FRAME: usize = 16 << 20;
/// Bytes that one credit pays for, MS-SMB2 3.2.4.1.5.
const CREDIT: usize = 64 << 10;
/// The most bytes of one answer to a listing.
const LIST_BYTES: u32 = 64 << 10;
/// The length of a WRITE's data in its body, MS-SMB2 2.2.21.
const WRITE_LENGTH_AT: usize = 4;

/// The blocking socket as the client's link. Its futures are ready at once.
struct BlockingLink(Socket);

impl Link for BlockingLink {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.put(&[frame])
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let prefix = self.0.fetch(frame::PREFIX_LEN, frame::PREFIX_LEN)?;
        let prefix = prefix.first_chunk().copied().unwrap_or_default();
        let length = frame::decode(prefix).map_err(|error| io::Error::other(error.to_string()))?;
        self.0.fetch(length, MAX_FRAME)
    }
}

/// The result of a future that is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("the link blocks"),
    }
}

struct SmbFlight {
    message: u64,
    /// The length of the data that are written.
    written: Option<usize>,
}

pub(super) struct Smb {
    client: Client<BlockingLink>,
    session: Arc<::smb::client::Session>,
    tree: u32,
    sealed: bool,
    signed: bool,
    /// The folder, with a backslash behind it, unless it is the share itself.
    base: String,
    credits: i64,
    largest: usize,
    files: Slots<FileKey>,
    flights: Vec<SmbFlight>,
    /// The server has been asked what it is to Macs, and answers as to a Mac from then on.
    is_mac: bool,
    /// The server's name, as in the URL.
    host: String,
    names: names::SidNames,
}

impl Smb {
    pub(super) fn connect(target: &Target, reach: &Reach) -> Result<Self> {
        Self::connect_as(target, reach, random()?)
    }

    /// A session of the client with this GUID.
    fn connect_as(target: &Target, reach: &Reach, guid: [u8; 16]) -> Result<Self> {
        let mut client = Client::new(BlockingLink(Socket::connect(&target.address(), reach)?));
        let agreed = match ready(client.negotiate(&offer(guid))) {
            Ok(agreed) => agreed.clone(),
            Err(error) => return Err(said(&client, error)),
        };
        let credentials = Credentials::new(&target.user, &target.password);
        let session = match ready(client.log_in(&credentials, SetUp::New { previous: 0 })) {
            Ok(session) => session,
            Err(::smb::client::Error::Refused(status)) => return Err(Error::Login(format!("{status:?}"))),
            Err(error) => return Err(said(&client, error)),
        };
        let is_marked = session.flags.intersects(SessionFlags::IS_GUEST | SessionFlags::IS_NULL);
        let is_user = !target.user.is_empty() && !is_marked;
        let base = target.path.replace('/', "\\");
        let mut smb = Self {
            signed: is_user && agreed.security_mode.contains(SecurityMode::SIGNING_REQUIRED),
            sealed: session.flags.contains(SessionFlags::ENCRYPT_DATA),
            client,
            session,
            tree: 0,
            base: if base.is_empty() { base } else { base + "\\" },
            credits: 64,
            largest: (agreed.max_read_size.min(agreed.max_write_size) as usize).clamp(CREDIT, 1 << 20),
            files: Slots::default(),
            flights: Vec::new(),
            is_mac: false,
            host: target.host.clone(),
            names: names::SidNames::default(),
        };
        smb.connect_tree(target, is_user)?;
        Ok(smb)
    }

    /// NEGOTIATE only.
    pub(super) fn greet(target: &Target, reach: &Reach) -> Result<()> {
        let mut client = Client::new(BlockingLink(Socket::connect(&target.address(), reach)?));
        let agreed = ready(client.negotiate(&offer(random()?))).map(drop);
        agreed.map_err(|error| said(&client, error))
    }

    /// TREE_CONNECT. A 3.1.1 client signs it always, MS-SMB2 3.3.5.7.
    fn connect_tree(&mut self, target: &Target, is_user: bool) -> Result<()> {
        let path = format!(r"\\{}\{}", target.host, target.share).encode_utf16().collect();
        let request = tree_connect::Request { flags: RequestFlags::NONE, path };
        let signed = std::mem::replace(&mut self.signed, is_user);
        let answer = self.call(Command::TREE_CONNECT, |w| request.encode(w));
        self.signed = signed;
        let answer = match answer {
            Err(Error::Missing(_)) => return Err(Error::Missing(format!("the share {}", target.share))),
            other => other?,
        };
        let share = tree_connect::Response::decode(&answer.message).map_err(malformed)?;
        self.sealed |= share.share_flags.contains(ShareFlags::ENCRYPT_DATA);
        self.tree = answer.header.tree_id();
        Ok(())
    }

    fn request(&self, command: Command, encode: impl FnOnce(&mut Writer)) -> Request {
        Request::new(command, encode).on(self.session.id, self.tree)
    }

    /// Sends a request; returns its message id. `tail` follows the request's bytes.
    fn send(&mut self, request: Request, tail: &[u8]) -> Result<u64> {
        self.credits -= i64::from(request.header.credit_charge.max(1));
        let session = self.session.clone();
        let how = match (self.sealed, self.signed) {
            (true, _) => Protection::Sealed(&session),
            (_, true) => Protection::Signed(&session),
            _ => Protection::Plain,
        };
        let mut request = request;
        let plain = matches!(how, Protection::Plain);
        if !plain {
            request.body.extend_from_slice(tail);
        }
        let (ids, mut frame) = self.client.prepare(vec![request], how);
        let tail = if plain { tail } else { &[] };
        let length = (frame.len() - frame::PREFIX_LEN + tail.len()) as u32;
        frame[..frame::PREFIX_LEN].copy_from_slice(&length.to_be_bytes());
        let socket = &mut self.client.link.0;
        socket.put(&[&frame, tail]).map_err(|error| socket.failed(&error))?;
        Ok(ids[0])
    }

    /// The final answer to one of these messages, or to any transfer in flight.
    fn answer(&mut self, message: Option<u64>) -> Result<Answer> {
        let flights: Vec<u64> = self.flights.iter().map(|flight| flight.message).collect();
        let wanted = |answer: &Answer| {
            let id = answer.header.message_id;
            let is_it = message.map_or_else(|| flights.contains(&id), |message| message == id);
            is_it && answer.header.status != Status::PENDING
        };
        let answer = match ready(self.client.wait_for(wanted)) {
            Ok(answer) => answer,
            Err(error) => return Err(said(&self.client, error)),
        };
        self.credits += i64::from(answer.header.credits);
        Ok(answer)
    }

    fn call(&mut self, command: Command, encode: impl FnOnce(&mut Writer)) -> Result<Answer> {
        let id = self.send(self.request(command, encode), &[])?;
        let answer = self.answer(Some(id))?;
        match answer.status() {
            Status::SUCCESS => Ok(answer),
            status => Err(refused(status, "")),
        }
    }
}

impl Session for Smb {
    fn abilities(&self) -> Abilities {
        Abilities { files: true, locks: true, attributes: true, forks: true, pipelined: true }
    }

    fn largest(&self) -> usize {
        self.largest
    }

    fn agreed(&self) -> String {
        let dialect = self.client.dialect().0;
        let protection = match (self.sealed, self.signed) {
            (true, _) => "encrypted",
            (_, true) => "signed",
            _ => "neither signed nor encrypted",
        };
        format!("SMB dialect {dialect:#06x}, {protection}, no leases, up to {} KiB", self.largest >> 10)
    }

    fn traffic(&self) -> Traffic {
        self.client.link.0.traffic()
    }

    fn make_folder(&mut self, path: &str) -> Result<()> {
        let change = |request: &mut create::Request<'_>| {
            (request.disposition, request.options) = (Disposition::CREATE, Options::DIRECTORY_FILE);
        };
        self.with(path, change, |_, _| Ok(()))
    }

    fn remove_folder(&mut self, path: &str) -> Result<()> {
        let change = |request: &mut create::Request<'_>| {
            request.disposition = Disposition::OPEN;
            request.options = Options::DIRECTORY_FILE | Options::DELETE_ON_CLOSE;
        };
        self.with(path, change, |_, _| Ok(()))?;
        // CLOSE does not say that the folder was not empty.
        match self.stat(path) {
            Err(Error::Missing(_)) => Ok(()),
            _ => Err(Error::Other(format!("{path} is not empty"))),
        }
    }

    fn open(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let change = |request: &mut create::Request<'_>| {
            request.disposition = if how.makes() { Disposition::CREATE } else { Disposition::OPEN };
            request.options = Options::NON_DIRECTORY_FILE;
            if how == OpenIntent::Read {
                request.desired_access = AccessMask::FILE_READ.0;
            }
        };
        let key = self.create(path, change)?;
        if how == OpenIntent::Private {
            self.restrict(path)?;
        }
        Ok(self.files.put(key))
    }

    fn close(&mut self, file: OpenFileId) -> Result<()> {
        let key = self.files.take(file)?;
        self.close_key(key)
    }

    fn start(&mut self, file: OpenFileId, transfer: DataTransfer<'_>) -> Result<Ticket> {
        let key = *self.files.get(file)?;
        let (length, written) = match transfer {
            DataTransfer::Read { length, .. } => (length, None),
            DataTransfer::Write { data, .. } => (data.len(), Some(data.len())),
        };
        let dialect = self.client.dialect();
        let charge = if dialect == Dialect::SMB_2_0_2 { 0 } else { length.div_ceil(CREDIT).max(1) as u16 };
        if self.credits < charge.into() && self.flights.is_empty() {
            return Err(Error::Other("the server grants too few credits for this length".into()));
        }
        let message = match transfer {
            DataTransfer::Read { offset, length } => {
                let request = read_request(key, offset, length as u32);
                let request = self.request(Command::READ, |w| request.encode(w)).charge(charge);
                self.send(request, &[])?
            }
            DataTransfer::Write { offset, data, stable } => {
                let flags = if stable { write::Flags::WRITE_THROUGH } else { write::Flags::NONE };
                let request =
                    write::Request { data: 0..0, offset, file: key, channel: 0, remaining_bytes: 0, flags };
                let mut request = self.request(Command::WRITE, |w| request.encode(&[], w)).charge(charge);
                request.body[WRITE_LENGTH_AT..][..4].copy_from_slice(&(data.len() as u32).to_le_bytes());
                self.send(request, data)?
            }
        };
        self.flights.push(SmbFlight { message, written });
        Ok(Ticket(message))
    }

    fn finish(&mut self) -> Result<Completion> {
        let answer = self.answer(None)?;
        let id = answer.header.message_id;
        let at = self.flights.iter().position(|flight| flight.message == id);
        let flight = self.flights.swap_remove(at.unwrap_or_default());
        match (answer.status(), flight.written) {
            (Status::SUCCESS, Some(_)) => {
                let count = write::Response::decode(&answer.message).map_err(malformed)?.count;
                Ok(Completion::wrote(id, count as usize))
            }
            (Status::SUCCESS, None) => read_answer(id, &answer.message),
            (Status::END_OF_FILE, None) => Ok(Completion::read(id, &[])),
            (status, _) => Err(refused(status, "a transfer")),
        }
    }

    fn abandon(&mut self) {
        for _ in 0..self.flights.len() {
            match self.finish() {
                Err(error) if error.ends_session() => return,
                _ => {}
            }
        }
        for file in self.files.used() {
            let _ = self.close(file); // the removal of the file says what is wrong
        }
    }

    fn flush(&mut self, file: OpenFileId) -> Result<()> {
        self.flush_with(file, 0)
    }

    fn full_sync(&mut self, file: OpenFileId) -> Result<()> {
        self.flush_with(file, flush::Request::FULL_SYNC)
    }

    fn mac_service(&mut self) -> Result<Option<MacService>> {
        self.apple()
    }

    fn open_alone(&mut self, path: &str) -> Result<OpenFileId> {
        let change = |request: &mut create::Request<'_>| {
            (request.disposition, request.options) = (Disposition::OPEN, Options::NON_DIRECTORY_FILE);
            request.share_access = ShareAccess::NONE;
        };
        let key = self.create(path, change)?;
        Ok(self.files.put(key))
    }

    fn list(&mut self, folder: &str) -> Result<usize> {
        self.with(folder, to_list, |smb, file| {
            let (mut count, mut flags) = (0, ListFlags::RESTART_SCANS);
            let mut pages = Pages::of(folder);
            while let Some(page) = smb.next_page(file, flags)? {
                pages.page(&page)?;
                let entries = directory::decode(smb.form(), &page).map_err(malformed)?;
                let is_own = |name: &[u16]| name.iter().all(|unit| *unit == u16::from(b'.'));
                count += entries.iter().filter(|entry| !is_own(&entry.name)).count();
                flags = ListFlags::NONE;
            }
            Ok(count)
        })
    }

    fn glance(&mut self) -> Result<()> {
        self.with("", to_list, |smb, file| smb.next_page(file, ListFlags::RESTART_SCANS).map(drop))
    }

    fn stat(&mut self, path: &str) -> Result<u64> {
        let change = |request: &mut create::Request<'_>| {
            request.disposition = Disposition::OPEN;
            request.desired_access = AccessMask::READ_ATTRIBUTES.0;
        };
        self.with(path, change, |smb, file| {
            let standard = smb.query(file, FileClass::STANDARD, &[])?;
            // FileStandardInformation, MS-FSCC 2.4.41: the allocation size, then the end of the file.
            let length = standard.get(8..16).and_then(|bytes| bytes.first_chunk().copied());
            length.map(u64::from_le_bytes).ok_or_else(|| Error::Other("a short answer".into()))
        })
    }

    fn remove(&mut self, path: &str) -> Result<()> {
        let change = |request: &mut create::Request<'_>| {
            request.disposition = Disposition::OPEN;
            request.options = Options::NON_DIRECTORY_FILE | Options::DELETE_ON_CLOSE;
            request.desired_access = AccessMask::DELETE.0;
        };
        self.with(path, change, |_, _| Ok(()))
    }

    fn lock(&mut self, file: OpenFileId, offset: u64, length: u64, take: bool) -> Result<()> {
        let flags = match take {
            true => lock::Flags::EXCLUSIVE | lock::Flags::FAIL_IMMEDIATELY,
            false => lock::Flags::UNLOCK,
        };
        let locks = vec![lock::Element { offset, length, flags }];
        let file = *self.files.get(file)?;
        let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
        self.call(Command::LOCK, |w| request.encode(w)).map(drop)
    }

    fn set_attribute(&mut self, path: &str, name: &str, value: &[u8]) -> Result<()> {
        let mut w = Writer::new();
        let attribute =
            ea::FullEa { flags: ea::EaFlags::NONE, name: name.as_bytes().to_vec(), value: value.to_vec() };
        ea::encode(&[attribute], &mut w);
        let change = |request: &mut create::Request<'_>| request.disposition = Disposition::OPEN;
        self.with(path, change, |smb, file| {
            let request = set_info::Request {
                info_type: InfoType::FILE,
                information_class: FileClass::FULL_EA.0,
                additional_information: 0,
                file,
                data: w.as_bytes(),
            };
            smb.call(Command::SET_INFO, |w| request.encode(w)).map(drop)
        })
    }

    fn attribute(&mut self, path: &str, name: &str) -> Result<usize> {
        let mut w = Writer::new();
        query_info::put_ea_names(&[name.as_bytes()], &mut w);
        let change = |request: &mut create::Request<'_>| request.disposition = Disposition::OPEN;
        let bytes = self.with(path, change, |smb, file| smb.query(file, FileClass::FULL_EA, w.as_bytes()))?;
        let attributes = ea::decode(&mut wire::Reader::new(&bytes)).map_err(malformed)?;
        Ok(attributes.first().map_or(0, |attribute| attribute.value.len()))
    }

    /// The stream that Macs keep the resource fork in.
    fn open_fork(&mut self, path: &str, how: OpenIntent) -> Result<OpenFileId> {
        let change = |request: &mut create::Request<'_>| {
            request.disposition =
                if how == OpenIntent::Read { Disposition::OPEN } else { Disposition::OPEN_IF };
        };
        let key = self.create(&format!("{path}:AFP_Resource"), change)?;
        Ok(self.files.put(key))
    }
}

/// Makes it an open of a folder to be listed.
fn to_list(request: &mut create::Request<'_>) {
    (request.disposition, request.options) = (Disposition::OPEN, Options::DIRECTORY_FILE);
    request.desired_access = AccessMask::FILE_READ.0;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_write_is_where_the_specification_has_it() {
        // MS-SMB2 2.2.21: StructureSize, DataOffset, Length.
        let file = FileKey { persistent: 1, volatile: 2 };
        let request = write::Request {
            data: 0..0,
            offset: 7,
            file,
            channel: 0,
            remaining_bytes: 0,
            flags: write::Flags::NONE,
        };
        let mut w = Writer::new();
        request.encode(&[9; 5], &mut w);
        assert_eq!(w.as_bytes()[WRITE_LENGTH_AT..][..4], [5, 0, 0, 0]);
    }
}
