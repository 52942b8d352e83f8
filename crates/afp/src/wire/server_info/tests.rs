use super::*;

/// A block that is encoded by hand, part by part, from the reference.
fn by_hand() -> Vec<u8> {
    let icon = [0xA5; ICON_LEN];
    let parts: [&[u8]; 8] = [
        b"\x09Macintosh",
        b"\x02\x06AFP2.2\x06AFPX03",
        b"\x01\x04DHX2",
        &icon,
        &[7; 16],
        b"\x03\x06\x01\x0a\x00\x00\x05\x08\x02\x0a\x00\x00\x05\x15\xb3\x05\x04nas",
        b"\x01\x03od1",
        b"\x00\x05Caf\xc3\xa9",
    ];
    let mut offsets = Vec::new();
    let mut at = 10 + 6 + 8;
    for part in parts {
        offsets.extend_from_slice(&(at as u16).to_be_bytes());
        at += part.len();
    }
    // "Café" in MacRoman: four bytes after a length make five, so one of padding follows.
    let head = [&offsets[..8], &[0x83, 0xff], b"\x04Caf\x8e\x00", &offsets[8..]].concat();
    [head, parts.concat()].concat()
}

fn the_same() -> ServerInfo<'static> {
    ServerInfo {
        machine_type: b"Macintosh",
        versions: vec![b"AFP2.2", b"AFPX03"],
        uams: vec![b"DHX2"],
        icon: Some(&[0xA5; ICON_LEN]),
        flags: 0x83ff,
        name: b"Caf\x8e",
        signature: Some([7; 16]),
        addresses: vec![
            ServerAddress::Ipv4(Ipv4Addr::new(10, 0, 0, 5)),
            ServerAddress::Ipv4Port("10.0.0.5:5555".parse().unwrap()),
            ServerAddress::Dns(b"nas"),
        ],
        directory_names: vec![b"od1"],
        utf8_name: Some("Café".as_bytes()),
    }
}

#[test]
fn a_block_is_what_the_reference_draws() {
    assert_eq!(ServerInfo::decode(&by_hand()), Ok(the_same()));
    assert_eq!(the_same().encode(), by_hand());
}

#[test]
fn the_name_is_padded_to_an_even_length_with_its_length_byte() {
    let block = ServerInfo { name: b"abc", machine_type: b"m", ..ServerInfo::default() }.encode();
    assert_eq!(&block[10..14], b"\x03abc");
    assert_eq!(&block[14..16], [0, 0], "no signature");
    assert_eq!(&block[..2], [0, 22], "the machine type follows four offsets");
    assert_eq!(&block[6..8], [0, 0], "no icon");
}

#[test]
fn each_kind_of_address_has_its_own_length() {
    // Apple Filing Protocol Reference, "AFP Network Address Type Constants".
    let v6: Ipv6Addr = "fe80::1".parse().unwrap();
    let cases: [(ServerAddress<'_>, &[u8]); 7] = [
        (ServerAddress::Ipv4([192, 168, 1, 2].into()), &[6, 1, 192, 168, 1, 2]),
        (ServerAddress::Ipv4Port("1.2.3.4:548".parse().unwrap()), &[8, 2, 1, 2, 3, 4, 2, 36]),
        (ServerAddress::Ddp { net: 0xff01, node: 4, socket: 128 }, &[6, 3, 0xff, 1, 4, 128]),
        (ServerAddress::Ssh(b"a.b"), b"\x05\x05a.b"),
        (ServerAddress::Ipv6(v6), &[18, 6, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (
            ServerAddress::Ipv6Port(v6, 548),
            &[20, 7, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 36],
        ),
        (ServerAddress::Other { kind: 1, data: &[1, 2] }, &[4, 1, 1, 2]),
    ];
    for (address, bytes) in cases {
        let mut w = Writer::new();
        address.encode(&mut w);
        assert_eq!(w.as_bytes(), bytes);
        assert_eq!(ServerAddress::decode(&mut Reader::new(bytes)), Ok(address));
    }
    assert!(ServerAddress::decode(&mut Reader::new(&[1, 1])).is_err());
}

#[test]
fn old_servers_have_no_offsets_after_the_name() {
    // As in AppleShare 2: the machine type directly follows the name.
    let mut block = vec![0, 14, 0, 16, 0, 23, 0, 0, 0, 1];
    block.extend_from_slice(b"\x02ab\x00\x01m\x01\x05AFP 1\x00");
    let info = ServerInfo::decode(&block).unwrap();
    assert_eq!(
        (info.name, info.machine_type, &info.versions[..]),
        (&b"ab"[..], &b"m"[..], &[&b"AFP 1"[..]][..])
    );
    assert_eq!((info.signature, info.utf8_name, info.addresses.len()), (None, None, 0));
}

#[test]
fn offsets_beyond_the_block_are_malformed() {
    let block = by_hand();
    for at in [0, 2, 4, 6, 16, 18, 20, 22] {
        let mut bad = block.clone();
        bad[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        assert!(ServerInfo::decode(&bad).is_err(), "{at}");
    }
    assert!(ServerInfo::decode(&block[..9]).is_err());
}
