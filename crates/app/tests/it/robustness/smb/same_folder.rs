//! Shares of one folder: an open through one share binds the others.

use std::path::Path;

use ::smb::wire::Status;
use ::smb::wire::create::{Disposition, ShareAccess};
use ::smb::wire::security::AccessMask;
use rustix::process::Signal;

use super::Smb;
use crate::robustness::server::{Server, USER, folder};
use crate::waiting::until_equal;

/// The settings of `share`, and of `again` with the same path and more settings.
fn settings(top: &Path, more: &str) {
    let shares = format!(
        "[[share]]\nname = \"share\"\npath = \"share\"\n[[share]]\nname = \"again\"\npath = \"again\"\n{more}"
    );
    std::fs::write(top.join("fourfold.toml"), shares).unwrap();
}

fn open_alone(smb: &mut Smb) -> Result<(), Status> {
    open_alone_at(smb, "notes")
}

fn open_alone_at(smb: &mut Smb, path: &str) -> Result<(), Status> {
    smb.open(path, |request| request.share_access = ShareAccess::NONE).map(drop)
}

#[test]
fn an_open_without_sharing_binds_shares_and_mounts_inside_the_share() {
    let (top, share) = folder();
    std::fs::create_dir(share.join("inner")).unwrap();
    crate::robustness::server::open_to_all(&share.join("inner"));
    std::fs::write(
        top.path().join("fourfold.toml"),
        "[[share]]\nname = \"share\"\npath = \"share\"\n[[share]]\nname = \"inner\"\npath = \"share/inner\"\n",
    )
    .unwrap();
    let bound = BindMount::mount(&share.join("inner"), &share.join("bound"));
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user]);
    let clients = || {
        let outer = Smb::enter(server.smb_port);
        let mut clients = vec![(outer, "inner\\notes")];
        clients.push((Smb::enter_share(server.smb_port, "inner", USER).unwrap(), "notes"));
        if bound.is_some() {
            clients.push((Smb::enter(server.smb_port), "bound\\notes"));
        }
        clients
    };
    for first in 0..clients().len() {
        let mut clients = clients();
        let (holder, path) = &mut clients[first];
        until_equal(&Ok(()), || open_alone_at(holder, path)); // after the last round's clients
        for (other, (client, path)) in clients.iter_mut().enumerate().filter(|(other, _)| *other != first) {
            assert_eq!(open_alone_at(client, path), Err(Status::SHARING_VIOLATION), "{first} {other}");
        }
    }
}

/// A folder that is mounted at a second place.
struct BindMount(std::path::PathBuf);

impl BindMount {
    /// `None`, with a message on standard output, if that is impossible.
    fn mount(from: &Path, at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let mut mount = std::process::Command::new("mount");
        let mounted = mount.arg("--bind").arg(from).arg(at).status().is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: mounting a folder needs root");
        }
        mounted.then(|| Self(at.into()))
    }
}

impl Drop for BindMount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn an_open_without_sharing_binds_all_shares_of_the_folder_also_after_a_reload() {
    let (top, share) = folder();
    std::os::unix::fs::symlink(&share, top.path().join("again")).unwrap();
    settings(top.path(), "");
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user]);
    let mut ada = Smb::enter(server.smb_port);
    let mut again = Smb::enter_share(server.smb_port, "again", USER).unwrap();
    open_alone(&mut ada).unwrap();
    assert_eq!(open_alone(&mut again), Err(Status::SHARING_VIOLATION));

    settings(top.path(), "read-only = true\n");
    server.signal(Signal::HUP);
    let makes =
        |smb: &mut Smb| smb.open("new", |request| request.disposition = Disposition::OPEN_IF).map(drop);
    until_equal(&Err(Status::ACCESS_DENIED), || {
        again.tree = again.connect_tree("again").unwrap();
        makes(&mut again)
    });
    makes(&mut ada).unwrap();
    let to_read = |smb: &mut Smb| {
        smb.open("notes", |request| request.desired_access = AccessMask::FILE_READ.0).map(drop)
    };
    assert_eq!(to_read(&mut again), Err(Status::SHARING_VIOLATION));
    drop(ada);
    until_equal(&Ok(()), || to_read(&mut again));
}

#[test]
fn a_folder_that_was_replaced_is_served_after_a_reload() {
    let (top, share) = folder();
    std::fs::create_dir(top.path().join("again")).unwrap();
    settings(top.path(), "");
    let user = format!("{}:{}", USER.0, USER.1);
    let server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "0", "--user", &user]);
    let mut ada = Smb::enter(server.smb_port);
    ada.make("notes", b"old");
    std::fs::rename(&share, top.path().join("before")).unwrap();
    std::fs::create_dir(&share).unwrap();
    crate::robustness::server::open_to_all(&share);
    std::fs::write(share.join("other"), b"new").unwrap();
    server.signal(Signal::HUP);
    let exists = |smb: &mut Smb, name| {
        let open = smb.open(name, |request| {
            request.disposition = Disposition::OPEN;
            request.desired_access = AccessMask::FILE_READ.0;
        });
        open.is_ok()
    };
    until_equal(&(true, false), || {
        ada.tree = ada.connect_tree("share").unwrap();
        (exists(&mut ada, "other"), exists(&mut ada, "notes"))
    });
}
