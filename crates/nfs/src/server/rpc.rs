//! The answer to one call, RFC 5531: by its program, or because it is invalid.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use conn::observe;
use conn::{Allowance, InFlight, Reply, Reservation};
use vfs::Payload;
use wire::{Reader, Writer};

pub(crate) use super::call::{Call, CallIdentity};
pub(super) use super::call::{ReceivedCall, empty, failure, finish, refusal, with_room};
use super::gss;
use super::replies::CallState;
use super::v3::EarlyFileWrite;
use super::{CallOrigin, Service, mount, nlm, nsm, observed, portmap, tls, v3, v4};
use crate::wire::rpc::{AuthFlavor, AuthStat, CallHeader, Credential, Message, Outcome};
use crate::wire::v3::write::Beginning;
use crate::wire::v3::{Arguments, Procedure};
use crate::wire::xdr::{Decode, padding};

/// Answers one message. `None` if the message gets no answer: it is a reply, or has no transaction
/// id.
pub(crate) async fn answer(
    service: Arc<Service>,
    origin: CallOrigin,
    memory: Arc<Allowance>,
    message: Bytes,
    early: Option<EarlyFileWrite>,
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
    let received = ReceivedCall { service, origin, memory, message, header, arguments, begun };
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
    let mut call = Call { early, ..received.call(identity, message, arguments) };
    let (reserved, mut writer, payload) = pin!(execute(&mut call, in_flight)).await?;
    if call.header.credential == Credential::Tls {
        writer = tls::with_token(writer);
    }
    Some(Reply { reserved, ..finish(writer, payload, origin) })
}

/// Begins a WRITE of NFSv3 that has arrived in part. `length` is that of the whole record. Gives where in the record its data
/// begin. `None`: it is executed when it is complete, as are all calls with a checksum.
pub(super) fn begin_early(
    (service, origin, memory): (&Arc<Service>, CallOrigin, &Arc<Allowance>),
    (arrived, length): (&[u8], usize),
    in_flight: &InFlight,
) -> Option<(usize, EarlyFileWrite)> {
    let mut reader = Reader::new(arrived);
    let Ok(Message::Call(header)) = Message::decode(&mut reader) else { return None };
    let called = (header.program, header.version, header.procedure);
    let (oldest, newest) = service.versions();
    let version = crate::wire::v3::VERSION;
    if called != (crate::wire::v3::PROGRAM, version, Procedure::WRITE.0)
        || !(oldest..=newest).contains(&version)
    {
        return None;
    }
    let identity = identify(&header, origin).ok()?;
    let arguments_at = reader.position();
    let request = Beginning::decode(&mut reader).ok()?;
    let data_at = reader.position();
    let data = request.length as usize;
    if data_at + data + padding(data) != length {
        return None;
    }
    let message = &Bytes::copy_from_slice(&arrived[..data_at]);
    let arguments = &message[arguments_at..];
    let received = ReceivedCall { service, origin, memory, message, header, arguments, begun: None };
    let call = received.call(identity, message, arguments);
    Some((data_at, EarlyFileWrite::begin(&call, &request, in_flight)?))
}

/// The program that a call is for, with the arguments that are needed before it is executed.
enum Program<'a> {
    V3(Arguments<'a>),
    V4,
    Mount,
    Nlm,
    Nsm,
    Portmap,
}

/// The room that the data of the reply need in its head: short ones are copied there.
fn room(program: &Result<Program<'_>, Outcome>) -> usize {
    match program {
        Ok(Program::V3(Arguments::Read(request))) => conn::room_behind_head(request.count as usize),
        _ => 0,
    }
}

/// Executes a call: the memory that is reserved for its reply, the reply, and the data after it.
pub(super) async fn execute(
    call: &mut Call<'_>,
    in_flight: InFlight,
) -> Option<(Reservation, Writer, Option<Payload>)> {
    let program = program(call);
    let reserved = match &program {
        Ok(Program::V3(arguments)) => {
            if let Some(file) = arguments.files()[0] {
                in_flight.about(&file.handle).await;
            }
            // Replies by datagram need no reserved memory: they leave at once, and only few are made at a time.
            if call.origin.datagram { Reservation::default() } else { v3::reserved(call, arguments).await? }
        }
        Ok(Program::V4) => v4::reserved(call).await?,
        _ => Reservation::default(),
    };
    let call = &*call;
    let answered = async {
        let entry = match call.service.replies.begin(call) {
            CallState::Repeatable => None,
            CallState::New(entry) => Some(entry),
            CallState::Known(reply) => {
                observed::repeated(call, reply.len() - empty(call.header.xid).len());
                return Some((Writer::onto(reply), None));
            }
            // The first call is still being executed: its reply answers both.
            CallState::Running => {
                observed::repeated(call, 0);
                return None;
            }
        };
        let mut writer = with_room(call.header.xid, room(&program));
        let start = writer.len();
        let answered = match program {
            Ok(Program::V3(arguments)) => Ok(v3::dispatch(call, &arguments, &mut writer).await),
            Ok(Program::V4) => v4::dispatch(call, &mut writer).await,
            Ok(Program::Mount) => mount::dispatch(call, &mut writer),
            Ok(Program::Nlm) => nlm::dispatch(call, &mut writer).await,
            Ok(Program::Nsm) => nsm::dispatch(call, &mut writer),
            Ok(Program::Portmap) => portmap::dispatch(call, &mut writer),
            Err(outcome) => Err(outcome),
        };
        if let Some(begun) = &call.begun {
            observed::end(begun, call, &answered, writer.len() - start);
        }
        let (writer, payload) = match answered {
            Ok(answer) => (writer, answer.data),
            Err(outcome) => (refusal(call.header.xid, outcome), None),
        };
        if let Some(entry) = entry {
            entry.finish(writer.as_bytes());
        }
        Some((writer, payload))
    };
    let (writer, payload) = observe::within(call.begun.as_ref(), pin!(answered)).await?;
    Some((reserved, writer, payload))
}

/// The program of a call, if it is served in the call's version.
fn program<'a>(call: &Call<'a>) -> Result<Program<'a>, Outcome> {
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
                wire::v4::VERSION => Ok(Program::V4),
                _ => Arguments::of(Procedure(call.header.procedure), call.arguments).map(Program::V3),
            }
        }
        wire::mount::PROGRAM => spoken(wire::mount::VERSIONS).map(|()| Program::Mount),
        wire::nlm::PROGRAM => spoken((wire::nlm::VERSION, wire::nlm::VERSION)).map(|()| Program::Nlm),
        wire::nsm::PROGRAM => spoken((wire::nsm::VERSION, wire::nsm::VERSION)).map(|()| Program::Nsm),
        wire::portmap::PROGRAM => spoken(wire::portmap::VERSIONS).map(|()| Program::Portmap),
        _ => Err(Outcome::ProgUnavail),
    }
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

fn identify(header: &CallHeader<'_>, origin: CallOrigin) -> Result<CallIdentity, AuthStat> {
    const NOBODY: u32 = 65_534;
    match &header.credential {
        Credential::Gss(_) => Err(AuthStat::AUTH_TOOWEAK), // its context says who the caller is
        // RFC 9289 4.1: refused for other procedures, and where there is TLS already.
        Credential::Tls if !tls::is_probe(header, origin) => Err(AuthStat::AUTH_BADCRED),
        Credential::None | Credential::Tls => {
            Ok(CallIdentity { uid: NOBODY, gid: NOBODY, groups: Vec::new(), nobody: true })
        }
        Credential::Sys(sys) => {
            Ok(CallIdentity { uid: sys.uid, gid: sys.gid, groups: sys.gids.to_vec(), nobody: false })
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
