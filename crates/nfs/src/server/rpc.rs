//! One call, RFC 5531: its program, its caller, and the answer to an invalid call.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conn::observe::{self, Begun};
use conn::{Allowance, InFlight, Reply, Reservation};
use vfs::Payload;
use vfs::state::Party;
use wire::{Reader, Writer};

use super::export::Export;
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

/// A call that a program executes.
pub(crate) struct Call<'a> {
    pub(crate) service: &'a Arc<Service>,
    pub(crate) origin: Origin,
    /// The memory that the client's requests may use.
    pub(crate) memory: &'a Arc<Allowance>,
    /// The most bytes of a listing, limited by the reserved memory.
    pub(crate) room: usize,
    pub(crate) identity: Identity,
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
    let concerns = OnceLock::new();
    let identity = match identify(&header, origin) {
        Ok(identity) => identity,
        Err(why) => {
            if let Some(begun) = &begun {
                observed::refused(begun, message.len(), why);
            }
            return Some(finish(refusal(header.xid, Outcome::AuthError(why)), None, origin));
        }
    };
    let arguments = reader.rest();
    if header.program == crate::wire::v3::PROGRAM
        && header.version == crate::wire::v3::VERSION
        && let Some(file) = crate::wire::v3::first_handle(arguments)
    {
        in_flight.about(&file).await;
    }
    let (service, memory, message) = (&service, &memory, &message);
    let (room, minor) = (usize::MAX, v4::minor_of(&header, arguments));
    let mut call = Call {
        service,
        origin,
        memory,
        room,
        identity,
        header,
        arguments,
        minor,
        message,
        begun,
        party: OnceLock::new(),
        concerns,
    };
    // Replies by datagram need no reserved memory: they leave at once, and only few are made at a time.
    let reserved = match call.header.program {
        crate::wire::v3::PROGRAM if call.header.version == crate::wire::v3::VERSION && !origin.datagram => {
            v3::reserved(&mut call).await?
        }
        crate::wire::v3::PROGRAM if call.header.version == crate::wire::v4::VERSION => {
            v4::reserved(&mut call).await?
        }
        _ => Reservation::default(),
    };
    let (mut writer, payload) = observe::within(call.begun.as_ref(), replied(&call)).await?;
    if call.header.credential == Credential::Tls {
        writer = tls::with_token(writer);
    }
    Some(Reply { reserved, ..finish(writer, payload, origin) })
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
            spoken((oldest.min(newest), newest))?;
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
        Credential::Unknown(AuthFlavor::AUTH_SHORT) => Err(AuthStat::AUTH_REJECTEDCRED),
        Credential::Unknown(_) => Err(AuthStat::AUTH_TOOWEAK),
    }
}

/// A reply with a head but no results yet, after room for a record mark.
fn empty(xid: u32) -> Writer {
    let mut writer = Writer::onto(Vec::with_capacity(256));
    writer.zeros(RecordMark::SIZE);
    ReplyHeader::success(xid).encode(&mut writer);
    writer
}

/// The reply, without a record mark, to a call whose real reply cannot be sent.
pub(super) fn failure(xid: u32) -> Vec<u8> {
    refusal(xid, Outcome::SystemErr).into_bytes().split_off(RecordMark::SIZE)
}

fn refusal(xid: u32, outcome: Outcome) -> Writer {
    let mut writer = Writer::new();
    writer.zeros(RecordMark::SIZE);
    ReplyHeader { xid, outcome }.encode(&mut writer);
    writer
}

/// Sets the record mark; a datagram has none.
fn finish(mut writer: Writer, body: Option<Payload>, origin: Origin) -> Reply {
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
