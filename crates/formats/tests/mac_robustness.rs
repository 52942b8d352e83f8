//! Whatever bytes are stored, reading them never panics and never makes more of them than they are.

#![allow(clippy::unwrap_used, reason = "tests")]

use formats::Time;
use formats::mac::attr::NewAttr;
use formats::mac::binary::MacBinary;
use formats::mac::binhex::BinHex;
use formats::mac::samba::DosAttrib;
use formats::mac::{
    DosAttributes, FileBits, FinderInfo, Metadata, StoredParts, Times, layout, netatalk, resource, sidecar,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Passes the bytes to every reader, and what was read to every writer.
fn read_everything(bytes: &[u8], total: u64) {
    if let Ok(head) = sidecar::parse(bytes, total) {
        let values: u64 = head.xattrs.iter().map(|attr| u64::from(attr.length)).sum();
        assert!(values <= total.max(bytes.len() as u64), "values are parts of the file, each its own");
        let kept: usize = head.fields.kept.iter().map(|entry| entry.bytes.len()).sum();
        assert!(kept <= bytes.len(), "what is kept is part of the file");
        assert!(head.xattrs.len() <= bytes.len() / 12);
        let xattrs: Vec<NewAttr<'_>> =
            head.xattrs.iter().filter_map(|attr| Some((attr.name, attr.value?))).collect();
        sidecar::synthesize(&head.finder_info, &xattrs, total);
    }
    let parts = StoredParts {
        netatalk: Some(bytes),
        netatalk2: Some((bytes, total)),
        info_stream: Some(bytes),
        finder_info: Some(bytes),
        sidecar: Some((bytes, total)),
        dosattrib: Some(bytes),
        kept: Some(bytes),
    };
    let (metadata, _) = Metadata::from_parts(&parts);
    assert_eq!(metadata.to_netatalk().len(), netatalk::METADATA_LEN);
    metadata.to_kept();
    metadata.to_netatalk2(b"name", 0);
    if let Ok(file) = MacBinary::parse(bytes, total) {
        file.build().unwrap();
        file.comment_range();
    }
    let _ = BinHex::decode(bytes, 4096).map(|file| assert!(file.data.len() + file.resource.len() <= 4096));
    let _ = DosAttrib::parse(bytes).map(|value| value.build());
    resource::look(bytes, total);
    layout::classify_xattr(bytes);
}

fn time() -> impl Strategy<Value = Option<Time>> {
    // The range of both clocks on the disk: whole seconds from 1931 to 2068, without the second
    // that both take for "none".
    proptest::option::of((-1_200_000_000_i64..3_000_000_000).prop_map(|secs| Time { secs, nanos: 0 }))
        .prop_filter("zero is none", |time| time.is_none_or(|time| time.secs != 946_684_800))
}

prop_compose! {
    fn finder_info()(bytes in any::<[u8; 32]>()) -> FinderInfo {
        let mut info = FinderInfo::new(bytes);
        info.set_date_added(None);
        info
    }
}

prop_compose! {
    fn metadata()(
        info in finder_info(), comment in vec(any::<u8>(), 0..=200), created in time(), backup in time(), added in time(),
        bits in any::<u16>(), sys in any::<bool>(),
    ) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.comment = comment;
        metadata.times = Times { created, backup, added };
        metadata.set_bits(FileBits(bits));
        metadata.set_finder_info(info);
        metadata.set_system(sys);
        metadata
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..600), total in 0..100_000_u64) {
        read_everything(&bytes, total);
    }

    #[test]
    fn random_bytes_behind_a_right_beginning(
        beginning in prop::sample::select(vec![
            &b"\0\x05\x16\x07\0\x02\0\0Mac OS X        "[..],
            b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02\0\0\0\x09\0\0\0\x32\0\0\x02\0\0\0\0\x02\0\0\x02\x32\0\0\0\0",
            b"\0\x05\x16\0\0\x01\0\0Macintosh       \0\x03",
            b"\0\x16\x05\0\0\0\x02\0",
            b"AFP\0\0\0\x01\0",
            b"\0\0\x04\0\x04\0\0\0",
            b"0x22\0\0\x03\0\x03\0\0\0",
            b"adEA\0\x01\0\x05",
            b"(This file must be converted with BinHex 4.0)\n\n:",
        ]),
        bytes in vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..600),
    ) {
        let bytes = [beginning, &bytes].concat();
        read_everything(&bytes, bytes.len() as u64);
    }

    #[test]
    fn mutated_sidecars(
        info in finder_info(), names in vec(vec(1_u8..=255, 1..40), 0..5), value in vec(any::<u8>(), 0..60),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(),
    ) {
        let xattrs: Vec<NewAttr<'_>> = names.iter().map(|name| (&name[..], &value[..])).collect();
        let (mut bytes, _) = sidecar::synthesize(&info, &xattrs, 286);
        bytes.extend_from_slice(&resource::blank());
        let total = bytes.len() as u64;
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_everything(&bytes, total);
        bytes.truncate(cut.index(bytes.len()));
        read_everything(&bytes, total);
    }

    #[test]
    fn mutated_netatalk_metadata(
        model in metadata(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = model.to_netatalk();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_everything(&bytes, bytes.len() as u64);
    }

    #[test]
    fn the_model_survives_the_netatalk_attribute(model in metadata()) {
        let bytes = model.to_netatalk();
        prop_assert_eq!(bytes.len(), 402);
        prop_assert_eq!(Metadata::from_netatalk(&bytes), (model, vec![]));
    }

    #[test]
    fn the_model_survives_the_netatalk_2_header(model in metadata(), name in vec(any::<u8>(), 0..255)) {
        let header = model.to_netatalk2(&name, 0);
        prop_assert_eq!(header.len(), 741);
        let parts = StoredParts { netatalk2: Some((&header, 741)), ..StoredParts::default() };
        prop_assert_eq!(Metadata::from_parts(&parts), (model, vec![]));
    }

    #[test]
    fn sidecars_read_back(
        info in any::<[u8; 32]>(), xattrs in vec((vec(1_u8..=255, 1..=127), vec(any::<u8>(), 0..300)), 0..12), fork in 0..1000_u64,
    ) {
        let info = FinderInfo::new(info);
        let xattrs: Vec<NewAttr<'_>> = xattrs.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        let (head, problems) = sidecar::synthesize(&info, &xattrs, fork);
        prop_assert_eq!(problems, vec![]);
        let total = head.len() as u64 + fork;
        let read = sidecar::parse(&head, total).unwrap();
        prop_assert_eq!(read.problems, vec![]);
        prop_assert_eq!((read.finder_info, read.resource_range), (info, head.len() as u64..total));
        let found: Vec<NewAttr<'_>> = read.xattrs.iter().map(|attr| (attr.name, attr.value.unwrap())).collect();
        prop_assert_eq!(found, xattrs);
    }

    #[test]
    fn dos_attributes_read_back(word in any::<u32>(), secs in 1_i64..9_000_000_000, nanos in 0_u32..10_000_000) {
        let created = Some(Time { secs, nanos: nanos * 100 });
        let value = DosAttrib { attributes: DosAttributes(word), created, itime: None };
        prop_assert_eq!(DosAttrib::parse(&value.build()), Ok(value));
    }

    #[test]
    fn binhex_reads_back(name in vec(any::<u8>(), 1..=63), data in vec(prop_oneof![Just(0x90_u8), Just(0), any::<u8>()], 0..400)) {
        let file = BinHex { name, data: data.clone(), resource: data, ..BinHex::default() };
        prop_assert_eq!(BinHex::decode(&file.encode().unwrap(), 800), Ok(file));
    }
}
