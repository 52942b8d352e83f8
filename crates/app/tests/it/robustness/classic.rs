//! The settings of Samba for what is made in a share, over SMB, NFS and AFP: smb.conf(5), `create mask` and its neighbours.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use ::afp::client::{Client as AfpClient, ClientLogin, ROOT};

use crate::robustness::afp::client::connect;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::client::Smb;

/// An account whose name no user of the host has.
const ZOE: (&str, &str) = ("zoe-is-no-unix-user", "secret");
/// The names of what each protocol makes.
const MADE: [&str; 3] = ["smb", "nfs", "afp"];

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("skipped: only root can act as others");
    }
    is_root
}

/// A server of the folder as `share` with these settings.
fn serve(top: &Path, settings: &str) -> Server {
    let text = format!(
        "[server]\nafp-logins = [\"cleartext\"]\n[[share]]\nname = \"share\"\npath = \"share\"\n{settings}\n"
    );
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
    let user = format!("{}:{}", ZOE.0, ZOE.1);
    Server::run(top, &["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user])
}

/// Makes a file over each protocol, and a folder over NFS and AFP.
fn make(server: &Server) {
    let mut smb = Smb::enter_share(server.smb_port, "share", ZOE).unwrap();
    let file = smb.make("smb", b"abc");
    smb.close(file).unwrap();
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    nfs.create(&root, "nfs").unwrap();
    nfs.mkdir(&root, "nfs folder").unwrap();
    let mut afp = AfpClient::open(connect(server.afp_port).unwrap()).unwrap();
    afp.log_in("AFP3.4", &ClientLogin::Cleartext { name: ZOE.0, password: ZOE.1 }).unwrap();
    let volume = afp.open_volume("share").unwrap();
    afp.create(volume, "afp").unwrap();
    afp.create_folder(volume, ROOT, "afp folder").unwrap();
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o7777
}

#[test]
fn masks_and_forced_bits_count_over_every_protocol() {
    let (top, share) = folder();
    let server = serve(
        top.path(),
        "create-mask = \"0640\"\nforce-create-mode = \"0020\"\ndirectory-mask = \"0750\"\nforce-directory-mode = \"2001\"",
    );
    make(&server);
    // NFS asks for 0644 and 0755, SMB for 0666; AFP gives what its folder gives to everybody.
    for name in MADE {
        assert_eq!(mode(&share.join(name)), 0o660, "{name}");
    }
    for name in ["nfs folder", "afp folder"] {
        assert_eq!(mode(&share.join(name)), 0o2751, "{name}");
    }
}

#[test]
fn without_settings_modes_are_those_that_clients_ask_for() {
    let (top, share) = folder();
    let server = serve(top.path(), "");
    make(&server);
    assert_eq!(MADE.map(|name| mode(&share.join(name))), [0o644, 0o644, 0o666]);
}

#[test]
fn all_act_as_the_forced_user_with_the_forced_group() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    let host = auth::UnixAccounts::NameService;
    let (daemon, games) = (host.user("daemon").unwrap(), host.group("games").unwrap());
    std::fs::write(share.join("plan"), "of daemon").unwrap();
    chown(share.join("plan"), Some(daemon.uid), Some(daemon.gid)).unwrap();
    std::fs::set_permissions(share.join("plan"), PermissionsExt::from_mode(0o600)).unwrap();
    let server = serve(top.path(), "force-user = \"daemon\"\nforce-group = \"games\"");
    make(&server);
    for name in MADE {
        let made = share.join(name).metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (daemon.uid, games.gid), "{name}");
    }
    let mut smb = Smb::enter_share(server.smb_port, "share", ZOE).unwrap();
    let plan = smb.open("plan", |_| ()).unwrap();
    assert_eq!(smb.content(plan).unwrap(), b"of daemon");
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let plan = nfs.lookup(&root, "plan").unwrap();
    assert_eq!(nfs.content(&plan).unwrap(), b"of daemon");
}

#[test]
fn a_forced_user_that_the_host_does_not_know_is_nobody() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    let server = serve(top.path(), "force-user = \"no-such-user-of-the-host\"");
    make(&server);
    assert_eq!(MADE.map(|name| share.join(name).metadata().unwrap().uid()), [65_534; 3]);
    let log = std::fs::read_to_string(top.path().join("log")).unwrap();
    assert!(log.contains("the user of `force-user` is not known here"), "{log}");
}

#[test]
fn what_is_new_belongs_to_the_owner_of_its_folder() {
    if !is_root() {
        return;
    }
    let (top, share) = folder();
    chown(&share, Some(4242), Some(4242)).unwrap();
    let server = serve(top.path(), "inherit-owner = true");
    make(&server);
    for name in MADE.into_iter().chain(["nfs folder", "afp folder"]) {
        assert_eq!(share.join(name).metadata().unwrap().uid(), 4242, "{name}");
    }
}
