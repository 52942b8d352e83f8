//! A guest of an AFP server: logs in with AFP 2.2, opens the first volume, writes a file by pieces as large as ASP allows, reads it, and
//! removes it. The messages are those of the Apple Filing Protocol Reference.

use std::time::{Duration, Instant};

use appletalk::asp::{Client, ClientEvent, QUANTUM, Reply};
use appletalk::wire::ddp::{Datagram, DatagramKind};
use appletalk::{Address, Endpoint, Output};

use super::{Failure, Node};

const LIMIT: Duration = Duration::from_secs(60);
const NAME: &[u8] = b"\x09From ASP!";
/// The root folder of a volume, and the type of long names.
const ROOT: [u8; 4] = [0, 0, 0, 2];
const LONG_NAME: u8 = 2;
/// Not a multiple of the quantum.
const LENGTH: usize = 3 * QUANTUM + 1_000;

/// The codes of commands.
mod code {
    pub(super) const CLOSE_FORK: u8 = 4;
    pub(super) const CREATE_FILE: u8 = 7;
    pub(super) const DELETE: u8 = 8;
    pub(super) const GET_SRVR_PARMS: u8 = 16;
    pub(super) const LOGIN: u8 = 18;
    pub(super) const LOGOUT: u8 = 20;
    pub(super) const OPEN_VOL: u8 = 24;
    pub(super) const OPEN_FORK: u8 = 26;
    pub(super) const READ: u8 = 27;
    pub(super) const WRITE: u8 = 33;
}

/// Does all of it. Answers `volume NAME: LENGTH bytes are the same`.
pub(super) fn visit(node: &mut Node, server: Endpoint) -> Result<String, Failure> {
    let local = Endpoint::new(Address::default(), node.socket);
    let client = Client::new(local, server, std::process::id() as u16);
    let mut guest = Guest { node, client };
    guest.client.status(Instant::now()).map_err(|error| format!("{error:?}"))?;
    let ClientEvent::Status(Some(status)) = guest.event()? else { return Err("no status".into()) };
    if !status.windows(6).any(|text| text == b"AFP2.2") {
        return Err("the status block does not name AFP2.2".into());
    }
    guest.client.open(Instant::now()).map_err(|error| format!("{error:?}"))?;
    let ClientEvent::Opened(Ok(())) = guest.event()? else { return Err("no session".into()) };
    guest.command(&[&[code::LOGIN], &b"\x06AFP2.2"[..], b"\x0fNo User Authent"].concat())?;
    let volume_name = guest.first_volume()?;
    let same = guest.copy(&volume_name)?;
    guest.command(&[code::LOGOUT, 0])?;
    let name = String::from_utf8_lossy(&volume_name[1..]).into_owned();
    Ok(format!("volume {name}: {same} bytes are the same"))
}

struct Guest<'a> {
    node: &'a mut Node,
    client: Client,
}

impl Guest<'_> {
    /// The name of the first volume, with its length before it.
    fn first_volume(&mut self) -> Result<Vec<u8>, Failure> {
        let parameters = self.command(&[code::GET_SRVR_PARMS, 0])?.data;
        // The server's time, the number of volumes, the flags of the first one.
        let name = parameters.get(6..).ok_or("no volume")?;
        let length = usize::from(*name.first().ok_or("no volume")?);
        Ok(name.get(..=length).ok_or("half a volume's name")?.to_vec())
    }

    /// Writes, reads and removes a file. Answers its length.
    fn copy(&mut self, volume_name: &[u8]) -> Result<usize, Failure> {
        let opened = self.command(&[&[code::OPEN_VOL, 0, 0, 0x20], volume_name].concat())?.data;
        let volume: [u8; 2] = opened.get(2..4).ok_or("no volume id")?.try_into()?;
        let file = |code: u8| [&[code, 0], &volume[..], &ROOT, &[LONG_NAME], NAME].concat();
        self.command(&file(code::CREATE_FILE))?;
        // No bitmap; the right to read and to write.
        let fork = [&[code::OPEN_FORK, 0], &volume[..], &ROOT, &[0, 0, 0, 3, LONG_NAME], NAME].concat();
        let fork = self.command(&fork)?.data;
        let fork: [u8; 2] = fork.get(2..4).ok_or("no fork")?.try_into()?;
        let written: Vec<u8> = (0..LENGTH).map(|at| (at ^ (at >> 8)) as u8).collect();
        for (piece, at) in written.chunks(QUANTUM).zip((0..).step_by(QUANTUM)) {
            let block = range(code::WRITE, fork, at, piece.len());
            self.client
                .write(&block, piece.to_vec(), 4, Instant::now())
                .map_err(|error| format!("{error:?}"))?;
            self.reply(code::WRITE)?;
        }
        let mut read = Vec::new();
        while read.len() < LENGTH {
            let length = QUANTUM.min(LENGTH - read.len());
            let block = [&range(code::READ, fork, read.len(), length)[..], &[0, 0]].concat();
            let piece = self.command(&block)?.data;
            if piece.is_empty() {
                return Err(format!("the file ends after {} bytes", read.len()).into());
            }
            read.extend(piece);
        }
        self.command(&[code::CLOSE_FORK, 0, fork[0], fork[1]])?;
        self.command(&file(code::DELETE))?;
        if read == written { Ok(LENGTH) } else { Err("the file differs".into()) }
    }

    fn command(&mut self, block: &[u8]) -> Result<Reply, Failure> {
        self.client.command(block, QUANTUM, Instant::now()).map_err(|error| format!("{error:?}"))?;
        self.reply(block[0])
    }

    fn reply(&mut self, code: u8) -> Result<Reply, Failure> {
        match self.event()? {
            ClientEvent::Reply(reply) if reply.result == 0 => Ok(reply),
            ClientEvent::Reply(reply) => Err(format!("command {code}: result {}", reply.result).into()),
            other => Err(format!("command {code}: {other:?}").into()),
        }
    }

    /// The next event of the client.
    fn event(&mut self) -> Result<ClientEvent, Failure> {
        let Self { node, client } = self;
        let found = node.until(LIMIT, |node| {
            let now = Instant::now();
            while let Some(output) = node.outputs.pop_front() {
                if let Output::Delivered(datagram) = output
                    && datagram.kind == DatagramKind::ATP
                {
                    client.receive(datagram.source, &datagram.payload, now);
                }
            }
            client.tick(now);
            while let Some(packet) = client.take_output() {
                let (source, destination, payload) = (packet.source, packet.destination, packet.payload);
                let datagram = Datagram { destination, source, hops: 0, kind: DatagramKind::ATP, payload };
                // What cannot be sent is lost, and is sent again.
                let _ = node.stack.send(datagram, now);
            }
            client.take_event().filter(|event| !matches!(event, ClientEvent::Attention(_)))
        });
        found?.ok_or_else(|| "the server does not answer".into())
    }
}

/// FPWrite and FPRead of so many bytes.
fn range(code: u8, fork: [u8; 2], at: usize, length: usize) -> Vec<u8> {
    [&[code, 0][..], &fork, &(at as u32).to_be_bytes(), &(length as u32).to_be_bytes()].concat()
}
