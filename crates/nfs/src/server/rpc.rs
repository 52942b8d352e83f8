//! One call, RFC 5531: its program, its caller, and the answer to an invalid call.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conn::observe::{self, Begun};
use conn::{Allowance, InFlight, Reply, Reservation};
use vfs::state::Party;
use vfs::{Caller, Holder, Payload};
use wire::{Reader, Writer};

use super::export::Export;
use super::gss::{self, Flavor, Secured};
use super::naming::Naming;
use super::{Origin, Service, mount, nlm, nsm, observed, portmap, tls, v3, v4};
use crate::wire::rpc::{
    AuthFlavor, AuthStat, CallHeader, Credential, Message, Outcome, RecordMark, ReplyHeader,
};
use crate::wire::xdr::{Decode, Encode, arguments, padding};

/// The caller's ids, as the call states them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    /// AUTH_NONE: always the anonymous user.
    pub(crate) nobody: bool,
}

/// A call whose head is decoded.
pub(super) struct Received<'a> {
    pub(super) service: &'a Arc<Service>,
    pub(super) origin: Origin,
    pub(super) memory: &'a Arc<Allowance>,
    pub(super) message: &'a Bytes,
    pub(super) header: CallHeader<'a>,
    pub(super) arguments: &'a [u8],
    pub(super) begun: Option<Begun>,
}

impl<'a> Received<'a> {
    /// The call of a user, with arguments that are a part of `message`.
    pub(super) fn call<'b>(self, identity: Identity, message: &'b Bytes, arguments: &'b [u8]) -> Call<'b>
    where
        'a: 'b,
    {
        let Self { service, origin, memory, header, begun, .. } = self;
        let (room, minor) = (usize::MAX, v4::minor_of(&header, arguments));
        let (party, concerns) = (OnceLock::new(), OnceLock::new());
        Call {
            service,
            origin,
            memory,
            room,
            identity,
            gss: None,
            header,
            arguments,
            minor,
            message,
            begun,
            party,
            concerns,
        }
    }
}

/// A call that a program executes.
pub(crate) struct Call<'a> {
    pub(crate) service: &'a Arc<Service>,
    pub(crate) origin: Origin,
    /// The memory that the client's requests may use.
    pub(crate) memory: &'a Arc<Allowance>,
    /// The most bytes of a listing, limited by the reserved memory.
    pub(crate) room: usize,
    pub(crate) identity: Identity,
    /// The login that it belongs to, if that was by Kerberos.
    pub(super) gss: Option<Secured>,
    pub(crate) header: CallHeader<'a>,
    pub(crate) arguments: &'a [u8],
    /// The minor version of NFSv4; 0 for everything else.
    pub(crate) minor: u32,
    /// The whole message, for data that must outlive the call.
    pub(crate) message: &'a Bytes,
    /// When it began, if it is observed.
    pub(crate) begun: Option<Begun>,
    /// The client of version 4 in whose session it is.
    pub(crate) party: OnceLock<Party>,
    /// The export that it concerns, if it is observed.
    pub(crate) concerns: OnceLock<Arc<Export>>,
}

/// A program's results: bytes in the writer, and optionally data after them.
pub(crate) type Answered = Result<Option<Payload>, Outcome>;

impl<'a> Call<'a> {
    /// How users and groups are named to clients of version 4.
    pub(super) fn naming(&self) -> Arc<Naming> {
        self.service.naming()
    }

    /// How the caller has proven who it is.
    pub(super) fn flavor(&self) -> Flavor {
        self.gss.as_ref().map_or(Flavor::Sys, |secured| secured.flavor)
    }

    /// With whose opens those of the caller are counted. AUTH_SYS proves nothing: its uids are what the client says.
    pub(super) fn holder(&self, caller: &Caller) -> Holder {
        match self.gss {
            Some(_) => Holder::user(self.origin.address, caller.uid),
            None => Holder::guest(self.origin.address),
        }
    }

    /// Stands for the login; 0 without one.
    pub(super) fn principal_hash(&self) -> u64 {
        self.gss.as_ref().map_or(0, |secured| secured.context.principal_hash)
    }

    /// The arguments as one value.
    pub(crate) fn arguments<T: Decode<'a>>(&self) -> Result<T, Outcome> {
        arguments(&mut Reader::new(self.arguments)).map_err(|_| Outcome::GarbageArgs)
    }

    /// Notes which export the call concerns.
    pub(crate) fn note(&self, export: &Arc<Export>) {
        if self.begun.is_some() {
            let _ = self.concerns.set(export.clone()); // of two exports the first one counts
        }
    }

    /// The arguments must be empty.
    pub(crate) fn no_arguments(&self) -> Result<(), Outcome> {
        if self.arguments.is_empty() { Ok(()) } else { Err(Outcome::GarbageArgs) }
    }
}

/// Answers one message. `None` if the message gets no answer: it is a reply, or has no transaction
/// id.
pub(crate) async fn answer(
    service: Arc<Service>,
    origin: Origin,
    memory: Arc<Allowance>,
    message: Bytes,
    in_flight: InFlight,
) -> Option<Reply> {
    let mut reader = Reader::new(&message);
    let header = match Message::decode(&mut reader) {
        Ok(Message::Call(header)) => header,
        Ok(Message::OtherVersion { xid, .. }) => {
            return Some(finish(refusal(xid, Outcome::RpcMismatch { low: 2, high: 2 }), None, origin));
        }
        Ok(Message::Reply(_)) => {
            service.nfs4.back.replied(origin, &message);
            return None;
        }
        Err(_) => return None,
    };
    let client = SocketAddr::new(origin.address, origin.port);
    let begun = observe::begin("nfs", client, || observed::command(&header));
    let arguments = reader.rest();
    let (service, memory, message) = (&service, &memory, &message);
    let received = Received { service, origin, memory, message, header, arguments, begun };
    if let Credential::Gss(credential) = header.credential {
        return Box::pin(gss::answer(received, credential, in_flight)).await; // other calls need no room for it
    }
    let identity = match identify(&header, origin) {
        Ok(identity) => identity,
        Err(why) => {
            if let Some(begun) = &received.begun {
                observed::refused(begun, message.len(), why);
            }
            return Some(finish(refusal(header.xid, Outcome::AuthError(why)), None, origin));
        }
    };
    let mut call = received.call(identity, message, arguments);
    let (reserved, mut writer, payload) = execute(&mut call, in_flight).await?;
    if call.header.credential == Credential::Tls {
        writer = tls::with_token(writer);
    }
    Some(Reply { reserved, ..finish(writer, payload, origin) })
}

/// Executes a call: the memory that is reserved for its reply, the reply, and the data after it.
pub(super) async fn execute(
    call: &mut Call<'_>,
    in_flight: InFlight,
) -> Option<(Reservation, Writer, Option<Payload>)> {
    let is_nfs = call.header.program == crate::wire::v3::PROGRAM;
    let (is_v3, is_v4) = (
        is_nfs && call.header.version == crate::wire::v3::VERSION,
        is_nfs && call.header.version == crate::wire::v4::VERSION,
    );
    if is_v3 && let Some(file) = crate::wire::v3::first_handle(call.arguments) {
        in_flight.about(&file).await;
    }
    // Replies by datagram need no reserved memory: they leave at once, and only few are made at a time.
    let reserved = match (is_v3, is_v4) {
        (true, _) if !call.origin.datagram => v3::reserved(call).await?,
        (_, true) => v4::reserved(call).await?,
        _ => Reservation::default(),
    };
    let (writer, payload) = observe::within(call.begun.as_ref(), replied(call)).await?;
    Some((reserved, writer, payload))
}

/// The reply kept from the first time that this call came, or a new one.
async fn replied(call: &Call<'_>) -> Option<(Writer, Option<Payload>)> {
    use super::replies::Begun;
    let replies = &call.service.replies;
    let entry = match replies.key_of(call).map(|key| replies.begin(key)) {
        None => None,
        Some(Begun::New(entry)) => Some(entry),
        Some(Begun::Known(reply)) => {
            observed::repeated(call, reply.len() - empty(call.header.xid).len());
            return Some((Writer::onto(reply), None));
        }
        // The first call is still being executed: its reply answers both.
        Some(Begun::Running) => {
            observed::repeated(call, 0);
            return None;
        }
    };
    let mut writer = empty(call.header.xid);
    let start = writer.len();
    let answered = dispatch(call, &mut writer).await;
    if let Some(begun) = &call.begun {
        observed::end(begun, call, &answered, &writer.as_bytes()[start..]);
    }
    let (writer, payload) = match answered {
        Ok(payload) => (writer, payload),
        Err(outcome) => (refusal(call.header.xid, outcome), None),
    };
    if let Some(entry) = entry {
        entry.finish(writer.as_bytes());
    }
    Some((writer, payload))
}

/// Logs who speaks a version of NFS that is not served.
fn tell_of_version(call: &Call<'_>, newest: u32) {
    let spoken = match (call.header.version, call.origin.datagram) {
        (..=2, _) => "version 2 of NFS or an older one",
        (3, _) => "version 3 of NFS",
        (4, true) => "version 4 of NFS over UDP",
        (4, false) => "version 4 of NFS",
        _ => return, // no client does so
    };
    let instead = format!("mount with `-o vers={},proto=tcp`", newest.max(crate::wire::v3::VERSION));
    call.service.refused.tell(call.origin.address, spoken, &instead);
}

async fn dispatch(call: &Call<'_>, writer: &mut Writer) -> Answered {
    use crate::wire;
    let version = call.header.version;
    let spoken = |(low, high): (u32, u32)| {
        let known = (low..=high).contains(&version);
        if known { Ok(()) } else { Err(Outcome::ProgMismatch { low, high }) }
    };
    match call.header.program {
        wire::v3::PROGRAM => {
            let (oldest, newest) = call.service.versions();
            // RFC 7530 3.1: version 4 needs a transport that controls congestion.
            let newest = if call.origin.datagram { newest.min(wire::v3::VERSION) } else { newest };
            spoken((oldest.min(newest), newest)).inspect_err(|_| tell_of_version(call, newest))?;
            match version {
                wire::v4::VERSION => v4::dispatch(call, writer).await,
                _ => v3::dispatch(call, writer).await,
            }
        }
        wire::mount::PROGRAM => {
            spoken(wire::mount::VERSIONS)?;
            mount::dispatch(call, writer)
        }
        wire::nlm::PROGRAM => {
            spoken((wire::nlm::VERSION, wire::nlm::VERSION))?;
            nlm::dispatch(call, writer).await
        }
        wire::nsm::PROGRAM => {
            spoken((wire::nsm::VERSION, wire::nsm::VERSION))?;
            nsm::dispatch(call, writer)
        }
        wire::portmap::PROGRAM => {
            spoken(wire::portmap::VERSIONS)?;
            portmap::dispatch(call, writer)
        }
        _ => Err(Outcome::ProgUnavail),
    }
}

fn identify(header: &CallHeader<'_>, origin: Origin) -> Result<Identity, AuthStat> {
    const NOBODY: u32 = 65_534;
    match &header.credential {
        Credential::Gss(_) => Err(AuthStat::AUTH_TOOWEAK), // its context says who the caller is
        // RFC 9289 4.1: refused for other procedures, and where there is TLS already.
        Credential::Tls if !tls::is_probe(header, origin) => Err(AuthStat::AUTH_BADCRED),
        Credential::None | Credential::Tls => {
            Ok(Identity { uid: NOBODY, gid: NOBODY, groups: Vec::new(), nobody: true })
        }
        Credential::Sys(sys) => {
            Ok(Identity { uid: sys.uid, gid: sys.gid, groups: sys.gids.to_vec(), nobody: false })
        }
        Credential::Malformed => Err(AuthStat::AUTH_BADCRED),
        Credential::Unknown(AuthFlavor::AUTH_TLS) => Err(AuthStat::AUTH_BADCRED), // with a body
        // RFC 2203 5.1: another version of RPCSEC_GSS
        Credential::Unknown(AuthFlavor::AUTH_SHORT | AuthFlavor::RPCSEC_GSS) => {
            Err(AuthStat::AUTH_REJECTEDCRED)
        }
        Credential::Unknown(_) => Err(AuthStat::AUTH_TOOWEAK),
    }
}

/// A reply with a head but no results yet, after room for a record mark.
pub(super) fn empty(xid: u32) -> Writer {
    let mut writer = Writer::onto(Vec::with_capacity(256));
    writer.zeros(RecordMark::SIZE);
    ReplyHeader::success(xid).encode(&mut writer);
    writer
}

/// The reply, without a record mark, to a call whose real reply cannot be sent.
pub(super) fn failure(xid: u32) -> Vec<u8> {
    refusal(xid, Outcome::SystemErr).into_bytes().split_off(RecordMark::SIZE)
}

pub(super) fn refusal(xid: u32, outcome: Outcome) -> Writer {
    let mut writer = Writer::new();
    writer.zeros(RecordMark::SIZE);
    ReplyHeader { xid, outcome }.encode(&mut writer);
    writer
}

/// Sets the record mark; a datagram has none.
pub(super) fn finish(mut writer: Writer, body: Option<Payload>, origin: Origin) -> Reply {
    let data = body.as_ref().map_or(0, Payload::len);
    let tail = padding(data);
    if origin.datagram {
        let head = writer.into_bytes().split_off(RecordMark::SIZE);
        return Reply { head, body, tail, ..Reply::default() };
    }
    let length = writer.len() - RecordMark::SIZE + data + tail;
    let mark = RecordMark { last: true, len: length as u32 }; // at most MAX_RECORD and a head
    writer.patch_u32_be(0, mark.word());
    Reply { head: writer.into_bytes(), body, tail, ..Reply::default() }
}
