//! Messages of protocols that take what is in order at once are handed over in their order, however slow a thread is.

use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::BytesMut;
use conn::{Answer, Limits, Peer, Protocol, Reply, Watchdog};
use parking_lot::Mutex;

/// Messages are bytes, and each is answered with itself.
struct Bytewise(Arc<Mutex<Vec<u8>>>);

impl Protocol for Bytewise {
    fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        Ok((!bytes.is_empty()).then_some(1))
    }

    fn answer(&self, message: BytesMut) -> Answer {
        let byte = message[0];
        if byte == 1 {
            std::thread::sleep(Duration::from_millis(100)); // many looks of the watchdog
        }
        self.0.lock().push(byte);
        Box::pin(async move { Some(Reply { head: vec![byte], ..Reply::default() }) })
    }
}

#[test]
fn a_slow_thread_is_not_overtaken() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().unwrap();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let protocol = Bytewise(taken.clone());
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, address) = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    let peer = Peer { address, since: SystemTime::now(), counters: Arc::default(), memory: Arc::default() };
    runtime.spawn(async move {
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let limits = Limits { begins_in_order: true, ..Limits::default() };
        conn::serve(stream, &peer, protocol, limits, Watchdog::start("test")).await;
    });
    client.write_all(&[1, 2, 3]).unwrap();
    let mut answers = [0; 3];
    client.read_exact(&mut answers).unwrap();
    assert_eq!((answers, &taken.lock()[..]), ([1, 2, 3], &[1, 2, 3][..]));
}
