//! The identities with which clients act on the host if the server runs as root. Skipped otherwise.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use ::afp::client::{Client as AfpClient, ClientLogin};
use ::afp::wire::ResultCode;
use ::nfs::wire::v3::types::Status as NfsStatus;
use ::smb::wire::Status as SmbStatus;

use crate::robustness::afp::client::connect;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::client::Smb;

/// An account whose name no user of the host has.
const ZOE: (&str, &str) = ("zoe-is-no-unix-user", "secret");
/// The user that owns nothing, and its group.
const NOBODY: (u32, u32) = (65_534, 65_534);

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root can act as others");
    }
    is_root
}

fn owner(file: &Path) -> (u32, u32) {
    let metadata = file.metadata().unwrap();
    (metadata.uid(), metadata.gid())
}

/// A server of `share` with zoe's account. AFP takes her password unencrypted; it has at most eight
/// characters.
fn serve(top: &Path, share: &str, more: &[&str]) -> Server {
    std::fs::write(top.join("fourfold.toml"), "[server]\nafp-logins = [\"cleartext\"]\n").unwrap();
    let user = format!("{}:{}", ZOE.0, ZOE.1);
    let words = [share, "--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
    Server::run(top, &[&words[..], more].concat())
}

/// Root's secret, and a folder of root that others may read.
fn things_of_root(share: &Path) {
    std::fs::write(share.join("secret"), b"only for root").unwrap();
    std::fs::set_permissions(share.join("secret"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(share.join("roots")).unwrap();
    std::fs::set_permissions(share.join("roots"), PermissionsExt::from_mode(0o755)).unwrap();
}

fn afp_of_zoe(port: u16) -> (AfpClient<std::net::TcpStream>, u16) {
    let mut client = AfpClient::open(connect(port).unwrap()).unwrap();
    client.log_in("AFP3.4", &ClientLogin::Cleartext { name: ZOE.0, password: ZOE.1 }).unwrap();
    let volume = client.open_volume("share").unwrap();
    (client, volume)
}

#[test]
fn an_account_without_a_host_user_is_nobody_over_every_protocol_with_a_login() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    things_of_root(&share);
    let server = serve(top.path(), &format!("share={}", share.display()), &[]);
    assert!(
        server.said.iter().any(|line| line.starts_with(&format!("{} acts as nobody", ZOE.0))),
        "{:?}",
        server.said
    );

    let mut smb = Smb::enter_share(server.smb_port, "share", ZOE).unwrap();
    assert_eq!(smb.open("secret", |_| ()), Err(SmbStatus::ACCESS_DENIED));
    assert_eq!(smb.open("roots\\new", |_| ()), Err(SmbStatus::ACCESS_DENIED));
    smb.make("over smb", b"abc");
    assert_eq!(owner(&share.join("over smb")), NOBODY);

    let (mut afp, volume) = afp_of_zoe(server.afp_port);
    let denied = afp.open_data(volume, "secret").unwrap_err().code();
    assert_eq!(denied, Some(ResultCode::ACCESS_DENIED));
    afp.create(volume, "over afp").unwrap();
    assert_eq!(owner(&share.join("over afp")), NOBODY);
}

#[test]
fn accounts_without_a_host_user_act_as_the_default_user() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    things_of_root(&share);
    let server = serve(top.path(), &format!("share={}", share.display()), &["--as", "daemon"]);
    let mut smb = Smb::enter_share(server.smb_port, "share", ZOE).unwrap();
    assert_eq!(smb.open("secret", |_| ()), Err(SmbStatus::ACCESS_DENIED));
    smb.make("over smb", b"abc");
    let daemon = auth::UnixAccounts::NameService;
    let daemon = daemon.user("daemon").unwrap();
    assert_eq!(owner(&share.join("over smb")), (daemon.uid, daemon.gid));
}

/// README, "Two commands": ada can write, and so can all users over NFS; none of them is root.
#[test]
fn the_first_command_of_the_readme_makes_a_folder_that_its_users_can_write() {
    if !is_root() {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let server = serve(top.path(), "./share", &[]);
    let share = top.path().join("share");
    assert!(server.said.iter().any(|line| line.starts_with("made the folder ")), "{:?}", server.said);
    assert_eq!(owner(&share), NOBODY);

    let mut smb = Smb::enter_share(server.smb_port, "share", ZOE).unwrap();
    let file = smb.make("over smb", b"abc");
    smb.close(file).unwrap();
    assert_eq!(owner(&share.join("over smb")), NOBODY);
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    nfs.create(&root, "over nfs").unwrap();
    assert_eq!(owner(&share.join("over nfs")).0, 1000);
    nfs.uid = 0;
    nfs.create(&root, "by root over nfs").unwrap();
    assert_eq!(owner(&share.join("by root over nfs")).0, NOBODY.0);
    let (mut afp, volume) = afp_of_zoe(server.afp_port);
    afp.create(volume, "over afp").unwrap();
    assert_eq!(owner(&share.join("over afp")), NOBODY);
}

/// `(uid_t)-1` means "unchanged" to the kernel: the thread would continue as root, or as the user
/// before.
#[test]
fn a_uid_that_the_kernel_ignores_is_nobody_over_nfs() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    things_of_root(&share);
    chown(&share, Some(1000), Some(1000)).unwrap();
    let server = Server::start(top.path(), &share);
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let roots = nfs.lookup(&root, "roots").unwrap();
    let secret = nfs.lookup(&root, "secret").unwrap();
    nfs.uid = u32::MAX;
    for round in 0..8 {
        assert_eq!(nfs.create(&roots, &format!("new{round}")).err(), Some(NfsStatus::ACCES));
        assert_eq!(nfs.read(&secret, 0, 100).err(), Some(NfsStatus::ACCES));
        nfs.create(&root, &format!("own{round}")).unwrap();
        assert_eq!(owner(&share.join(format!("own{round}"))).0, NOBODY.0);
    }
}

#[test]
fn what_a_folder_keeps_people_from_is_said_at_the_start_with_what_to_type() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    std::fs::set_permissions(&share, PermissionsExt::from_mode(0o755)).unwrap();
    let server = serve(top.path(), &format!("share={}", share.display()), &["--guest"]);
    let about: Vec<&String> = server.said.iter().filter(|line| line.starts_with("share: ")).collect();
    let expected = [
        format!(
            "share: {}, guests and NFS users may read, not write: the folder belongs to root, mode 755",
            ZOE.0
        ),
        "share: NFS users act as themselves, only root may write, and root of a client is nobody".into(),
        "share: to let all of them change everything in it: `fourfold share access share --editor guests`"
            .into(),
    ];
    assert_eq!(about, expected.iter().collect::<Vec<_>>());
    assert_eq!(
        Smb::enter_share(server.smb_port, "share", ZOE).unwrap().open("new", |_| ()),
        Err(SmbStatus::ACCESS_DENIED)
    );
    // The suggested command helps at once.
    let help = crate::program::for_any_user()
        .args(["share", "access", "share", "--editor", "guests"])
        .args(["--state", "state"])
        .current_dir(top.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&help.stdout).into_owned() + &String::from_utf8_lossy(&help.stderr);
    assert!(
        help.status.success()
            && said.contains("everyone, guests too may change all files, also those of others"),
        "{said}"
    );
    Smb::enter_share(server.smb_port, "share", ZOE).unwrap().make("new", b"abc");
    drop(server);
    std::fs::set_permissions(&share, PermissionsExt::from_mode(0o700)).unwrap();
    let server = serve(top.path(), &format!("share={}", share.display()), &[]);
    let may_not = format!("share: {} and NFS users may neither read nor write", ZOE.0);
    assert!(server.said.iter().any(|line| line.starts_with(&may_not)), "{:?}", server.said);
    let log = std::fs::read_to_string(top.path().join("log")).unwrap();
    assert!(log.contains("WARN") && log.contains("the folder cannot be read"), "{log}");
}
