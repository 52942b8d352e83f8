//! The pipe around the messages.

use super::*;

#[test]
fn there_are_five_pipes_in_any_case_and_with_the_path_of_windows() {
    let open = |name| Pipe::open(name, Arc::new(TestHost(CallerRank::User))).map(|pipe| pipe.name());
    assert_eq!(open("srvsvc"), Some("srvsvc"));
    assert_eq!(open("WKSSVC"), Some("wkssvc"));
    assert_eq!(open("\\PIPE\\lsarpc"), Some("lsarpc"));
    assert_eq!(open("samr"), Some("samr"));
    assert_eq!(open("mdssvc"), Some("mdssvc"));
    for other in ["", "spoolss", "srvsvc2", "pipe", "a\\srvsvc", "mdssvc2"] {
        assert_eq!(open(other), None, "{other}");
    }
}

#[test]
fn a_message_may_come_byte_by_byte() {
    let mut pipe = unbound(CallerRank::User);
    let bind = hex(BIND_SRVSVC);
    let (last, before) = bind.split_last().unwrap();
    for byte in before {
        assert_eq!(pipe.write(&[*byte]), Ok(1));
        assert_eq!(pipe.read(100), Err(Status::PIPE_EMPTY));
    }
    assert_eq!(pipe.write(&[*last]), Ok(1));
    assert_eq!(pipe.read(100).unwrap().bytes[2], kind::BIND_ACK);
}

#[test]
fn several_messages_may_come_at_once_and_are_read_one_by_one() {
    let mut pipe = unbound(CallerRank::User);
    let time = fragment(7, flags::WHOLE, 0, 28, &[0; 4]);
    let all = [hex(BIND_SRVSVC), time.clone(), time].concat();
    assert_eq!(pipe.write(&all), Ok(all.len()));
    let kinds: Vec<_> = std::iter::from_fn(|| pipe.read(usize::MAX).ok()).map(|read| read.bytes[2]).collect();
    assert_eq!(kinds, [kind::BIND_ACK, kind::RESPONSE, kind::RESPONSE]);
}

/// MS-SMB2 3.3.5.12: STATUS_BUFFER_OVERFLOW when the message is longer than the read.
#[test]
fn a_read_of_a_part_says_that_there_is_more() {
    let mut pipe = unbound(CallerRank::User);
    pipe.write(&hex(BIND_SRVSVC)).unwrap();
    let (all, first) = pipe.available();
    assert_eq!(all, first);
    let part = pipe.read(16).unwrap();
    assert_eq!((part.bytes.len(), part.more, part.status()), (16, true, Status(0x8000_0005)));
    let rest = pipe.read(all - 16).unwrap();
    assert_eq!((rest.bytes.len(), rest.more, rest.status()), (all - 16, false, Status::SUCCESS));
    assert_eq!(pipe.available(), (0, 0));
}

#[test]
fn a_transceive_needs_an_empty_pipe() {
    let mut pipe = unbound(CallerRank::User);
    pipe.write(&hex(BIND_SRVSVC)).unwrap();
    let time = fragment(7, flags::WHOLE, 0, 28, &[0; 4]);
    assert_eq!(pipe.transceive(&time, 1000), Err(Status::PIPE_BUSY));
    pipe.read(1000).unwrap();
    assert!(pipe.transceive(&time, 1000).is_ok());
}

#[test]
fn a_client_that_asks_without_reading_is_cut_off() {
    let mut pipe = bound(BIND_SRVSVC, CallerRank::User);
    let time = fragment(7, flags::WHOLE, 0, 28, &[0; 4]).repeat(1000);
    let asked = (0..1000).take_while(|_| pipe.write(&time).is_ok()).count();
    assert!((10..100).contains(&asked), "{asked}");
    assert!(pipe.available().0 < (4 << 20) + 100_000);
}
