//! Connections to other servers, over which messages to them go.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, split};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::ServerName;

use super::RunContext;
use super::stream::{prepare, read_frame, write_frame};
use crate::fence;
use crate::membership::Member;
use crate::wire::PeerFrame;

/// How long another server may take to accept a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
/// How long after a failure it is tried again.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// About how many bytes leave together.
const BATCH: usize = 64 << 10;

/// Keeps a connection to each other member.
pub(super) async fn call_members(shared: Arc<RunContext>) {
    let mut members = shared.members.subscribe();
    let mut calls: HashMap<u16, AbortHandle> = HashMap::new();
    loop {
        let now = members.borrow_and_update().members.clone();
        calls.retain(|number, call| {
            let stays = now.iter().any(|member| member.number == *number);
            if !stays {
                call.abort();
                shared.ways.lock().remove(number);
            }
            stays
        });
        for member in now.into_iter().filter(|member| member.number != shared.me) {
            let call = || tokio::spawn(call(shared.clone(), member.clone())).abort_handle();
            calls.entry(member.number).or_insert_with(call);
        }
        if members.changed().await.is_err() {
            return;
        }
    }
}

async fn call(shared: Arc<RunContext>, member: Member) {
    loop {
        if let Err(error) = connected(&shared, &member).await {
            tracing::debug!(%error, member.name, "no connection to another server");
        }
        shared.ways.lock().remove(&member.number);
        shared.node.lock().disconnected(member.number);
        sleep(AGAIN_AFTER).await;
    }
}

/// One connection, until it ends.
async fn connected(shared: &Arc<RunContext>, member: &Member) -> io::Result<()> {
    let connecting = async {
        let stream = TcpStream::connect(&member.address).await?;
        prepare(&stream)?;
        let name = ServerName::try_from(member.name.clone())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut stream = shared.tls.connect.connect(name, stream).await?;
        let cluster = shared.config.cluster.clone();
        write_frame(&mut stream, &PeerFrame::Hello { cluster, from: shared.me, to: member.number }).await?;
        let PeerFrame::Welcome { received } = read_frame(&mut stream).await? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a welcome"));
        };
        Ok((stream, received))
    };
    let (stream, received) = timeout(CONNECT_WITHIN, connecting).await??;
    let (mut read, mut write) = split(stream);
    let (way, frames) = mpsc::unbounded_channel();
    // Under the lock of the node: what is sent from now on comes behind what is sent again.
    shared.with(|node| {
        for frame in node.connected(member.number, received) {
            let _ = way.send(frame);
        }
        shared.ways.lock().insert(member.number, way);
    });
    let hearing = async {
        loop {
            let PeerFrame::Ack { received, epoch } = read_frame(&mut read).await? else {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not an acknowledgement"));
            };
            shared.with(|node| node.acknowledged(fence::now(), member.number, received, epoch));
        }
    };
    tokio::select! {
        ended = hearing => ended,
        ended = speak(&mut write, frames) => ended,
    }
}

async fn speak(
    write: &mut (impl AsyncWriteExt + Unpin),
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(mut batch) = frames.recv().await {
        while batch.len() < BATCH
            && let Ok(frame) = frames.try_recv()
        {
            batch.extend(frame);
        }
        write.write_all(&batch).await?;
        write.flush().await?;
    }
    Ok(())
}
