//! Sessions over real connections. The harness without sockets cannot show how the server notices
//! the end of connections.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use conn::Watchdog;
use tokio::sync::watch;

use crate::client::{Client, ClientLogin, Error};
use crate::server::Transport;
use crate::server::testing::Server;
use crate::wire::dsi::Command;
use crate::wire::session::{DisconnectOldSession, GetSessionToken, SessionToken, TokenKind};
use crate::wire::{ResultCode, command};

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server that listens.
struct ListeningServer {
    server: Server,
    address: SocketAddr,
    /// Its drop closes every connection.
    _stop: watch::Sender<bool>,
}

impl ListeningServer {
    async fn begin() -> Self {
        let server = Server::new();
        let listener = conn::bind_tcp(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopping) = watch::channel(false);
        let (service, watchdog) = (server.service.clone(), Watchdog::start("AFP"));
        let serve = move |stream, peer| {
            let from = (peer, Transport::Tcp);
            crate::server::serve_stream(service.clone(), stream, from, watchdog.clone())
        };
        tokio::spawn(conn::Server::new(64, std::sync::Arc::default()).run(listener, stopping, serve));
        Self { server, address, _stop: stop }
    }

    /// Runs the test's clients, which block.
    async fn with<T: Send + 'static>(&self, clients: impl FnOnce(SocketAddr) -> T + Send + 'static) -> T {
        let address = self.address;
        tokio::task::spawn_blocking(move || clients(address)).await.unwrap()
    }

    /// Waits until this many sessions are connected, and this many disconnected.
    async fn until(&self, connected: usize, away: usize) {
        let begun = Instant::now();
        loop {
            let all = self.server.service.sessions();
            let here = all.iter().filter(|session| session.peer.is_some()).count();
            if (here, all.len() - here) == (connected, away) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{all:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn log_in(address: SocketAddr) -> Client<TcpStream> {
    let link = TcpStream::connect(address).unwrap();
    link.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut client = Client::open(link).unwrap();
    client.log_in("AFP3.4", &ClientLogin::Guest).unwrap();
    client
}

fn token(client: &mut Client<TcpStream>) -> Vec<u8> {
    let request = GetSessionToken { kind: TokenKind::LOGIN_WITH_TIME_AND_ID, time: Some(1), id: b"a mac" };
    let reply = client.call(command::GET_SESSION_TOKEN, |w| request.encode(w)).unwrap().well().unwrap();
    SessionToken::decode(&mut wire::Reader::new(&reply)).unwrap().token.to_vec()
}

fn come_back(client: &mut Client<TcpStream>, token: &[u8]) -> ResultCode {
    let request = DisconnectOldSession { kind: 0, token };
    client.call(command::DISCONNECT_OLD_SESSION, |w| request.encode(w)).unwrap().code()
}

/// The server's messages until it closes the connection.
fn last_words(client: &mut Client<TcpStream>) -> Vec<(Command, Vec<u8>)> {
    let words = std::iter::from_fn(|| match client.receive_any() {
        Ok(frame) => Some((frame.header.command, frame.payload)),
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::UnexpectedEof => None,
        Err(error) => panic!("{error}"),
    });
    words.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_connection_leaves_a_session_that_its_client_finds_again() {
    let listening = ListeningServer::begin().await;
    let token = listening.with(|address| token(&mut log_in(address))).await; // and disconnects
    listening.until(0, 1).await;
    let back = listening.with(move |address| {
        let mut client = log_in(address);
        (client.options.replay_cache, come_back(&mut client, &token), client)
    });
    let (replay_cache, code, client) = back.await;
    assert_eq!((replay_cache, code), (Some(128), ResultCode::NO_ERROR));
    listening.until(1, 0).await;
    client_closes(client, true);
    listening.until(0, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_its_client_closes_is_over() {
    let listening = ListeningServer::begin().await;
    let client = listening.with(|address| {
        let mut client = log_in(address);
        token(&mut client);
        client
    });
    client_closes(client.await, false);
    listening.until(0, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_client_is_tickled_and_then_cut_off() {
    let listening = ListeningServer::begin().await;
    let mut client = listening.with(log_in).await;
    let step = Duration::from_secs(30);
    (0..4).for_each(|_| listening.server.service.beat(step)); // the first finds the new login
    listening.server.service.beat(step);
    let words = listening.with(move |_| last_words(&mut client)).await;
    assert!(words.len() >= 3 && words.iter().all(|(command, _)| *command == Command::TICKLE), "{words:?}");
    listening.until(0, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_says_so_and_closes() {
    let listening = ListeningServer::begin().await;
    let mut client = listening.with(log_in).await;
    listening.server.service.stop();
    let words = listening.with(move |_| last_words(&mut client)).await;
    assert_eq!(words, [(Command::ATTENTION, vec![0x80, 0x00])]);
}

/// Closes a connection, with or without a logout.
fn client_closes(mut client: Client<TcpStream>, breaks: bool) {
    match breaks {
        true => client.link().shutdown(Shutdown::Both).unwrap(),
        false => drop(client.send(Command::CLOSE_SESSION, 0, &[]).unwrap()),
    }
}
