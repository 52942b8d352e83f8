//! Servers that are broken or hostile, as sources of `ls`, `migrate` and `serve --from`: a relay in front of our own server repeats
//! the first page of each listing for ever, or gives files names that lead elsewhere. Pages are counted, not bytes or seconds.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::robustness::server::{Server, folder};

/// Files of a folder of some pages over every protocol.
const PAGES: usize = 3000;
/// Files of a folder that is copied.
const FEW: usize = 300;
/// The name of a file, and what the relay makes of it.
const NAMES: (&str, &str) = ("aa_escape", "../escape");

/// How messages are framed, and where what is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Smb,
    Afp,
    Nfs3,
    Nfs4,
}

/// What the relay does to listings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trick {
    RepeatsThePage,
    RenamesAFile,
}

struct Relay {
    port: u16,
    /// Pages of listings that it has sent.
    pages: Arc<AtomicUsize>,
}

impl Relay {
    fn start(framing: Framing, trick: Trick, to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, pages) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let counted = pages.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", to))) else {
                    return;
                };
                let pages = counted.clone();
                std::thread::spawn(move || carry(framing, trick, client, server, &pages));
            }
        });
        Self { port, pages }
    }

    fn pages(&self) -> usize {
        self.pages.load(Ordering::SeqCst)
    }
}

/// Carries one connection.
fn carry(framing: Framing, trick: Trick, mut client: TcpStream, mut server: TcpStream, pages: &AtomicUsize) {
    let asked = Arc::new(Mutex::new(HashSet::new()));
    let (mut from, mut to, noted) = (client.try_clone().unwrap(), server.try_clone().unwrap(), asked.clone());
    std::thread::spawn(move || {
        while let Some(message) = framing.message(&mut from) {
            if framing.asks_for_a_listing(&message) {
                noted.lock().unwrap().insert(framing.id(&message));
            }
            if to.write_all(&message).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both); // it may be over already
    });
    let mut first: Option<Vec<u8>> = None;
    while let Some(mut message) = framing.message(&mut server) {
        let is_listing =
            asked.lock().unwrap().remove(&framing.id(&message)) && framing.is_page(&message, first.is_some());
        if is_listing {
            pages.fetch_add(1, Ordering::SeqCst);
            match (trick, &first) {
                (Trick::RepeatsThePage, Some(first)) => message = framing.again(first, &message),
                (Trick::RepeatsThePage, None) => first = Some(message.clone()),
                (Trick::RenamesAFile, _) => rename(framing, &mut message),
            }
        }
        if client.write_all(&message).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both); // as above
}

fn rename(framing: Framing, message: &mut [u8]) {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let (from, to) = match framing {
        Framing::Smb => (wide(NAMES.0), wide(NAMES.1)),
        _ => (NAMES.0.as_bytes().to_vec(), NAMES.1.as_bytes().to_vec()),
    };
    while let Some(at) = message.windows(from.len()).position(|part| part == from) {
        message[at..at + to.len()].copy_from_slice(&to);
    }
}

impl Framing {
    /// The bytes of a message's head, and of the rest.
    fn message(self, stream: &mut TcpStream) -> Option<Vec<u8>> {
        let mut head = vec![0; if self == Self::Afp { 16 } else { 4 }];
        stream.read_exact(&mut head).ok()?;
        let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        let length = match self {
            Self::Smb => word(0) & 0x00FF_FFFF,
            Self::Afp => word(8),
            Self::Nfs3 | Self::Nfs4 => word(0) & 0x7FFF_FFFF,
        };
        let at = head.len();
        head.resize(at + length as usize, 0);
        stream.read_exact(&mut head[at..]).ok()?;
        Some(head)
    }

    /// What a reply has in common with its request.
    fn id(self, message: &[u8]) -> Vec<u8> {
        message[self.id_at()].to_vec()
    }

    fn id_at(self) -> std::ops::Range<usize> {
        match self {
            Self::Smb => 28..36, // the message id, MS-SMB2 2.2.1.2
            Self::Afp => 2..4,
            Self::Nfs3 | Self::Nfs4 => 4..8,
        }
    }

    fn asks_for_a_listing(self, message: &[u8]) -> bool {
        let word = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().unwrap());
        match self {
            Self::Smb => message.get(16) == Some(&14), // QUERY_DIRECTORY
            Self::Afp => message.get(16) == Some(&68), // FPEnumerateExt2
            Self::Nfs3 => message.len() > 28 && (word(16), word(20), word(24)) == (100_003, 3, 17),
            Self::Nfs4 => message.len() > 28 && (word(16), word(20), word(24)) == (100_003, 4, 1),
        }
    }

    /// Whether a reply has a page; later the end is one, too, and is replaced.
    fn is_page(self, message: &[u8], has_first: bool) -> bool {
        match self {
            Self::Nfs4 => message.len() > 8 << 10,
            Self::Smb | Self::Afp | Self::Nfs3 => has_first || message.len() > 1 << 10,
        }
    }

    /// The first page in the place of a reply.
    fn again(self, first: &[u8], reply: &[u8]) -> Vec<u8> {
        let mut again = first.to_vec();
        again[self.id_at()].copy_from_slice(&reply[self.id_at()]);
        if self == Self::Nfs4 {
            // Up to the result of SEQUENCE, RFC 8881 18.46: its session's slot counts on.
            again[4..84].copy_from_slice(&reply[4..84]);
        }
        again
    }
}

fn fourfold(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).output().unwrap()
}

fn server(top: &Path, share: &Path, files: usize) -> Server {
    for number in 0..files {
        std::fs::write(share.join(format!("a file with quite a long name, number {number:05}")), b"")
            .unwrap();
    }
    std::fs::write(share.join(NAMES.0), b"outside").unwrap();
    let folder = format!("share={}", share.display());
    let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--guest"];
    Server::run_with_afp(top, &[&[&*folder][..], &ports].concat())
}

/// How a protocol is framed, the server's port, and the URL at another port.
type Protocol = (Framing, u16, fn(u16) -> String);

fn protocols(server: &Server) -> [Protocol; 4] {
    [
        (Framing::Smb, server.smb_port, |port| format!("smb://127.0.0.1:{port}/share")),
        (Framing::Afp, server.afp_port, |port| format!("afp://127.0.0.1:{port}/share")),
        (Framing::Nfs3, server.port, |port| {
            format!("nfs://127.0.0.1:{port}/share?mountport={port}&uid=1000")
        }),
        (Framing::Nfs4, server.port, |port| format!("nfs://127.0.0.1:{port}/share?vers=4&uid=1000")),
    ]
}

#[test]
fn a_listing_in_circles_is_an_error_that_names_the_folder() {
    let (top, share) = folder();
    let server = server(top.path(), &share, PAGES);
    let to = top.path().join("to");
    std::fs::create_dir(&to).unwrap();
    for (framing, port, url) in protocols(&server) {
        for words in [&["ls"][..], &["migrate"]] {
            let relay = Relay::start(framing, Trick::RepeatsThePage, port);
            let url = url(relay.port);
            let end: &[&str] = if words == ["ls"] { &[] } else { &[to.to_str().unwrap()] };
            let output = fourfold(&[words, &[&*url], end].concat());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{framing:?} {words:?}");
            assert!(said.contains("the folder / is listed in circles"), "{framing:?} {words:?}: {said}");
            assert!((2..=3).contains(&relay.pages()), "{framing:?} {words:?}: {} pages", relay.pages());
        }
    }
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), 0);
}

#[test]
fn a_name_that_leads_elsewhere_makes_no_file_there() {
    let (top, share) = folder();
    let server = server(top.path(), &share, FEW);
    for (at, (framing, port, url)) in protocols(&server).into_iter().enumerate() {
        let relay = Relay::start(framing, Trick::RenamesAFile, port);
        let to = top.path().join(format!("deep/{at}/to"));
        std::fs::create_dir_all(&to).unwrap();
        let output = fourfold(&["migrate", &url(relay.port), to.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && said.contains("escape"), "{framing:?}: {said}");
        assert!(relay.pages() > 0, "{framing:?}");
        let above: Vec<_> =
            std::fs::read_dir(to.parent().unwrap()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(above, ["to"], "{framing:?}");
        assert!(std::fs::read_dir(&to).unwrap().count() >= FEW, "{framing:?}: the others arrive");
    }
}

#[test]
fn files_of_a_server_that_lists_in_circles_do_not_arrive() {
    let (top, share) = folder();
    let server = server(top.path(), &share, PAGES);
    let (other, here) = folder();
    let relay = Relay::start(Framing::Nfs3, Trick::RepeatsThePage, server.port);
    let from = format!("nfs://127.0.0.1:{0}/share?mountport={0}&uid=1000", relay.port);
    let words = [&*format!("share={}", here.display()), "--nfs-port", "0", "--from", &from];
    let arriving = Server::run(other.path(), &words);
    let url = format!("nfs://127.0.0.1:{0}/share?mountport={0}&uid=1000", arriving.port);
    let before = relay.pages();
    let output = fourfold(&["ls", &url]);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(relay.pages() > before && relay.pages() < 100, "{}", relay.pages());
}
