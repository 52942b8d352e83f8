//! Clients of System 7: AFP 2.1 to 2.3, names in MacRoman, blocks of 4,624 bytes, the logins of their time.

use std::io::Write;
use std::process::{Command, Stdio};

use ::afp::client::{Client, ClientLogin, Error, ROOT};
use ::afp::wire::ResultCode;

use super::client::{Afp, connect};
use crate::robustness::server::{Server, USER, folder};

const VERSIONS: [&str; 3] = ["AFPVersion 2.1", "AFP2.2", "AFP2.3"];

#[test]
fn old_clients_write_read_copy_and_list() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    for (version, name) in VERSIONS.into_iter().zip(["Résumé", "Ärger", "¿Qué?"]) {
        let mut afp = Afp::enter_with(server.afp_port, version, "share");
        let content: Vec<u8> = (0..20_000_u32).map(|at| (at / 7) as u8).collect();
        let fork = afp.make(name, &content);
        assert_eq!(afp.client.read(fork, 0, 1 << 20).unwrap(), content);
        afp.client.close(fork).unwrap();
        assert_eq!(std::fs::read(share.join(name)).unwrap(), content);
        let copy = format!("{name} 2");
        afp.client.copy(afp.volume, ROOT, name, &copy).unwrap();
        assert_eq!(std::fs::read(share.join(&copy)).unwrap(), content);
        for at in 0..300 {
            afp.client.create_folder(afp.volume, ROOT, &format!("{version} {at}")).unwrap();
        }
        let listed = afp.client.enumerate(afp.volume, ROOT).unwrap();
        let folders =
            listed.iter().filter(|entry| entry.is_folder && entry.name.starts_with(version.as_bytes()));
        assert_eq!(folders.count(), 300);
    }
}

#[test]
fn old_clients_open_a_volume_by_its_name_in_macroman() {
    let (top, share) = folder();
    let share = format!("Bücher={}", share.display());
    let server = Server::run_with_afp(top.path(), &[&share, "--nfs-port", "0", "--afp-port", "0"]);
    for version in VERSIONS {
        let mut afp = Afp::enter_with(server.afp_port, version, "Bücher");
        // MacRoman: ü is 0x9f.
        assert_eq!(afp.client.volumes().unwrap(), [b"B\x9fcher".to_vec()], "{version}");
    }
}

#[test]
fn random_numbers_prove_a_password_in_one_or_both_ways() {
    let (top, _) = folder();
    let text = "[server]\nafp-logins = [\"randnum\", \"2-way-randnum\"]\n[[share]]\nname = \"share\"\npath = \"share\"\n";
    std::fs::write(top.path().join("fourfold.toml"), text).unwrap();
    let (name, password) = USER;
    let mut adding = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["user", "add", name, "--legacy-password", "--password-stdin", "--state", "state"])
        .current_dir(top.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(adding.stdin.take().unwrap(), "{password}").unwrap();
    assert!(adding.wait().unwrap().success());
    let server = Server::run(top.path(), &["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0"]);
    let log_in = |login: &ClientLogin<'_>| {
        let mut client = Client::open(connect(server.afp_port).unwrap()).unwrap();
        client.log_in("AFP2.2", login)?;
        client.open_volume("share")
    };
    log_in(&ClientLogin::Randnum { name, password }).unwrap();
    log_in(&ClientLogin::TwoWayRandnum { name, password }).unwrap();
    let password = "wrong";
    for login in [ClientLogin::Randnum { name, password }, ClientLogin::TwoWayRandnum { name, password }] {
        assert!(matches!(log_in(&login), Err(Error::Refused(ResultCode::USER_NOT_AUTH))));
    }
}
