//! Reserved streams: a connection that reads one goes first, and the others make room for it.

use std::sync::atomic::Ordering;
use std::time::Instant;

use resources::reserved::{StreamService, while_reading};

use super::Connection;
use crate::protocol::Protocol;

impl<P: Protocol> Connection<P> {
    /// Polls an answer for the first time. If it reads a reserved stream, the connection goes first for a while.
    pub(super) fn polled<T>(&self, poll: impl FnOnce() -> T) -> (T, Option<StreamService>) {
        if self.socket.reserved().is_none() {
            return (poll(), None);
        }
        let (polled, service) = while_reading(self.client, poll);
        if service.is_some() {
            self.socket.go_first(Instant::now());
        }
        (polled, service)
    }

    /// The reply to a read of a reserved stream waits to be sent. Its bytes are none that the connection has to wait for.
    pub(super) fn end_service(&self, service: Option<StreamService>) {
        let Some(service) = service else { return };
        self.reserved.fetch_add(service.bytes() as u64, Ordering::Relaxed);
        service.end(Instant::now());
    }

    /// Waits as long as reserved streams need, after the client has moved the bytes from `began` to `moved`, and sent so many of
    /// them.
    pub(super) async fn make_room(&self, (began, moved): (u64, u64), sent: u64) {
        let Some(streams) = self.socket.reserved() else { return };
        // A read of a stream that was shorter than asked for makes it less than nothing.
        let bytes = i64::try_from(moved.wrapping_sub(began)).unwrap_or(0);
        let bytes = usize::try_from(bytes).unwrap_or(0);
        streams.pause(bytes, sent > bytes as u64 / 2, Instant::now()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, SystemTime};

    use bytes::BytesMut;
    use formats::FileId;
    use resources::reserved::{ReservedStreams, StreamFilter, StreamRead, StreamReservation};

    use super::*;
    use crate::in_flight::InFlight;
    use crate::listen::Peer;
    use crate::loops::{Loops, Polling};
    use crate::protocol::{Answer, Limits, Reply};
    use crate::serve;
    use crate::stall::Watchdog;

    /// Bytes of each reply.
    const LENGTH: usize = 1 << 20;

    /// Answers each byte with a long reply. `s` reads a stream.
    struct LongReplies {
        streams: Arc<ReservedStreams>,
        /// Where the stream is.
        at: AtomicU64,
    }

    impl Protocol for LongReplies {
        fn message_length(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
            Ok((!bytes.is_empty()).then_some(1))
        }

        fn answer(&self, message: BytesMut, _: InFlight) -> Answer {
            let (streams, is_stream) = (self.streams.clone(), message[0] == b's');
            let offset = self.at.fetch_add(LENGTH as u64, Ordering::Relaxed);
            Box::pin(async move {
                let file = FileId { device: 1, inode: 1 };
                let (account, client) = (None, None);
                let read = StreamRead { view: 1, file, account, uid: 0, client, offset, length: LENGTH };
                if is_stream {
                    streams.note(&read, Instant::now());
                }
                Some(Reply { head: vec![0; LENGTH], ..Reply::default() })
            })
        }
    }

    /// A server with one loop, where a stream of 100 MB/s is reserved.
    struct Scene {
        streams: Arc<ReservedStreams>,
        loops: Arc<Loops>,
        runtime: tokio::runtime::Runtime,
    }

    impl Scene {
        /// `capacity`: bytes per second of all together.
        fn new(capacity: u64) -> Self {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            let runtime = runtime.unwrap();
            let entered = runtime.enter();
            let loops = Loops::start(1, Polling::default()).unwrap();
            drop(entered);
            let streams = Arc::<ReservedStreams>::default();
            let of = StreamFilter { views: vec![1], ..StreamFilter::default() };
            let reservation = StreamReservation { id: 1, speed: 100_000_000, streams: 1, of };
            streams.keep(vec![reservation], Some(capacity));
            loops.keep_streams(&streams);
            Self { streams, loops, runtime }
        }

        fn connect(&self) -> TcpStream {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let (stream, address) = listener.accept().unwrap();
            let (since, counters, memory) = (SystemTime::now(), Arc::default(), Arc::default());
            let peer = Peer { address, local: None, since, counters, memory };
            let protocol = LongReplies { streams: self.streams.clone(), at: AtomicU64::new(0) };
            let _entered = self.runtime.enter();
            let watchdog = Watchdog::start("test");
            let serving =
                |stream| async move { serve(stream, &peer, protocol, Limits::default(), watchdog).await };
            self.loops.serve(stream, serving).unwrap();
            client
        }
    }

    fn ask(client: &mut TcpStream, what: u8) {
        client.write_all(&[what]).unwrap();
        client.read_exact(&mut vec![0; LENGTH]).unwrap();
    }

    #[test]
    fn others_wait_while_a_stream_is_read_and_the_stream_does_not() {
        let scene = Scene::new(200_000_000);
        let (mut player, mut other) = (scene.connect(), scene.connect());
        ask(&mut other, b'b');
        assert_eq!(scene.streams.others().waited(), Duration::ZERO, "no stream is read");
        for _ in 0..8 {
            ask(&mut player, b's');
        }
        let before = scene.streams.others().waited();
        for _ in 0..4 {
            ask(&mut player, b's');
        }
        assert_eq!(scene.streams.others().waited(), before, "a stream makes no room for itself");
        ask(&mut other, b'b');
        ask(&mut other, b'b'); // the room for the last one is made before this one is received
        assert!(scene.streams.others().waited() > before);
        let counts = scene.streams.counts(Instant::now())[0].1;
        assert_eq!((counts.active, counts.reads, counts.refused), (1, 11, 0), "all but the first read");
    }

    #[test]
    fn others_are_answered_in_the_end_however_little_is_left_for_them() {
        let scene = Scene::new(1);
        let (mut player, mut other) = (scene.connect(), scene.connect());
        for _ in 0..3 {
            ask(&mut player, b's');
            ask(&mut other, b'b');
        }
    }
}
