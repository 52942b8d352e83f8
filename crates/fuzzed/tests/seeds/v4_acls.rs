//! Attributes of NFSv4 with lists of permissions, and the folder of named attributes.

use nfs::wire::v4::CompoundOperation;
use nfs::wire::v4::acls::{Ace, AceType, Aces, FlaggedAces, MaskedMode};
use nfs::wire::v4::attributes::Values;
use nfs::wire::v4::types::NfsTime;
use nfs::wire::xdr::{Encode, Opaque};
use wire::Writer;

use super::{Seed, chosen};

pub fn seeds() -> Vec<Seed> {
    let mut w = Writer::new();
    for (kind, flags, mask, who) in [
        (AceType::ALLOWED, 0x40, 0x1f_01ff, &b"GROUP@"[..]),
        (AceType::DENIED, 0x83, 2, b"ada@example.com"),
        (AceType::AUDIT, 0x30, 1, b"S-1-5-21-1-2-3-1104"),
    ] {
        Ace { kind, flags, mask, who: Opaque::new(who) }.encode(&mut w);
    }
    let aces = Aces::new(3, w.as_bytes());
    let acls = Values {
        acl: Some(aces),
        dacl: Some(FlaggedAces { flags: 3, aces }),
        mode_set_masked: Some(MaskedMode { value: 0o20, mask: 0o70 }),
        hidden: Some(true),
        time_backup: Some(NfsTime { seconds: 9, nanoseconds: 0 }),
        ..Values::default()
    };
    vec![
        chosen("nfs_v4", "acls", 4, &acls),
        chosen("nfs_v4", "open-attributes", 3, &CompoundOperation::OpenAttributes(true)),
    ]
}
