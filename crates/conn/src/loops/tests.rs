use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use super::*;
use crate::waiting::until;

/// Connections of the test on rebalancing. Each takes two descriptors.
const MANY: usize = 10_000;

/// Answers bytes with themselves.
async fn echo(stream: LoopStream) {
    let socket = stream.socket();
    while socket.ready(Direction::In, None).await {
        let mut bytes = [0; 16];
        match socket.attempt(Direction::In).map(|_| socket.stream().read(&mut bytes)) {
            Some(Ok(0)) => return,
            Some(Ok(count)) => {
                socket.received(count, bytes.len(), 1);
                drop(socket.stream().write_all(&bytes[..count]));
            }
            Some(Err(_)) | None => {}
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap()
}

fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (client, listener.accept().unwrap().0)
}

fn is_answered(mut client: &TcpStream) {
    client.write_all(&[7]).unwrap();
    let mut reply = [0];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(reply, [7]);
}

#[test]
fn a_connection_goes_on_after_it_has_moved_however_often() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(2, Polling::default()).unwrap();
    let (client, served) = pair(&TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    loops.serve_on(0, served, echo).unwrap();
    for at in [1, 0, 1, 1, 0] {
        is_answered(&client);
        let socket = loops.loops.iter().flat_map(|one| one.sockets()).next().unwrap();
        (&client).write_all(&[7]).unwrap(); // arrives before, while or after it moves
        socket.move_to(at);
        let mut reply = [0];
        (&client).read_exact(&mut reply).unwrap();
        assert_eq!(loops.loops.iter().map(|one| one.connections()).collect::<Vec<_>>(), [1 - at, at, 0]);
    }
}

#[test]
fn connections_that_are_all_on_one_loop_spread_within_five_seconds() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, ..limit };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
    let most = limit.maximum.map_or(MANY, |most| (most as usize / 2).saturating_sub(100).min(MANY));
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(2, Polling::default()).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let clients: Vec<TcpStream> = (0..most)
        .map(|_| {
            let (client, served) = pair(&listener);
            loops.serve_on(0, served, echo).unwrap();
            client
        })
        .collect();
    let general = &loops.loops[..2];
    until("they do not spread", || general.iter().all(|one| one.connections() >= most / 3));
    clients.iter().step_by(97).for_each(is_answered);
}

#[test]
fn short_messages_get_a_loop_of_their_own_beside_streams() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(1, Polling::default()).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let [(streaming, first), (asking, second)] = [pair(&listener), pair(&listener)];
    loops.serve_on(0, first, echo).unwrap();
    let stream = loops.loops[0].sockets().remove(0);
    loops.serve_on(0, second, echo).unwrap();
    let on_loops = || loops.loops.iter().map(|one| one.connections()).collect::<Vec<_>>();
    until("short messages stay beside the stream", || {
        stream.sent(1 << 20);
        is_answered(&asking);
        on_loops() == [1, 1]
    });
    assert_eq!(stream.current().connections(), 1, "the stream stays");
    stream.move_to(1);
    until("the stream stays where short messages are", || {
        stream.sent(1 << 20);
        on_loops() == [1, 1]
    });
    [&streaming, &asking].into_iter().for_each(is_answered);
}

#[test]
fn a_wait_ends_at_its_deadline() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(1, Polling::default()).unwrap();
    let (client, served) = pair(&TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    let waits = |stream: LoopStream| async move {
        let deadline = Instant::now() + Duration::from_millis(300);
        let socket = stream.socket();
        let _ = socket.attempt(Direction::In); // it was ready for an attempt
        assert!(!socket.ready(Direction::In, Some(deadline)).await);
        assert!(Instant::now() >= deadline);
        socket.stream().write_all(&[1]).unwrap();
    };
    loops.serve_on(0, served, waits).unwrap();
    assert_eq!((&client).read(&mut [0]).unwrap(), 1);
}

#[test]
fn an_idle_loop_makes_no_wake_ups() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(2, Polling::Auto).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let [(idle, at_0), (busy, at_1)] = [pair(&listener), pair(&listener)];
    loops.serve_on(0, at_0, echo).unwrap();
    loops.serve_on(1, at_1, echo).unwrap();
    (0..2000).for_each(|_| is_answered(&idle)); // it may learn to poll
    let looks = || loops.loops[0].event_wait().looks();
    // The requests to the other loop are the clock.
    let looks_meanwhile = || {
        let before = looks();
        (0..500).for_each(|_| is_answered(&busy));
        looks() - before
    };
    until("it goes on looking for events", || looks_meanwhile() == 0);
    assert_eq!(looks_meanwhile(), 0);
}

#[test]
fn a_changed_setting_applies_to_the_next_wait() {
    let runtime = runtime();
    let _entered = runtime.enter();
    let loops = Loops::start(1, Polling::UpTo(Duration::from_micros(500))).unwrap();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let clients = [pair(&listener), pair(&listener)].map(|(client, served)| {
        loops.serve_on(0, served, echo).unwrap();
        client
    });
    (0..500).for_each(|_| clients.iter().for_each(is_answered));
    loops.set_polling(Polling::Off);
    assert_eq!(loops.polling(), Polling::Off);
    is_answered(&clients[0]); // ends the wait that went on
    let polled = loops.waits()[0].polled;
    (0..100).for_each(|_| clients.iter().for_each(is_answered));
    assert_eq!(loops.waits()[0].polled, polled);
}
