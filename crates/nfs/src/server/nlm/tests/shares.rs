use std::sync::Arc;

use parking_lot::Mutex;
use vfs::Kind;
use vfs::state::{ClientId, Modes, OpenRequest, Party, Stream};

use super::bench::{ALL, Bench, bench, superuser, v4, volume};
use crate::server::testing::Client;
use crate::wire::nlm::{
    FreeAllRequest, NetObj, NlmStat, Procedure, Share, ShareAccess, ShareMode, ShareRequest, ShareRes,
};
use crate::wire::xdr::Opaque;

async fn share(
    bench: &Bench,
    client: &Client,
    procedure: Procedure,
    owner: &[u8],
    (access, mode): (ShareAccess, ShareMode),
) -> NlmStat {
    let share = Share {
        caller_name: Opaque::new(b"client"),
        handle: NetObj::new(&bench.handle),
        owner: NetObj::new(owner),
        mode,
        access,
    };
    let request = ShareRequest { cookie: NetObj::new(b"cook"), share, reclaim: false };
    let answer = client.call(v4(procedure), &request).await;
    let res: ShareRes<'_> = answer.value();
    assert_eq!(&res.cookie[..], b"cook");
    res.stat
}

const READ: ShareAccess = ShareAccess::READ;
const WRITE: ShareAccess = ShareAccess::WRITE;

#[tokio::test]
async fn what_one_denies_another_cannot_have() {
    let bench = bench().await;
    let (one, two) = (&bench.one, &bench.two);
    let take =
        async |client, owner: &[u8], modes| share(&bench, client, Procedure::SHARE, owner, modes).await;
    assert_eq!(take(one, b"a", (READ, ShareMode::DENY_WRITE)).await, NlmStat::GRANTED);
    assert_eq!(take(two, b"a", (WRITE, ShareMode::DENY_NONE)).await, NlmStat::DENIED);
    assert_eq!(take(two, b"a", (READ, ShareMode::DENY_READ)).await, NlmStat::DENIED);
    assert_eq!(take(two, b"a", (READ, ShareMode::DENY_NONE)).await, NlmStat::GRANTED);
    // A second reservation of the same owner replaces the first.
    assert_eq!(take(one, b"a", (READ, ShareMode::DENY_NONE)).await, NlmStat::GRANTED);
    assert_eq!(take(two, b"b", (WRITE, ShareMode::DENY_NONE)).await, NlmStat::GRANTED);
    assert_eq!(volume(&bench.service).state().totals().opens, 3);
    assert_eq!(take(one, b"c", (ShareAccess(4), ShareMode::DENY_NONE)).await, NlmStat::FAILED);
    assert_eq!(take(one, b"c", (READ, ShareMode(9))).await, NlmStat::FAILED);
}

/// As a silent client of NFSv4 does, which takes locks of its protocol for that.
#[tokio::test]
async fn a_client_that_is_absent_gives_way_to_a_reservation() {
    let bench = bench().await;
    let (volume, absent) = (volume(&bench.service), Party::client(ClientId::unused()));
    let state = volume.state();
    let root = volume.root().unwrap();
    let file = volume.lookup(&superuser().caller, &root.object, b"file").unwrap().object.id();
    let denies = state.open(file, Stream::Data, OpenRequest::new(absent, Modes::READ, Modes::WRITE)).unwrap();
    let denies = Mutex::new(Some(denies));
    let give_way = move || {
        drop(lock::RwLock::<_, crate::ranks::Nfs4Former>::new(()).write());
        drop(denies.lock().take());
    };
    let _absence = state.leave(absent.client, Arc::new(give_way));
    let wants = (WRITE, ShareMode::DENY_NONE);
    assert_eq!(share(&bench, &bench.one, Procedure::SHARE, b"a", wants).await, NlmStat::GRANTED);
    assert_eq!(state.totals().opens, 1);
}

#[tokio::test]
async fn a_reservation_ends_by_unshare_or_with_its_client() {
    let bench = bench().await;
    let (one, two) = (&bench.one, &bench.two);
    let take = async |client, modes| share(&bench, client, Procedure::SHARE, b"a", modes).await;
    let all = (ShareAccess::READ_WRITE, ShareMode::DENY_READ_WRITE);
    assert_eq!(take(one, all).await, NlmStat::GRANTED);
    assert_eq!(take(two, all).await, NlmStat::DENIED);
    assert_eq!(share(&bench, one, Procedure::UNSHARE, b"a", all).await, NlmStat::GRANTED);
    assert_eq!(share(&bench, one, Procedure::UNSHARE, b"a", all).await, NlmStat::GRANTED);
    assert_eq!(take(two, all).await, NlmStat::GRANTED);
    let request = FreeAllRequest { name: Opaque::new(b"client"), state: 0 };
    two.call(v4(Procedure::FREE_ALL), &request).await;
    assert_eq!(take(one, all).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn a_reservation_needs_the_permission_that_its_access_needs() {
    let bench = bench().await;
    let other = bench.one.clone().user(2000);
    let take = async |modes| share(&bench, &other, Procedure::SHARE, b"a", modes).await;
    assert_eq!(take((WRITE, ShareMode::DENY_NONE)).await, NlmStat::FAILED);
    assert_eq!(take((READ, ShareMode::DENY_WRITE)).await, NlmStat::GRANTED);
    // The reservation prevents neither locks nor the owner's access to the file.
    assert_eq!(bench.lock(&bench.two, ALL).await, NlmStat::GRANTED);
}

#[tokio::test]
async fn a_reservation_of_a_file_without_a_name_can_be_given_back() {
    let bench = bench().await;
    let all = (ShareAccess::READ_WRITE, ShareMode::DENY_READ_WRITE);
    assert_eq!(share(&bench, &bench.one, Procedure::SHARE, b"a", all).await, NlmStat::GRANTED);
    let volume = volume(&bench.service);
    let root = volume.root().unwrap();
    volume.remove(&superuser(), &root, b"file", Kind::File).unwrap();
    assert_eq!(volume.state().totals().opens, 1);
    assert_eq!(share(&bench, &bench.one, Procedure::UNSHARE, b"a", all).await, NlmStat::GRANTED);
    assert_eq!(volume.state().totals().opens, 0);
    assert_eq!(share(&bench, &bench.one, Procedure::UNSHARE, b"a", all).await, NlmStat::STALE_FH);
}
