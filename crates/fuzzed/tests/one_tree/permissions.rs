//! Lists of permissions that a client of one protocol sets, as clients of the others see them and are bound by them.

use smb::wire::security::{AccessMask, Ace, AceFlags};

use crate::disk;
use crate::nfs4::Line;
use crate::op::*;
use crate::world::World;

fn line(kind: u32, flags: u32, mask: u32, who: &str) -> Line {
    (kind, flags, mask, who.into())
}

fn ace(
    kind: fn(smb::wire::security::Sid, AccessMask, AceFlags) -> Ace,
    sid: &str,
    mask: u32,
    flags: u8,
) -> Ace {
    kind(sid.parse().expect("a SID"), AccessMask(mask), AceFlags(flags))
}

fn opens(world: &mut World, who: Who, access: Modes) -> bool {
    let open = Op::Open { who, at: "a", fork: Data, access, deny: Modes::default(), slot: 1 };
    let opened = world.apply(&open, |_| who).is_ok();
    if opened {
        world.apply(&Op::Close(1), |_| who).expect("an open");
    }
    opened
}

/// RFC 7530 6.2.1 and MS-DTYP 2.4.4: rights and inheritance flags have the same numbers.
#[test]
fn what_nfs_sets_smb_shows_and_what_smb_sets_nfs_shows() {
    let (disk, _folder) = disk();
    let mut world = World::new(disk);
    world.apply(&Op::MakeFolder(Nfs4A, "dir"), |_| Nfs4A).expect("a folder");
    world.set_nfs_acl(
        "dir",
        &[
            line(1, 0, 0x2, "2000"),
            line(0, 0x3, 0x1f_01ff, "OWNER@"),
            line(0, 0x40, 0x12_00a9, "100"),
            line(0, 0x9, 0x12_0089, "EVERYONE@"),
        ],
    );
    let expected = [
        ace(Ace::deny, "S-1-22-1-2000", 0x2, 0),
        ace(Ace::allow, "S-1-3-0", 0x1f_01ff, 3), // CREATOR OWNER
        ace(Ace::allow, "S-1-22-2-100", 0x12_00a9, 0),
        ace(Ace::allow, "S-1-1-0", 0x12_0089, 9),
    ];
    assert_eq!(world.smb_acl("dir"), expected);
    world.set_smb_acl(
        "dir",
        vec![
            ace(Ace::allow, "S-1-22-1-1000", 0x1f_01ff, 0),
            ace(Ace::deny, "S-1-5-21-1-2-3-1104", 0x1, 2),
            ace(Ace::allow, "S-1-5-11", 0x12_0089, 0),
        ],
    );
    let expected = [
        line(0, 0, 0x1f_01ff, "1000"),
        line(1, 2, 0x1, "S-1-5-21-1-2-3-1104"),
        line(0, 0, 0x12_0089, "AUTHENTICATED@"),
    ];
    assert_eq!(world.nfs_acl("dir"), expected);
}

#[test]
fn an_entry_binds_the_clients_of_all_protocols() {
    let (disk, _folder) = disk();
    let mut world = World::new(disk);
    world.apply(&Op::Make(SmbA, "a"), |_| SmbA).expect("a file");
    let (read, write) = (Modes { r: true, ..Modes::default() }, Modes { w: true, ..Modes::default() });
    for who in [SmbB, AfpA, Nfs4B] {
        assert!(opens(&mut world, who, write), "{who:?}");
    }
    world.set_nfs_acl("a", &[line(1, 0, 0x6, "1000"), line(0, 0, 0x1f_01ff, "EVERYONE@")]);
    for who in [SmbB, AfpA, Nfs4B] {
        assert!(!opens(&mut world, who, write), "{who:?}");
        assert!(opens(&mut world, who, read), "{who:?}");
    }
    world.set_smb_acl("a", vec![ace(Ace::allow, "S-1-22-1-1000", 0x1f_01ff, 0)]);
    for who in [SmbB, AfpA, Nfs4B] {
        assert!(opens(&mut world, who, write), "{who:?}");
    }
}
