//! SIGHUP and SIGTERM while initiators are logged in.

use std::time::{Duration, Instant};

use ::iscsi::client::Login;
use ::iscsi::wire::pdu::{AsyncEvent, AsyncMessage, LogoutResult, Opcode};
use ::iscsi::wire::scsi::{Asc, Key};
use rustix::process::Signal;
use wire::Reader;

use super::client::{BLOCKS, enter, enter_with, is_closed_within, log_in, login};
use crate::robustness::server::{Server, folder, write_iscsi_settings};
use crate::waiting::until_equal;

/// RFC 7143 11.9.1, event 1: the target requests a logout, and waits some seconds for it.
#[test]
fn sigterm_asks_initiators_to_log_out_and_ends_with_0() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let (mut polite, mut deaf) = (enter(server.iscsi_port), enter(server.iscsi_port));
    polite.write(0, 0, &[7; 4096], false).unwrap();
    let begun = Instant::now();
    server.signal(Signal::TERM);
    let told = loop {
        let pdu = polite.receive_any().unwrap();
        if pdu.opcode() == Opcode::ASYNC_MESSAGE {
            break AsyncMessage::decode(&mut Reader::new(&pdu.header)).unwrap();
        }
    };
    assert_eq!(told.event, AsyncEvent::LOGOUT_REQUESTED);
    assert_eq!(polite.log_out().unwrap(), LogoutResult::CLOSED);
    assert!(is_closed_within(polite.link(), Duration::from_secs(10)));
    assert!(
        is_closed_within(deaf.link(), Duration::from_secs(10)),
        "an initiator that does not log out is disconnected"
    );
    assert_eq!(server.exit_code(), Some(0));
    println!("ended after {:?}", begun.elapsed());
    let image = std::fs::read(share.join(".fourfold-luns/disk.img")).unwrap();
    assert!(image[..4096] == [7; 4096]);
}

#[test]
fn sigterm_without_initiators_ends_at_once() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    enter(server.iscsi_port).log_out().unwrap();
    let begun = Instant::now();
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// SBC-3 4.10: a unit attention reports a disk that has grown, and the session continues.
#[test]
fn sighup_makes_a_disk_larger_and_its_sessions_are_told() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut client = enter(server.iscsi_port);
    assert_eq!(client.capacity(0).unwrap(), (BLOCKS, 512));
    write_iscsi_settings(top.path(), &share, "guests = true\n", "size = \"96 MiB\"\n");
    server.signal(Signal::HUP);
    let mut told = None;
    until_equal(&true, || {
        told = told.or_else(|| client.read(0, 0, 1).err().and_then(|error| error.sense()));
        told.is_some()
    });
    assert_eq!(told, Some((Key::UNIT_ATTENTION, Asc::CAPACITY_CHANGED)));
    assert_eq!(client.capacity(0).unwrap(), (BLOCKS / 2 * 3, 512));
    client.write(0, BLOCKS, &[1; 512], true).unwrap();
}

/// The removal of a disk ends its sessions; sessions of another disk on the same server continue.
#[test]
fn sighup_takes_a_disk_away_and_leaves_the_other() {
    let (top, share) = folder();
    let second = "size = \"64 MiB\"\n\n[[share.lun]]\nname = \"second\"\nsize = \"1 MiB\"\n";
    write_iscsi_settings(top.path(), &share, "guests = true\n", second);
    let server = Server::run_with_iscsi(top.path(), 0);
    let other = Login { target: Some("iqn.2026-11.invalid:share.second"), ..login() };
    let (mut kept, mut gone) = (enter(server.iscsi_port), enter_with(server.iscsi_port, &other).unwrap());
    kept.write(0, 0, &[1; 512], false).unwrap();
    gone.write(0, 0, &[2; 512], true).unwrap();
    let image = share.join(".fourfold-luns/second.img");
    write_iscsi_settings(top.path(), &share, "guests = true\n", "size = \"64 MiB\"\n");
    server.signal(Signal::HUP);
    assert!(is_closed_within(gone.link(), Duration::from_secs(20)));
    assert_eq!(kept.read(0, 0, 1).unwrap(), [1; 512]); // the same connection
    assert_eq!(std::fs::read(&image).unwrap()[..512], [2; 512], "its file stays");
    assert!(log_in(server.iscsi_port, &other).is_err());
}
