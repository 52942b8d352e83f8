//! Connections that begin TLS in the middle, with rustls at the other end.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use conn::{Answer, CompletedHandshake, InFlight, Limits, Protocol, Reply};
use parking_lot::Mutex;
use resources::Payload;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};

use super::connected;
use crate::scene::Server;
use crate::waiting::until;

/// Asks for TLS.
const BEGIN: u8 = 1;
/// Asks for the message.
const ECHO: u8 = 2;
/// Asks for so many bytes of the file, as the message after it says.
const FILE: u8 = 3;
/// What the file has.
const LENGTH: usize = 3_000_000;

/// Messages are a kind, the length of the rest in four bytes, and the rest.
#[derive(Clone)]
struct Secure(Arc<SecureState>);

struct SecureState {
    config: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
    file: Arc<OwnedFd>,
    begun: AtomicBool,
    handshakes: Mutex<Vec<Result<CompletedHandshake, String>>>,
}

impl Secure {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let chain = vec![made.cert.der().clone()];
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let file = rustix::fs::memfd_create("data", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        file.write_all(&data(LENGTH)).unwrap();
        Self(Arc::new(SecureState {
            config: Arc::new(config),
            client: Arc::new(client),
            file: Arc::new(file.into()),
            begun: AtomicBool::new(false),
            handshakes: Mutex::default(),
        }))
    }

    /// What is known of handshakes, once there is something.
    fn handshake(&self) -> Result<CompletedHandshake, String> {
        until("nothing is known of the handshake", || !self.0.handshakes.lock().is_empty());
        self.0.handshakes.lock().pop().unwrap()
    }

    /// A client with TLS over a connection on which it was asked for.
    fn client(&self, stream: TcpStream) -> StreamOwned<ClientConnection, TcpStream> {
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(self.0.client.clone(), name).unwrap(), stream)
    }
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 % 251) as u8).collect()
}

impl Protocol for Secure {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        let Some([kind, length @ ..]) = bytes.first_chunk::<5>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if *kind > FILE || length > 1 << 22 { Err("no message") } else { Ok(Some(5 + length)) }
    }

    fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
        let reply = match message[0] {
            BEGIN => {
                self.0.begun.store(true, Ordering::Release);
                Reply { head: b"go".to_vec(), ..Reply::default() }
            }
            ECHO => Reply { head: message[5..].to_vec(), ..Reply::default() },
            _ => {
                let length = u32::from_be_bytes(message[5..9].try_into().unwrap()) as usize;
                let body = Some(Payload::File { fd: self.0.file.clone(), offset: 0, length });
                let head = [b"head", &message[5..9]].concat();
                Reply { head, body, tail: 3, ..Reply::default() }
            }
        };
        Box::pin(async move { Some(reply) })
    }

    fn begins_tls(&self) -> Option<Arc<ServerConfig>> {
        self.0.begun.load(Ordering::Acquire).then(|| self.0.config.clone())
    }

    fn secured(&self, handshake: Result<CompletedHandshake, String>) {
        self.0.handshakes.lock().push(handshake);
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32).to_be_bytes(), body].concat()
}

/// A connection on which the server has said that TLS begins.
fn begun(limits: Limits) -> (Secure, TcpStream, Server) {
    let protocol = Secure::new();
    let (mut stream, server) = connected(protocol.clone(), limits);
    stream.write_all(&message(ECHO, b"clear")).unwrap();
    let mut clear = [0; 5];
    stream.read_exact(&mut clear).unwrap();
    stream.write_all(&message(BEGIN, b"")).unwrap();
    let mut go = [0; 2];
    stream.read_exact(&mut go).unwrap();
    assert_eq!((&clear, &go), (b"clear", b"go"));
    (protocol, stream, server)
}

#[test]
fn messages_of_all_lengths_come_and_go_over_tls() {
    let (protocol, stream, _server) = begun(Limits::default());
    let mut client = protocol.client(stream);
    for length in [1, 5, 100, 16_384, 16_385, 70_000, 1 << 20, (1 << 20) + 77, 3, 1 << 22] {
        let body = data(length);
        client.write_all(&message(ECHO, &body)).unwrap();
        let mut answer = vec![0; length];
        client.read_exact(&mut answer).unwrap();
        assert!(answer == body, "{length}");
    }
    assert_eq!(protocol.handshake(), Ok(CompletedHandshake { has_certificate: false }));
}

#[test]
fn many_messages_at_once_and_data_of_files_are_all_answered() {
    let (protocol, stream, _server) = begun(Limits::default());
    let mut client = protocol.client(stream);
    let lengths = [10_u32, LENGTH as u32, 40_000, LENGTH as u32 + 5000];
    let files: Vec<u8> = lengths.iter().flat_map(|length| message(FILE, &length.to_be_bytes())).collect();
    client.write_all(&files).unwrap();
    // A thread that the machine holds up answers late, so the order is any.
    let mut answered = Vec::new();
    for _ in lengths {
        let mut head = [0; 8];
        client.read_exact(&mut head).unwrap();
        assert_eq!(&head[..4], b"head");
        let length = u32::from_be_bytes(head[4..].try_into().unwrap());
        let mut answer = vec![9; length as usize + 3];
        client.read_exact(&mut answer).unwrap();
        // Zeros stand for what the file has not.
        let mut expected = data(LENGTH.min(length as usize));
        expected.resize(length as usize + 3, 0);
        assert!(answer == expected, "{length}");
        answered.push(length);
    }
    answered.sort_unstable();
    assert_eq!(answered, [10, 40_000, LENGTH as u32, LENGTH as u32 + 5000]);
    let small: Vec<u8> = (0..2000_u32).flat_map(|number| message(ECHO, &number.to_be_bytes())).collect();
    client.write_all(&small).unwrap();
    let mut answers = vec![0; 4 * 2000];
    client.read_exact(&mut answers).unwrap();
    let mut numbers: Vec<u32> =
        answers.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..2000));
}

#[test]
fn a_slow_reader_and_small_pieces_get_everything() {
    let (protocol, stream, _server) = begun(Limits::default());
    let name = ServerName::try_from("localhost").unwrap();
    let mut connection = ClientConnection::new(protocol.0.client.clone(), name).unwrap();
    // The client's records in pieces of a few bytes.
    struct Pieces(TcpStream);
    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(4096);
            self.0.read(&mut into[..most])
        }
    }
    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(&bytes[..bytes.len().min(7)])
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut pieces = Pieces(stream);
    let mut client = rustls::Stream::new(&mut connection, &mut pieces);
    client.write_all(&message(ECHO, &data(20_000))).unwrap();
    let mut answer = vec![0; 20_000];
    client.read_exact(&mut answer).unwrap();
    assert!(answer == data(20_000));
    client.write_all(&message(FILE, &(LENGTH as u32).to_be_bytes())).unwrap();
    std::thread::sleep(Duration::from_millis(100)); // the reader is slow: the socket is full by now
    let mut answer = vec![0; 8 + LENGTH + 3];
    client.read_exact(&mut answer).unwrap();
    assert!(answer[8..][..LENGTH] == data(LENGTH));
}

/// The server ends the connection, and sends these bytes before at most.
fn ends(mut stream: TcpStream, most: usize) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
    assert!(rest.len() <= most, "{rest:?}");
}

#[test]
fn a_message_in_clear_after_tls_was_promised_ends_the_connection() {
    // In the same segment as the request for TLS, and after its answer.
    let protocol = Secure::new();
    let (mut stream, _server) = connected(protocol.clone(), Limits::default());
    stream.write_all(&[message(BEGIN, b""), message(ECHO, b"in clear")].concat()).unwrap();
    ends(stream, 2 + 7); // "go", and an alert
    assert!(protocol.handshake().is_err());
    let (protocol, mut stream, _server) = begun(Limits::default());
    stream.write_all(&message(ECHO, b"in clear")).unwrap();
    ends(stream, 7);
    assert!(protocol.handshake().is_err());
}

#[test]
fn a_handshake_that_takes_too_long_ends() {
    let limits = Limits { handshake_timeout: Duration::from_millis(300), ..Limits::default() };
    let (protocol, mut stream, _server) = begun(limits);
    let began = Instant::now();
    // The start of a record, and no more.
    stream.write_all(&[22, 3, 1, 1, 0, 1]).unwrap();
    ends(stream, 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(protocol.0.handshakes.lock().is_empty(), "it has neither succeeded nor failed");
    // One that has ended has no limit any more.
    let limits = Limits { handshake_timeout: Duration::from_secs(2), ..limits };
    let (protocol, stream, _server) = begun(limits);
    let mut client = protocol.client(stream);
    let mut echo = [0; 2];
    for (text, wait_ms) in [(b"hi", 0), (b"ho", 3_200)] {
        std::thread::sleep(Duration::from_millis(wait_ms)); // deadlines are looked at once a second
        client.write_all(&message(ECHO, text)).unwrap();
        client.read_exact(&mut echo).unwrap();
        assert_eq!(&echo, text);
    }
}

#[test]
fn the_end_is_told_by_close_notify_and_a_truncated_message_is_never_answered() {
    let (protocol, stream, server) = begun(Limits::default());
    let mut client = protocol.client(stream);
    client.write_all(&message(ECHO, b"hi")).unwrap();
    let mut echo = [0; 2];
    client.read_exact(&mut echo).unwrap();
    // Half a message, then the end of the connection without an alert.
    client.write_all(&message(ECHO, b"more")[..6]).unwrap();
    client.sock.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    assert_eq!(client.read_to_end(&mut rest).unwrap(), 0, "a clean end: rustls demands close_notify");
    drop(server);
}

#[test]
fn a_client_that_distrusts_the_certificate_is_told_of() {
    let (protocol, stream, _server) = begun(Limits::default());
    let other = Secure::new();
    let mut client = other.client(stream);
    assert!(client.write_all(&message(ECHO, b"hi")).and_then(|()| client.read_exact(&mut [0; 2])).is_err());
    let why = protocol.handshake().unwrap_err();
    assert!(why.contains("alert"), "{why}");
}

#[test]
fn garbage_in_records_ends_the_connection() {
    let (protocol, stream, _server) = begun(Limits::default());
    let mut client = protocol.client(stream);
    client.write_all(&message(ECHO, b"hi")).unwrap();
    let mut echo = [0; 2];
    client.read_exact(&mut echo).unwrap();
    assert!(protocol.handshake().is_ok());
    client.sock.write_all(&[&[23, 3, 3, 0, 40][..], &[7; 40]].concat()).unwrap(); // what no key has sealed
    ends(client.sock, 100);
}

#[test]
fn a_thousand_handshakes_that_do_not_go_on_cost_little() {
    let protocol = Secure::new();
    let server = Server::new(2);
    let mut clients = Vec::new();
    for _ in 0..1000 {
        let one = Secure(Arc::new(SecureState {
            begun: AtomicBool::new(false),
            handshakes: Mutex::default(),
            config: protocol.0.config.clone(),
            client: protocol.0.client.clone(),
            file: protocol.0.file.clone(),
        }));
        let mut stream = server.connect(one, Limits::default());
        stream.write_all(&message(BEGIN, b"")).unwrap();
        stream.write_all(&[22, 3, 1, 0x3f, 0, 1, 0]).unwrap(); // a record of 16 KiB that never comes
        clients.push(stream);
    }
    for stream in &mut clients {
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).unwrap();
    }
    // Another client is served meanwhile.
    let mut stream = server.connect(protocol.clone(), Limits::default());
    stream.write_all(&message(BEGIN, b"")).unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    let mut client = protocol.client(stream);
    client.write_all(&message(ECHO, b"hi")).unwrap();
    let mut echo = [0; 2];
    client.read_exact(&mut echo).unwrap();
    assert_eq!(&echo, b"hi");
}
