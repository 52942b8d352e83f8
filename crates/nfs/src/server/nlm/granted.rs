//! GRANTED and GRANTED_MSG tell a client that it has the lock it waited for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use wire::Reader;

use super::Call;
use super::blocked::BlockedLock;
use super::lock::Back;
use crate::server::Service;
use crate::server::outgoing::{self, CallEndpoint, RpcError};
use crate::server::portmap::port_of;
use crate::wire::nlm::{self, LockRequest, NetObj, NlmStat, Procedure, Res, TestRequest};
use crate::wire::portmap::Protocol;
use crate::wire::xdr::Opaque;

/// Pauses before each attempt to reach a client. A client that cannot be reached in all that time
/// does not get the lock, because other clients wait for it.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(15),
];
/// How long the server waits for a client's answer to a message.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(5);

/// The client to call, and the lock to report.
pub(super) struct GrantedCallback {
    pub(super) host: IpAddr,
    back: Back,
    datagram: bool,
    exclusive: bool,
    caller_name: Vec<u8>,
    handle: Vec<u8>,
    owner: Vec<u8>,
    svid: i32,
    offset: u64,
    len: u64,
}

impl GrantedCallback {
    pub(super) fn new(call: &Call<'_>, request: &LockRequest<'_>, back: Back) -> Self {
        let lock = &request.lock;
        Self {
            host: call.origin.address,
            back,
            datagram: call.origin.datagram,
            exclusive: request.exclusive,
            caller_name: lock.caller_name.to_vec(),
            handle: lock.handle.to_vec(),
            owner: lock.owner.to_vec(),
            svid: lock.svid,
            offset: lock.offset,
            len: lock.len,
        }
    }

    fn request<'a>(&'a self, cookie: &'a [u8]) -> TestRequest<'a> {
        let lock = nlm::NlmLock {
            caller_name: Opaque::new(&self.caller_name),
            handle: NetObj::new(&self.handle),
            owner: NetObj::new(&self.owner),
            svid: self.svid,
            offset: self.offset,
            len: self.len,
        };
        TestRequest { cookie: NetObj::new(cookie), exclusive: self.exclusive, lock }
    }
}

/// Repeats GRANTED until the client has accepted or refused the lock. False if it refuses or never
/// answers.
pub(super) async fn deliver(service: &Arc<Service>, blocked: &BlockedLock) -> bool {
    let attempts = async {
        for pause in PAUSES {
            sleep(pause).await;
            match attempt(service, blocked).await {
                Ok(Some(taken)) => return taken,
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(client = %blocked.callback.host, %error, "cannot tell of a lock")
                }
            }
        }
        false
    };
    tokio::select! {
        taken = attempts => taken,
        settled = blocked.settled() => settled,
    }
}

async fn attempt(service: &Arc<Service>, blocked: &BlockedLock) -> Result<Option<bool>, RpcError> {
    let (callback, cookie) = (&blocked.callback, blocked.cookie.to_be_bytes());
    let to = manager_of(service, callback.host, callback.datagram).await?;
    let request = callback.request(&cookie);
    let procedure = |procedure: Procedure| (nlm::PROGRAM, nlm::VERSION, procedure.0);
    match callback.back {
        Back::Call => {
            let results =
                outgoing::call(service.network(), &to, procedure(Procedure::GRANTED), &request).await?;
            Ok(taken(results.value::<Res<'_>>()?.stat))
        }
        Back::Message => {
            // Some clients never answer the message itself, so its result is ignored.
            let sent = outgoing::call(service.network(), &to, procedure(Procedure::GRANTED_MSG), &request);
            let _ = timeout(MESSAGE_PATIENCE, async { tokio::join!(sent, blocked.settled()) }).await;
            Ok(None)
        }
    }
}

fn taken(stat: NlmStat) -> Option<bool> {
    match stat {
        NlmStat::GRANTED => Some(true),
        NlmStat::DENIED_GRACE_PERIOD => None, // it has just restarted, and will report that soon
        _ => Some(false),
    }
}

/// GRANTED_RES: the client's answer to a message.
pub(super) fn answered(call: &Call<'_>, res: &Res<'_>) {
    let locks = &call.service.locks;
    let cookie = Reader::new(&res.cookie).u64_be().ok();
    if let (Some(cookie), Some(client)) = (cookie, locks.hosts.known(call.origin.address))
        && let Some(blocked) = locks.blocked.by_cookie(cookie, client)
        && let Some(taken) = taken(res.stat)
    {
        blocked.settle(taken);
    }
}

/// The address of a client's lock manager: for the transport of the client's call, else for the
/// other transport.
pub(super) async fn manager_of(
    service: &Arc<Service>,
    host: IpAddr,
    datagram: bool,
) -> Result<CallEndpoint, RpcError> {
    let program = (nlm::PROGRAM, nlm::VERSION);
    let order = if datagram { [Protocol::UDP, Protocol::TCP] } else { [Protocol::TCP, Protocol::UDP] };
    for protocol in order {
        if let Some(port) = port_of(service.network(), host, program, protocol).await? {
            let address = SocketAddr::new(host, port);
            return Ok(if protocol == Protocol::UDP {
                CallEndpoint::Udp(address)
            } else {
                CallEndpoint::Tcp(address)
            });
        }
    }
    Err(RpcError::Unanswered(std::io::ErrorKind::ConnectionRefused.into()))
}
