//! Files that opens keep for clients that are not connected.

use super::servers::{Servers, notices, replica};
use super::*;
use crate::state::FileState;

#[test]
fn a_reserved_file_is_reserved_at_all_servers() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    let guard = servers.run(|| open(first, A, Modes::READ, Modes::NONE)).unwrap();
    assert_eq!(servers.run(|| second.is_reserved(FILE)), Ok(false));
    guard.reserve(true); // when the state is here again
    servers.settle();
    assert_eq!(first.is_reserved(FILE), Ok(true));
    assert_eq!(servers.run(|| second.is_reserved(FILE)), Ok(true));
    assert!(servers.run(|| open(second, B, Modes::READ, Modes::NONE)).is_ok(), "no rule is changed by it");
    guard.reserve(false);
    servers.settle();
    assert_eq!(servers.run(|| second.is_reserved(FILE)), Ok(false));
    guard.reserve(true);
    drop(guard);
    servers.settle();
    assert_eq!(servers.run(|| second.is_reserved(FILE)), Ok(false));
}

/// As told to the successor, for a client that comes there: whether the successor, another server or none has the state.
#[test]
fn a_persistent_open_reserves_its_file_as_soon_as_it_is_inherited() {
    for owner in 0..3 {
        let servers = Servers::two(Policy::default());
        let (lost, _) = replica(&servers, Modes::WRITE);
        let (first, second) = (&servers.first, &servers.second);
        let replica = second.replica(FILE, lost.id(), None, true).unwrap();
        servers.bring(if owner == 0 { first } else { second });
        let (inherited, one) = first.inherit(FILE, replica, A, &notices()).unwrap();
        assert!(one.reserved);
        match owner {
            0 => first.rehome(&one),
            // Here it stands for a third server, which has the state.
            1 => {
                second.rehome(&one);
                servers.bring(first);
            }
            _ => {
                let mut made = FileState::default();
                made.admit(first.inherited_part(FILE));
                first.take_over(FILE, made);
            }
        }
        assert_eq!(first.is_reserved(FILE), Ok(true), "{owner}");
        inherited.guard.reserve(false);
        assert_eq!(first.is_reserved(FILE), Ok(false), "{owner}");
        std::mem::forget((lost, inherited));
    }
}
