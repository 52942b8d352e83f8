//! Logins over real sockets: known users can log in while others guess; and the lines of the log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ::afp::client::{Client as AfpClient, ClientLogin};
use ::smb::wire::Status;
use regex_automata::nfa::thompson::pikevm::PikeVM;

use crate::robustness::afp::client::{Afp, connect};
use crate::robustness::client::Client;
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smb::client::Smb;
use crate::waiting::until;

/// Connections that guess at the same time.
const GUESSERS: usize = 12;
/// A delayed answer takes 4 s; a right one only as long as the machine needs.
const AT_ONCE: Duration = Duration::from_millis(3_500);

#[test]
fn a_known_account_comes_in_at_once_while_others_guess_at_it_from_the_same_address() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let (smb_port, afp_port) = (server.smb_port, server.afp_port);
    drop(Smb::enter(smb_port));
    let (stop, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let guessers: Vec<_> = (0..GUESSERS)
        .map(|number| {
            let (stop, refused) = (stop.clone(), refused.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let guess = Smb::enter_share(smb_port, "share", (USER.0, &format!("guess{number}")));
                    assert_eq!(guess.err(), Some(Status::LOGON_FAILURE));
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    until("nobody guesses", || refused.load(Ordering::Relaxed) >= GUESSERS);
    for _ in 0..3 {
        let began = Instant::now();
        Smb::enter(smb_port).echo().unwrap();
        assert!(began.elapsed() < AT_ONCE, "SMB took {:?}", began.elapsed());
        let began = Instant::now();
        Afp::enter(afp_port).parameters_of_root(); // the account is known, over any protocol
        assert!(began.elapsed() < AT_ONCE, "AFP took {:?}", began.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    guessers.into_iter().for_each(|guesser| guesser.join().unwrap());
}

/// The pattern of the filter in docs/logs.md, with `<HOST>` as fail2ban reads it.
fn filter() -> PikeVM {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/logs.md");
    let page = std::fs::read_to_string(page).unwrap();
    let pattern = page.lines().find_map(|line| line.strip_prefix("failregex = ")).unwrap();
    PikeVM::new(&pattern.replace("<HOST>", r"(\S+)")).unwrap()
}

/// The address that the filter finds in a line.
fn found(filter: &PikeVM, line: &str) -> Option<String> {
    let mut captures = filter.create_captures();
    filter.captures(&mut filter.create_cache(), line, &mut captures);
    captures.get_group(1).map(|host| line[host.start..host.end].to_owned())
}

/// The lines about logins, once there are this many.
fn login_lines(top: &Path, count: usize) -> Vec<String> {
    lines(top, " login: ", count)
}

fn lines(top: &Path, of: &str, count: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let log = std::fs::read_to_string(top.join("log")).unwrap();
        let lines: Vec<String> = log.lines().filter(|line| line.contains(of)).map(str::to_owned).collect();
        if lines.len() >= count {
            return lines;
        }
        assert!(Instant::now() < deadline, "{lines:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_log_has_a_line_for_each_login_and_the_filter_of_the_docs_finds_those_that_failed() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let forged =
        "x\" address=10.9.8.7 port=1\nINFO login: failed protocol=\"smb\" address=10.9.8.7 port=1 user=\"";
    assert!(Smb::enter_share(server.smb_port, "share", (forged, "wrong")).is_err());
    let mut afp = AfpClient::open(connect(server.afp_port).unwrap()).unwrap();
    afp.log_in("AFP3.4", &ClientLogin::Cleartext { name: USER.0, password: "wrong" }).unwrap_err();
    drop(Smb::enter(server.smb_port));
    drop(Client::mount(server.port));
    let lines = login_lines(top.path(), 5);
    let words: Vec<&str> = lines
        .iter()
        .map(|line| line.split_once(" INFO login: ").unwrap().1.split(" address=").next().unwrap())
        .collect();
    let mut sorted = words.clone();
    sorted.sort_unstable();
    let expected = [
        "accepted protocol=\"nfs\"",
        "accepted protocol=\"smb\"",
        "ended protocol=\"smb\"",
        "failed protocol=\"afp\"",
        "failed protocol=\"smb\"",
    ];
    assert_eq!(sorted, expected, "{lines:?}");
    let filter = filter();
    for line in &lines {
        let expected = line.contains(" login: failed ").then(|| "127.0.0.1".to_owned());
        let without_time = line.split_once('Z').unwrap().1;
        let in_journal = format!("host fourfold[7]: {line}");
        for form in [line.as_str(), without_time, &in_journal] {
            assert_eq!(found(&filter, form), expected, "{form}");
        }
    }
}

/// As docs/logs.md has it.
#[test]
fn the_log_has_a_line_for_each_operation_if_its_filter_lets_them_pass() {
    let (top, share) = folder();
    let server = Server::start_with_log("info,fourfold::operation=debug", top.path(), &share);
    let mut client = Client::mount(server.port);
    let root = client.root.clone();
    assert!(client.lookup(&root, "none").is_err());
    let lines = lines(top.path(), " fourfold::operation: ended ", 2);
    let lookup = lines.iter().find(|line| line.contains("command=\"LOOKUP\"")).unwrap();
    let (head, rest) = lookup.split_once(" port=").unwrap();
    assert!(head.ends_with(" DEBUG fourfold::operation: ended protocol=\"nfs\" address=127.0.0.1"), "{head}");
    let expected = "user=\"uid 1000\" share=\"share\" command=\"LOOKUP\" result=\"NOENT\" micros=";
    assert!(rest.split_once(' ').unwrap().1.starts_with(expected), "{rest}");
}
