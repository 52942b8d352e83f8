//! Clients for session tests. They encode calls, pass them to [`rpc::answer`], and decode the
//! reply. There are no sockets.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use conn::InFlight;
use parking_lot::Mutex;
use vfs::backend::memory::Memory;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Site, Volume, VolumeOptions};
use wire::{Reader, Writer};

use super::outgoing::{CallEndpoint, CallNetwork, ExchangeFuture};
use super::{CallOrigin, Company, Export, ExportOptions, HandleSecret, Protection, Service, rpc};
use crate::wire::mount;
use crate::wire::rpc::{AuthFlavor, AuthSys, CallHeader, Credential, Outcome, RecordMark, ReplyHeader};
use crate::wire::xdr::{Decode, Encode, Opaque, Words, arguments};

/// The export of [`service`].
pub(crate) const SHARE: &str = "share";
/// Its tag.
pub(crate) const TAG: u32 = 1;

/// A service with one empty share in memory. All users may write to its root.
pub(crate) fn service() -> Arc<Service> {
    service_with(vec![export(SHARE, TAG, ExportOptions::default())])
}

/// A service with these exports.
pub(crate) fn service_with(exports: Vec<Export>) -> Arc<Service> {
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let company = Company { network: Fake::silent(), ..Company::default() };
    Service::in_company(exports, HandleSecret::new([7; 16]), started, company)
}

/// An empty share in memory.
pub(crate) fn export(name: &str, tag: u32, options: ExportOptions) -> Export {
    let volume = Arc::new(Volume::new(Arc::new(Memory::ticking()), VolumeOptions::default()));
    Export { name: name.into(), tag, volume, options }
}

/// As [`export`], of which clients may have so many files open.
pub(crate) fn export_of_few_opens(name: &str, opens: usize) -> Export {
    let site = Arc::new(Site::default());
    site.limit_opens(opens);
    let memory = Arc::new(Memory::ticking());
    let volume = Arc::new(Volume::in_site(memory, VolumeOptions::default(), site));
    Export { name: name.into(), tag: 1, volume, options: ExportOptions::default() }
}

/// An actor that uses the tree without a protocol.
pub(crate) fn actor(caller: &Caller) -> Actor {
    Actor::new(caller.clone(), Party::client(ClientId::unused()))
}

/// A caller.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) service: Arc<Service>,
    pub(crate) origin: CallOrigin,
    /// `None` sends AUTH_NONE.
    pub(crate) ids: Option<(u32, u32, Vec<u32>)>,
}

/// A reply taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcReply {
    pub(crate) outcome: Outcome,
    pub(crate) results: Vec<u8>,
}

impl RpcReply {
    /// The results as one value, without bytes left over.
    pub(crate) fn value<'a, T: Decode<'a>>(&'a self) -> T {
        assert_eq!(self.outcome, Outcome::Success);
        arguments(&mut Reader::new(&self.results)).expect("results of this type")
    }

    /// A reader of the results.
    pub(crate) fn reader(&self) -> Reader<'_> {
        assert_eq!(self.outcome, Outcome::Success);
        Reader::new(&self.results)
    }
}

impl Client {
    /// User 1000, group 100 at 192.0.2.1, over TCP from a port below 1024.
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        let origin = CallOrigin {
            address: [192, 0, 2, 1].into(),
            port: 700,
            datagram: false,
            protection: Protection::None,
        };
        Self { service: service.clone(), origin, ids: Some((1000, 100, Vec::new())) }
    }

    /// The same from another host.
    pub(crate) fn at(mut self, address: [u8; 4]) -> Self {
        self.origin.address = address.into();
        self
    }

    /// The same from another port.
    pub(crate) fn on_port(mut self, port: u16) -> Self {
        self.origin.port = port;
        self
    }

    /// The same over UDP.
    pub(crate) fn datagram(mut self) -> Self {
        self.origin.datagram = true;
        self
    }

    /// The same as another user, in group 100.
    pub(crate) fn user(mut self, uid: u32) -> Self {
        self.ids = Some((uid, 100, Vec::new()));
        self
    }

    /// The same with AUTH_NONE.
    pub(crate) fn nobody(mut self) -> Self {
        self.ids = None;
        self
    }

    /// Calls a procedure and waits for its reply.
    pub(crate) async fn call(
        &self,
        (program, version, procedure): (u32, u32, u32),
        arguments: &impl Encode,
    ) -> RpcReply {
        let mut w = Writer::new();
        arguments.encode(&mut w);
        self.call_raw((program, version, procedure), w.as_bytes()).await.expect("a reply")
    }

    /// The same with any bytes as arguments.
    pub(crate) async fn call_raw(
        &self,
        (program, version, procedure): (u32, u32, u32),
        arguments: &[u8],
    ) -> Option<RpcReply> {
        let (xid, message) = self.message((program, version, procedure), arguments);
        let message = self.send(message).await?;
        let mut reader = Reader::new(&message);
        let head = ReplyHeader::decode(&mut reader).expect("a reply");
        assert_eq!(head.xid, xid);
        Some(RpcReply { outcome: head.outcome, results: reader.rest().to_vec() })
    }

    /// The message of a call, and its transaction id.
    pub(crate) fn message(
        &self,
        (program, version, procedure): (u32, u32, u32),
        arguments: &[u8],
    ) -> (u32, Bytes) {
        static XID: AtomicU32 = AtomicU32::new(1);
        let xid = XID.fetch_add(1, Ordering::Relaxed);
        let credential = match &self.ids {
            None => Credential::None,
            Some((uid, gid, gids)) => Credential::Sys(AuthSys {
                stamp: 0,
                machine_name: Opaque::new(b"client"),
                uid: *uid,
                gid: *gid,
                gids: Words::new(gids),
            }),
        };
        let verifier = AuthFlavor::AUTH_NONE;
        let header = CallHeader { xid, program, version, procedure, credential, verifier };
        let mut w = Writer::new();
        header.encode(&mut w);
        w.put(arguments);
        (xid, Bytes::from(w.into_bytes()))
    }

    /// Passes one message to the server. Returns the reply without its record mark.
    pub(crate) async fn send(&self, message: Bytes) -> Option<Vec<u8>> {
        // Half of each message arrives first, which makes no difference.
        let (memory, in_flight) = (Arc::default(), InFlight::default());
        let half = &message[..message.len() / 2];
        let place = (&self.service, self.origin, &memory);
        let early = rpc::begin_early(place, (half, message.len()), &in_flight);
        let early = early.filter(|_| !self.origin.datagram).map(|(data_at, mut early)| {
            early.write(half.get(data_at..).unwrap_or_default());
            early
        });
        let answer = rpc::answer(self.service.clone(), self.origin, memory, message, early, in_flight);
        let reply = answer.await?;
        let mut bytes = reply.into_bytes().expect("data that stays");
        if self.origin.datagram {
            return Some(bytes);
        }
        let message = bytes.split_off(RecordMark::SIZE);
        let mark = RecordMark::from_bytes(bytes.try_into().expect("four bytes"));
        assert_eq!((mark.last, mark.len as usize), (true, message.len()));
        Some(message)
    }

    /// Mounts a path with MOUNT version 3.
    pub(crate) async fn mount(&self, path: &str) -> Result<Vec<u8>, mount::Status> {
        let request = mount::Request { path: Opaque::new(path.as_bytes()) };
        let answer = self.call((mount::PROGRAM, 3, mount::Procedure::MNT.0), &request).await;
        let mount::MountRes(result) = answer.value::<mount::MountRes<mount::MountOk<'_>>>();
        result.map(|ok| ok.handle.to_vec())
    }
}

/// A call that the server under test made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) to: CallEndpoint,
    /// Program, version, procedure.
    pub(crate) procedure: (u32, u32, u32),
    pub(crate) arguments: Vec<u8>,
}

/// The results of the server's own calls. `None`: no answer.
type Answers = Box<dyn Fn(&Outgoing) -> Option<Vec<u8>> + Send + Sync>;

/// A network that is a function. A missing answer takes no time.
pub(crate) struct Fake {
    answers: Answers,
    calls: Mutex<Vec<Outgoing>>,
}

impl Fake {
    pub(crate) fn new(answers: impl Fn(&Outgoing) -> Option<Vec<u8>> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answers: Box::new(answers), calls: Mutex::default() })
    }

    /// A network on which no host answers.
    pub(crate) fn silent() -> Arc<Self> {
        Self::new(|_| None)
    }

    /// All calls so far.
    pub(crate) fn calls(&self) -> Vec<Outgoing> {
        self.calls.lock().clone()
    }
}

impl CallNetwork for Fake {
    fn exchange<'a>(&'a self, to: &'a CallEndpoint, message: Vec<u8>) -> ExchangeFuture<'a> {
        let mut reader = Reader::new(&message);
        let header = CallHeader::decode(&mut reader).expect("a call");
        let procedure = (header.program, header.version, header.procedure);
        let call = Outgoing { to: to.clone(), procedure, arguments: reader.rest().to_vec() };
        let results = (self.answers)(&call);
        self.calls.lock().push(call);
        let xid = header.xid;
        Box::pin(async move {
            let results = results.ok_or(std::io::ErrorKind::TimedOut)?;
            let mut w = Writer::new();
            ReplyHeader::success(xid).encode(&mut w);
            w.put(&results);
            Ok(w.into_bytes())
        })
    }

    fn address_towards(&self, peer: IpAddr) -> Option<IpAddr> {
        peer.is_ipv4().then_some([192, 0, 2, 200].into())
    }
}

/// The encoding of a value.
pub(crate) fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut w = Writer::new();
    value.encode(&mut w);
    w.into_bytes()
}
