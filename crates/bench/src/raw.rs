//! Raw TCP between two machines, without any protocol of files: what the link carries. The far end runs
//! [`answer`].

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use client::Reach;

/// How long each direction is measured.
const TIME: Duration = Duration::from_millis(500);
/// The longest time that the far end serves a connection.
const LONGEST: Duration = Duration::from_secs(10);
/// The most connections at the same time.
const MAX_CONNECTIONS: usize = 16;
const BLOCK: usize = 256 << 10;
/// The near end asks for bytes.
const SEND: u8 = b'S';
/// The near end will send bytes.
const RECEIVE: u8 = b'R';

/// Serves raw connections, until accepting fails.
///
/// # Errors
/// The listener fails.
pub fn answer(listener: &TcpListener) -> io::Result<()> {
    let connections = Arc::new(AtomicUsize::new(0));
    loop {
        let (stream, _) = listener.accept()?;
        if connections.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let connections = connections.clone();
        std::thread::spawn(move || {
            // The near end closes when it has measured enough.
            let _ = serve(stream);
            connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

pub(crate) fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(LONGEST))?;
    stream.set_write_timeout(Some(LONGEST))?;
    let mut asked = [0];
    stream.read_exact(&mut asked)?;
    let (begun, mut block) = (Instant::now(), vec![0x5A; BLOCK]);
    while begun.elapsed() < LONGEST {
        match asked[0] {
            SEND => stream.write_all(&block)?,
            RECEIVE if stream.read(&mut block)? > 0 => {}
            _ => break,
        }
    }
    Ok(())
}

/// Bytes per second to and from the far end.
pub(crate) fn measure(reach: &Reach, address: &str) -> crate::Result<(f64, f64)> {
    let failed = |error: io::Error| crate::Error::of_io(&error, reach.seconds());
    let open = || -> crate::Result<TcpStream> {
        let stream = reach.connect(address)?;
        stream
            .set_read_timeout(Some(reach.timeout))
            .and_then(|()| stream.set_write_timeout(Some(reach.timeout)))
            .map_err(failed)?;
        Ok(stream)
    };
    let to = sent(open()?).map_err(failed)?;
    let from = received(open()?).map_err(failed)?;
    Ok((to, from))
}

/// Sends, and waits until the far end has received everything: then it closes.
fn sent(mut stream: TcpStream) -> io::Result<f64> {
    let (block, mut bytes) = (vec![0xA5; BLOCK], 0);
    stream.write_all(&[RECEIVE])?;
    let begun = Instant::now();
    while begun.elapsed() < TIME {
        stream.write_all(&block)?;
        bytes += BLOCK;
    }
    stream.shutdown(Shutdown::Write)?;
    let _ = stream.read(&mut [0])?;
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

fn received(mut stream: TcpStream) -> io::Result<f64> {
    let (mut block, mut bytes) = (vec![0; BLOCK], 0);
    stream.write_all(&[SEND])?;
    stream.read_exact(&mut block[..1])?;
    let begun = Instant::now();
    while begun.elapsed() < TIME {
        match stream.read(&mut block)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes += count,
        }
    }
    Ok(bytes as f64 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_are_measured_against_the_far_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || answer(&listener));
        let (to, from) = measure(&Reach::direct(Duration::from_secs(5)), &address).unwrap();
        assert!(to > 1e6 && from > 1e6, "{to} {from}");
    }
}
