//! Sessions that disturb each other: task management, resets, ports that log in again. RFC 7143
//! 6.3.5 and 11.5, SAM-5 6.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ::iscsi::client::{Data, Error, Login, command_16};
use ::iscsi::wire::pdu::{Function, FunctionResult};
use ::iscsi::wire::scsi::{Asc, Key};

use super::client::{Iscsi, enter, enter_with, is_closed_within, log_in, login};
use super::{MIB, SOON, beside_a_neighbour};

/// Repeats commands that another initiator's reset has aborted.
fn in_spite_of_resets<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> T {
    for _ in 0..1000 {
        match attempt() {
            Ok(value) => return value,
            Err(Error::Command(_, Some((Key::UNIT_ATTENTION, _)))) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("only unit attentions");
}

#[test]
fn a_task_that_is_called_off_is_not_answered_and_its_tag_is_free() {
    beside_a_neighbour("tasks called off", 8 * MIB, |port| {
        let keys: &[(&str, &str)] = &[("ImmediateData", "No"), ("InitialR2T", "Yes")];
        let mut client = enter_with(port, &Login { keys, ..login() }).unwrap();
        for _ in 0..100 {
            // It waits for data that the initiator does not send.
            let tag = client.begin(0, &command_16(0x8a, 0, 0, 8), Data::Out(&[3; 4096])).unwrap();
            client.receive().unwrap();
            assert_eq!(client.manage(Function::ABORT_TASK, 0, tag).unwrap(), FunctionResult::COMPLETE);
            client.forget(tag);
            assert_eq!(client.manage(Function::ABORT_TASK, 0, tag).unwrap(), FunctionResult::NO_SUCH_TASK);
        }
        assert_eq!(client.read(0, 0, 8).unwrap(), [0; 4096]);
    });
}

#[test]
fn functions_that_do_not_exist_are_said_not_to() {
    beside_a_neighbour("functions of task management", 8 * MIB, |port| {
        let mut client = enter(port);
        for function in (0..0x80).map(Function) {
            if [5, 6, 7].contains(&function.0) {
                continue; // resets, which would affect the neighbour
            }
            client.manage(function, 0, 12_345).unwrap();
        }
        let nowhere = client.manage(Function::ABORT_TASK_SET, 77, 0).unwrap();
        assert_eq!(nowhere, FunctionResult::NO_SUCH_LUN);
        client.until_ready(0).unwrap();
        client.read(0, 0, 1).unwrap();
    });
}

/// Two initiators reset the unit and abort all tasks, while two others write and read: these lose
/// only time.
#[test]
fn initiators_that_reset_each_other_lose_nothing_that_was_answered() {
    let (top, share) = crate::robustness::server::folder();
    let server = crate::robustness::server::Server::start_with_iscsi(top.path(), &share);
    let port = server.iscsi_port;
    let (stop, resets) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let resetting: Vec<_> = [Function::LOGICAL_UNIT_RESET, Function::TARGET_WARM_RESET]
        .into_iter()
        .map(|function| {
            let (stop, resets) = (stop.clone(), resets.clone());
            let mut client = in_spite_of_resets(|| log_in(port, &login()));
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(client.manage(function, 0, 0).unwrap(), FunctionResult::COMPLETE);
                    resets.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(3)); // between resets, others come to work
                }
            })
        })
        .collect();
    let mut working: Vec<Iscsi> = (0..2).map(|_| log_in(port, &login()).unwrap()).collect();
    for client in &mut working {
        // An aborted command gets no response: it is repeated.
        client.link().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    }
    let begun = Instant::now();
    let mut rounds = 0_u32;
    while rounds < 4 || resets.load(Ordering::Relaxed) < 50 || begun.elapsed() < Duration::from_secs(2) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{rounds} rounds beside {resets:?} resets");
        for (number, client) in working.iter_mut().enumerate() {
            round(port, client, number as u64, rounds as u8);
        }
        rounds += 1;
    }
    stop.store(true, Ordering::Relaxed);
    resetting.into_iter().for_each(|thread| thread.join().unwrap());
    println!("{rounds} rounds beside {resets:?} resets");
}

/// Writes and reads until both have been answered.
fn round(port: u16, client: &mut Iscsi, number: u64, byte: u8) {
    let data = [byte; 2048];
    for _ in 0..100 {
        let outcome =
            client.write(0, number * 64, &data, false).and_then(|()| client.read(0, number * 64, 4));
        match outcome {
            Ok(read) => return assert_eq!(read, data),
            Err(Error::Command(..)) => {}
            Err(_) => {
                // Its command was aborted without a response: SAM-5 5.? leaves the initiator to its
                // own time-outs.
                *client = log_in(port, &login()).unwrap();
                client.link().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            }
        }
    }
    panic!("a hundred attempts, and none was answered");
}

/// RFC 7143 6.3.5: a session of the same port replaces the earlier one.
#[test]
fn a_port_that_comes_back_takes_the_place_of_its_session() {
    beside_a_neighbour("ports that come back", 16 * MIB, |port| {
        let same = login();
        let mut before = enter_with(port, &same).unwrap();
        for _ in 0..50 {
            let tag = before.begin(0, &command_16(0x8a, 0, 0, 4096), Data::Out(&vec![1; 2 << 20])).unwrap();
            let after = enter_with(port, &same).unwrap();
            assert!(is_closed_within(before.link(), SOON), "task {tag}");
            before = after;
        }
        before.read(0, 0, 1).unwrap();
    });
}

#[test]
fn a_reset_is_told_to_everybody_once() {
    let (top, share) = crate::robustness::server::folder();
    let server = crate::robustness::server::Server::start_with_iscsi(top.path(), &share);
    let (mut one, mut other) = (enter(server.iscsi_port), enter(server.iscsi_port));
    one.manage(Function::LOGICAL_UNIT_RESET, 0, 0).unwrap();
    for client in [&mut one, &mut other] {
        let told = client.read(0, 0, 1).unwrap_err();
        assert_eq!(told.sense(), Some((Key::UNIT_ATTENTION, Asc::BUS_DEVICE_RESET))); // SAM-5 5.14, SPC-4 annex F
        client.read(0, 0, 1).unwrap();
    }
}
