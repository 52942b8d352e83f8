use std::sync::Arc;

use cluster::OpenRecord;
use cluster::wire::sums::{Sum, SumsMessage};
use cluster::wire::{Message, PeerFrame, Portion};
use vfs::events::{Aspects, Change, ChangeKind};
use vfs::state::{
    Back, BreakNotice, Caching, CarriedLease, CarriedOpen, CarriedRemoval, CarriedWait, ChangeNotice,
    ClientId, Concern, FileState, Flavour, Inheritance, LeaseId, Lock, LockKind, LockOwner, Modes, OpenId,
    OpenReplica, Party, Range, Stream, Style, WaitId,
};
use vfs::{FileId, HostKey, Kind};

use super::Seed;

const FILE: FileId = FileId::new(1, 7);

/// Frames as servers send them.
pub(super) fn seeds() -> Vec<Seed> {
    let data = |message| PeerFrame::Data { number: 3, epoch: 2, message };
    let frames = [
        ("hello", PeerFrame::Hello { cluster: "fourfold".into(), from: 1, to: 2 }),
        ("welcome", PeerFrame::Welcome { received: 9 }),
        ("ack", PeerFrame::Ack { received: 9, epoch: 2 }),
        ("ask", data(Message::Ask(FILE))),
        ("grant", data(Message::Grant(FILE, 1 << 33))),
        ("recall", data(Message::Recall(FILE, 2, 1 << 33))),
        (
            "hand",
            data(Message::Hand { file: FILE, turn: 5, portion: Portion::Whole, more: true, state: state() }),
        ),
        (
            "inherited_part",
            data(Message::Hand {
                file: FILE,
                turn: 5,
                portion: Portion::Inherited,
                more: false,
                state: state(),
            }),
        ),
        ("release", data(Message::Release(FILE))),
        ("released", data(Message::Released(FILE, true))),
        ("notice", data(Message::Back(FILE, Back::Notice(notice(), Caching::READ)))),
        ("granted", data(Message::Back(FILE, Back::Granted(WaitId(8))))),
        ("removed", data(Message::Removed(FILE, 4))),
        (
            "report",
            data(Message::Report {
                held: vec![(FILE, 5)],
                sent: vec![(FILE, 2, (5, u64::MAX))],
                received: vec![(2, 17)],
                kept: vec![FILE],
                inherited: vec![inheritance()],
                more: false,
            }),
        ),
        ("gather", data(Message::Gather(FILE, 5, 2))),
        ("part", data(Message::GivePart(FILE, 1, 5))),
        ("told", data(Message::Told(told(ChangeKind::Modified(Aspects::SIZE))))),
        (
            "renamed",
            data(Message::Told(told(ChangeKind::Renamed { old_folder: FILE, old_name: name("old") }))),
        ),
        ("lost", data(Message::Lost)),
        ("keep", data(Message::Keep(Box::new(record())))),
        ("drop", data(Message::Drop(OpenId(1 << 48 | 4)))),
        ("drop_all", data(Message::DropAll)),
        ("call", data(Message::Call(1, b"a request".to_vec()))),
        ("answer", data(Message::Answer(1, Some(b"an answer".to_vec())))),
        ("refused", data(Message::Answer(1, None))),
        ("below", data(Message::Below { number: 4, folder: FILE, by: party() })),
        ("below_answer", data(Message::BelowAnswer(4, true))),
        ("below_over", data(Message::BelowOver(4))),
    ];
    let sums = sums().map(|(name, message)| (name, data(Message::Sums(message))));
    let seed = |(name, frame): (&'static str, PeerFrame)| {
        let bytes = frame.encode().split_off(4);
        Seed { target: "cluster_frames", name, bytes }
    };
    frames.into_iter().chain(sums).map(seed).collect()
}

fn sums() -> [(&'static str, SumsMessage); 9] {
    let sum = Sum {
        folder: FILE,
        version: 3,
        base: 1 << 40,
        is_exact: true,
        starts: vec![(1, -4096), (2, 8192)],
        total: -4096,
    };
    let changed =
        SumsMessage::Changed { folder: FILE, count: 5, files: vec![(7, 4096)], more: true, is_whole: true };
    [
        ("sums_totals", SumsMessage::Totals(vec![(FILE, -4096)])),
        ("sums_ended", SumsMessage::Ended),
        ("sums_all", SumsMessage::Sums(vec![sum])),
        ("sums_spoiled", SumsMessage::Spoiled(FILE)),
        ("sums_follow", SumsMessage::Follow(FILE, 5)),
        ("sums_following", SumsMessage::Following(FILE, 5, 1 << 33)),
        ("sums_ask", SumsMessage::Ask(FILE, 5)),
        ("sums_changed", changed),
        ("sums_finish", SumsMessage::Finish(FILE)),
    ]
}

fn name(text: &str) -> Arc<[u8]> {
    text.as_bytes().into()
}

fn party() -> Party {
    Party { client: ClientId(1 << 48 | 3), key: Some([9; 16]) }
}

fn state() -> FileState {
    let open = OpenId(1 << 48 | 4);
    let lock = |owner, range, kind, flavour| Lock { owner, range, kind, flavour };
    let own = LockOwner::open(party().client, open);
    let named = LockOwner::named(ClientId(2 << 48 | 1), b"pid 7");
    FileState {
        opens: vec![CarriedOpen {
            id: open,
            stream: Stream::Named("Zone".into()),
            party: party(),
            access: Modes::READ,
            deny: Modes::WRITE,
            concern: Concern::Data,
            has_ranges: true,
            reserved: true,
        }],
        ranges: vec![(Stream::Data, lock(own, Range::empty(4), LockKind::Exclusive, Flavour::Mandatory))],
        queue: vec![CarriedWait {
            id: WaitId(2 << 48 | 5),
            stream: Stream::Resource,
            wanted: lock(named, Range::ALL, LockKind::Shared, Flavour::Advisory),
        }],
        leases: vec![CarriedLease {
            id: LeaseId(1 << 48 | 6),
            stream: Stream::Data,
            party: party(),
            style: Style::Bits,
            held: Caching::ALL,
            breaking: Some((Caching::READ, Caching::NONE)),
            causers: vec![(Caching::WRITE, 2 << 48 | 7)],
            guards: 1,
        }],
        removals: vec![CarriedRemoval { stream: Stream::Info, home: 1, number: 1 << 48 | 8, told: false }],
        openers: vec![(2, 1)],
    }
}

fn inheritance() -> Inheritance {
    Inheritance {
        file: FILE,
        open: (OpenId(1 << 48 | 4), OpenId(2 << 48 | 4)),
        lease: Some((LeaseId(1 << 48 | 6), LeaseId(2 << 48 | 6))),
        client: ClientId(2 << 48 | 3),
        reserved: true,
    }
}

fn record() -> OpenRecord {
    let FileState { mut opens, ranges, mut leases, .. } = state();
    let ranges = ranges.into_iter().map(|(_, lock)| lock).collect();
    let replica = OpenReplica { open: opens.remove(0), ranges, lease: leases.pop() };
    OpenRecord { file: FILE, client: [7; 16], replica, note: b"a note"[..].into() }
}

fn notice() -> BreakNotice {
    BreakNotice {
        lease: LeaseId(1 << 48 | 6),
        file: FILE,
        stream: Stream::Data,
        party: party(),
        from: Caching::ALL,
        to: Caching::READ,
        needs_ack: true,
        further: false,
        revoked: false,
    }
}

fn told(what: ChangeKind) -> ChangeNotice {
    let change = Change {
        folder: FILE,
        name: name("new"),
        file: Some(FileId::new(1, 8)),
        of: Kind::File,
        what,
        by: Some(party().client),
    };
    let folder = HostKey::new(b"a handle").unwrap_or_else(|| unreachable!());
    ChangeNotice { folder, change, is_going: false }
}
