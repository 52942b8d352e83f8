//! A client of NFSv4.2. Each slot is an open of an owner of its own, and an owner of locks.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use nfs::wire::v3::PROGRAM;
use nfs::wire::v4::acls::{Ace, AceType, Aces};
use nfs::wire::v4::attributes::{
    self, MODE, NAMED_ATTR, SIZE, SetTime4, TIME_MODIFY, TIME_MODIFY_SET, TYPE, Values,
};
use nfs::wire::v4::files::{CompoundOperation, Read, ReadDir, Rename, SetAttr, Write};
use nfs::wire::v4::locks::{Lock, Locker, NewLocker, Unlock};
use nfs::wire::v4::opens::{Claim, Close, Create, CreateType, OpenArgs, OpenHow};
use nfs::wire::v4::ranges::{CopyRange, Servers};
use nfs::wire::v4::sessions::{
    CallbackSecurity, ChannelAttributes, CreateSession, CreatedSession, ExchangeId, ExchangedId,
    Implementation, Sequence, SessionId, StateProtect,
};
use nfs::wire::v4::types::{
    Bitmap, ChangeInfo, DelegationType, Fattr, FileType, LockType, NfsTime, OwnerArgument, StableHow,
    StateId, Status,
};
use nfs::wire::v4::xattrs::{SetOption, SetXattr};
use nfs::wire::v4::{COMPOUND, Head, ReplyHead};
use nfs::wire::xdr::{Decode, Encode, Opaque};
use wire::{Reader, Writer};

use crate::costs;
use crate::link::Link;
use crate::op::{At, Data, Fork, LINK, Modes, Op, ServerAnswer, Slot, Stat, XATTRS};
use crate::rpc::Rpc;
use crate::world;

/// The results of SEQUENCE: its number, its status, a session, five numbers.
const SEQUENCE_RESULTS: usize = 8 + 16 + 5 * 4;

struct OpenSlot {
    handle: Vec<u8>,
    state: StateId,
    /// Once it has locked a range.
    locks: Option<StateId>,
}

pub struct Nfs4 {
    rpc: Rpc,
    name: &'static str,
    client: u64,
    session: SessionId,
    used: u32,
    opened: u32,
    slots: HashMap<Slot, OpenSlot>,
}

type Nfs4Result<T> = Result<T, i64>;

/// nfsace4: type, flags, mask and who.
pub type Line = (u32, u32, u32, String);

struct CompoundArgs<'a>(&'a [CompoundOperation<'a>]);

impl Encode for CompoundArgs<'_> {
    fn encode(&self, w: &mut Writer) {
        Head { tag: Opaque::new(b""), minor: 2, operations: self.0.len() as u32 }.encode(w);
        self.0.iter().for_each(|operation| operation.encode(w));
    }
}

/// Attributes without values.
fn none<'a>() -> Fattr<'a> {
    Fattr { which: Bitmap::default(), values: Opaque::new(b"") }
}

fn name(name: &str) -> Opaque<'_, { nfs::wire::v4::types::NAME_LIMIT }> {
    Opaque::new(name.as_bytes())
}

impl Nfs4 {
    /// A client with a new verifier: what the one of this name had before is gone.
    pub async fn new(link: Link, machine: usize, life: u64) -> Self {
        let name = ["first", "second"][machine % 2];
        let rpc = Rpc::new(link);
        let mut client =
            Self { rpc, name, client: 0, session: [0; 16], used: 0, opened: 0, slots: HashMap::new() };
        client.begin(life).await;
        client
    }

    async fn begin(&mut self, life: u64) {
        let exchange = CompoundOperation::ExchangeId(ExchangeId {
            verifier: life.to_be_bytes(),
            name: Opaque::new(self.name.as_bytes()),
            flags: 0,
            protect: StateProtect::None,
            implementation: Implementation,
        });
        let reply = self.compound(&[exchange]).await.expect("a client");
        let exchanged = ExchangedId::decode(&mut Reader::new(&reply[8..])).expect("an id");
        self.client = exchanged.client;
        let channel = ChannelAttributes {
            header_padding: 0,
            request_size: 1 << 20,
            reply_size: 1 << 20,
            kept_size: 4096,
            operations: 16,
            requests: 1,
            inbound_reads: None,
        };
        let security = CallbackSecurity { none: true, ..CallbackSecurity::default() };
        let create = CompoundOperation::CreateSession(CreateSession {
            client: exchanged.client,
            sequence: exchanged.sequence,
            flags: 0,
            fore: channel,
            back: channel,
            program: 0x4000_0000,
            security,
        });
        let reply = self.compound(&[create]).await.expect("a session");
        self.session = CreatedSession::decode(&mut Reader::new(&reply[8..])).expect("a session").session;
        self.calls(&[CompoundOperation::ReclaimComplete(false)]).await.expect("nothing to reclaim");
    }

    /// The results after the head.
    async fn compound(&mut self, operations: &[CompoundOperation<'_>]) -> Nfs4Result<Vec<u8>> {
        let reply = self.rpc.call((PROGRAM, 4, COMPOUND), &CompoundArgs(operations)).await;
        let mut r = Reader::new(&reply);
        let head = ReplyHead::decode(&mut r).expect("a head");
        if head.status == Status::OK { Ok(r.rest().to_vec()) } else { Err(head.status.0.into()) }
    }

    /// The same in the session: the results of the last operation after its number and status. A server that has to wait for
    /// another one says so (RFC 8881 15.1.1.3), and is asked again.
    async fn calls(&mut self, operations: &[CompoundOperation<'_>]) -> Nfs4Result<Vec<u8>> {
        let until = Instant::now() + world::WAITS;
        loop {
            match self.calls_once(operations).await {
                Err(status) if status == i64::from(Status::DELAY.0) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other,
            }
        }
    }

    async fn calls_once(&mut self, operations: &[CompoundOperation<'_>]) -> Nfs4Result<Vec<u8>> {
        self.used += 1;
        let sequence =
            Sequence { session: self.session, sequence: self.used, slot: 0, highest_slot: 0, cache: false };
        let all = [&[CompoundOperation::Sequence(sequence)], operations].concat();
        self.compound(&all).await
    }

    /// The results of the last of these operations. Those before it have no results but their status.
    async fn last(&mut self, operations: &[CompoundOperation<'_>]) -> Nfs4Result<Vec<u8>> {
        let reply = self.calls(operations).await?;
        Ok(reply[SEQUENCE_RESULTS + operations.len() * 8..].to_vec())
    }

    fn to_folder(at: &str) -> (Vec<CompoundOperation<'_>>, &str) {
        let mut way = vec![CompoundOperation::PutRoot(()), CompoundOperation::LookUp(name(world::share()))];
        match at.split_once('/') {
            None => (way, at),
            Some((folder, last)) => {
                way.push(CompoundOperation::LookUp(name(folder)));
                (way, last)
            }
        }
    }

    fn to_file(at: &str) -> Vec<CompoundOperation<'_>> {
        let (mut way, last) = Self::to_folder(at);
        if !last.is_empty() {
            way.push(CompoundOperation::LookUp(name(last)));
        }
        way
    }

    async fn open(&mut self, at: &str, how: OpenHow<'_>, access: Modes, deny: Modes) -> Nfs4Result<OpenSlot> {
        self.opened += 1;
        let owner = self.opened.to_be_bytes();
        let bits = |modes: Modes| u32::from(modes.r) | u32::from(modes.w) << 1;
        let (mut way, last) = Self::to_folder(at);
        way.push(CompoundOperation::Open(OpenArgs {
            sequence: 0,
            access: bits(access),
            deny: bits(deny),
            owner: OwnerArgument { client: self.client, name: Opaque::new(&owner) },
            how,
            claim: Claim::Name(name(last)),
        }));
        way.push(CompoundOperation::GetHandle(()));
        let reply = self.calls(&way).await?;
        let mut r = Reader::new(&reply[SEQUENCE_RESULTS + (way.len() - 1) * 8..]);
        let state = StateId::decode(&mut r).expect("a stateid");
        ChangeInfo::decode(&mut r).expect("a change");
        r.skip(4).expect("flags");
        Bitmap::decode(&mut r).expect("attributes");
        assert_eq!(DelegationType::decode(&mut r), Ok(DelegationType::NONE));
        r.skip(8).expect("the status of GETFH");
        let handle: Opaque<'_, 128> = Decode::decode(&mut r).expect("a handle");
        Ok(OpenSlot { handle: handle.to_vec(), state, locks: None })
    }

    async fn close(&mut self, held: &OpenSlot) -> Nfs4Result<()> {
        let close = Close { sequence: 0, state: held.state };
        self.calls(&[
            CompoundOperation::PutHandle(Opaque::new(&held.handle)),
            CompoundOperation::Close(close),
        ])
        .await
        .map(drop)
    }

    /// The operation on the file of a slot.
    async fn with(&mut self, slot: Slot, operation: CompoundOperation<'_>) -> Nfs4Result<Vec<u8>> {
        let handle = self.slots[&slot].handle.clone();
        self.last(&[CompoundOperation::PutHandle(Opaque::new(&handle)), operation]).await
    }

    async fn lock(&mut self, slot: Slot, At(offset, length): At, exclusive: bool) -> Nfs4Result<()> {
        let (held, owner) = (&self.slots[&slot], (slot as u64 | 1 << 40).to_be_bytes());
        let owner = OwnerArgument { client: self.client, name: Opaque::new(&owner) };
        let locker = match held.locks {
            Some(state) => Locker::Known(state, 0),
            None => Locker::New(NewLocker { open_sequence: 0, open: held.state, sequence: 0, owner }),
        };
        let kind = if exclusive { LockType::WRITE } else { LockType::READ };
        let lock = CompoundOperation::Lock(Lock { kind, reclaim: false, offset, length, locker });
        let reply = self.with(slot, lock).await?;
        let state = StateId::decode(&mut Reader::new(&reply)).expect("a stateid");
        self.slots.get_mut(&slot).expect("open").locks = Some(state);
        Ok(())
    }

    async fn unlock(&mut self, slot: Slot, At(offset, length): At) -> Nfs4Result<()> {
        let Some(state) = self.slots[&slot].locks else { return Ok(()) };
        let unlock = Unlock { kind: LockType::WRITE, sequence: 0, state, offset, length };
        let reply = self.with(slot, CompoundOperation::Unlock(unlock)).await?;
        let state = StateId::decode(&mut Reader::new(&reply)).expect("a stateid");
        self.slots.get_mut(&slot).expect("open").locks = Some(state);
        Ok(())
    }

    async fn attributes(&mut self, at: &str) -> Nfs4Result<Stat> {
        let mut way = Self::to_file(at);
        // Few clients ask whether there are named attributes.
        let wanted = [TYPE, SIZE, MODE, TIME_MODIFY, NAMED_ATTR];
        way.push(CompoundOperation::GetAttr(Bitmap::of(
            &wanted[..if costs::are_measured() { 4 } else { 5 }],
        )));
        let reply = self.last(&way).await?;
        let found = Values::decode(&mut Reader::new(&reply)).expect("attributes");
        let folder = found.kind == Some(FileType::DIR);
        Ok(Stat {
            folder,
            size: if folder { 0 } else { found.size.expect("a size") },
            date: found.time_modify.and_then(|time| u32::try_from(time.seconds).ok()),
            read_only: Some(found.mode.expect("a mode") & 0o222 == 0),
        })
    }

    async fn list(&mut self, at: &str) -> Nfs4Result<BTreeSet<String>> {
        let mut way = Self::to_file(at);
        let (dir_count, max_count) = (1 << 15, 1 << 16);
        let wanted = Bitmap::default();
        way.push(CompoundOperation::ReadDir(ReadDir {
            cookie: 0,
            verifier: [0; 8],
            dir_count,
            max_count,
            wanted,
        }));
        let reply = self.last(&way).await?;
        let mut r = Reader::new(&reply[8..]);
        let mut names = BTreeSet::new();
        while r.u32_be().expect("whether another follows") == 1 {
            r.skip(8).expect("a cookie");
            let name: Opaque<'_, 1024> = Decode::decode(&mut r).expect("a name");
            names.insert(String::from_utf8(name.to_vec()).expect("UTF-8"));
            Fattr::decode(&mut r).expect("attributes");
        }
        Ok(names.into_iter().filter(|name| !name.starts_with('.')).collect())
    }

    async fn set(
        &mut self,
        way: Vec<CompoundOperation<'_>>,
        state: StateId,
        values: Values<'_>,
    ) -> Nfs4Result<()> {
        let mut w = Writer::new();
        values.encode(&mut w);
        let attributes = Fattr::decode(&mut Reader::new(w.as_bytes())).expect("just written");
        let set = CompoundOperation::SetAttr(SetAttr { state, attributes });
        self.calls(&[way, vec![set]].concat()).await.map(drop)
    }

    /// The bytes of a named attribute.
    pub async fn attribute(&mut self, at: &str, attribute: &str) -> Nfs4Result<Vec<u8>> {
        let mut way = Self::to_file(at);
        way.extend([CompoundOperation::OpenAttributes(false), CompoundOperation::LookUp(name(attribute))]);
        way.push(CompoundOperation::Read(Read { state: StateId::ANONYMOUS, offset: 0, count: 1 << 16 }));
        let reply = self.last(&way).await?;
        let data: Opaque<'_, { 1 << 16 }> = Decode::decode(&mut Reader::new(&reply[4..])).expect("data");
        Ok(data.to_vec())
    }

    /// Makes a named attribute, or writes it anew.
    pub async fn set_attribute(&mut self, at: &str, attribute: &str, bytes: &[u8]) -> Nfs4Result<()> {
        self.opened += 1;
        let owner = self.opened.to_be_bytes();
        let size = [0; 8];
        let empty = Fattr { which: Bitmap::of(&[SIZE]), values: Opaque::new(&size) };
        let mut way = Self::to_file(at);
        way.push(CompoundOperation::OpenAttributes(true));
        way.push(CompoundOperation::Open(OpenArgs {
            sequence: 0,
            access: 3,
            deny: 0,
            owner: OwnerArgument { client: self.client, name: Opaque::new(&owner) },
            how: OpenHow::Unchecked(empty),
            claim: Claim::Name(name(attribute)),
        }));
        let current = StateId::CURRENT;
        let data = Opaque::new(bytes);
        way.push(CompoundOperation::Write(Write {
            state: current,
            offset: 0,
            stable: StableHow::FILE_SYNC,
            data,
        }));
        way.push(CompoundOperation::Close(Close { sequence: 0, state: current }));
        self.calls(&way).await.map(drop)
    }

    /// The entries of `acl`.
    pub async fn acl(&mut self, at: &str) -> Nfs4Result<Vec<Line>> {
        let way =
            [Self::to_file(at), vec![CompoundOperation::GetAttr(Bitmap::of(&[attributes::ACL]))]].concat();
        let reply = self.last(&way).await?;
        let found = Values::decode(&mut Reader::new(&reply)).expect("attributes");
        let line = |ace: Ace<'_>| (ace.kind.0, ace.flags, ace.mask, String::from_utf8_lossy(&ace.who).into());
        Ok(found.acl.expect("a list").iter().map(line).collect())
    }

    pub async fn set_acl(&mut self, at: &str, list: &[Line]) -> Nfs4Result<()> {
        let mut w = Writer::new();
        for (kind, flags, mask, who) in list {
            let (kind, who) = (AceType(*kind), Opaque::new(who.as_bytes()));
            Ace { kind, flags: *flags, mask: *mask, who }.encode(&mut w);
        }
        let acl = Some(Aces::new(list.len() as u32, w.as_bytes()));
        let values = Values { acl, ..Values::default() };
        self.set(Self::to_file(at), StateId::ANONYMOUS, values).await
    }

    async fn copy(&mut self, from: &str, to: &str) -> Nfs4Result<()> {
        let (r, rw) = (Modes { r: true, ..Modes::default() }, Modes { r: true, w: true, d: false });
        let source = self.open(from, OpenHow::Existing, r, Modes::default()).await?;
        let done = match self.open(to, OpenHow::Guarded(none()), rw, Modes::default()).await {
            Err(status) => Err(status),
            Ok(target) => {
                let copy = CopyRange {
                    from_state: source.state,
                    to_state: target.state,
                    from: 0,
                    to: 0,
                    count: 0, // to the end of the source
                    consecutive: true,
                    synchronous: true,
                    servers: Servers(0),
                };
                let operations = [
                    CompoundOperation::PutHandle(Opaque::new(&source.handle)),
                    CompoundOperation::Save(()),
                    CompoundOperation::PutHandle(Opaque::new(&target.handle)),
                    CompoundOperation::Copy(copy),
                ];
                let done = self.calls(&operations).await.map(drop);
                self.close(&target).await.and(done)
            }
        };
        self.close(&source).await.and(done)
    }

    pub async fn apply(&mut self, op: &Op) -> ServerAnswer {
        let nothing = match *op {
            Op::Open { at, access, deny, slot, fork: Fork::Data, .. } => {
                let held = self.open(at, OpenHow::Existing, access, deny).await?;
                self.slots.insert(slot, held);
                Ok(())
            }
            Op::Read(slot, At(offset, length)) => {
                let read = Read { state: self.slots[&slot].state, offset, count: length as u32 };
                let reply = self.with(slot, CompoundOperation::Read(read)).await?;
                let data: Opaque<'_, { 1 << 20 }> =
                    Decode::decode(&mut Reader::new(&reply[4..])).expect("data");
                return Ok(Data::Bytes(data.to_vec()));
            }
            Op::Write(slot, At(offset, length), byte) => {
                let data = vec![byte; length as usize];
                let (state, data) = (self.slots[&slot].state, Opaque::new(&data));
                let stable = if costs::are_measured() { StableHow::UNSTABLE } else { StableHow::FILE_SYNC };
                let write = Write { state, offset, stable, data };
                self.with(slot, CompoundOperation::Write(write)).await.map(drop)
            }
            Op::Truncate(slot, length) => {
                let (handle, state) = (self.slots[&slot].handle.clone(), self.slots[&slot].state);
                let values = Values { size: Some(length), ..Values::default() };
                self.set(vec![CompoundOperation::PutHandle(Opaque::new(&handle))], state, values).await
            }
            Op::Lock { slot, range, exclusive } => self.lock(slot, range, exclusive).await,
            Op::Unlock(slot, range) => self.unlock(slot, range).await,
            Op::Close(slot) => {
                if self.slots[&slot].locks.is_some() {
                    self.unlock(slot, At(0, u64::MAX)).await?; // RFC 8881 18.2: before CLOSE
                }
                let held = self.slots.remove(&slot).expect("open");
                self.close(&held).await
            }
            _ => return self.apply_by_name(op).await,
        };
        nothing.map(|()| Data::Nothing)
    }

    async fn apply_by_name(&mut self, op: &Op) -> ServerAnswer {
        let nothing = match *op {
            Op::Make(_, at) => {
                let r = Modes { r: true, ..Modes::default() };
                let held = self.open(at, OpenHow::Guarded(none()), r, Modes::default()).await?;
                self.close(&held).await
            }
            Op::MakeFolder(_, at) => self.create(at, CreateType::Other(FileType::DIR)).await,
            Op::Symlink(_) => self.create(LINK, CreateType::Link(Opaque::new(b"a"))).await,
            Op::ReadLink(_) => {
                let way = [Self::to_file(LINK), vec![CompoundOperation::ReadLink(())]].concat();
                let reply = self.last(&way).await?;
                let target: Opaque<'_, 256> = Decode::decode(&mut Reader::new(&reply)).expect("a target");
                return Ok(Data::Bytes(target.to_vec()));
            }
            Op::Remove(_, at) | Op::RemoveFolder(_, at) => {
                let (mut way, last) = Self::to_folder(at);
                way.push(CompoundOperation::Remove(name(last)));
                self.calls(&way).await.map(drop)
            }
            Op::Rename { from, to, .. } => {
                let ((mut way, from), (to_folder, to)) = (Self::to_folder(from), Self::to_folder(to));
                way.push(CompoundOperation::Save(()));
                way.extend(to_folder);
                way.push(CompoundOperation::Rename(Rename { from: name(from), to: name(to) }));
                self.calls(&way).await.map(drop)
            }
            Op::Link { at, new, .. } => {
                let (mut way, (folder, last)) = (Self::to_file(at), Self::to_folder(new));
                way.push(CompoundOperation::Save(()));
                way.extend(folder);
                way.push(CompoundOperation::Link(name(last)));
                self.calls(&way).await.map(drop)
            }
            Op::List(_, at) => return self.list(at).await.map(Data::Names),
            Op::SetXattr { at, name: which, length, byte, .. } => {
                let value = vec![byte; length];
                let set = SetXattr {
                    option: SetOption::EITHER,
                    name: name(XATTRS[which]),
                    value: Opaque::new(&value),
                };
                self.calls(&[Self::to_file(at), vec![CompoundOperation::SetXattr(set)]].concat())
                    .await
                    .map(drop)
            }
            Op::GetXattr { at, name: which, .. } => {
                let way =
                    [Self::to_file(at), vec![CompoundOperation::GetXattr(name(XATTRS[which]))]].concat();
                let reply = self.last(&way).await?;
                let value: Opaque<'_, { 1 << 16 }> =
                    Decode::decode(&mut Reader::new(&reply)).expect("a value");
                return Ok(Data::Bytes(value.to_vec()));
            }
            Op::RemoveXattr { at, name: which, .. } => {
                let remove = CompoundOperation::RemoveXattr(name(XATTRS[which]));
                self.calls(&[Self::to_file(at), vec![remove]].concat()).await.map(drop)
            }
            Op::SetDate(_, at, seconds) => {
                let time = SetTime4::ToClientTime(NfsTime { seconds: seconds.into(), nanoseconds: 0 });
                debug_assert_eq!(TIME_MODIFY_SET, attributes::TIME_MODIFY_SET);
                let values = Values { time_modify_set: Some(time), ..Values::default() };
                self.set(Self::to_file(at), StateId::ANONYMOUS, values).await
            }
            Op::Stat(_, at) => return self.attributes(at).await.map(Data::Stat),
            Op::Copy { from, to, .. } => self.copy(from, to).await,
            _ => unreachable!("{op:?} is not generated for NFSv4"),
        };
        nothing.map(|()| Data::Nothing)
    }

    async fn create(&mut self, at: &str, kind: CreateType<'_>) -> Nfs4Result<()> {
        let (mut way, last) = Self::to_folder(at);
        way.push(CompoundOperation::Create(Create { kind, name: name(last), attributes: none() }));
        self.calls(&way).await.map(drop)
    }
}
