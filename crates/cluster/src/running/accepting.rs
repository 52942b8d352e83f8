//! Connections of other servers, over which their messages come.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, BufReader, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::RunContext;
use super::stream::{prepare, read_frame, write_frame};
use crate::fence;
use crate::node::MessageRefusal;
use crate::tls::is_of;
use crate::wire::PeerFrame;

/// How many connections may be open. A cluster has few servers; each has one connection here.
const MAX_CONNECTIONS: usize = 256;
/// How long a connection may take to say whose it is.
const HELLO_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn accept(shared: Arc<RunContext>, listener: TcpListener) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection of another server was not accepted");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            if let Err(error) = serve(&shared, stream).await {
                tracing::debug!(%error, %from, "the connection of another server has ended");
            }
            drop(permit);
        });
    }
}

async fn serve(shared: &Arc<RunContext>, stream: TcpStream) -> io::Result<()> {
    prepare(&stream)?;
    let stream = timeout(HELLO_WITHIN, shared.tls.accept.accept(stream)).await??;
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).cloned();
    let (read, mut write) = split(stream);
    let mut read = BufReader::new(read);
    let hello = timeout(HELLO_WITHIN, read_frame(&mut read)).await??;
    let (from, received) = admit(shared, &hello, certificate.as_ref())?;
    write_frame(&mut write, &PeerFrame::Welcome { received }).await?;
    take(shared, from, &mut read, &mut write).await
}

/// Who it is, and what of it was received before.
fn admit(
    shared: &Arc<RunContext>,
    hello: &PeerFrame,
    certificate: Option<&CertificateDer<'_>>,
) -> io::Result<(u16, u64)> {
    let refused = |why: &'static str| io::Error::new(io::ErrorKind::PermissionDenied, why);
    let PeerFrame::Hello { cluster, from, to } = hello else { return Err(refused("not a hello")) };
    if *cluster != shared.config.cluster || *to != shared.me {
        return Err(refused("another cluster, or another server is meant"));
    }
    let name = {
        let members = shared.members.borrow();
        members.members.iter().find(|member| member.number == *from).map(|member| member.name.clone())
    };
    let name = name.ok_or_else(|| refused("not a member"))?;
    if !certificate.is_some_and(|certificate| is_of(certificate, &name)) {
        tracing::warn!(name, "a connection shows the certificate of another server: it is refused");
        return Err(refused("the certificate is for another name"));
    }
    let received = shared.node.lock().received(*from).ok_or_else(|| refused("not a member"))?;
    Ok((*from, received))
}

async fn take(
    shared: &Arc<RunContext>,
    from: u16,
    read: &mut BufReader<impl AsyncRead + Unpin>,
    write: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut members = shared.members.subscribe();
    loop {
        let PeerFrame::Data { number, epoch, message } = read_frame(read).await? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a message"));
        };
        while let Err(why) = {
            let message = message.clone();
            shared.with(|node| node.receive(fence::now(), from, number, epoch, message))
        } {
            if why != MessageRefusal::Later {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "not a member, or a message is missing",
                ));
            }
            if members.changed().await.is_err() {
                return Ok(());
            }
        }
        shared.port.call(); // it may be an order that is due sooner than what was known
        if read.buffer().is_empty() {
            let epoch = shared.node.lock().epoch();
            write_frame(write, &PeerFrame::Ack { received: number, epoch }).await?;
        }
    }
}
