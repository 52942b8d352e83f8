//! A file of ten thousand accounts: the server starts with it, and each of them logs in.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use ::afp::client::{Client as AfpClient, ClientLogin};

use crate::robustness::afp::connect;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Smb;

const ACCOUNTS: u32 = 10_000;

/// Hashing a password slowly for each of them takes minutes, and comparing each name with all others does, too: more than
/// `Server` waits for a start.
#[test]
fn a_file_of_ten_thousand_accounts_is_served_at_once() {
    let (top, share) = folder();
    let mut text = String::new();
    for number in 0..ACCOUNTS {
        writeln!(text, "person{number:05}:secret {number}").unwrap();
    }
    let accounts = top.path().join("accounts");
    std::fs::write(&accounts, text).unwrap();
    std::fs::set_permissions(&accounts, PermissionsExt::from_mode(0o600)).unwrap();
    let share = format!("share={}", share.display());
    let words = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user-file", "accounts"];
    let server = Server::run(top.path(), &[&[&*share], &words[..]].concat());

    Smb::enter_share(server.smb_port, "share", ("person00000", "secret 0")).unwrap();
    Smb::enter_share(server.smb_port, "share", ("PERSON09999", "secret 9999")).unwrap();
    assert!(Smb::enter_share(server.smb_port, "share", ("person00000", "secret 1")).is_err());
    let mac = |name, password| {
        let mut mac = AfpClient::open(connect(server.afp_port).unwrap()).unwrap();
        mac.log_in("AFP3.4", &ClientLogin::Dhx2 { name, password })
    };
    mac("person05000", "secret 5000").unwrap();
    assert!(mac("person05000", "secret 5001").is_err());
}
