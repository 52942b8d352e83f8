//! The layouts of crates/formats/src/mac: whatever bytes are stored, reading them makes no more of them than they are, and
//! what was read can be written again.

use formats::mac::apple_double::{self, AppleDouble};
use formats::mac::attr::NewAttr;
use formats::mac::binary::MacBinary;
use formats::mac::binhex::BinHex;
use formats::mac::info_stream::InfoStream;
use formats::mac::portable::Portable;
use formats::mac::samba::{self, DosAttrib};
use formats::mac::{
    Metadata, StoredParts, depot, layout, netatalk, netatalk_list, plist, resource, sidecar, tags,
};

/// Most bytes of both forks that are decoded of one BinHex text.
const BINHEX_LIMIT: usize = 1 << 16;

/// `._` files, AppleDouble and AppleSingle: mac/sidecar.rs, apple_double.rs, attr.rs, fields.rs.
pub fn apple_double(data: &[u8]) {
    let total = data.len() as u64;
    sidecar::is_sidecar(data);
    if apple_double::recognize(data).is_some()
        && let Ok(file) = AppleDouble::parse(data, total)
    {
        assert!(file.resource_to_end().is_none_or(|range| range.end <= total));
    }
    let Ok(head) = sidecar::parse(data, total) else { return };
    assert!(head.resource_range.end <= total.max(head.resource_range.start));
    let values: usize = head.xattrs.iter().filter_map(|attr| attr.value).map(<[u8]>::len).sum();
    assert!(values <= data.len(), "values are parts of the file, each its own");
    let xattrs: Vec<NewAttr<'_>> =
        head.xattrs.iter().filter_map(|attr| Some((attr.name, attr.value?))).collect();
    let (written, _) = sidecar::synthesize(&head.finder_info, &xattrs, 0);
    let again = sidecar::parse(&written, written.len() as u64).expect("what was written");
    assert_eq!(again.finder_info, head.finder_info);
}

/// What is in a bundle of Time Machine, and the checksums of its bands.
pub fn backups(data: &[u8]) {
    use formats::mac::{sparse_bundle, time_machine};
    if let Some(info) = sparse_bundle::BundleInfo::read(data) {
        assert!(info.band_size > 0 && info.most_bands() <= info.image_size);
    }
    if let Some(number) = sparse_bundle::band_number(data) {
        assert_eq!(format!("{number:x}").as_bytes(), data);
    }
    sparse_bundle::is_whole(data);
    let dates = time_machine::completions(data);
    assert_eq!(dates.last(), time_machine::completed(data).as_ref());
    assert!(
        dates.iter().map(String::len).sum::<usize>() <= 3 * data.len(),
        "bytes that are no UTF-8 are replaced"
    );
    time_machine::mac_check(data);
    time_machine::host_uuid(data);
    time_machine::bytes_to_copy(data);
    let sums = vfs::BandSums::decode(data);
    assert_eq!(vfs::BandSums::decode(sums.encode().as_bytes()), sums);
}

/// The model from every layout that it is read from; the first byte says which has the rest, or all of them.
pub fn model(data: &[u8]) {
    let Some((&selector, bytes)) = data.split_first() else { return };
    let total = bytes.len() as u64;
    let this = |number: u8| (selector == number || selector > 5).then_some(bytes);
    let parts = StoredParts {
        netatalk: this(0),
        netatalk2: this(1).map(|bytes| (bytes, total)),
        info_stream: this(2),
        finder_info: this(2),
        sidecar: this(3).map(|bytes| (bytes, total)),
        dosattrib: this(4),
        kept: this(5),
    };
    let (metadata, _) = Metadata::from_parts(&parts);
    let written = metadata.to_netatalk();
    assert_eq!(written.len(), netatalk::METADATA_LEN);
    let (again, problems) = Metadata::from_netatalk(&written);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(again.finder_info, metadata.finder_info);
    metadata.to_netatalk2(b"name", 0);
    metadata.to_sidecar(&[], total);
    metadata.to_info_stream();
    metadata.to_dosattrib();
    metadata.to_kept();
}

/// The name and the value of an attribute: 0xFE ends the name.
fn attribute(part: &[u8]) -> (&[u8], &[u8]) {
    part.split_at(part.iter().position(|byte| *byte == 0xFE).unwrap_or(part.len()))
}

/// Single values: Samba's attributes and streams, lists of Netatalk, resource forks, names of attributes.
pub fn values(data: &[u8]) {
    if let Ok(value) = DosAttrib::parse(data) {
        value.build();
    }
    if let Ok(stream) = InfoStream::parse(data) {
        assert_eq!(InfoStream::parse(&stream.build()), Ok(stream));
    }
    samba::stream_data(data);
    samba::are_terminated(data.split(|byte| *byte == 0xFF).map(attribute));
    samba::stream_name(data);
    resource::look(data, data.len() as u64);
    resource::is_blank(data);
    layout::classify_xattr(data);
    layout::sidecar_owner(data);
    depot::stream_of(data).and_then(depot::file_of);
    if let Ok(list) = netatalk_list::parse(data) {
        assert!(list.iter().map(|listed| listed.name.len() + 5).sum::<usize>() <= data.len());
        let built = netatalk_list::build(&list).expect("no longer than what was read");
        assert_eq!(netatalk_list::parse(&built).as_ref(), Ok(&list));
        let short = list.iter().filter(|listed| listed.name.len() < 256).take(16);
        short.for_each(|listed| assert!(!netatalk_list::value_files(b"f::EA", &listed.name).is_empty()));
    }
}

/// Property lists of tags and comments: mac/plist.rs, tags.rs. The first byte is a new label.
pub fn plist(data: &[u8]) {
    let Some((&new, list)) = data.split_first() else { return };
    if let Some(text) = plist::read_text(list) {
        assert!(text.len() <= 3 * list.len());
        assert_eq!(plist::read_text(&plist::write_text(&text)), Some(text));
    }
    tags::read_comment(list);
    tags::write_comment(list);
    if let Some(all) = tags::read(list) {
        assert!(all.len() <= plist::MAX_STRINGS);
        assert!(all.iter().map(String::len).sum::<usize>() <= plist::MAX_LEN);
        assert_eq!(tags::label(&tags::with_label(all, new & 7)), new & 7);
    }
}

/// Archives of one file: MacBinary I to III and BinHex 4.0; and all portable forms, read and written.
pub fn archives(data: &[u8]) {
    let total = data.len() as u64;
    if let Ok(file) = MacBinary::parse(data, total) {
        let inside = |fork: std::ops::Range<u64>| fork.is_empty() || fork.end <= total;
        assert!(inside(file.data_range()) && inside(file.resource_range()));
        let head = file.build().expect("what was read");
        assert_eq!(MacBinary::parse(&head, total).map(|again| again.name), Ok(file.name));
    }
    if let Ok((format, file)) = Portable::decode(data, BINHEX_LIMIT)
        && let Ok(written) = file.encode(format)
        && file.lost(format).is_empty()
    {
        assert_eq!(Portable::decode(&written, BINHEX_LIMIT), Ok((format, file)));
    }
    if let Ok(file) = BinHex::decode(data, BINHEX_LIMIT) {
        assert!(file.data.len() + file.resource.len() <= BINHEX_LIMIT);
        if let Some(text) = file.encode() {
            assert_eq!(BinHex::decode(&text, BINHEX_LIMIT), Ok(file));
        }
    }
}
