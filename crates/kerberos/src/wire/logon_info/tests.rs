use wire::Writer;

use super::*;

/// Of a ticket that Samba 4.17's domain controller made for `alice`, a member of `engineers`, which is a member of `outer`.
const ALICE: &str = "\
    01100800ccccccccb001000000000000000002008a147ebb497cdd01ffffffff\
    ffffff7fffffffffffffff7f086bbfb9497cdd01082b29e4127ddd0108eb18af\
    4a9ddd010a000a00040002000000000008000200000000000c00020000000000\
    1000020000000000140002000000000018000200010000004f04000001020000\
    030000001c000200200000000000000000000000000000000000000006000800\
    2000020006000800240002002800020000000000000000001000000000000000\
    000000000000000000000000000000000000000000000000010000002c000200\
    00000000000000000000000005000000000000000500000061006c0069006300\
    6500000000000000000000000000000000000000000000000000000000000000\
    0000000000000000000000000000000000000000000000000000000000000000\
    0300000001020000070000005104000007000000520400000700000004000000\
    000000000300000044004300310000000400000000000000030000004c004100\
    42000000040000000104000000000005150000000c02c23830afc3474907e5f1\
    0100000030000200070000000100000001010000000000120100000000000000";

fn alice() -> Vec<u8> {
    wire::hex::decode_any(ALICE).unwrap()
}

/// The same user with other groups: those of her domain (number, attributes), extra SIDs, and resource groups of a domain.
fn with_groups(
    domain: &[(u32, u32)],
    extra: &[(Sid, u32)],
    resources: Option<(Sid, &[(u32, u32)])>,
) -> Vec<u8> {
    let from = alice();
    let mut w = Writer::new();
    w.put(&from[..16 + 4 + TIMES + 6 * 8 + 4 + 8]);
    let memberships = |w: &mut Writer, all: &[(u32, u32)]| {
        w.u32_le(all.len() as u32);
        all.iter().for_each(|(rid, attributes)| [*rid, *attributes].iter().for_each(|n| w.u32_le(*n)));
    };
    let sid = |w: &mut Writer, sid: &Sid| {
        w.u32_le(sid.subs().len() as u32);
        sid.encode(w);
    };
    let pointer = |is_present: bool| if is_present { 0x0002_0001 } else { 0 };
    w.u32_le(domain.len() as u32);
    w.u32_le(pointer(true));
    w.put(&from[0x88..0xdc - 4]);
    w.u32_le(extra.len() as u32);
    w.u32_le(pointer(!extra.is_empty()));
    w.u32_le(pointer(resources.is_some()));
    w.u32_le(resources.map_or(0, |(_, all)| all.len() as u32));
    w.u32_le(pointer(resources.is_some()));
    w.put(&from[0xec..0x140]);
    memberships(&mut w, domain);
    w.put(&from[0x15c..0x1a0]);
    if !extra.is_empty() {
        w.u32_le(extra.len() as u32);
        extra
            .iter()
            .for_each(|(_, attributes)| [pointer(true), *attributes].iter().for_each(|n| w.u32_le(*n)));
        extra.iter().for_each(|(one, _)| sid(&mut w, one));
    }
    if let Some((domain, all)) = resources {
        sid(&mut w, &domain);
        memberships(&mut w, all);
    }
    let mut bytes = w.into_bytes();
    let length = (bytes.len() - 16) as u32;
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn text(sids: &[Sid]) -> Vec<String> {
    sids.iter().map(Sid::to_string).collect()
}

#[test]
fn a_ticket_of_sambas_domain_controller_names_the_user_and_nested_groups() {
    let user = decode(&alice()).unwrap();
    assert_eq!((user.name.as_str(), user.domain.as_str()), ("alice", "LAB"));
    let domain = "S-1-5-21-952238604-1204006704-4058318665";
    assert_eq!(user.sid.to_string(), format!("{domain}-1103"));
    assert_eq!(user.primary_group.to_string(), format!("{domain}-513"));
    let groups = [513, 1105, 1106].map(|rid| format!("{domain}-{rid}"));
    // The last one says that the domain controller itself has authenticated the user.
    assert_eq!(text(&user.groups), [&groups[..], &["S-1-18-1".to_owned()]].concat());
}

#[test]
fn extra_and_resource_groups_are_read_and_those_that_are_not_enabled_are_left_out() {
    let (other, local) = ("S-1-5-21-7-8-9-1200".parse().unwrap(), "S-1-5-21-4-5-6".parse().unwrap());
    let deny_only = 0x10;
    let bytes = with_groups(
        &[(513, 7), (1107, deny_only)],
        &[(other, 7), ("S-1-5-21-7-8-9-1201".parse().unwrap(), deny_only)],
        Some((local, &[(1300, 0x2000_0007), (1301, 0)])),
    );
    let user = decode(&bytes).unwrap();
    let own = "S-1-5-21-952238604-1204006704-4058318665-513";
    assert_eq!(text(&user.groups), [own, "S-1-5-21-7-8-9-1200", "S-1-5-21-4-5-6-1300"]);
}

#[test]
fn ten_thousand_groups_are_read_and_one_more_is_refused() {
    let groups: Vec<(u32, u32)> = (0..10_000).map(|at| (2_000 + at, 7)).collect();
    assert_eq!(decode(&with_groups(&groups, &[], None)).unwrap().groups.len(), 10_000);
    let more: Vec<(u32, u32)> = (0..10_001).map(|at| (2_000 + at, 7)).collect();
    assert!(decode(&with_groups(&more, &[], None)).is_err());
    let extra = [("S-1-5-21-7-8-9-1200".parse().unwrap(), 7)];
    assert!(decode(&with_groups(&groups, &extra, None)).is_err(), "all kinds count together");
}

#[test]
fn damaged_information_is_refused_and_nothing_is_read_past_its_end() {
    let good = alice();
    for end in 0..good.len() - MOST_PADDING {
        assert!(decode(&good[..end]).is_err(), "cut at {end}");
    }
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut damaged = good.clone();
            damaged[at] ^= 1 << bit;
            _ = decode(&damaged); // no panic
        }
    }
    let mut huge = good.clone();
    huge[0x140..0x144].copy_from_slice(&[0xff; 4]);
    huge[0x78 + 8..0x78 + 12].copy_from_slice(&[0xff; 4]);
    assert!(decode(&huge).is_err());
    assert!(decode(&[&good[..], &[0; 8]].concat()).is_err());
}
