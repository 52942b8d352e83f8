//! The device's description over HTTP: WS-Transfer Get.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::links::{HTTP_PORT, Link};
use super::{AnnouncedDevice, PortError};
use crate::wire::http::{Head, MOST_HEAD, response};
use crate::wire::request::{Ask, MOST_BYTES, Request};

/// Connections of one link at a time.
const MOST_CONNECTIONS: usize = 16;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;
/// How long a client may take for its request and for receiving the answer.
const LIMIT: Duration = Duration::from_secs(5);

/// Listens on the link's address.
pub(super) fn listen(link: &Link) -> Result<TcpListener, PortError> {
    try_listen(link.at(HTTP_PORT)).map_err(|error| PortError { port: "TCP 5357", error })
}

fn try_listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?; // after a restart
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Answers clients of the link.
pub(super) async fn serve(announced: Arc<AnnouncedDevice>, link: Link, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, from)) if link.has(from) => {
                let announced = announced.clone();
                connections.spawn(async move {
                    let _ = tokio::time::timeout(LIMIT, converse(&announced, stream, from)).await;
                });
            }
            Ok(_) => {} // a client of another network: close the connection
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// One request and its response.
async fn converse(announced: &AnnouncedDevice, mut stream: TcpStream, from: SocketAddr) -> io::Result<()> {
    let answer = match announced.limiter.lock().takes(from.ip(), Instant::now()) {
        true => None,
        false => Some(response("503 Service Unavailable", "")),
    };
    let answer = match answer {
        Some(refusal) => refusal,
        None => answer_to(announced, &mut stream).await?,
    };
    stream.write_all(&answer).await?;
    stream.shutdown().await
}

async fn answer_to(announced: &AnnouncedDevice, stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut received = Vec::new();
    let (head, body_at) = loop {
        match Head::decode(&received) {
            Ok(Some(found)) => break found,
            Ok(None) if more(stream, &mut received).await? => {}
            _ => return Ok(response("400 Bad Request", "")),
        }
    };
    let length = match head.length {
        _ if head.target != announced.path => return Ok(response("404 Not Found", "")),
        _ if head.method != "POST" => return Ok(response("405 Method Not Allowed", "")),
        None => return Ok(response("411 Length Required", "")),
        Some(length) if length > MOST_BYTES => return Ok(response("413 Content Too Large", "")),
        Some(length) => length,
    };
    while received.len() < body_at + length {
        if !more(stream, &mut received).await? {
            return Ok(response("400 Bad Request", ""));
        }
    }
    Ok(match Request::decode(&received[body_at..body_at + length]) {
        Ok(Request { message_id, ask: Ask::Get }) => response("200 OK", &announced.description(&message_id)),
        _ => response("400 Bad Request", ""),
    })
}

/// Receives more bytes. False at the end of the stream, or if there are more bytes than any request
/// has.
async fn more(stream: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = [0; 4096];
    let length = stream.read(&mut piece).await?;
    received.extend_from_slice(&piece[..length]);
    Ok(length > 0 && received.len() <= MOST_HEAD + MOST_BYTES + piece.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::testing::{announced, message};
    use crate::wire::namespace::TRANSFER;

    const PATH: &str = "/00000000-0000-0000-0000-000000000007";

    /// The response to these bytes. The client sends nothing after them.
    async fn answered(request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, from) = listener.accept().await.unwrap();
        let announced = announced();
        let serve = converse(&announced, stream, from);
        let ask = async {
            client.write_all(request).await.unwrap();
            client.shutdown().await.unwrap();
            let mut response = String::new();
            // A server that closes early resets the connection.
            let _ = client.read_to_string(&mut response).await;
            response
        };
        tokio::join!(serve, ask).1
    }

    fn post(path: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    #[tokio::test]
    async fn a_get_is_answered_with_the_computers_name() {
        let get = message(&format!("{TRANSFER}/Get"), "urn:uuid:1", "");
        let response = answered(&post(PATH, &get)).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains("<pub:Computer>NAS/Workgroup:WORKGROUP</pub:Computer>"), "{response}");
        assert!(response.contains("<wsa:RelatesTo>urn:uuid:1</wsa:RelatesTo>"), "{response}");
    }

    #[tokio::test]
    async fn other_requests_are_refused() {
        let get = message(&format!("{TRANSFER}/Get"), "urn:uuid:1", "");
        let probe = message("x", "urn:uuid:1", "");
        let long = format!("POST {PATH} HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
        let endless = format!("POST {PATH} HTTP/1.1\r\n\r\n");
        let cut = &post(PATH, &get)[..300];
        for (request, status) in [
            (post("/", &get), "404"),
            (post(PATH, &probe), "400"),
            (post(PATH, b"<x>"), "400"),
            (format!("GET {PATH} HTTP/1.1\r\n\r\n").into_bytes(), "405"),
            (long.into_bytes(), "413"),
            (endless.into_bytes(), "411"),
            (cut.to_vec(), "400"),
            (b"\r\n\r\n".to_vec(), "400"),
        ] {
            let response = answered(&request).await;
            assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {response}");
        }
    }
}
