//! The congestion control of connections from this machine.
//!
//! There is nothing to learn about a loopback. BBR, the default of some hosts, does: reads of 1 MiB every 33 ms then took up to 90 ms each, and
//! take no more than 20 without. And a connection that has begun with BBR keeps its pacing, whatever it is set to later: a timer for
//! most packets, which was a third of the processor time of streams in a virtual machine. So the listener has another one, and clients
//! of the network get the host's own back.

use std::net::{IpAddr, TcpStream};

use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use rustix::net::{AddressFamily, SocketType, socket};

/// The one for the loopback. Linux always has it.
const LOOPBACK: &str = "reno";

/// Prepares a listener. Its connections begin like this.
pub(crate) fn prepare(listener: &socket2::Socket) {
    let _ = set_tcp_congestion(listener, LOOPBACK); // only costs speed
}

/// Gives a connection that was accepted from the network the host's own congestion control.
pub(crate) fn settle(accepted: &TcpStream, client: IpAddr) {
    // A route may have given the connection one of its own.
    if !client.is_loopback()
        && tcp_congestion(accepted).is_ok_and(|now| now == LOOPBACK)
        && let Some(of_host) = of_host()
    {
        let _ = set_tcp_congestion(accepted, &of_host); // only costs speed
    }
}

/// The host's default, which an administrator may change at any time.
fn of_host() -> Option<String> {
    let fresh = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    tcp_congestion(fresh).ok()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn accepted() -> (TcpStream, TcpStream) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let listener = crate::bind_tcp((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = runtime.block_on(listener.accept()).unwrap();
        (client, stream.into_std().unwrap())
    }

    #[test]
    fn a_connection_over_the_loopback_begins_with_that_of_the_loopback() {
        let (_client, stream) = accepted();
        assert_eq!(tcp_congestion(&stream).unwrap(), LOOPBACK);
        settle(&stream, Ipv4Addr::LOCALHOST.into());
        assert_eq!(tcp_congestion(&stream).unwrap(), LOOPBACK);
    }

    #[test]
    fn a_connection_over_the_network_has_that_of_the_host() {
        let (client, stream) = accepted();
        settle(&stream, Ipv4Addr::new(192, 0, 2, 1).into());
        // The client's own socket has what the host gives.
        assert_eq!(tcp_congestion(&stream).unwrap(), tcp_congestion(&client).unwrap());
    }
}
