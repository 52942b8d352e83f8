//! Frames over a stream of bytes.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::wire::{MAX_FRAME, PeerFrame};

/// How long a connection may be without an acknowledgement of what was sent.
const SILENT_FOR: Duration = Duration::from_secs(3);

/// Reads one frame. A frame that does not follow the protocol ends the connection.
pub(super) async fn read_frame(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<PeerFrame> {
    let length = stream.read_u32().await? as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame that is too long"));
    }
    // What has come is read in steps, so the length alone does not make this server allocate.
    let mut bytes = Vec::new();
    (&mut *stream).take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    PeerFrame::decode(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

pub(super) async fn write_frame(
    stream: &mut (impl AsyncWriteExt + Unpin),
    frame: &PeerFrame,
) -> io::Result<()> {
    stream.write_all(&frame.encode()).await?;
    stream.flush().await
}

/// The options of a connection: nothing waits for more, and one whose peer is silent ends.
pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let silent = u32::try_from(SILENT_FOR.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(stream, silent)?;
    Ok(())
}
