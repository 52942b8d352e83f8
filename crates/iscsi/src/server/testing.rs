//! Initiators for tests of sessions: a server with a disk in memory, without sockets. The test
//! passes PDUs to the connection as `conn` does, and decodes the answers.
//!
//! ```text
//! let server = Server::new().await;
//! let mut ada = server.log_in("iqn.2026-11.test:ada").await;
//! let answer = ada.command(&[0x12, 0, 0, 0, 36, 0], Way::In(36)).await;
//! assert_eq!(answer.status, Status::GOOD);
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, SystemTime};

use auth::{Account, Accounts, LoginGuard, Refusal};
use bytes::BytesMut;
use conn::{InFlight, Peer, Protocol, ToClient};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use vfs::backend::Backend;
use vfs::backend::memory::Memory;
use wire::{Reader, Writer};

use super::connection::{Connection, IscsiProtocol};
use super::scsi::testing::Disk;
use super::{Paths, Service, Target, TargetConfig, UnitOptions};
use crate::wire::digest::crc32c;
use crate::wire::pdu::{
    Attribute, BHS, DataIn, DataOut, Head, LoginRequest, Lun, Opcode, R2t, Residual, ScsiCommand,
    ScsiResponse, SequenceNumbers, Stage, padding,
};
use crate::wire::scsi::{Sense, Status};

/// How long a test waits for an expected PDU.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a test waits to check that no PDU comes.
const QUIET: Duration = Duration::from_millis(50);

struct Nobody;

impl Accounts for Nobody {
    fn find(&self, _: &str) -> Option<Account> {
        None
    }

    fn verify(&self, _: &str, _: &str) -> Result<Account, Refusal> {
        Err(Refusal::Unknown)
    }
}

/// A server with one target, which has one disk and is open to all.
pub(super) struct Server {
    pub(super) service: Arc<Service>,
    /// The target.
    pub(super) target: Arc<Target>,
}

impl Server {
    /// A server with a disk of 4096 blocks of 512 bytes.
    pub(super) async fn new() -> Self {
        Self::on(Arc::new(Memory::ticking())).await
    }

    /// A server on another store.
    pub(super) async fn on(backend: Arc<dyn Backend>) -> Self {
        Self::on_with(backend, Arc::default()).await
    }

    /// A server with another guard of logins.
    pub(super) async fn on_with(backend: Arc<dyn Backend>, login_guard: Arc<LoginGuard>) -> Self {
        let disk = Disk::on(backend, 4096, UnitOptions { block_size: 512, read_only: false }).await;
        let config = config(&disk.target, login_guard);
        Self { service: Service::new(config), target: disk.target }
    }

    /// Reloads the settings.
    pub(super) fn reload(&self) {
        self.service.set_config(config(&self.target, Arc::default()));
    }

    /// The server is one of several from now on.
    pub(super) fn join(&self, paths: Arc<dyn Paths>) {
        let alone = config(&self.target, Arc::default());
        self.service.set_config(TargetConfig { paths: Some(paths), ..alone });
    }

    /// A new connection of an initiator.
    pub(super) fn connect(&self) -> Initiator {
        static PORTS: AtomicU16 = AtomicU16::new(40_000);
        let address = ([192, 0, 2, 1], PORTS.fetch_add(1, Ordering::Relaxed)).into();
        let peer = Peer {
            address,
            local: None,
            since: SystemTime::now(),
            counters: Arc::default(),
            memory: Arc::default(),
        };
        let connection = Connection::new(self.service.clone(), peer, ([192, 0, 2, 9], 3260).into());
        let (sender, from_server) = unbounded_channel();
        connection.sender.begin(ToClient::of(move |reply| {
            let bytes = reply.map(|reply| reply.into_bytes().unwrap_or_default());
            sender.send(bytes.unwrap_or_default()).is_ok()
        }));
        Initiator {
            served: IscsiProtocol(connection),
            from_server,
            name: String::new(),
            isid: [0x40, 0, 0, 0, 0, 1],
            cmd_sn: 100,
            next_tag: 1,
            digests: (false, false),
            last: SequenceNumbers::default(),
        }
    }

    /// A new connection that logs in and reads the unit attention about the lost nexus.
    pub(super) async fn log_in(&self, name: &str) -> Initiator {
        self.log_in_with(name, "").await
    }

    /// The same, with more keys, each followed by `\0`.
    pub(super) async fn log_in_with(&self, name: &str, keys: &str) -> Initiator {
        let mut initiator = self.connect();
        initiator.name = name.into();
        assert_eq!(initiator.log_in(keys, 0, 1).await, (0, 0));
        let told = initiator.command(&[0; 6], Way::Nothing).await;
        assert_eq!(told.sense.map(|sense| sense.asc), Some(crate::wire::scsi::Asc::POWER_ON_OR_RESET));
        initiator
    }
}

fn config(target: &Arc<Target>, login_guard: Arc<LoginGuard>) -> TargetConfig {
    let targets = vec![target.clone()];
    TargetConfig { targets, accounts: Arc::new(Nobody), own_secret: None, login_guard, paths: None }
}

/// The direction of a command's data.
pub(super) enum Way<'a> {
    Nothing,
    /// This many bytes are expected.
    In(u32),
    /// These bytes are sent, all with the command.
    Out(&'a [u8]),
}

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScsiResult {
    pub(super) status: Status,
    pub(super) residual: Residual,
    pub(super) sense: Option<Sense>,
    pub(super) data: Vec<u8>,
}

/// A PDU from the server.
#[derive(Debug)]
pub(super) struct ReceivedPdu {
    pub(super) head: Head,
    pub(super) header: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl ReceivedPdu {
    /// A reader of its bytes.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.header)
    }
}

/// One connection of an initiator.
pub(super) struct Initiator {
    pub(super) served: IscsiProtocol,
    from_server: UnboundedReceiver<Vec<u8>>,
    pub(super) name: String,
    pub(super) isid: [u8; 6],
    pub(super) cmd_sn: u32,
    next_tag: u32,
    digests: (bool, bool),
    /// The numbers of the last PDU.
    pub(super) last: SequenceNumbers,
}

impl Initiator {
    /// Logs in, directly in the operational stage; returns status class and detail.
    pub(super) async fn log_in(&mut self, keys: &str, tsih: u16, cid: u16) -> (u8, u8) {
        let (header, text) = self.login_request(keys, tsih, cid);
        self.send(header, text.as_bytes()).await;
        let response = self.receive().await;
        assert_eq!(response.head.opcode, Opcode::LOGIN_RESPONSE);
        let agreed = |key: &str| response.data.windows(key.len()).any(|part| part == key.as_bytes());
        self.digests = (agreed("HeaderDigest=CRC32C"), agreed("DataDigest=CRC32C"));
        (response.header[36], response.header[37])
    }

    /// The login request: header and text.
    pub(super) fn login_request(&self, keys: &str, tsih: u16, cid: u16) -> (Writer, String) {
        let name = &self.name;
        let text = format!(
            "InitiatorName={name}\0TargetName=iqn.2026-11.test:disk\0SessionType=Normal\0\
             MaxRecvDataSegmentLength=65536\0{keys}"
        );
        let request = LoginRequest {
            transit: true,
            more: false,
            current: Stage::OPERATIONAL_NEGOTIATION,
            next: Stage::FULL_FEATURE,
            version_max: 0,
            version_min: 0,
            isid: self.isid,
            tsih,
            task_tag: 0,
            cid,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: 0,
        };
        let mut w = Writer::new();
        request.encode(text.len(), &mut w);
        (w, text)
    }

    /// The session's number, after the login.
    pub(super) fn tsih(&self) -> u16 {
        self.served.0.joined.get().unwrap().session.tsih
    }

    /// A tag that has not been used.
    pub(super) fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    /// The number of the next command.
    pub(super) fn number(&mut self) -> u32 {
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.cmd_sn.wrapping_sub(1)
    }

    /// The header of a command, which the test may change.
    pub(super) fn header(&mut self, cdb: &[u8], way: &Way<'_>) -> ScsiCommand {
        let mut padded = [0; 16];
        padded[..cdb.len()].copy_from_slice(cdb);
        let expected_length = match way {
            Way::Nothing => 0,
            Way::In(length) => *length,
            Way::Out(data) => data.len() as u32,
        };
        ScsiCommand {
            immediate: false,
            is_final: true,
            reads: matches!(way, Way::In(_)),
            writes: matches!(way, Way::Out(_)),
            attribute: Attribute::SIMPLE,
            lun: Lun::of(0),
            task_tag: self.tag(),
            expected_length,
            cmd_sn: self.number(),
            exp_stat_sn: 0,
            cdb: padded,
        }
    }

    /// Sends a command and waits for its end.
    pub(super) async fn command(&mut self, cdb: &[u8], way: Way<'_>) -> ScsiResult {
        let header = self.header(cdb, &way);
        let data = if let Way::Out(data) = way { data } else { &[] };
        self.send_command(&header, data).await;
        self.end_of(header.task_tag).await
    }

    pub(super) async fn send_command(&mut self, header: &ScsiCommand, data: &[u8]) {
        let mut w = Writer::new();
        header.encode(data.len(), &mut w);
        self.send(w, data).await;
    }

    /// Answers an R2T, or sends unsolicited data.
    pub(super) async fn send_data(&mut self, header: &DataOut, data: &[u8]) {
        let mut w = Writer::new();
        header.encode(data.len(), &mut w);
        self.send(w, data).await;
    }

    /// Receives an R2T.
    pub(super) async fn r2t(&mut self) -> R2t {
        let received = self.receive().await;
        assert_eq!(received.head.opcode, Opcode::R2T, "{received:?}");
        R2t::decode(&mut received.reader()).unwrap()
    }

    /// Receives the result of a command.
    pub(super) async fn end_of(&mut self, tag: u32) -> ScsiResult {
        let mut data = Vec::new();
        loop {
            let received = self.receive().await;
            match received.head.opcode {
                Opcode::DATA_IN => {
                    let pdu = DataIn::decode(&mut received.reader()).unwrap();
                    assert_eq!((pdu.task_tag, pdu.offset as usize), (tag, data.len()));
                    data.extend_from_slice(&received.data);
                    if let Some((status, residual)) = pdu.status {
                        return ScsiResult { status, residual, sense: None, data };
                    }
                }
                Opcode::SCSI_RESPONSE => {
                    let pdu = ScsiResponse::decode(&mut received.reader()).unwrap();
                    assert_eq!((pdu.task_tag, pdu.response), (tag, 0));
                    let sense =
                        received.data.get(2..).and_then(|sense| Sense::decode(&mut Reader::new(sense)).ok());
                    return ScsiResult { status: pdu.status, residual: pdu.residual, sense, data };
                }
                other => panic!("{other:?} instead of the end of a command"),
            }
        }
    }

    /// Sends a header and its data, with the negotiated digests.
    pub(super) async fn send(&mut self, header: Writer, data: &[u8]) {
        let mut bytes = header.into_bytes();
        if self.digests.0 {
            let digest = crc32c(&bytes);
            bytes.extend_from_slice(&digest);
        }
        if !data.is_empty() {
            let mut filled = data.to_vec();
            filled.resize(data.len() + padding(data.len()), 0);
            bytes.extend_from_slice(&filled);
            if self.digests.1 {
                bytes.extend_from_slice(&crc32c(&filled));
            }
        }
        self.send_bytes(&bytes).await;
    }

    /// Sends a whole PDU unchanged.
    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) {
        let length = self.served.message_length(bytes);
        assert_eq!(length, Ok(Some(bytes.len())));
        let answer = self.served.answer(BytesMut::from(bytes), InFlight::default());
        tokio::spawn(async move { assert!(answer.await.is_none()) });
        tokio::task::yield_now().await;
    }

    /// The pending answer to a command, which has not been polled.
    pub(super) fn begin(&mut self, header: &ScsiCommand) -> conn::Answer {
        let mut w = Writer::new();
        header.encode(0, &mut w);
        self.served.answer(BytesMut::from(w.as_bytes()), InFlight::default())
    }

    /// The server's side of the connection.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.served.0
    }

    /// Whether a PDU of these bytes ends the connection at once.
    pub(super) fn is_refused(&self, bytes: &[u8]) -> bool {
        self.served.message_length(bytes).is_err()
    }

    /// The next PDU.
    pub(super) async fn receive(&mut self) -> ReceivedPdu {
        let bytes = tokio::time::timeout(PATIENCE, self.from_server.recv()).await.expect("an answer");
        let bytes = bytes.expect("a connection");
        assert!(!bytes.is_empty(), "the connection has ended");
        let head = Head::decode(&mut Reader::new(&bytes)).unwrap();
        let digest = if self.digests.0 { 4 } else { 0 };
        if digest > 0 {
            assert_eq!(bytes[BHS..BHS + 4], crc32c(&bytes[..BHS]));
        }
        let data = bytes[BHS + digest..][..head.data].to_vec();
        if self.digests.1 && head.data > 0 {
            let filled = head.data + padding(head.data);
            assert_eq!(bytes[BHS + digest + filled..], crc32c(&bytes[BHS + digest..][..filled]));
        }
        self.last = SequenceNumbers::decode(&mut Reader::new(&bytes[24..])).unwrap();
        ReceivedPdu { head, header: bytes[..BHS].to_vec(), data }
    }

    /// Whether the server has ended the connection, when everything has been received.
    pub(super) async fn is_ended(&mut self) -> bool {
        matches!(tokio::time::timeout(PATIENCE, self.from_server.recv()).await, Ok(Some(bytes)) if bytes.is_empty())
    }

    /// Whether no PDU comes.
    pub(super) async fn hears_nothing(&mut self) -> bool {
        tokio::time::timeout(QUIET, self.from_server.recv()).await.is_err()
    }

    /// Loses the connection.
    pub(super) fn hang_up(&self) {
        self.served.ended();
    }
}
