//! After a restart every host that held locks is told, so that it reclaims them within the grace
//! period.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::hosts::MonitoredHost;
use crate::server::Service;
use crate::server::outgoing::{self, CallEndpoint, RpcError};
use crate::server::portmap::port_of;
use crate::wire::nsm::{self, NotifyRequest, Procedure};
use crate::wire::portmap::Protocol;
use crate::wire::xdr::Opaque;

/// Pauses before each attempt to reach a host. A host that is down for so long has lost its locks
/// anyway.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(40),
];
/// The most hosts that are told at a time.
const AT_ONCE: usize = 32;

/// Tells every host that held locks when the previous run of this server ended. Returns when the
/// grace period is over, too. The caller runs it once in the background, when the programs are
/// served.
pub async fn notify_hosts(service: &Arc<Service>) {
    let former = std::mem::take(&mut *service.monitor.former.lock());
    tell_hosts(service, former.clone(), vec![service.monitor.name.clone()]).await;
    service.monitor.grace_ended().await;
    service.end_grace();
    for host in former {
        service.monitor.watched.forget_former(host.address).await;
    }
}

/// Tells hosts that the servers that they know by these names have restarted.
pub(in crate::server) async fn tell_hosts(
    service: &Arc<Service>,
    hosts: Vec<MonitoredHost>,
    names: Vec<Vec<u8>>,
) {
    let (mut telling, room) = (JoinSet::new(), Arc::new(Semaphore::new(AT_ONCE)));
    let names = Arc::new(names);
    for host in hosts {
        let (service, room, names) = (service.clone(), room.clone(), names.clone());
        telling.spawn(async move {
            let _permit = room.acquire_owned().await;
            tell(&service, &host, &names).await;
        });
    }
    while telling.join_next().await.is_some() {}
}

async fn tell(service: &Arc<Service>, host: &MonitoredHost, names: &[Vec<u8>]) {
    for pause in PAUSES {
        sleep(pause).await;
        match try_to_tell(service, host, names).await {
            Ok(()) => {
                tracing::info!(host = %host.address, "told of our restart: it may take back its locks");
                return;
            }
            Err(error) => tracing::debug!(host = %host.address, %error, "not told of our restart yet"),
        }
    }
    tracing::warn!(host = %host.address, "never heard of our restart: it does not know that its locks are gone");
}

/// Sends the notice with the server's names, and with its address as the host sees it. The host may
/// know the server by any of them.
async fn try_to_tell(
    service: &Arc<Service>,
    host: &MonitoredHost,
    names: &[Vec<u8>],
) -> Result<(), RpcError> {
    let (network, monitor) = (service.network(), &service.monitor);
    let program = (nsm::PROGRAM, nsm::VERSION);
    let port = port_of(network, host.address, program, Protocol::UDP).await?;
    let port = port.ok_or(RpcError::Unanswered(std::io::ErrorKind::ConnectionRefused.into()))?;
    let to = CallEndpoint::Udp(SocketAddr::new(host.address, port));
    let address = network.address_towards(host.address).map(|address| address.to_string());
    for name in names.iter().cloned().chain(address.map(String::into_bytes)) {
        let request = NotifyRequest { mon_name: Opaque::new(&name), state: monitor.state() };
        let procedure = (program.0, program.1, Procedure::NOTIFY.0);
        outgoing::call(network, &to, procedure, &request).await?;
    }
    Ok(())
}
