//! Two clients and a file.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use vfs::backend::NewKind;
use vfs::{Actor, Caller, SetAttributes, Volume};

use crate::server::outgoing::CallEndpoint;
use crate::server::testing::{Client, Fake, Outgoing, SHARE, TAG, actor, encoded, export};
use crate::server::{Company, ExportOptions, HandleSecret, HostTable, InMemory, Service};
use crate::wire::nlm::{
    CancelRequest, LockRequest, NetObj, NlmLock, NlmStat, Procedure, Res, TestRequest, UnlockRequest,
};
use crate::wire::rpc::Outcome;
use crate::wire::xdr::{Encode, Opaque};
use crate::wire::{nlm, portmap, v3};

/// The answer of a client's lock manager to GRANTED. `None`: no answer.
pub(super) type GrantedAnswer = Arc<Mutex<Option<NlmStat>>>;

pub(super) struct Bench {
    pub(super) service: Arc<Service>,
    pub(super) network: Arc<Fake>,
    pub(super) hosts: Arc<InMemory>,
    pub(super) says: GrantedAnswer,
    pub(super) handle: Vec<u8>,
    /// A client with user 1000.
    pub(super) one: Client,
    pub(super) two: Client,
}

/// A range and the owner that locks it.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub(super) svid: i32,
    pub(super) exclusive: bool,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) block: bool,
    pub(super) reclaim: bool,
    pub(super) state: i32,
}

/// The whole file, exclusively, by process 1.
pub(super) const ALL: Ask =
    Ask { svid: 1, exclusive: true, offset: 0, len: 0, block: false, reclaim: false, state: 0 };

impl Ask {
    pub(super) const fn shared(self) -> Self {
        Self { exclusive: false, ..self }
    }

    pub(super) const fn range(self, offset: u64, len: u64) -> Self {
        Self { offset, len, ..self }
    }

    pub(super) const fn by(self, svid: i32) -> Self {
        Self { svid, ..self }
    }

    pub(super) const fn waiting(self) -> Self {
        Self { block: true, ..self }
    }

    pub(super) const fn reclaimed(self) -> Self {
        Self { reclaim: true, ..self }
    }

    pub(super) fn lock(self, handle: &[u8]) -> NlmLock<'_> {
        NlmLock {
            caller_name: Opaque::new(b"client"),
            handle: NetObj::new(handle),
            owner: NetObj::new(b"owner"),
            svid: self.svid,
            offset: self.offset,
            len: self.len,
        }
    }

    pub(super) fn request(self, handle: &[u8]) -> LockRequest<'_> {
        LockRequest {
            cookie: NetObj::new(b"cook"),
            block: self.block,
            exclusive: self.exclusive,
            lock: self.lock(handle),
            reclaim: self.reclaim,
            state: self.state,
        }
    }
}

pub(super) fn v4(procedure: Procedure) -> (u32, u32, u32) {
    (nlm::PROGRAM, 4, procedure.0)
}

/// A bench without locks from an earlier run.
pub(super) async fn bench() -> Bench {
    bench_after(&[]).await
}

/// A bench after a restart. These hosts held locks before it. The grace period is 45 s.
pub(super) async fn bench_after(hosts: &[&str]) -> Bench {
    let says: GrantedAnswer = Arc::new(Mutex::new(Some(NlmStat::GRANTED)));
    let answer = says.clone();
    let network = Fake::new(move |call| answers(call, *answer.lock()));
    let table = Arc::new(InMemory::default());
    hosts.iter().for_each(|host| table.add(host.as_bytes(), b"client").unwrap());
    let company = Company {
        network: network.clone(),
        hosts: table.clone(),
        epoch: 5,
        grace: Duration::from_secs(45),
        name: "server".into(),
        ..Company::default()
    };
    let exports = vec![export(SHARE, TAG, ExportOptions::default())];
    let secret = HandleSecret::new([7; 16]);
    let service = Service::in_company(exports, secret, SystemTime::UNIX_EPOCH, company);
    let one = Client::new(&service);
    let two = one.clone().at([192, 0, 2, 2]);
    let handle = file(&service, &one, "file", 0o644).await;
    Bench { service, network, hosts: table, says, handle, one, two }
}

/// The client's portmap at 111 reports port 4045 for TCP only. The lock manager there gives the
/// answer that the test sets.
fn answers(call: &Outgoing, says: Option<NlmStat>) -> Option<Vec<u8>> {
    let (program, _, procedure) = call.procedure;
    match (&call.to, program) {
        (CallEndpoint::Udp(to), portmap::PROGRAM) if to.port() == 111 => {
            let tcp = call.arguments[8..12] == [0, 0, 0, 6];
            Some(encoded(&if tcp { 4045u32 } else { 0 }))
        }
        (CallEndpoint::Tcp(to), nlm::PROGRAM) if to.port() == 4045 => match Procedure(procedure) {
            Procedure::GRANTED => says.map(|stat| encoded(&Res { cookie: NetObj::new(b""), stat })),
            _ => Some(Vec::new()),
        },
        _ => None,
    }
}

/// Makes a file of user 1000 and gives its handle.
pub(super) async fn file(service: &Arc<Service>, client: &Client, name: &str, mode: u32) -> Vec<u8> {
    let volume = volume(service);
    let (root, by) = (volume.root().unwrap(), superuser());
    let made = volume.create(&by, &root, name.as_bytes(), NewKind::File, mode).unwrap();
    let owner = SetAttributes { uid: Some(1000), ..Default::default() };
    volume.set_attributes(&by, &made.found, &owner).unwrap();
    let root = client.mount("/share").await.unwrap();
    let what = v3::types::DirOpArgs { dir: Opaque::new(&root), name: Opaque::new(name.as_bytes()) };
    let lookup = (v3::PROGRAM, 3, v3::Procedure::LOOKUP.0);
    let answer = client.call(lookup, &v3::lookup::Request { what }).await;
    answer.value::<v3::lookup::Res<'_>>().unwrap().object.to_vec()
}

pub(super) fn volume(service: &Arc<Service>) -> Arc<Volume> {
    service.export_named(SHARE.as_bytes()).unwrap().volume.clone()
}

pub(super) fn superuser() -> Actor {
    actor(&Caller::root())
}

impl Bench {
    pub(super) async fn lock(&self, client: &Client, ask: Ask) -> NlmStat {
        self.call(client, Procedure::LOCK, &ask.request(&self.handle)).await
    }

    pub(super) async fn unlock(&self, client: &Client, ask: Ask) -> NlmStat {
        let request = UnlockRequest { cookie: NetObj::new(b"cook"), lock: ask.lock(&self.handle) };
        self.call(client, Procedure::UNLOCK, &request).await
    }

    pub(super) async fn cancel(&self, client: &Client, ask: Ask) -> NlmStat {
        let (cookie, lock) = (NetObj::new(b"cook"), ask.lock(&self.handle));
        let request = CancelRequest { cookie, block: ask.block, exclusive: ask.exclusive, lock };
        self.call(client, Procedure::CANCEL, &request).await
    }

    /// GRANTED when nothing is in the way, DENIED else.
    pub(super) async fn test(&self, client: &Client, ask: Ask) -> NlmStat {
        let (cookie, lock) = (NetObj::new(b"cook"), ask.lock(&self.handle));
        let request = TestRequest { cookie, exclusive: ask.exclusive, lock };
        let answer = client.call(v4(Procedure::TEST), &request).await;
        match answer.value::<nlm::TestRes<'_>>().reply {
            nlm::TestReply::Denied(_) => NlmStat::DENIED,
            nlm::TestReply::Other(stat) => stat,
        }
    }

    /// Calls a procedure that answers with a cookie and a status.
    pub(super) async fn call(&self, client: &Client, procedure: Procedure, request: &impl Encode) -> NlmStat {
        let answer = client.call(v4(procedure), request).await;
        assert_eq!(answer.outcome, Outcome::Success);
        let res: Res<'_> = answer.value();
        assert_eq!(&res.cookie[..], b"cook");
        res.stat
    }

    /// The calls of one procedure of NLM that were made to clients.
    pub(super) fn told(&self, procedure: Procedure) -> Vec<Outgoing> {
        let mut calls = self.network.calls();
        calls.retain(|call| call.procedure == v4(procedure));
        calls
    }

    pub(super) fn totals(&self) -> (usize, usize) {
        let totals = volume(&self.service).state().totals();
        (totals.ranges, totals.waiters)
    }
}

/// Lets the given time pass, with all events in it.
pub(super) async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
