//! Calls and answers that impacket wrote.

use super::*;

const OPEN_POLICY: u16 = 44;

fn cases(interface: &str) -> impl Iterator<Item = (&'static str, u16, Vec<u8>, Vec<u8>)> {
    let lines = include_str!("calls.txt").lines().filter(|line| !line.starts_with('#'));
    let all = lines.map(|line| <[&str; 5]>::try_from(line.split(' ').collect::<Vec<_>>()).unwrap());
    all.filter(move |case| case[0] == interface).map(|[_, what, operation, stub, results]| {
        (what, operation.parse().unwrap(), hex(stub), hex(results))
    })
}

fn check(interface: &str, pipe: &mut Pipe) {
    let mut count = 0;
    for (what, operation, stub, results) in cases(interface) {
        let answer = call(pipe, operation, &stub).unwrap();
        assert_eq!(answer.escape_ascii().to_string(), results.escape_ascii().to_string(), "{what}");
        count += 1;
    }
    assert!(count > 3);
}

#[test]
fn the_server_service_answers_as_another_implementation_writes_the_same_values() {
    check("srvsvc", &mut bound(BIND_SRVSVC, CallerRank::Administrator));
}

#[test]
fn the_workstation_service_answers_as_another_implementation_writes_the_same_values() {
    check("wkssvc", &mut bound(BIND_WKSSVC, CallerRank::Administrator));
}

#[test]
fn the_security_authority_answers_as_another_implementation_writes_the_same_values() {
    check("lsarpc", &mut bound(BIND_LSARPC, CallerRank::User));
}

#[test]
fn the_accounts_are_told_as_another_implementation_writes_the_same_values() {
    check("samr", &mut bound(BIND_SAMR, CallerRank::User));
}

#[test]
fn no_prefix_of_arguments_is_taken_for_all_of_them() {
    let interfaces =
        [("srvsvc", BIND_SRVSVC), ("wkssvc", BIND_WKSSVC), ("lsarpc", BIND_LSARPC), ("samr", BIND_SAMR)];
    const IGNORED: &[&str] = &[
        "share_del",
        "share_add",
        "file_security",
        "remote_tod",
        "open_policy",
        "create_user",
        "create_alias",
        "delete_user",
        "password_information",
    ];
    for (interface, bind) in interfaces {
        for (what, operation, stub, _) in cases(interface) {
            let mut pipe = bound(bind, CallerRank::Administrator);
            for len in 0..stub.len() {
                let answer = call(&mut pipe, operation, &stub[..len]);
                // Refused calls, and calls whose arguments are ignored, need no arguments.
                if !IGNORED.contains(&what) && len < 16 {
                    assert!(answer.is_err(), "{what}, {len} of {} bytes", stub.len());
                }
            }
        }
    }
}

#[test]
fn an_operation_that_is_not_there_is_out_of_range() {
    let missing = [(BIND_SRVSVC, 0), (BIND_SRVSVC, 58), (BIND_WKSSVC, 5), (BIND_LSARPC, 1), (BIND_SAMR, 4)];
    for (bind, operation) in missing {
        let answer = call(&mut bound(bind, CallerRank::User), operation, &[0; 64]);
        assert_eq!(answer, Err(Fault(0x1c01_0002))); // nca_s_op_rng_error, C706 appendix E
    }
}

#[test]
fn a_policy_handle_is_good_until_it_is_closed_and_only_in_its_pipe() {
    let mut pipe = bound(BIND_LSARPC, CallerRank::User);
    let handle = call(&mut pipe, OPEN_POLICY, &[]).unwrap()[..20].to_vec();
    let query = [&handle[..], &[5, 0]].concat();
    assert!(call(&mut pipe, 7, &query).is_ok());
    let mismatch = Err(Fault(0x1c00_001a)); // nca_s_fault_context_mismatch
    assert_eq!(call(&mut bound(BIND_LSARPC, CallerRank::User), 7, &query), mismatch);
    assert_eq!(call(&mut pipe, 0, &handle), Ok(vec![0; 24]));
    assert_eq!(call(&mut pipe, 7, &query), mismatch);
    assert_eq!(call(&mut pipe, 0, &handle), mismatch);
}

/// A handle of another object, or with fewer rights, does nothing.
#[test]
fn handles_of_accounts_are_for_what_they_were_opened_for() {
    let mut pipe = bound(BIND_SAMR, CallerRank::User);
    let connect = [[0; 4], [0x20, 0, 0, 0]].concat(); // to look up only
    let server = call(&mut pipe, 57, &connect).unwrap()[..20].to_vec();
    let list = [&server[..], &[0; 4], &[0xff; 4]].concat();
    let status = |answer: Vec<u8>| u32::from_le_bytes(*answer.last_chunk().unwrap());
    assert_eq!(status(call(&mut pipe, 6, &list).unwrap()), 0xc000_0022);
    let users = [&server[..], &[0; 8], &[0xff; 4]].concat();
    assert_eq!(status(call(&mut pipe, 13, &users).unwrap()), 0xc000_0024); // STATUS_OBJECT_TYPE_MISMATCH
    assert_eq!(call(&mut bound(BIND_SAMR, CallerRank::User), 6, &list), Err(Fault::CONTEXT_MISMATCH));
    let statuses = (0..300).map(|_| status(call(&mut pipe, 57, &connect).unwrap()));
    assert_eq!(statuses.filter(|status| *status == 0).count(), 255, "handles are limited");
}

#[test]
fn policy_handles_are_limited() {
    let mut pipe = bound(BIND_LSARPC, CallerRank::User);
    let statuses = (0..100).map(|_| call(&mut pipe, OPEN_POLICY, &[]).unwrap()[20..].to_vec());
    let good = statuses.filter(|status| *status == [0; 4]).count();
    assert_eq!(good, 64);
}

#[test]
fn an_array_longer_than_its_bytes_is_not_believed() {
    let mut pipe = bound(BIND_LSARPC, CallerRank::User);
    let handle = call(&mut pipe, OPEN_POLICY, &[]).unwrap()[..20].to_vec();
    let names = [&handle[..], &[0xff; 8]].concat();
    assert_eq!(call(&mut pipe, 14, &names), Err(Fault::BAD_STUB_DATA));
    let sids = [&handle[..], &[0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]].concat();
    assert_eq!(call(&mut pipe, 15, &sids), Err(Fault::BAD_STUB_DATA));
}
