//! Which user may ask what.

use super::*;

/// Results of a call with the status at their end.
fn status(bind: &str, rank: CallerRank, operation: u16, stub: &[u8]) -> u32 {
    let results = call(&mut bound(bind, rank), operation, stub).unwrap();
    u32::from_le_bytes(*results.last_chunk().unwrap())
}

/// Arguments of a list: no server's name, `filters` null filters, an empty container, no limit.
fn list(filters: usize, level: u8) -> Vec<u8> {
    let mut stub = vec![0; 4 + 4 * filters];
    stub.extend([level, 0, 0, 0, level, 0, 0, 0, 1, 0, 0, 0]); // level, arm, pointer to the container
    stub.extend([0; 8]);
    stub.extend([0xff; 4]);
    stub.extend([0; 4]);
    stub
}

/// The requests of smbtorture 4.17's rpc.srvsvc: users without an account see names and remarks,
/// other users also paths.
#[test]
fn strangers_are_told_which_shares_there_are_and_no_more() {
    for rank in [CallerRank::Anonymous, CallerRank::Guest] {
        let asked = |operation, level| status(BIND_SRVSVC, rank, operation, &list(0, level));
        assert_eq!([asked(15, 0), asked(15, 1), asked(15, 2)], [0, 0, 5]);
        assert_eq!([asked(36, 0), asked(36, 1), asked(36, 2)], [0, 0, 5]);
    }
    for rank in [CallerRank::User, CallerRank::Administrator] {
        let asked = |operation, level| status(BIND_SRVSVC, rank, operation, &list(0, level));
        assert_eq!([asked(15, 0), asked(15, 1), asked(15, 2)], [0, 0, 0]);
        assert_eq!([asked(36, 0), asked(36, 1), asked(36, 2)], [0, 0, 0]);
    }
}

#[test]
fn an_unknown_level_is_said_to_be_one() {
    let mut stub = list(0, 77);
    stub.drain(12..24); // no container
    assert_eq!(status(BIND_SRVSVC, CallerRank::Anonymous, 15, &stub), 124);
    assert_eq!(status(BIND_SRVSVC, CallerRank::User, 21, &[0, 0, 0, 0, 77, 0, 0, 0]), 124);
    assert_eq!(status(BIND_WKSSVC, CallerRank::User, 0, &[0, 0, 0, 0, 77, 0, 0, 0]), 124);
}

#[test]
fn sessions_and_files_are_for_administrators_but_for_ones_own_sessions() {
    let sessions = |rank, level| status(BIND_SRVSVC, rank, 12, &list(2, level));
    assert_eq!(
        [sessions(CallerRank::Guest, 10), sessions(CallerRank::User, 10), sessions(CallerRank::User, 1)],
        [5, 0, 5]
    );
    assert_eq!(sessions(CallerRank::Administrator, 1), 0);
    let files = |rank| status(BIND_SRVSVC, rank, 9, &list(2, 3));
    assert_eq!([files(CallerRank::User), files(CallerRank::Administrator)], [5, 0]);
}

/// MS-WKST 3.2.4.1.
#[test]
fn what_the_computer_tells_of_itself_depends_on_who_asks() {
    let asked = |rank, level| status(BIND_WKSSVC, rank, 0, &[0, 0, 0, 0, level, 0, 0, 0]);
    assert_eq!([asked(CallerRank::Anonymous, 100), asked(CallerRank::Anonymous, 101)], [0, 5]);
    assert_eq!([asked(CallerRank::User, 101), asked(CallerRank::User, 102)], [0, 5]);
}

#[test]
fn the_anonymous_cannot_look_up_names() {
    let names = [0; 8]; // LsarLookupNames4 of none
    assert_eq!(status(BIND_LSARPC, CallerRank::Anonymous, 77, &names), 0xc000_0022);
    assert_eq!(status(BIND_LSARPC, CallerRank::Guest, 77, &names), 0);
}

/// As Windows since version 10 (1607), but for all users with an account: they choose names for ACLs.
#[test]
fn the_accounts_are_for_users_with_an_account() {
    let connect = |rank| status(BIND_SAMR, rank, 57, &[0, 0, 0, 0, 0x30, 0, 0, 0]);
    let denied = 0xc000_0022;
    assert_eq!(
        [connect(CallerRank::Anonymous), connect(CallerRank::Guest), connect(CallerRank::User)],
        [denied, denied, 0]
    );
    assert_eq!(status(BIND_SAMR, CallerRank::Guest, 56, &[0; 12]), denied);
    for operation in
        [2, 9, 10, 12, 14, 21, 22, 23, 24, 26, 29, 30, 31, 32, 35, 37, 38, 45, 50, 52, 53, 54, 55, 58]
    {
        assert_eq!(status(BIND_SAMR, CallerRank::Administrator, operation, &[0; 32]), denied, "{operation}");
    }
}

#[test]
fn changes_are_refused_even_to_administrators() {
    for operation in [11, 13, 14, 17, 18, 19, 22, 25, 27, 37, 38, 40, 41, 57] {
        assert_eq!(status(BIND_SRVSVC, CallerRank::Administrator, operation, &[0; 32]), 5, "{operation}");
    }
}

#[test]
fn a_guest_learns_no_names_of_the_host() {
    let name =
        |rank, sid: &str| names::of_sid(&TestHost(rank), &sid.parse().unwrap()).map(|account| account.name);
    for (sid, user, guest) in [
        ("S-1-22-1-1000", "alice", Some("1000")),
        ("S-1-22-2-100", "users", Some("100")),
        ("S-1-5-21-1-2-3-3000", "alice", None),
        ("S-1-1-0", "Everyone", Some("Everyone")),
    ] {
        assert_eq!(name(CallerRank::User, sid).as_deref(), Some(user));
        assert_eq!(name(CallerRank::Guest, sid).as_deref(), guest);
    }
    let known = |rank, name: &str| names::of_name(&TestHost(rank), name).is_some();
    for name in ["alice", "Unix Group\\users", "Unix User\\alice"] {
        assert_eq!([known(CallerRank::User, name), known(CallerRank::Guest, name)], [true, false], "{name}");
    }
    assert!(known(CallerRank::Guest, "Everyone") && known(CallerRank::Guest, "FOURFOLD"));
}
