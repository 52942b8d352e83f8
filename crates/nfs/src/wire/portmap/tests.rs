use super::*;
use crate::wire::xdr::tests::{bytes_of, value_of};

/// NFS version 3 over TCP at port 2049: prog, vers, prot, port.
const NFS: [u8; 16] = [0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 8, 1];

fn nfs() -> PortMapping {
    PortMapping { program: 100_003, version: 3, protocol: Protocol::TCP, port: 2049 }
}

fn rpcb() -> Rpcb<'static> {
    let (netid, address, owner) = (Text::new(b"tcp"), Text::new(b"0.0.0.0.8.1"), Text::new(b"root"));
    Rpcb { program: 100_003, version: 3, netid, address, owner }
}

/// [`rpcb`] by hand: r_prog, r_vers, r_netid, r_addr, r_owner.
const RPCB: &[u8] = b"\0\x01\x86\xa3\0\0\0\x03\0\0\0\x03tcp\0\0\0\0\x0b0.0.0.0.8.1\0\0\0\0\x04root";

#[test]
fn mapping_is_laid_out_as_in_the_rfc() {
    assert_eq!((bytes_of(&nfs()), value_of(&NFS)), (NFS.to_vec(), Ok(nfs())));
    assert!(value_of::<PortMapping>(&NFS[..15]).is_err());
    assert!(value_of::<PortMapping>(&[&NFS[..], &[0]].concat()).is_err());
}

#[test]
fn dump_of_version_2_is_a_list_of_mappings() {
    let bytes = [&[0, 0, 0, 1][..], &NFS, &[0, 0, 0, 0]].concat(); // RFC 1833 3.1: pmaplist
    let mut w = Writer::new();
    put_mappings(&mut w, [nfs()]);
    assert_eq!(w.as_bytes(), bytes);
    assert_eq!(mappings(&mut Reader::new(&bytes)), Ok(vec![nfs()]));
}

#[test]
fn rpcb_is_laid_out_as_in_the_rfc() {
    assert_eq!((bytes_of(&rpcb()), value_of(RPCB)), (RPCB.to_vec(), Ok(rpcb())));
    let bytes = [&[0, 0, 0, 1][..], RPCB, &[0, 0, 0, 0]].concat(); // RFC 1833 2.1: rpcblist
    let mut w = Writer::new();
    put_rpcbs(&mut w, [rpcb()]);
    assert_eq!(w.as_bytes(), bytes);
    assert_eq!(rpcbs(&mut Reader::new(&bytes)), Ok(vec![rpcb()]));
}

#[test]
fn strings_have_a_limit() {
    let long = [&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4][..], &[b'x'; 260], &[0; 8]].concat();
    assert!(value_of::<Rpcb<'_>>(&long).is_err());
}

#[test]
fn callit_carries_the_arguments_as_an_opaque() {
    let bytes = [0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 7, 7, 0, 0];
    let arguments = Opaque::new(&[7, 7]);
    let call = CallRequest { program: 100_003, version: 3, procedure: 0, arguments };
    assert_eq!((bytes_of(&call), value_of(&bytes)), (bytes.to_vec(), Ok(call)));
}

#[test]
fn universal_address_ends_with_the_ports_two_bytes() {
    // RFC 5665 5.2.3.3 and 5.2.3.4; port 2049 is 8 * 256 + 1
    for (text, address) in [("192.0.2.1.8.1", "192.0.2.1:2049"), ("2001:db8::1.8.1", "[2001:db8::1]:2049")] {
        let address = UniversalAddress(address.parse().unwrap());
        assert_eq!(UniversalAddress::parse(text.as_bytes()), Some(address));
        assert_eq!(address.to_string(), text);
    }
}

#[test]
fn what_is_no_universal_address_is_refused() {
    for text in
        ["", "192.0.2.1", "192.0.2.1.8", "192.0.2.1.8.256", "192.0.2.1.+8.1", "host.8.1", "1.2.3.4.8.1.0"]
    {
        assert_eq!(UniversalAddress::parse(text.as_bytes()), None, "{text}");
    }
    assert_eq!(UniversalAddress::parse(&[0xff, b'.', b'1', b'.', b'1']), None);
}

mod properties {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn universal_addresses_are_read_as_they_were_written(host: IpAddr, port: u16) {
            let address = UniversalAddress(SocketAddr::new(host, port));
            prop_assert_eq!(UniversalAddress::parse(address.to_string().as_bytes()), Some(address));
        }

        #[test]
        fn rpcb_is_read_as_it_was_written(
            program: u32, version: u32, texts in any::<[[u8; 9]; 3]>(),
        ) {
            let [netid, address, owner] = texts.each_ref().map(|text| Text::new(text));
            let rpcb = Rpcb { program, version, netid, address, owner };
            let bytes = bytes_of(&rpcb);
            prop_assert_eq!(value_of::<Rpcb<'_>>(&bytes), Ok(rpcb));
        }

        #[test]
        fn no_bytes_make_the_decoders_panic(bytes in vec(0_u8..4, 0..120), text in "[0-9a-f.:]{0,30}") {
            let _ = value_of::<CallRequest<'_>>(&bytes);
            let _ = mappings(&mut Reader::new(&bytes));
            let _ = rpcbs(&mut Reader::new(&bytes));
            let _ = UniversalAddress::parse(text.as_bytes());
        }
    }
}
