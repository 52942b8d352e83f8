//! States that stay at their server while a change is made.

use super::servers::Servers;
use super::*;
use crate::state::PinConflict;
use formats::Error;

const OTHER: FileId = FileId::new(0, 9);

fn is_elsewhere<T>(answer: formats::Result<T>, file: FileId) -> bool {
    matches!(answer, Err(Error::LeaseRecall(of)) if of == file)
}

#[test]
fn a_pinned_state_leaves_with_its_last_pin() {
    let servers = Servers::two(Policy::default());
    let (first, second) = (&servers.first, &servers.second);
    servers.bring(first);
    let (pins, more) = (first.pin(&[FILE, FILE]).unwrap(), first.pin(&[FILE]).unwrap());
    assert!(is_elsewhere(second.pin(&[FILE]), FILE));
    assert!(matches!(first.give_up(FILE), Err(PinConflict)));
    // It is wanted now: changes that come later wait until it is back.
    assert!(is_elsewhere(first.pin(&[FILE]), FILE));
    drop(pins);
    assert!(matches!(first.give_up(FILE), Err(PinConflict)));
    assert_eq!(servers.freed_and_held()[0], []);
    drop(more);
    assert_eq!(servers.freed_and_held()[0], [FILE]);
    assert!(is_elsewhere(first.pin(&[FILE]), FILE));
    assert_eq!(servers.settle(), 2, "it has moved to the second server, and back");
    assert!(first.pin(&[FILE]).is_ok());
}

#[test]
fn a_state_that_is_wanted_no_more_can_be_pinned_again() {
    let servers = Servers::two(Policy::default());
    let first = &servers.first;
    servers.bring(first);
    let pins = first.pin(&[FILE]).unwrap();
    assert!(first.give_up(FILE).is_err());
    assert!(is_elsewhere(first.pin(&[FILE]), FILE) && first.is_coming(FILE));
    first.stays(FILE);
    assert!(!first.is_coming(FILE), "operations that wait for it go on");
    assert!(first.pin(&[FILE]).is_ok());
    drop(pins);
    assert_eq!((servers.freed_and_held(), servers.asked()), ([Vec::new(), Vec::new()], Vec::new()));
    assert!(first.give_up(FILE).unwrap().is_some());
}

/// Of two servers that have one state each and need both, one is told to keep what it has.
#[test]
fn a_state_stays_for_one_of_a_higher_number() {
    let servers = Servers::two(Policy::default());
    let (low, high) = (FILE.min(OTHER), FILE.max(OTHER));
    for (server, file) in [(&servers.first, low), (&servers.second, high)] {
        assert!(is_elsewhere(server.pin(&[file]), file));
        servers.settle();
        assert!(server.pin(&[file]).is_ok());
    }
    assert!(is_elsewhere(servers.first.pin(&[high, low]), high));
    assert_eq!(servers.freed_and_held()[1], [low]);
    assert!(is_elsewhere(servers.second.pin(&[high, low]), low));
    assert_eq!(servers.freed_and_held()[1], []);
    assert_eq!(servers.asked(), [high, low]);
}

#[test]
fn a_server_that_is_alone_pins_nothing() {
    let servers = Servers::one(Policy::default());
    let _pins = servers.first.pin(&[FILE, OTHER]).unwrap();
    assert!(servers.first.quiet(FILE));
}
