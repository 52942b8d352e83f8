//! The operations of NFSv4.1 on clients and sessions and those of NFSv4.2 on ranges and extended attributes, and their results.

use nfs::wire::v4::attributes::Values;
use nfs::wire::v4::callbacks::{CachedAttributes, CallbackReply};
use nfs::wire::v4::files::Read;
use nfs::wire::v4::ranges::*;
use nfs::wire::v4::sessions::*;
use nfs::wire::v4::types::*;
use nfs::wire::v4::xattrs::*;
use nfs::wire::v4::{CompoundOperation, OperationNumber};
use nfs::wire::xdr::{Encode, Opaque};

use super::{Seed, chosen};

const SESSION: SessionId = *b"a session of 16 ";
const CHANNEL: ChannelAttributes = ChannelAttributes {
    header_padding: 0,
    request_size: 1 << 20,
    reply_size: 1 << 20,
    kept_size: 4096,
    operations: 16,
    requests: 64,
    inbound_reads: Some(1),
};
const SECURITY: CallbackSecurity = CallbackSecurity { none: true, sys: Some((17, 19)), gss: true };

fn operation(name: &'static str, operation: CompoundOperation<'_>) -> Seed {
    chosen("nfs_v4", name, 3, &operation)
}

fn state() -> StateId {
    StateId { sequence: 7, other: *b"twelve bytes" }
}

/// TEST_STATEID: the encoding has no constructor, because a server only reads it.
struct TestStateidArgs;

impl Encode for TestStateidArgs {
    fn encode(&self, w: &mut wire::Writer) {
        OperationNumber::TEST_STATEID.encode(w);
        w.u32_be(2);
        state().encode(w);
        StateId::CURRENT.encode(w);
    }
}

fn exchange_id(protect: StateProtect) -> CompoundOperation<'static> {
    let (verifier, name) = (*b"verifier", Opaque::new(b"Linux NFSv4.1 host"));
    let flags = UPDATE_CONFIRMED | 0x103;
    CompoundOperation::ExchangeId(ExchangeId {
        verifier,
        name,
        flags,
        protect,
        implementation: Implementation,
    })
}

pub fn seeds() -> Vec<Seed> {
    let create = CreateSession {
        client: 7,
        sequence: 1,
        flags: 2,
        fore: CHANNEL,
        back: CHANNEL,
        program: 0x4000_0000,
        security: SECURITY,
    };
    let time = NfsTime { seconds: 5, nanoseconds: 0 };
    let directory = DirectoryDelegation {
        signal: true,
        notifications: Bitmap::of(&[2, 3]),
        child_delay: time,
        folder_delay: time,
        child_attributes: Bitmap::of(&[4]),
        folder_attributes: Bitmap::of(&[3]),
    };
    let sequence = Sequence { session: SESSION, sequence: 9, slot: 3, highest_slot: 63, cache: true };
    let want = |claim| CompoundOperation::WantDelegation(WantDelegation { want: 0x100, claim });
    let name = Opaque::new(b"fourfold-0123456789abcdef");
    let exchanged = ExchangedId {
        client: 7,
        sequence: 1,
        flags: CONFIRMED | NO_PNFS,
        protect: StateProtect::None,
        owner_minor: 0,
        owner_major: name,
        scope: name,
        implementation: Implementation,
    };
    let created = CreatedSession { session: SESSION, sequence: 1, flags: 0, fore: CHANNEL, back: CHANNEL };
    let sequenced = SequenceReply {
        session: SESSION,
        sequence: 9,
        slot: 3,
        highest_slot: 63,
        target_highest_slot: 63,
        flags: 0,
    };
    let exclusive = Values { suppattr_exclcreat: Some(Bitmap::of(&[4, 33])), ..Values::default() };
    vec![
        operation("exchange-id", exchange_id(StateProtect::None)),
        operation("exchange-id-machine", exchange_id(StateProtect::MachineCredential)),
        operation("exchange-id-ssv", exchange_id(StateProtect::SecretState)),
        operation("create-session", CompoundOperation::CreateSession(create)),
        operation("destroy-session", CompoundOperation::DestroySession(SESSION)),
        operation("destroy-clientid", CompoundOperation::DestroyClientId(7)),
        operation("sequence", CompoundOperation::Sequence(sequence)),
        operation(
            "bind-connection",
            CompoundOperation::BindConnection(BindConnection { session: SESSION, direction: 3, rdma: false }),
        ),
        operation(
            "back-channel",
            CompoundOperation::BackChannel(BackChannel { program: 1, security: SECURITY }),
        ),
        operation("free-stateid", CompoundOperation::FreeStateId(state())),
        chosen("nfs_v4", "test-stateid", 3, &TestStateidArgs),
        operation("reclaim-complete", CompoundOperation::ReclaimComplete(false)),
        operation("secinfo-no-name", CompoundOperation::SecInfoNoName(1)),
        operation(
            "set-ssv",
            CompoundOperation::SetSsv(SetSsv { ssv: Opaque::new(b"ssv"), digest: Opaque::new(b"digest") }),
        ),
        operation("directory-delegation", CompoundOperation::DirectoryDelegation(directory)),
        operation("want-delegation", want(DelegationClaim::File)),
        operation("want-delegation-again", want(DelegationClaim::Previous(DelegationType::READ))),
        chosen("nfs_v4", "exclusive-attributes", 4, &exclusive),
        chosen("nfs_v4", "exchanged-id", 5, &exchanged),
        chosen("nfs_v4", "created-session", 6, &created),
        chosen("nfs_v4", "sequenced", 7, &sequenced),
    ]
    .into_iter()
    .chain(ranges())
    .collect()
}

fn ranges() -> Vec<Seed> {
    let state = state();
    let range = FileRange { state, offset: 4096, length: 8192 };
    let copy = CopyRange {
        from_state: state,
        to_state: state,
        from: 0,
        to: 4096,
        count: 0,
        consecutive: true,
        synchronous: false,
        servers: Servers(1),
    };
    let clone = CloneRange { from_state: state, to_state: state, from: 0, to: 4096, count: 4096 };
    let copied = CopyReply {
        callback: Some(state),
        count: 9,
        stable: StableHow::UNSTABLE,
        verifier: *b"verifier",
        consecutive: true,
        synchronous: true,
    };
    vec![
        operation("allocate", CompoundOperation::Allocate(range)),
        operation("deallocate", CompoundOperation::Deallocate(range)),
        operation(
            "advise",
            CompoundOperation::Advise(Advise { state, offset: 0, count: 9, hints: Bitmap::of(&[3]) }),
        ),
        operation("seek", CompoundOperation::Seek(Seek { state, offset: 9, what: 1 })),
        operation("read-plus", CompoundOperation::ReadPlus(Read { state, offset: 9, count: 4096 })),
        operation("copy", CompoundOperation::Copy(copy)),
        operation("clone", CompoundOperation::Clone(clone)),
        operation("get-xattr", CompoundOperation::GetXattr(Opaque::new(b"Author"))),
        operation(
            "set-xattr",
            CompoundOperation::SetXattr(SetXattr {
                option: SetOption::CREATE,
                name: Opaque::new(b"Author"),
                value: Opaque::new(b"me"),
            }),
        ),
        operation("list-xattrs", CompoundOperation::ListXattrs(ListXattrs { cookie: 1, max_count: 4096 })),
        operation("remove-xattr", CompoundOperation::RemoveXattr(Opaque::new(b"Author"))),
        operation("offload-status", CompoundOperation::OffloadStatus(state)),
        chosen("nfs_v4", "copied", 9, &copied),
        chosen("nfs_v4", "sought", 10, &Sought { end: true, offset: 9 }),
        chosen(
            "nfs_v4",
            "recalled",
            11,
            &CallbackReply::Executed { in_session: true, status: Some(Status::OK) },
        ),
        chosen(
            "nfs_v4",
            "asked",
            11,
            &CallbackReply::Attributes {
                in_session: true,
                known: CachedAttributes { change: 7, size: 5000 },
            },
        ),
    ]
}
