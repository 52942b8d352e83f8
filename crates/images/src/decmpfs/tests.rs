//! Files in each layout.

use super::*;

/// The attribute of a file, with what is behind the header.
fn attribute(kind: u32, size: usize, data: &[u8]) -> Vec<u8> {
    [&b"fpmc"[..], &kind.to_le_bytes(), &(size as u64).to_le_bytes(), data].concat()
}

fn text(count: usize) -> Vec<u8> {
    (0..).flat_map(|i: u32| format!("line {i}\n").into_bytes()).take(count).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut stream = flate2::Compress::new(flate2::Compression::best(), true);
    let mut output = vec![0; bytes.len() + 1024];
    stream.compress(bytes, &mut output, flate2::FlushCompress::Finish).unwrap();
    output.truncate(stream.total_out() as usize);
    output
}

fn whole(file: &Compressed, resource: &dyn ReadAt) -> Vec<u8> {
    let (mut all, mut piece) = (Vec::new(), [0; 5000]);
    loop {
        let count = file.read(resource, all.len() as u64, &mut piece).unwrap();
        all.extend_from_slice(&piece[..count]);
        if count < piece.len() {
            return all;
        }
    }
}

/// A resource fork with one resource: a table of chunks, each with its place and size.
fn resource_of(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut resource = vec![0; 256];
    resource[..4].copy_from_slice(&256u32.to_be_bytes());
    let mut table = (chunks.len() as u32).to_le_bytes().to_vec();
    let mut at = 4 + 8 * chunks.len() as u32;
    for chunk in chunks {
        table.extend(at.to_le_bytes());
        table.extend((chunk.len() as u32).to_le_bytes());
        at += chunk.len() as u32;
    }
    let data = [table, chunks.concat()].concat();
    resource.extend((data.len() as u32).to_be_bytes());
    resource.extend(data);
    resource
}

/// A resource fork that begins with the places of its chunks.
fn places_of(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut at = 4 * (chunks.len() as u32 + 1);
    let mut resource = at.to_le_bytes().to_vec();
    for chunk in chunks {
        at += chunk.len() as u32;
        resource.extend(at.to_le_bytes());
    }
    [resource, chunks.concat()].concat()
}

#[test]
fn data_in_the_attribute_is_read() {
    let text = text(3000);
    let none: Vec<u8> = Vec::new();
    for (kind, data) in [
        (1, text.clone()),
        (3, zlib(&text)),
        (3, [&[0xFF][..], &text].concat()),
        (7, [&[0x06][..], &text].concat()),
        (9, [&[0xCC][..], &text].concat()),
        (11, [&[0xFF][..], &text].concat()),
    ] {
        let file = Compressed::parse(attribute(kind, 3000, &data)).unwrap();
        assert!(!file.is_in_resource_fork());
        assert_eq!(whole(&file, &none), text, "{kind}");
    }
    let sparse = Compressed::parse(attribute(5, 70_000, &[])).unwrap();
    assert_eq!(whole(&sparse, &none), vec![0; 70_000]);
}

#[test]
fn chunks_in_the_resource_fork_are_read() {
    let text = text(200_000);
    let zlib_chunks: Vec<_> = text.chunks(65_536).map(zlib).collect();
    let mut mixed = zlib_chunks.clone();
    mixed[1] = [&[0xFF][..], &text[65_536..131_072]].concat();
    let plain =
        |marker: u8| text.chunks(65_536).map(|chunk| [&[marker][..], chunk].concat()).collect::<Vec<_>>();
    for (kind, resource) in [
        (4, resource_of(&zlib_chunks)),
        (4, resource_of(&mixed)),
        (8, places_of(&plain(0x06))),
        (10, places_of(&plain(0xCC))),
        (12, places_of(&plain(0xFF))),
    ] {
        let file = Compressed::parse(attribute(kind, 200_000, &[])).unwrap();
        assert!(file.is_in_resource_fork());
        assert_eq!(whole(&file, &resource), text, "{kind}");
        let mut end = [0; 100];
        assert_eq!(file.read(&resource, 199_990, &mut end).unwrap(), 10);
        assert_eq!(end[..10], text[199_990..]);
    }
}

#[test]
fn streams_of_apples_library_are_read() {
    // tests/data/MANIFEST.md: 2,000 bytes of text, as a block of LZVN in a stream of LZFSE.
    let stream = include_bytes!("../../tests/data/lines-2000.lzfse");
    let lzvn = &stream[12..stream.len() - 4];
    let none: Vec<u8> = Vec::new();
    let of = |kind, data: &[u8]| whole(&Compressed::parse(attribute(kind, 2000, data)).unwrap(), &none);
    assert!(of(11, stream).starts_with(b"line 0 of the test, and line 0 of it\nline 1 of"));
    assert_eq!(of(7, lzvn), of(11, stream));
    let resource = places_of(&[lzvn.to_vec()]);
    assert_eq!(whole(&Compressed::parse(attribute(8, 2000, &[])).unwrap(), &resource), of(11, stream));
}

#[test]
fn damage_and_unknown_compressions_are_told() {
    assert!(matches!(Compressed::parse(attribute(13, 5, &[])), Err(Error::NotSupported(_))));
    assert!(matches!(Compressed::parse(b"fpmc".to_vec()), Err(Error::Damaged { .. })));
    assert!(matches!(Compressed::parse(attribute(3, usize::MAX, &[])), Err(Error::Damaged { .. })));
    let none: Vec<u8> = Vec::new();
    let mut buffer = [0; 10];
    for (kind, data) in [(1, &b"abc"[..]), (3, b"\x78\x9Cabc"), (9, b""), (4, b""), (8, b"")] {
        let file = Compressed::parse(attribute(kind, 100, data)).unwrap();
        assert!(matches!(file.read(&none, 0, &mut buffer), Err(Error::Damaged { .. })), "{kind}");
    }
    // A file without bytes has none, whatever else is damaged.
    assert_eq!(Compressed::parse(attribute(4, 0, &[])).unwrap().read(&none, 0, &mut buffer), Ok(0));
}
