//! What all sessions have in common: servers that end, hang or speak another protocol, and numbers of files.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::*;

const URLS: [&str; 6] = [
    "smb://ada:secret@HOST/share",
    "afp://ada:secret@HOST/share",
    "nfs://HOST/share",
    "nfs://HOST/share?vers=4.2",
    "nfs://HOST/share?vers=4.1",
    "iscsi://HOST/iqn.2026-11.invalid:disk/0",
];

/// The errors of sessions over each protocol with a server that reads something and sends these bytes; it then ends the
/// connection, or says no more.
fn errors(bytes: &'static [u8], ends: bool) -> Vec<(&'static str, Error)> {
    let error = |url: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = std::thread::spawn(move || {
            let mut held = Vec::new();
            // A client may try again.
            while let Ok((mut stream, _)) = listener.accept() {
                let count = stream.read(&mut [0; 4096]).unwrap_or(0);
                if count == 0 {
                    break; // the test is over
                }
                let _ = stream.write_all(bytes);
                if !ends {
                    held.push(stream);
                }
            }
        });
        let target = Target::parse(&url.replace("HOST", &address)).unwrap();
        let connector = Connector::new(target, Reach::direct(Duration::from_millis(300)), 1, 1 << 20);
        let error = connector.connect(0).err().unwrap_or_else(|| panic!("{url}: a session"));
        drop(std::net::TcpStream::connect(&address));
        serving.join().unwrap();
        (url, error)
    };
    URLS.into_iter().map(error).collect()
}

#[test]
fn a_server_that_closes_the_connection_is_lost() {
    for (url, error) in errors(b"", true) {
        assert!(matches!(error, Error::Lost(_)) && error.ends_session(), "{url}: {error}");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let begun = Instant::now();
    for (url, error) in errors(b"", false) {
        assert!(matches!(error, Error::Silent(1)) && error.ends_session(), "{url}: {error}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_server_of_another_protocol_is_an_error_and_no_session() {
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        &[0; 512],
        &[0xFF; 512],
    ];
    for answer in answers {
        for (url, error) in errors(answer, true) {
            let is_of_server = matches!(error, Error::Lost(_) | Error::Other(_) | Error::Unsupported(_));
            assert!(is_of_server, "{url}: {error:?} for {answer:?}");
        }
    }
}

#[test]
fn a_port_without_a_server_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in URLS {
        let target = Target::parse(&url.replace("HOST", &port.to_string())).unwrap();
        let connector = Connector::new(target, Reach::direct(Duration::from_secs(5)), 1, 1 << 20);
        let error = connector.connect(0).err().unwrap();
        assert!(
            matches!(&error, Error::Unreachable(address, _) if *address == port.to_string()),
            "{url}: {error}"
        );
    }
}

#[test]
fn a_disk_has_no_files_and_a_folder_no_metadata_of_a_protocol() {
    let connector = |url: &str| {
        Connector::new(Target::parse(url).unwrap(), Reach::direct(Duration::from_secs(1)), 1, 1 << 20)
    };
    assert!(matches!(connector("iscsi://127.0.0.1/iqn.a:b/0").tree().err(), Some(Error::Address(_))));
    assert!(matches!(connector("iscsi://127.0.0.1/iqn.a:b/0").peer().err(), Some(Error::Address(_))));
    assert!(matches!(connector("file:///tmp").peer().err(), Some(Error::Address(_))));
    assert!(matches!(connector("file:///nowhere/at/all").connect(0).err(), Some(Error::Missing(_))));
}

#[test]
fn the_number_of_a_closed_file_is_given_again() {
    let mut slots = Slots::default();
    let files = ["a", "b", "c"].map(|thing| slots.put(thing));
    assert_eq!(slots.take(files[1]).unwrap(), "b");
    assert!(
        slots.get(files[1]).is_err() && slots.take(files[1]).is_err() && slots.get(OpenFileId(99)).is_err()
    );
    assert_eq!((slots.used(), slots.next()), (vec![files[0], files[2]], files[1].0));
    assert_eq!((slots.put("d"), slots.get(files[1]).unwrap()), (files[1], &"d"));
}
