//! What files have beside their data, as clients of all protocols see and set it: named attributes, streams, forks, Finder info.

use crate::disk;
use crate::op::*;
use crate::world::{World, info_of};

fn done(world: &mut World, op: Op) -> Data {
    let who = op.client(|_| AfpA);
    world.apply(&op, |_| who).unwrap_or_else(|status| panic!("{op:?}: {status}"))
}

#[test]
fn named_attributes_are_streams_of_smb() {
    let (disk, _folder) = disk();
    let mut world = World::new(disk);
    done(&mut world, Op::Make(SmbA, "a"));
    world.set_nfs_attribute("a", "com.apple.metadata:x", b"by NFS");
    assert_eq!(world.smb_stream("a:com.apple.metadata\u{f022}x"), b"by NFS"); // how Macs write the colon
    world.set_smb_stream("a:note", b"by SMB");
    assert_eq!(world.nfs_attribute("a", "note"), Ok(b"by SMB".to_vec()));
    world.set_nfs_attribute("a", "note", b"new");
    assert_eq!(world.smb_stream("a:note"), b"new");
    assert_eq!(world.nfs_attribute("a", "none"), Err(2));
}

#[test]
fn finder_info_and_forks_are_those_of_afp_and_smb() {
    let (disk, _folder) = disk();
    let mut world = World::new(disk);
    done(&mut world, Op::Make(Nfs4A, "a"));
    done(&mut world, Op::SetInfo(AfpA, "a", 77));
    let info = world.nfs_attribute("a", "com.apple.FinderInfo").expect("Finder info");
    assert_eq!((info.len(), &info[..8]), (32, &info_of(77)[..]));
    let info = [info_of(78).to_vec(), vec![0; 24]].concat();
    world.set_nfs_attribute("a", "com.apple.FinderInfo", &info);
    assert_eq!(done(&mut world, Op::GetInfo(AfpA, "a")), Data::Bytes(info_of(78).to_vec()));
    assert_eq!(done(&mut world, Op::GetInfo(SmbA, "a")), Data::Bytes(info_of(78).to_vec()));
    let access = Modes { r: true, w: true, d: false };
    let open = Op::Open { who: AfpA, at: "a", fork: Fork::Resource, access, deny: Modes::default(), slot: 0 };
    done(&mut world, open);
    done(&mut world, Op::Write(0, At(0, 5), 66));
    done(&mut world, Op::Close(0));
    assert_eq!(world.nfs_attribute("a", "com.apple.ResourceFork"), Ok(b"BBBBB".to_vec()));
    world.set_nfs_attribute("a", "com.apple.ResourceFork", b"by NFS");
    assert_eq!(world.smb_stream("a:AFP_Resource"), b"by NFS");
}
