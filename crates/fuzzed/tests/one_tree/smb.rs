//! A client of SMB 3.1.1.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use smb::client::{
    Answer, Client, Credentials, FrameProtection, Link as Carries, Offer, Request, Session, SetUp,
};
use smb::client::{open_request, read_request};
use smb::wire::create::{self, Disposition, Options, ShareAccess};
use smb::wire::fscc::directory::{self, Form};
use smb::wire::fscc::ea::{self, FullEa};
use smb::wire::fscc::file_info::{Basic, Disposition as Going, EndOfFile};
use smb::wire::fscc::file_name::Target;
use smb::wire::fscc::{FileAttributes, FileClass};
use smb::wire::fsctl::Code;
use smb::wire::fsctl::copy::{Chunk, CopyChunk, ResumeKey};
use smb::wire::security::{AccessMask, Ace, Acl, Control, SecurityDescriptor, SecurityInformation};
use smb::wire::{
    Command, FileKey, InfoType, NtTime, Status, close, ioctl, lock, query_directory, query_info, read,
    set_info, tree_connect, write,
};
use vfs::Time;
use wire::{Reader, Writer};

use crate::link::Link;
use crate::op::{At, Data, EA, Fork, Modes, Op, PLACES, ServerAnswer, Slot, Stat, XATTRS};
use crate::world::{self, info_of, info_seed};

struct Over(Link);

impl Carries for Over {
    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.0.put(frame).await
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let prefix = self.0.fetch(4)?;
        self.0.fetch(u32::from_be_bytes(prefix.try_into().expect("four bytes")) as usize)
    }
}

pub struct Smb {
    client: Client<Over>,
    session: Arc<Session>,
    tree: u32,
    slots: HashMap<Slot, FileKey>,
}

type SmbResult<T> = Result<T, Status>;

impl Smb {
    pub async fn new(link: Link, machine: usize) -> Self {
        let mut client = Client::new(Over(link));
        let guid = [machine as u8 + 1; 16];
        client.negotiate(&Offer { guid, ..Offer::default() }).await.expect("a dialect");
        let user = world::user();
        let who = Credentials::new(&user.name, &user.password);
        let session = client.log_in(&who, SetUp::New { previous: 0 }).await.expect("a login");
        let mut smb = Self { client, session, tree: 0, slots: HashMap::new() };
        let path = format!("\\\\fourfold\\{}", world::share()).encode_utf16().collect();
        let request = tree_connect::Request { flags: tree_connect::RequestFlags::NONE, path };
        let answer = smb.call(Command::TREE_CONNECT, |w| request.encode(w)).await.expect("the share");
        smb.tree = answer.header.tree_id();
        smb
    }

    async fn call(&mut self, command: Command, encode: impl FnOnce(&mut Writer)) -> SmbResult<Answer> {
        let request = Request::new(command, encode).on(self.session.id, self.tree);
        let session = self.session.clone();
        let answer = self.client.call(request, FrameProtection::Signed(&session)).await.expect("an answer");
        match answer.status() {
            Status::SUCCESS => Ok(answer),
            status => Err(status),
        }
    }

    async fn create(
        &mut self,
        path: &str,
        change: impl FnOnce(&mut create::Request<'_>),
    ) -> SmbResult<create::Response<'static>> {
        let mut request = open_request(&path.replace('/', "\\"));
        (request.disposition, request.desired_access) = (Disposition::OPEN, AccessMask::READ_ATTRIBUTES.0);
        change(&mut request);
        let answer = self.call(Command::CREATE, |w| request.encode(w)).await?;
        let response = create::Response::decode(&answer.message).expect("a response");
        Ok(create::Response { contexts: Vec::new(), ..response })
    }

    async fn close(&mut self, file: FileKey) -> SmbResult<()> {
        let request = close::Request { flags: close::Flags::NONE, file };
        self.call(Command::CLOSE, |w| request.encode(w)).await.map(drop)
    }

    async fn set(&mut self, file: FileKey, class: FileClass, data: &[u8]) -> SmbResult<()> {
        let request = set_info::Request {
            info_type: InfoType::FILE,
            information_class: class.0,
            additional_information: 0,
            file,
            data,
        };
        self.call(Command::SET_INFO, |w| request.encode(w)).await.map(drop)
    }

    /// Opens with this access, sets something, and closes.
    async fn open_and_set(
        &mut self,
        path: &str,
        access: AccessMask,
        class: FileClass,
        data: &[u8],
    ) -> SmbResult<()> {
        let opened = self.create(path, |request| {
            request.desired_access = access.0;
            request.options = Options::OPEN_REPARSE_POINT;
        });
        let file = opened.await?.file;
        let done = self.set(file, class, data).await;
        self.close(file).await?;
        done
    }

    async fn read(&mut self, file: FileKey, At(offset, length): At) -> SmbResult<Vec<u8>> {
        let request = read_request(file, offset, length as u32);
        match self.call(Command::READ, |w| request.encode(w)).await {
            Ok(answer) => Ok(read::Response::decode(&answer.message).expect("data").data),
            Err(Status::END_OF_FILE) => Ok(Vec::new()),
            Err(status) => Err(status),
        }
    }

    async fn write(&mut self, file: FileKey, offset: u64, data: &[u8]) -> SmbResult<()> {
        let flags = write::Flags::NONE;
        let request = write::Request { data: 0..0, offset, file, channel: 0, remaining_bytes: 0, flags };
        self.call(Command::WRITE, |w| request.encode(data, w)).await.map(drop)
    }

    /// The content of a stream.
    pub async fn get(&mut self, stream: &str) -> SmbResult<Vec<u8>> {
        let file =
            self.create(stream, |request| request.desired_access = AccessMask::READ_DATA.0).await?.file;
        let data = self.read(file, At(0, 1 << 16)).await;
        self.close(file).await?;
        data
    }

    /// Replaces a stream of a file that is there: otherwise the open would make the file.
    pub async fn put(&mut self, stream: &str, data: &[u8]) -> SmbResult<()> {
        self.stat(stream.split_once(':').map_or(stream, |(file, _)| file)).await?;
        let change = |request: &mut create::Request<'_>| {
            request.desired_access = AccessMask::WRITE_DATA.0;
            request.disposition = Disposition::OVERWRITE_IF;
        };
        let file = self.create(stream, change).await?.file;
        let done = self.write(file, 0, data).await;
        self.close(file).await?;
        done
    }

    async fn make(&mut self, path: &str, options: Options) -> SmbResult<()> {
        let change = |request: &mut create::Request<'_>| {
            (request.disposition, request.options) = (Disposition::CREATE, options);
        };
        let file = self.create(path, change).await?.file;
        self.close(file).await
    }

    async fn open(
        &mut self,
        path: &str,
        fork: Fork,
        access: Modes,
        deny: Modes,
        slot: Slot,
    ) -> SmbResult<()> {
        let bit = |is_set, mask: AccessMask| if is_set { mask } else { AccessMask::NONE };
        let name = match fork {
            Fork::Data => path.to_owned(),
            Fork::Resource => {
                self.stat(path).await?; // otherwise the open would make the file
                format!("{path}:AFP_Resource")
            }
        };
        let opened = self.create(&name, |request| {
            let access = bit(access.r, AccessMask::READ_DATA)
                | bit(access.w, AccessMask::WRITE_DATA)
                | bit(access.d, AccessMask::DELETE);
            request.desired_access = (access | AccessMask::READ_ATTRIBUTES).0;
            let share = |denied, bit| if denied { ShareAccess::NONE } else { bit };
            request.share_access = share(deny.r, ShareAccess::READ)
                | share(deny.w, ShareAccess::WRITE)
                | share(deny.d, ShareAccess::DELETE);
            request.options = Options::NON_DIRECTORY_FILE;
            if fork == Fork::Resource && (access & AccessMask::WRITE_DATA) != AccessMask::NONE {
                request.disposition = Disposition::OPEN_IF;
            }
        });
        let file = opened.await?.file;
        self.slots.insert(slot, file);
        Ok(())
    }

    async fn list(&mut self, path: &str) -> SmbResult<BTreeSet<String>> {
        let change = |request: &mut create::Request<'_>| {
            request.desired_access = AccessMask::LIST_DIRECTORY.0;
            request.options = Options::DIRECTORY_FILE;
        };
        let file = self.create(path, change).await?.file;
        let mut names = BTreeSet::new();
        loop {
            let request = query_directory::Request {
                information_class: FileClass::NAMES.0,
                flags: query_directory::Flags::NONE,
                file_index: 0,
                file,
                output_buffer_length: 1 << 16,
                pattern: vec![u16::from(b'*')],
            };
            match self.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).await {
                Err(Status::NO_MORE_FILES) => break,
                Err(status) => return self.close(file).await.and(Err(status)),
                Ok(answer) => {
                    let page = query_directory::Response::decode(&answer.message).expect("a page").data;
                    let entries = directory::decode(Form::Names, &page).expect("entries");
                    names.extend(entries.iter().map(|entry| String::from_utf16_lossy(&entry.name)));
                }
            }
        }
        self.close(file).await?;
        Ok(names.into_iter().filter(|name| !name.starts_with('.')).collect())
    }

    async fn lock(&mut self, slot: Slot, At(offset, length): At, flags: lock::Flags) -> SmbResult<()> {
        let file = self.slots[&slot];
        let locks = vec![lock::Element { offset, length, flags }];
        let request = lock::Request { sequence_number: 0, sequence_index: 0, file, locks };
        self.call(Command::LOCK, |w| request.encode(w)).await.map(drop)
    }

    async fn stat(&mut self, path: &str) -> SmbResult<Stat> {
        let opened = self.create(path, |_| ()).await?;
        self.close(opened.file).await?;
        let info = opened.info;
        let attributes = FileAttributes(info.file_attributes);
        let folder = attributes.contains(FileAttributes::DIRECTORY);
        Ok(Stat {
            folder,
            size: if folder { 0 } else { info.end_of_file },
            date: NtTime(info.last_write_time).time().and_then(|time| u32::try_from(time.secs).ok()),
            read_only: Some(attributes.contains(FileAttributes::READONLY)),
        })
    }

    async fn copy(&mut self, from: &str, to: &str) -> SmbResult<()> {
        let reads = |request: &mut create::Request<'_>| {
            request.desired_access = AccessMask::READ_DATA.0;
            request.options = Options::NON_DIRECTORY_FILE;
        };
        let source = self.create(from, reads).await?;
        let writes = |request: &mut create::Request<'_>| {
            request.desired_access = AccessMask::READ_DATA.0 | AccessMask::WRITE_DATA.0;
            request.disposition = Disposition::CREATE;
        };
        let done = match self.create(to, writes).await {
            Ok(target) => {
                let done = self.copy_all(source.file, target.file, source.info.end_of_file).await;
                self.close(target.file).await.and(done)
            }
            Err(status) => Err(status),
        };
        self.close(source.file).await.and(done)
    }

    async fn copy_all(&mut self, from: FileKey, to: FileKey, length: u64) -> SmbResult<()> {
        if length == 0 {
            return Ok(());
        }
        let answer = self.control(from, Code::SRV_REQUEST_RESUME_KEY, &[]).await?;
        let source = ResumeKey::decode(&mut Reader::new(&answer)).expect("a key");
        let chunks = vec![Chunk { source_offset: 0, target_offset: 0, length: length as u32 }];
        let mut w = Writer::new();
        CopyChunk { source, chunks }.encode(&mut w);
        self.control(to, Code::SRV_COPYCHUNK, w.as_bytes()).await.map(drop)
    }

    async fn control(&mut self, file: FileKey, control_code: Code, input: &[u8]) -> SmbResult<Vec<u8>> {
        let request = ioctl::Request {
            control_code,
            file,
            input: 0..0,
            max_input_response: 0,
            max_output_response: 64,
            flags: ioctl::Request::IS_FSCTL,
        };
        let answer = self.call(Command::IOCTL, |w| request.encode(input, w)).await?;
        Ok(ioctl::Response::decode(&answer.message).expect("a response").output)
    }

    pub async fn apply(&mut self, op: &Op) -> ServerAnswer {
        self.done(op).await.map_err(|status| i64::from(status.0))
    }

    async fn done(&mut self, op: &Op) -> SmbResult<Data> {
        let nothing = match *op {
            Op::Make(_, at) => self.make(at, Options::NON_DIRECTORY_FILE).await,
            Op::MakeFolder(_, at) => self.make(at, Options::DIRECTORY_FILE).await,
            Op::Open { at, fork, access, deny, slot, .. } => self.open(at, fork, access, deny, slot).await,
            Op::Read(slot, at) => return self.read(self.slots[&slot], at).await.map(Data::Bytes),
            Op::Write(slot, At(offset, length), byte) => {
                self.write(self.slots[&slot], offset, &vec![byte; length as usize]).await
            }
            Op::Truncate(slot, end_of_file) => {
                let mut w = Writer::new();
                EndOfFile { end_of_file }.encode(&mut w);
                self.set(self.slots[&slot], FileClass::END_OF_FILE, w.as_bytes()).await
            }
            Op::Lock { slot, range, exclusive } => {
                let kind = if exclusive { lock::Flags::EXCLUSIVE } else { lock::Flags::SHARED };
                self.lock(slot, range, kind | lock::Flags::FAIL_IMMEDIATELY).await
            }
            Op::Unlock(slot, range) => self.lock(slot, range, lock::Flags::UNLOCK).await,
            Op::Close(slot) => {
                let file = self.slots.remove(&slot).expect("open");
                self.close(file).await
            }
            _ => return self.done_by_name(op).await,
        };
        nothing.map(|()| Data::Nothing)
    }

    async fn done_by_name(&mut self, op: &Op) -> SmbResult<Data> {
        let nothing = match *op {
            Op::Rename { from, to, replace, .. } => {
                self.open_and_set(from, AccessMask::DELETE, FileClass::RENAME, &target(to, replace)).await
            }
            Op::Link { at, new, .. } => {
                let access = AccessMask::WRITE_ATTRIBUTES;
                self.open_and_set(at, access, FileClass::LINK, &target(new, false)).await
            }
            Op::Remove(_, at) | Op::RemoveFolder(_, at) => {
                self.remove(at, matches!(op, Op::Remove(..))).await
            }
            Op::List(_, at) => return self.list(at).await.map(Data::Names),
            Op::SetInfo(_, at, seed) => self.put(&format!("{at}:AFP_AfpInfo"), &info_stream(seed)).await,
            Op::GetInfo(_, at) => return self.get_info(at).await.map(Data::Bytes),
            Op::SetXattr { at, name: EA, length, byte, .. } => self.set_ea(at, vec![byte; length]).await,
            Op::GetXattr { at, name: EA, .. } => return self.get_ea(at).await.map(Data::Bytes),
            Op::RemoveXattr { at, name: EA, .. } => match self.get_ea(at).await {
                Ok(_) => self.set_ea(at, Vec::new()).await,
                Err(status) => Err(status),
            },
            Op::SetXattr { at, name, length, byte, .. } => {
                self.put(&format!("{at}:{}", XATTRS[name]), &vec![byte; length]).await
            }
            Op::GetXattr { at, name, .. } => {
                return self.get(&format!("{at}:{}", XATTRS[name])).await.map(Data::Bytes);
            }
            Op::RemoveXattr { at, name, .. } => self.remove(&format!("{at}:{}", XATTRS[name]), true).await,
            Op::SetDate(_, at, secs) => {
                let last_write_time = Time { secs: secs.into(), nanos: 0 }.into();
                self.set_basic(at, Basic { last_write_time, ..Basic::default() }).await
            }
            Op::SetReadOnly(_, at, on) => {
                let attributes = if on { FileAttributes::READONLY } else { FileAttributes::NORMAL };
                self.set_basic(at, Basic { attributes, ..Basic::default() }).await
            }
            Op::Stat(_, at) => return self.stat(at).await.map(Data::Stat),
            Op::Copy { from, to, .. } => self.copy(from, to).await,
            _ => unreachable!("{op:?} is not generated for SMB"),
        };
        nothing.map(|()| Data::Nothing)
    }

    async fn set_ea(&mut self, at: &str, value: Vec<u8>) -> SmbResult<()> {
        let mut w = Writer::new();
        ea::encode(&[FullEa { name: XATTRS[EA].into(), value, ..FullEa::default() }], &mut w);
        self.open_and_set(at, AccessMask::WRITE_EA, FileClass::FULL_EA, w.as_bytes()).await
    }

    async fn get_ea(&mut self, at: &str) -> SmbResult<Vec<u8>> {
        let file = self.create(at, |request| request.desired_access = AccessMask::READ_EA.0).await?.file;
        let request = query_info::Request {
            info_type: InfoType::FILE,
            information_class: FileClass::FULL_EA.0,
            output_buffer_length: 1 << 16,
            additional_information: 0,
            flags: query_info::Flags::NONE,
            file,
            input: &[],
        };
        let answer = self.call(Command::QUERY_INFO, |w| request.encode(w)).await;
        self.close(file).await?;
        let found = match answer {
            Err(Status::NO_EAS_ON_FILE) => Vec::new(),
            other => query_info::Response::decode(&other?.message).expect("attributes").data,
        };
        let mut all = ea::decode(&mut Reader::new(&found)).expect("attributes").into_iter();
        let found = all.find(|one| one.name.eq_ignore_ascii_case(XATTRS[EA].as_bytes()));
        found.map(|one| one.value).ok_or(Status::NO_EAS_ON_FILE)
    }

    async fn set_basic(&mut self, at: &str, basic: Basic) -> SmbResult<()> {
        let mut w = Writer::new();
        basic.encode(&mut w);
        self.open_and_set(at, AccessMask::WRITE_ATTRIBUTES, FileClass::BASIC, w.as_bytes()).await
    }

    async fn get_info(&mut self, at: &str) -> SmbResult<Vec<u8>> {
        match self.get(&format!("{at}:AFP_AfpInfo")).await {
            Ok(stream) => Ok(info_seed(&stream[16..24])),
            // Finder info of zeros means that the file has no Finder info. The file itself must exist.
            Err(Status::OBJECT_NAME_NOT_FOUND) => self.stat(at).await.map(|_| Vec::new()),
            Err(status) => Err(status),
        }
    }

    /// The list of the security descriptor.
    pub async fn acl(&mut self, at: &str) -> SmbResult<Vec<Ace>> {
        let change = |request: &mut create::Request<'_>| request.desired_access = AccessMask::READ_CONTROL.0;
        let file = self.create(at, change).await?.file;
        let request = query_info::Request {
            info_type: InfoType::SECURITY,
            information_class: 0,
            output_buffer_length: 1 << 16,
            additional_information: SecurityInformation::DACL.0,
            flags: query_info::Flags::NONE,
            file,
            input: &[],
        };
        let answer = self.call(Command::QUERY_INFO, |w| request.encode(w)).await?;
        self.close(file).await?;
        let data = query_info::Response::decode(&answer.message).expect("a descriptor").data;
        Ok(SecurityDescriptor::decode(&data).expect("a descriptor").dacl.expect("a list").aces)
    }

    pub async fn set_acl(&mut self, at: &str, list: Vec<Ace>) -> SmbResult<()> {
        let change = |request: &mut create::Request<'_>| request.desired_access = AccessMask::WRITE_DAC.0;
        let file = self.create(at, change).await?.file;
        let mut w = Writer::new();
        let control = Control::DACL_PRESENT;
        SecurityDescriptor { control, dacl: Some(Acl::new(list)), ..SecurityDescriptor::default() }
            .encode(&mut w);
        let request = set_info::Request {
            info_type: InfoType::SECURITY,
            information_class: 0,
            additional_information: SecurityInformation::DACL.0,
            file,
            data: w.as_bytes(),
        };
        let done = self.call(Command::SET_INFO, |w| request.encode(w)).await.map(drop);
        self.close(file).await.and(done)
    }

    /// FileDispositionInformation says why a file cannot be removed.
    async fn remove(&mut self, at: &str, is_file: bool) -> SmbResult<()> {
        let opened = self.create(at, |request| {
            request.desired_access = AccessMask::DELETE.0;
            let kind = if is_file { Options::NON_DIRECTORY_FILE } else { Options::DIRECTORY_FILE };
            request.options = kind | Options::OPEN_REPARSE_POINT;
        });
        let file = opened.await?.file;
        let mut w = Writer::new();
        Going { delete_pending: true }.encode(&mut w);
        let done = self.set(file, FileClass::DISPOSITION, w.as_bytes()).await;
        self.close(file).await.and(done)
    }
}

fn target(path: &str, replace_if_exists: bool) -> Vec<u8> {
    debug_assert!(PLACES.contains(&path));
    let mut w = Writer::new();
    let name = path.replace('/', "\\").encode_utf16().collect();
    Target { replace_if_exists, root_directory: 0, name }.encode(&mut w);
    w.into_bytes()
}

/// AFP_AfpInfo: signature, version, backup date, Finder info.
fn info_stream(seed: u8) -> Vec<u8> {
    let mut bytes = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    bytes.extend(info_of(seed));
    bytes.resize(60, 0);
    bytes
}
