//! Who may use what is open, and who may end it. The user who registers the client is root, as on Linux.

use std::sync::Arc;

use vfs::backend::NewKind;
use vfs::state::{Caching, ClientId, LeaseRequest, Party, Stream, Style};
use vfs::{Actor, Caller, SetAttributes, Volume};

use super::delegations::{callable, give_back};
use super::ranges::MinorTwoClient;
use super::*;
use crate::wire::v4::types::Status;

const READ: u32 = 1;
const WRITE: u32 = 2;
const BOTH: u32 = 3;
const PERM: u32 = 1;
const ACCESS: u32 = 13;
const WRONG_CRED: u32 = 10082;
const ANONYMOUS: [u8; 16] = [0; 16];

impl Session {
    /// The same session, used by another user of the client.
    fn by(&mut self, uid: u32) -> &Self {
        self.client = self.client.clone().user(uid);
        self
    }
}

fn root_session() -> Session {
    Session::of(&client_1().user(0), b"machine", 1)
}

fn root() -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId::unused()))
}

/// A file of root with this mode.
fn make(volume: &Arc<Volume>, name: &[u8], mode: u32) {
    volume.create(&root(), &volume.root().unwrap(), name, NewKind::File, mode).unwrap();
}

fn existing(access: u32, name: &[u8]) -> Vec<u8> {
    open_1(b"o", (access, 0), &words(&[0]), name)
}

/// SETATTR of the mode, without an open.
fn chmod(mode: u32) -> Vec<u8> {
    [words(&[34]), ANONYMOUS.to_vec(), words(&[2, 0, 2, 4, mode])].concat()
}

fn on_range(operation: u32, state: &[u8]) -> Vec<u8> {
    [words(&[operation]), state.to_vec(), words(&[0, 0, 0, 8])].concat()
}

#[test]
fn an_open_is_ended_by_its_user_or_the_machine() {
    let mut session = root_session();
    let (state, handle) = session.by(1000).opened(b"o", (BOTH, 0), b"f");
    // LOCK of bytes 0 to 7 for writing, by a new owner.
    let lock = [words(&[12, 2, 0, 0, 0, 0, 8, 1, 0]), state.to_vec(), words(&[0])].concat();
    let lock = [lock, 0_u64.to_be_bytes().to_vec(), opaque(b"process")].concat();
    let (locked, reply) = session.at(&handle, &[lock]);
    assert_eq!(locked, 0);
    let locks = reply[8..24].to_vec();
    let unlock = [words(&[14, 2, 0]), locks, words(&[0, 0, 0, 8])].concat();
    let downgrade = [words(&[21]), state.to_vec(), words(&[0, BOTH, 0])].concat();
    for operation in [&unlock, &downgrade, &close_1(&state)] {
        assert_eq!(session.by(2000).at(&handle, std::slice::from_ref(operation)).0, WRONG_CRED);
    }
    assert_eq!(session.by(1000).at(&handle, &[unlock]).0, 0);
    assert_eq!(session.by(0).at(&handle, &[close_1(&state)]).0, 0, "as Linux may, when a login is over");
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_returned_by_its_user() {
    let (mut session, _) = callable(&client_1().user(0), b"machine", Status::OK).await;
    let (kind, state, handle) = session.by(1000).delegated(READ, b"plan").await;
    assert_eq!(kind, 1);
    assert_eq!(session.by(2000).at(&handle, &[give_back(&state)]).0, WRONG_CRED);
    assert_eq!(session.by(1000).at(&handle, &[give_back(&state)]).0, 0);
}

/// RFC 1813 4.4: a server cannot tell a program that is run from one that is read.
#[test]
fn a_program_is_read_by_who_may_run_it() {
    let mut session = root_session();
    let volume = session.client.service.export_named(b"docs").unwrap().volume.clone();
    make(&volume, b"run", 0o711);
    make(&volume, b"kept", 0o700);
    let open =
        |session: &Session, access, name: &[u8]| session.in_docs(&[existing(access, name), words(&[10])]);
    let session = session.by(1000);
    assert_eq!(open(session, READ, b"kept").0, ACCESS);
    assert_eq!(open(session, WRITE, b"run").0, ACCESS);
    assert_eq!(open(session, BOTH, b"run").0, ACCESS);
    let (status, reply) = open(session, READ, b"run");
    assert_eq!(status, 0);
    let handle_at = reply.windows(8).rposition(|bytes| bytes == words(&[10, 0])).unwrap() + 12;
    let (state, handle) = (&reply[8..24], &reply[handle_at..]);
    assert_eq!(session.at(handle, &[read_1(state)]).0, 0);
    assert_eq!(session.at(handle, &[read_1(&ANONYMOUS)]).0, 0);
    // READ of version 3, for both.
    let read = |handle: &[u8]| {
        let arguments = [opaque(handle), words(&[0, 0, 4])].concat();
        let reply = now(session.client.call_raw((PROGRAM, 3, 6), &arguments)).expect("a reply");
        u32::from_be_bytes(reply.results[..4].try_into().unwrap())
    };
    assert_eq!(read(handle), 0);
    let kept = session.in_docs(&[[words(&[15]), opaque(b"kept")].concat(), words(&[10])]).1;
    assert_eq!(read(&kept[20..]), ACCESS);
    // A folder is no program.
    let root = session.in_docs(&[words(&[10])]).1[12..].to_vec();
    assert_eq!(read(&root), 21); // NFS3ERR_ISDIR
}

#[test]
fn what_is_open_is_used_whatever_the_mode_is_now() {
    let mut newer = MinorTwoClient::new();
    let (state, handle) = newer.0.opened(b"o", (BOTH, 0), b"f");
    let volume = newer.0.client.service.export_named(b"docs").unwrap().volume.clone();
    make(&volume, b"other", 0o666);
    let (shared, theirs) = newer.0.opened(b"o", (BOTH, 0), b"other");
    assert_eq!(newer.at(&handle, &[chmod(0o400)]).0, 0);
    let found = volume.lookup(&Caller::root(), &volume.root().unwrap().object, b"other").unwrap();
    let changes = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
    volume.set_attributes(&root(), &found, &changes).unwrap();
    let size = |state: &[u8]| [words(&[34]), state.to_vec(), words(&[1, 0x10, 8, 0, 100])].concat();
    let write = |state: &[u8]| [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(b"data")].concat();
    for (state, handle) in [(&state, &handle), (&shared, &theirs)] {
        for operation in [write(state), read_1(state), size(state)] {
            assert_eq!(newer.at(handle, &[operation]).0, 0);
        }
        // ALLOCATE, DEALLOCATE; READ_PLUS and SEEK, with fewer arguments.
        for (number, cut) in [(59, 0), (62, 0), (68, 4), (69, 4)] {
            let operation = on_range(number, state);
            assert_eq!(newer.at(handle, &[operation[..operation.len() - cut].to_vec()]).0, 0, "{number}");
        }
        // Another user knows the stateid.
        newer.0.by(2000);
        for operation in [write(state), read_1(state), size(state), on_range(59, state)] {
            assert_eq!(newer.at(handle, &[operation]).0, ACCESS);
        }
        newer.0.by(1000);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delegation_serves_the_owner_whatever_the_mode_is() {
    let client = client();
    client.service.set_minor_versions(&[1, 2]);
    let (session, _) = callable(&client, b"holder", Status::OK).await;
    let (kind, state, handle) = session.delegated(BOTH, b"plan").await;
    assert_eq!(kind, 2);
    let mut newer = MinorTwoClient(session);
    assert_eq!(newer.at(&handle, &[chmod(0o400)]).0, 0);
    for number in [59, 62] {
        assert_eq!(newer.at(&handle, &[on_range(number, &state)]).0, 0, "{number}");
    }
    newer.0.by(2000);
    assert_eq!(newer.at(&handle, &[on_range(59, &state)]).0, ACCESS);
}

/// COPY (60) and CLONE (71) read one open and write another, RFC 7862 15.2.3 and 15.13.3.
#[test]
fn files_are_copied_by_the_rights_of_their_opens() {
    const NOTSUPP: u32 = 10004; // the rights were asked first: the disk of this test shares no blocks
    let mut newer = MinorTwoClient::new();
    let (state, handle) = newer.0.opened(b"before", (BOTH, 0), b"from");
    let write = [words(&[38]), state.to_vec(), words(&[0, 0, 2]), opaque(b"data")].concat();
    assert_eq!(newer.at(&handle, &[write, close_1(&state)]).0, 0);
    let source = newer.0.opened(b"o", (READ, 0), b"from");
    let target = newer.0.opened(b"o", (WRITE, 0), b"to");
    let read_only = newer.0.opened(b"o", (READ, 0), b"kept");
    let through = |number: u32, from: (&[u8], &[u8]), to: (&[u8], &[u8])| {
        let rest = if number == 60 { [vec![0; 24], words(&[1, 1, 0])].concat() } else { vec![0; 24] };
        let operation = [words(&[number]), from.0.to_vec(), to.0.to_vec(), rest].concat();
        let put = |handle: &[u8]| [words(&[22]), opaque(handle)].concat();
        vec![put(from.1), words(&[32]), put(to.1), operation]
    };
    let pair = |file: &'_ (StateBytes, Vec<u8>)| (file.0.to_vec(), file.1.clone());
    let (source, target, read_only) = (pair(&source), pair(&target), pair(&read_only));
    fn of((state, handle): &(Vec<u8>, Vec<u8>)) -> (&[u8], &[u8]) {
        (state, handle)
    }
    for handle in [&source.1, &target.1] {
        assert_eq!(newer.at(handle, &[chmod(0)]).0, 0);
    }
    for (number, done) in [(60, 0), (71, NOTSUPP)] {
        let asked = through(number, of(&source), of(&target));
        assert_eq!(newer.call(&asked).0, done, "{number}: nobody may read or write them now");
        // Without the opens the mode counts, for each of the two files.
        for (from, to) in
            [((&ANONYMOUS[..], &source.1[..]), of(&target)), (of(&source), (&ANONYMOUS[..], &target.1[..]))]
        {
            assert_eq!(newer.call(&through(number, from, to)).0, ACCESS, "{number}");
        }
        // An open that does not write writes nothing, and one that does not read reads nothing: NFS4ERR_OPENMODE.
        assert_eq!(newer.call(&through(number, of(&source), of(&read_only))).0, 10038, "{number}");
        assert_eq!(newer.call(&through(number, of(&target), of(&target))).0, 10038, "{number}");
        // Another user knows both stateids.
        newer.0.by(2000);
        assert_eq!(newer.call(&asked).0, ACCESS, "{number}");
        newer.0.by(1000);
    }
}

/// NFS4ERR_ACCESS and NFS4ERR_PERM have the numbers of NFS3ERR_ACCES and NFS3ERR_PERM.
#[tokio::test(start_paused = true)]
async fn who_is_refused_recalls_no_lease() {
    let mut session = root_session();
    let volume = session.client.service.export_named(b"docs").unwrap().volume.clone();
    make(&volume, b"kept", 0o600);
    let closed = SetAttributes { uid: Some(0), mode: Some(0o755), ..SetAttributes::default() };
    volume.set_attributes(&root(), &volume.root().unwrap(), &closed).unwrap();
    let kept = volume.lookup(&Caller::root(), &volume.root().unwrap().object, b"kept").unwrap();
    let (notices, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let party = Party::client(ClientId(1 << 40));
    let want = LeaseRequest { party, want: Caching::ALL, style: Style::Bits, notices };
    let lease = volume.state().lease(kept.object.id(), &Stream::Data, &want).unwrap();
    assert_eq!(lease.caching(), Caching::ALL);
    let session = session.by(1000);
    let folder = session.in_docs(&[words(&[10])]).1[12..].to_vec();
    let handle = session.in_docs(&[[words(&[15]), opaque(b"kept")].concat(), words(&[10])]).1[20..].to_vec();
    let names = [opaque(b"kept"), opaque(b"new")].concat();
    let anonymous = |number: u32, rest: Vec<u8>| [words(&[number]), ANONYMOUS.to_vec(), rest].concat();

    let test = [words(&[13, 2, 0, 0, 0, 8, 0, 0]), opaque(b"process")].concat();
    let cut = anonymous(34, words(&[1, 0x10, 8, 0, 1]));
    let write = anonymous(38, [words(&[0, 0, 2]), opaque(b"data")].concat());
    for (operation, status) in
        [(read_1(&ANONYMOUS), ACCESS), (write, ACCESS), (cut, ACCESS), (chmod(0o666), PERM), (test, ACCESS)]
    {
        assert_eq!(session.at(&handle, std::slice::from_ref(&operation)).0, status, "{operation:?}");
    }
    let remove = [words(&[28]), opaque(b"kept")].concat();
    let rename = [words(&[29]), names.clone()].concat();
    for operations in [vec![existing(BOTH, b"kept")], vec![remove], vec![words(&[32]), rename]] {
        assert_eq!(session.in_docs(&operations).0, ACCESS, "{operations:?}");
    }

    let in_folder = |names: &[u8]| [opaque(&folder), names.to_vec()].concat();
    let of_file = |rest: &[u32]| [opaque(&handle), words(rest)].concat();
    let rename = [in_folder(&opaque(b"kept")), in_folder(&opaque(b"new"))].concat();
    for (procedure, arguments, status) in [
        (6, of_file(&[0, 0, 4]), ACCESS),
        (7, of_file(&[0, 0, 4, 0, 4, 0x6162_6364]), ACCESS),
        (2, of_file(&[0, 0, 0, 1, 0, 1, 0, 0, 0]), ACCESS),
        (2, of_file(&[1, 0o666, 0, 0, 0, 0, 0, 0]), PERM),
        (12, in_folder(&opaque(b"kept")), ACCESS),
        (14, rename, ACCESS),
    ] {
        let reply = session.client.call_raw((PROGRAM, 3, procedure), &arguments).await.expect("a reply");
        assert_eq!(reply.results[..4], words(&[status]), "procedure {procedure}");
    }
    assert!(heard.try_recv().is_err(), "the lease was recalled");
    assert_eq!(lease.caching(), Caching::ALL);
}
