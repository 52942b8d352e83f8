//! Clients that use the share's files cannot access a disk's file.

use ::afp::client::ROOT;
use ::smb::wire::create::Disposition;
use nfs::wire::v3::types::{Sattr3, Status as NfsStatus};
use nfs::wire::v3::write::StableHow;

use super::client::enter;
use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder, write_iscsi_settings};
use crate::robustness::smb::Smb;

#[test]
fn the_folder_of_disks_is_hidden_from_all_other_protocols() {
    let (top, share) = folder();
    let server = Server::start_with_iscsi(top.path(), &share);
    let mut iscsi = enter(server.iscsi_port);
    iscsi.write(0, 0, &[7; 4096], true).unwrap();
    let (mut afp, mut smb, mut nfs) =
        (Afp::enter(server.afp_port), Smb::enter(server.smb_port), Client::mount(server.port));
    let root = nfs.root.clone();
    assert_eq!(nfs.names(&root).unwrap().iter().filter(|name| name.contains("fourfold")).count(), 0);
    assert!(nfs.lookup(&root, ".fourfold-luns").is_err());
    assert!(nfs.create(&root, ".fourfold-luns").is_err());
    assert!(nfs.remove(&root, ".fourfold-luns").is_err());
    for name in [".fourfold-luns", ".fourfold-luns\\disk.img"] {
        for disposition in [Disposition::OPEN, Disposition::CREATE, Disposition::OVERWRITE] {
            assert!(smb.open(name, |request| request.disposition = disposition).is_err(), "{name}");
        }
    }
    let volume = afp.volume;
    assert!(afp.client.delete(volume, ROOT, ".fourfold-luns").is_err());
    assert!(afp.client.open_data(volume, ".fourfold-luns\0disk.img").is_err());
    assert!(afp.client.create(volume, ".fourfold-luns\0other.img").is_err());
    assert!(afp.client.rename(volume, ROOT, ".fourfold-luns", "mine").is_err());
    assert_eq!(iscsi.read(0, 0, 8).unwrap(), [7; 4096]);
}

/// An image that existed before: it can be read as a file, and cannot be changed.
#[test]
fn an_adopted_image_cannot_be_spoiled_through_other_protocols() {
    let (top, share) = folder();
    std::fs::write(share.join("old.img"), vec![7; 1 << 20]).unwrap();
    std::os::unix::fs::chown(share.join("old.img"), Some(1000), Some(1000)).unwrap();
    write_iscsi_settings(top.path(), &share, "guests = true\n", "file = \"old.img\"\n");
    let server = Server::run_with_iscsi(top.path(), 0);
    let mut iscsi = enter(server.iscsi_port);
    assert_eq!(iscsi.capacity(0).unwrap(), (2048, 512));
    assert_eq!(iscsi.read(0, 0, 1).unwrap(), [7; 512]);
    let (mut afp, mut smb, mut nfs) =
        (Afp::enter(server.afp_port), Smb::enter(server.smb_port), Client::mount(server.port));
    let (root, volume) = (nfs.root.clone(), afp.volume);
    let file = nfs.lookup(&root, "old.img").unwrap();
    let refused = [
        nfs.write(&file, 0, b"x", StableHow::FILE_SYNC).map(drop).err(),
        nfs.setattr(&file, Sattr3 { size: Some(0), ..Sattr3::default() }).map(drop).err(),
    ];
    assert!(refused.iter().all(Option::is_some), "{refused:?}");
    assert_ne!(refused[0], Some(NfsStatus::STALE));
    for disposition in [Disposition::OPEN, Disposition::OVERWRITE, Disposition::SUPERSEDE] {
        let opened = smb.open("old.img", |request| request.disposition = disposition);
        let written = opened.and_then(|file| {
            let written = smb.write(file, 0, b"x");
            smb.close(file)?;
            written
        });
        assert!(written.is_err(), "{disposition:?}");
    }
    let written = afp.client.open_data(volume, "old.img").and_then(|fork| afp.client.write(fork, 0, b"x"));
    assert!(written.is_err());
    assert_eq!(iscsi.read(0, 0, 2048).unwrap(), vec![7; 1 << 20]);
    iscsi.write(0, 0, &[8; 512], true).unwrap();
    assert_eq!(std::fs::read(share.join("old.img")).unwrap()[..512], [8; 512]);
}
