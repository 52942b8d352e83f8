//! Sessions with a server that says what RFC 5531 and RFC 1813 let it say, and what they do not.

use std::time::{Duration, Instant};

use ::nfs::wire::v3::types::Data;

use super::scripted::{Act, ROOT, ScriptedServer, accepted, attributes, opaque, record, words};
use super::*;
use crate::tree::{Kind, Space};

/// Types of files, RFC 1813 2.6.
const REG: u32 = 1;
const DIR: u32 = 2;

/// Behind the status of LOOKUP: the handle, the attributes of the file, none of the folder. RFC 1813 3.3.3.
fn found(handle: &[u8], attributes: &[u8]) -> Vec<u8> {
    [&words(&[0])[..], &opaque(handle), &words(&[1]), attributes, &words(&[0])].concat()
}

/// LOOKUP finds each name: its handle is the name.
fn looked_up(args: &[u8]) -> Act {
    let name = &args[4 + ROOT.len() + 4..];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Act::Results(found(&name[..end], &attributes(REG, 7, 9)))
}

/// The results of READ, RFC 1813 3.3.6: OK, no attributes, the count, the end, the data.
fn read_results(data: &[u8]) -> Vec<u8> {
    [words(&[0, 0, data.len() as u32, 1]), opaque(data)].concat()
}

/// The error of the session's answer to this procedure, to which the server answers so.
fn error_of_stat(act: impl FnMut() -> Act + Send + 'static) -> Error {
    let mut act = act;
    ScriptedServer::start(move |_| act()).client().unwrap().stat("file").unwrap_err()
}

#[test]
fn the_head_and_the_data_of_a_write_are_the_whole_request() {
    let handle = Opaque::new(b"abcd");
    let whole = write::Request {
        file: handle,
        offset: 1 << 40,
        count: 5,
        stable: StableHow::FILE_SYNC,
        data: Data::new(b"hello"),
    };
    let (mut a, mut b) = (Writer::new(), Writer::new());
    whole.encode(&mut a);
    WriteHead(handle, 1 << 40, 5, StableHow::FILE_SYNC).encode(&mut b);
    b.put(b"hello\0\0\0");
    assert_eq!(a.as_bytes(), b.as_bytes());
}

#[test]
fn a_session_begins_with_the_export_and_its_sizes() {
    let server = ScriptedServer::start(|_| Act::End);
    let session = server.client().unwrap();
    assert_eq!(session.largest(), 32_768, "the smaller one of reads and writes");
    let calls: Vec<_> =
        server.calls.try_iter().map(|call| (call.program, call.procedure, call.args)).collect();
    assert_eq!(calls, [(100_005, 1, opaque(b"/export")), (100_003, 19, opaque(ROOT))]);
}

#[test]
fn a_folder_of_the_target_is_looked_up_name_by_name() {
    let server = ScriptedServer::start(|call| looked_up(&call.args));
    drop(server.client_of("export/Films/1998", Duration::from_secs(20)).unwrap());
    let one = [opaque(ROOT), opaque(b"Films")].concat();
    let other = [opaque(b"Films"), opaque(b"1998")].concat();
    assert_eq!(server.args_of(procedure::LOOKUP), [one, other]);
}

/// RFC 1813 5.2.1: MNT3ERR_PERM, MNT3ERR_NOENT, MNT3ERR_ACCES, MNT3ERR_SERVERFAULT.
#[test]
fn an_export_that_is_refused_or_missing_is_said_so() {
    let error =
        |status| ScriptedServer::start_bare(move |_| Act::Results(words(&[status]))).client().err().unwrap();
    assert!(matches!(error(1), Error::Refused(text) if text.contains("/export")));
    assert!(matches!(error(2), Error::Missing(text) if text.contains("/export")));
    assert!(matches!(error(13), Error::Refused(_)));
    assert!(matches!(error(10_006), Error::Other(_)));
}

/// RFC 1813 2.6, nfsstat3.
#[test]
fn each_status_is_the_error_that_a_person_can_do_something_about() {
    let error = |status| error_of_stat(move || Act::Results(words(&[status, 0])));
    for status in [28, 69] {
        assert!(matches!(error(status), Error::Full), "NOSPC, DQUOT: {status}");
    }
    for status in [1, 13, 30] {
        assert!(matches!(error(status), Error::Refused(text) if text.contains("file")), "PERM, ACCES, ROFS");
    }
    for status in [2, 70] {
        assert!(matches!(error(status), Error::Missing(name) if name == "file"), "NOENT, STALE");
    }
    assert!(matches!(error(17), Error::Exists(name) if name == "file"));
    assert!(matches!(error(10_004), Error::Unsupported(_)), "NOTSUPP");
    for status in [5, 10_006, 77_777] {
        let error = error(status);
        assert!(
            matches!(error, Error::Other(_)) && !error.ends_session(),
            "IO, SERVERFAULT, and one of nobody"
        );
    }
}

/// RFC 5531 9: accept_stat and reject_stat.
#[test]
fn a_call_that_rpc_refuses_is_an_error_of_the_program_or_the_login() {
    let refused = |reply: Vec<u8>| error_of_stat(move || Act::Reply(reply.clone()));
    assert!(matches!(refused(accepted(1)), Error::Unsupported(_)), "PROG_UNAVAIL");
    assert!(
        matches!(refused([accepted(2), words(&[4, 4])].concat()), Error::Unsupported(_)),
        "PROG_MISMATCH"
    );
    assert!(matches!(refused(accepted(3)), Error::Unsupported(_)), "PROC_UNAVAIL");
    assert!(matches!(refused(accepted(4)), Error::Other(_)), "GARBAGE_ARGS");
    let denied = refused(words(&[1, 1, 1, 5]));
    assert!(
        matches!(denied, Error::Login(_)) && denied.ends_session(),
        "MSG_DENIED, AUTH_ERROR, AUTH_TOOWEAK"
    );
}

#[test]
fn a_connection_that_ends_is_lost_and_one_that_is_silent_is_left() {
    let lost = error_of_stat(|| Act::End);
    assert!(matches!(lost, Error::Lost(_)) && lost.ends_session());
    let half = || Act::Raw([words(&[1 << 31 | 100]), vec![0; 50]].concat());
    let server = ScriptedServer::start(move |_| half());
    let begun = Instant::now();
    let silent = server.client_of("export", Duration::from_millis(200)).unwrap().stat("file").unwrap_err();
    assert!(matches!(silent, Error::Silent(1)) && silent.ends_session(), "{silent}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    let server = ScriptedServer::start(|_| Act::Nothing);
    let silent = server.client_of("export", Duration::from_millis(200)).unwrap().stat("file").unwrap_err();
    assert!(matches!(silent, Error::Silent(_)), "{silent}");
}

#[test]
fn an_answer_to_another_call_is_none() {
    let error = error_of_stat(|| Act::Raw(record(&[words(&[0xDEAD]), accepted(0), words(&[2])].concat())));
    assert!(matches!(&error, Error::Other(text) if text.contains("another call")), "{error}");
}

#[test]
fn a_record_that_is_too_long_or_of_too_many_fragments_ends_the_session() {
    let too_long = error_of_stat(|| Act::Raw(words(&[1 << 31 | 0x7FFF_FFFF])));
    assert!(matches!(too_long, Error::Lost(_)), "{too_long}");
    let empty_fragments = error_of_stat(|| Act::Raw(vec![0; 4 * 2000]));
    assert!(matches!(empty_fragments, Error::Lost(_)), "{empty_fragments}");
}

/// RFC 5531 11: a record is one or more fragments.
#[test]
fn fragments_of_a_record_are_put_together() {
    let server = ScriptedServer::start(|call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        _ => {
            let reply = [words(&[call.xid]), accepted(0), words(&[0]), attributes(REG, 1 << 33, 9)].concat();
            let (first, rest) = reply.split_at(30);
            Act::Raw([&words(&[first.len() as u32])[..], first, &words(&[0]), &record(rest)].concat())
        }
    });
    assert_eq!(server.client().unwrap().stat("file").unwrap(), 1 << 33);
}

/// However much of an answer comes: an error, never a wrong value, and the session goes on.
#[test]
fn an_answer_that_is_cut_off_is_an_error_at_every_byte() {
    let whole = [words(&[0]), attributes(REG, 5, 9)].concat();
    let (length, mut cut) = (whole.len(), 0);
    let server = ScriptedServer::start(move |call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        _ => {
            cut += 1;
            Act::Results(whole[..cut - 1].to_vec())
        }
    });
    let mut session = server.client().unwrap();
    for cut in 0..length {
        let error = session.stat("file").unwrap_err();
        assert!(matches!(error, Error::Other(_)), "after {cut} bytes: {error}");
    }
    assert_eq!(session.stat("file").unwrap(), 5);
}

#[test]
fn a_read_has_what_the_server_sends_also_if_that_is_less() {
    let server = ScriptedServer::start(|call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        _ => Act::Results(read_results(b"abc")),
    });
    let mut session = server.client().unwrap();
    let file = session.open("file", OpenIntent::Read).unwrap();
    let ticket = session.start(file, DataTransfer::Read { offset: 1 << 40, length: 4096 }).unwrap();
    let done = session.finish().unwrap();
    assert_eq!((done.ticket, done.length, &done.head), (ticket, 3, b"abc\0\0\0\0\0"));
    assert_eq!(session.read(file, 0, 100_000).unwrap(), b"abc");
    let reads = [words(&[256, 0, 4096]), words(&[0, 0, 32_768])].map(|rest| [opaque(b"file"), rest].concat());
    assert_eq!(server.args_of(procedure::READ), reads, "no read is larger than the server takes");
}

#[test]
fn transfers_finish_in_the_order_of_the_answers() {
    let mut waiting = None;
    let server = ScriptedServer::start(move |call| match (call.procedure, waiting.take()) {
        (procedure::LOOKUP, _) => looked_up(&call.args),
        (_, None) => {
            waiting = Some(call.xid);
            Act::Nothing
        }
        (_, Some(first)) => {
            let answer = |xid, data| record(&[words(&[xid]), accepted(0), read_results(data)].concat());
            Act::Raw([answer(call.xid, b"second"), answer(first, b"first")].concat())
        }
    });
    let mut session = server.client().unwrap();
    let file = session.open("file", OpenIntent::Read).unwrap();
    let tickets = [0, 8].map(|offset| session.start(file, DataTransfer::Read { offset, length: 8 }).unwrap());
    let done = [0, 1].map(|_| session.finish().unwrap());
    assert_eq!(done.map(|done| (done.ticket, done.length)), [(tickets[1], 6), (tickets[0], 5)]);
    assert_eq!(done.map(|done| done.head), [*b"second\0\0", *b"first\0\0\0"]);
}

/// RFC 1813 3.3.7: the count that was written may be smaller.
#[test]
fn a_write_has_the_count_of_the_answer() {
    let server = ScriptedServer::start(|call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        _ => Act::Results(words(&[0, 0, 0, 3, 2, 1, 2])),
    });
    let mut session = server.client().unwrap();
    let file = session.open("file", OpenIntent::Write).unwrap();
    session.start(file, DataTransfer::Write { offset: 3, data: b"hello", stable: true }).unwrap();
    assert_eq!(session.finish().unwrap().length, 3);
    let expected = [opaque(b"file"), words(&[0, 3, 5, 2]), opaque(b"hello")].concat();
    assert_eq!(server.args_of(procedure::WRITE), [expected]);
}

/// An entry of READDIRPLUS, RFC 1813 3.3.17: another one follows, number, name, cookie, attributes, no handle.
fn listed(number: u32, name: &[u8], attributes: Option<Vec<u8>>) -> Vec<u8> {
    let attributes = attributes.map_or_else(|| words(&[0]), |all| [words(&[1]), all].concat());
    [words(&[1, 0, number]), opaque(name), words(&[0, number]), attributes, words(&[0])].concat()
}

/// A page: OK, no attributes of the folder, a verifier, the entries, none follows, whether this is the end.
fn page(entries: &[Vec<u8>], is_last: bool) -> Act {
    let entries = entries.concat();
    Act::Results([words(&[0, 0, 0xAB, 0xCD]), entries, words(&[0, is_last.into()])].concat())
}

#[test]
fn a_listing_has_all_pages_and_asks_for_attributes_that_are_missing() {
    let file = |number| Some(attributes(REG, 7, number));
    let mut pages = 0;
    let server = ScriptedServer::start(move |call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        procedure::GETATTR => Act::Results([words(&[0]), attributes(DIR, 4096, 4)].concat()),
        _ => {
            pages += 1;
            match pages {
                1 => {
                    page(&[listed(1, b".", file(1)), listed(2, b"..", None), listed(3, b"a", file(3))], false)
                }
                _ => page(
                    &[listed(4, b"folder", None), listed(5, b"._a", file(5)), listed(6, b"\xFF", None)],
                    true,
                ),
            }
        }
    });
    let listing = server.client().unwrap().entries("").unwrap();
    let mut found: Vec<_> = listing.entries.iter().map(|one| (&*one.name, one.kind, one.length)).collect();
    found.sort_by_key(|(name, ..)| *name);
    assert_eq!(found, [("a", Kind::File, 7), ("folder", Kind::Folder, 4096)], "._a belongs to a");
    assert_eq!(listing.unreadable, ["\u{FFFD}"]);
    let a = listing.entries.iter().find(|one| one.name == "a").unwrap();
    assert_eq!(
        (a.mode, a.owner, a.modified, a.changed),
        (Some(0o640), Some((501, 20)), Some((20, 21)), Some((30, 31)))
    );
    let second = &server.args_of(procedure::READDIRPLUS)[1];
    assert_eq!(second[8..24], words(&[0, 3, 0xAB, 0xCD]), "behind the last cookie, with the verifier");
}

#[test]
fn a_listing_that_does_not_go_on_is_an_error() {
    let server = ScriptedServer::start(|_| page(&[listed(3, b"a", None)], false));
    assert!(server.client().unwrap().list("").is_err(), "the same page for ever");
    let server = ScriptedServer::start(|_| page(&[], false));
    assert!(server.client().unwrap().list("").is_err(), "no entries, and no end");
}

/// RFC 1813 3.3.18: total, free, available, and the same of files.
#[test]
fn the_space_is_what_the_user_may_fill() {
    let server =
        ScriptedServer::start(|_| Act::Results(words(&[0, 0, 1, 0, 0, 4096, 0, 1024, 0, 9, 0, 9, 0, 9, 0])));
    assert_eq!(server.client().unwrap().space().unwrap(), Space { total: 1 << 32, free: 1024 });
}

#[test]
fn a_new_file_whose_handle_is_not_told_is_looked_up() {
    let server = ScriptedServer::start(|call| match call.procedure {
        procedure::LOOKUP => looked_up(&call.args),
        procedure::CREATE => Act::Results(words(&[0, 0, 0, 0, 0])),
        _ => Act::Results(read_results(b"")),
    });
    let mut session = server.client().unwrap();
    let file = session.open("new", OpenIntent::Create).unwrap();
    session.read(file, 0, 1).unwrap();
    session.close(file).unwrap();
    assert!(matches!(session.read(file, 0, 1), Err(Error::Other(text)) if text.contains("closed")));
    let calls: Vec<_> = server.calls.try_iter().skip(2).map(|call| call.procedure).collect();
    assert_eq!(calls, [procedure::CREATE, procedure::LOOKUP, procedure::READ]);
}
