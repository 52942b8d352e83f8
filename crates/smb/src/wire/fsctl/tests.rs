use std::net::IpAddr;

use wire::{Malformed, Reader, Writer};

use super::network::{Capability, NetworkInterface};
use super::snapshots::Snapshots;
use super::*;
use crate::wire::text;

fn bytes(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}

/// Decodes all of `bytes`, and refuses every shorter form of it.
fn whole<T: std::fmt::Debug>(bytes: &[u8], decode: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>) -> T {
    for len in 0..bytes.len() {
        assert!(decode(&mut Reader::new(&bytes[..len])).is_err(), "{len} bytes of {}", bytes.len());
    }
    decode(&mut Reader::new(bytes)).unwrap()
}

#[test]
fn a_count_that_lies_is_malformed_and_allocates_nothing() {
    let mut copy = vec![0; 24];
    copy.extend([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0]);
    assert!(copy::CopyChunk::decode(&mut Reader::new(&copy)).is_err());
    assert!(ranges::Trim::decode(&mut Reader::new(&[0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF])).is_err());
}

/// MS-SMB2 2.2.31.1.
#[test]
fn chunks_follow_the_key_of_their_source() {
    let mut sent = vec![7; 24];
    sent.extend(b"\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0");
    let copy = whole(&sent, copy::CopyChunk::decode);
    assert_eq!(copy.source, copy::ResumeKey([7; 24]));
    assert_eq!(copy.chunks, [copy::Chunk { source_offset: 1, target_offset: 2, length: 3 }]);
    assert_eq!(bytes(|w| copy.encode(w)), sent);
}

#[test]
fn a_resume_key_is_32_bytes() {
    let response = bytes(|w| copy::ResumeKey([7; 24]).encode(w));
    assert_eq!(response, [[7; 24].as_slice(), &[0; 8]].concat());
    assert_eq!(copy::ResumeKey::decode(&mut Reader::new(&response)), Ok(copy::ResumeKey([7; 24])));
}

/// MS-FSCC 2.3.7.2 and 2.3.9.2: the larger form begins with 0x30, and ends with flags.
#[test]
fn extents_name_their_source_by_its_id() {
    let mut sent = vec![7; 16];
    sent.extend(b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0");
    let extents = whole(&sent, copy::DuplicateExtents::decode);
    assert_eq!((extents.source_offset, extents.target_offset, extents.byte_count), (1, 2, 3));
    let larger = [&[0x30, 0, 0, 0, 0, 0, 0, 0], &sent[..], &[1, 0, 0, 0, 0, 0, 0, 0]].concat();
    let atomic = copy::DuplicateExtentsEx { extents, flags: copy::DuplicateFlags::SOURCE_ATOMIC };
    assert_eq!(copy::DuplicateExtentsEx::decode(&mut Reader::new(&larger)), Ok(atomic));
    assert_eq!(bytes(|w| atomic.encode(w)), larger);
}

/// MS-FSCC 2.3, FSCTL_SET_SPARSE: without a buffer it is as if SetSparse were true.
#[test]
fn sparse_without_a_word_is_true() {
    for (sent, sparse) in [(&b""[..], true), (b"\0", false), (b"\x01", true)] {
        assert_eq!(ranges::SetSparse::decode(&mut Reader::new(sent)), Ok(ranges::SetSparse(sparse)));
    }
}

#[test]
fn ranges_are_pairs_of_numbers() {
    let sent = b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
    assert_eq!(
        whole(sent, ranges::ZeroData::decode),
        ranges::ZeroData { file_offset: 1, beyond_final_zero: 2 }
    );
    let range = ranges::AllocatedRange { file_offset: 1, length: 2 };
    assert_eq!(ranges::AllocatedRange::decode_all(&mut Reader::new(&sent.repeat(2))), Ok(vec![range; 2]));
    assert!(ranges::AllocatedRange::decode_all(&mut Reader::new(&sent[..15])).is_err());
}

#[test]
fn trimmed_ranges_are_counted() {
    let sent = b"\x09\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
    let trim = ranges::Trim { key: 9, ranges: vec![ranges::TrimRange { offset: 1, length: 2 }] };
    assert_eq!(whole(sent, ranges::Trim::decode), trim);
    assert_eq!(bytes(|w| trim.encode(w)), sent);
}

#[test]
fn regions_follow_16_bytes_and_take_24_each() {
    let region = ranges::Region { file_offset: 1, length: 2, usage: ranges::Region::VALID_CACHED_DATA };
    let regions = ranges::Regions { flags: 0, total: 3, regions: vec![region] };
    let expected = b"\0\0\0\0\x03\0\0\0\x01\0\0\0\0\0\0\0\
        \x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";
    assert_eq!(bytes(|w| regions.encode(w)), expected);
    assert_eq!(whole(expected, ranges::Regions::decode), regions);
}

/// MS-SMB2 2.2.31.4.
#[test]
fn a_client_repeats_what_it_offered() {
    let mut sent = vec![0x7F, 0, 0, 0];
    sent.extend([7; 16]);
    sent.extend(b"\x01\0\x02\0\x10\x02\0\x03");
    let request = whole(&sent, negotiate::ValidateRequest::decode);
    assert_eq!((request.capabilities, request.security_mode), (0x7F, 1));
    assert_eq!(request.dialects, [0x0210, 0x0300]);
    assert_eq!(bytes(|w| request.encode(w)), sent);
    let response = negotiate::ValidateResponse {
        capabilities: 1,
        server_guid: [7; 16],
        security_mode: 2,
        dialect: 0x0302,
    };
    assert_eq!(bytes(|w| response.encode(w))[20..], *b"\x02\0\x02\x03");
}

/// MS-SMB2 2.2.32.5: 152 bytes each; the family of IPv4 is 2, that of IPv6 0x17; addresses are in network order.
#[test]
fn interfaces_are_152_bytes_each() {
    let interface = |address: &str, capability| NetworkInterface {
        index: 3,
        capability,
        link_speed: 10_000_000_000,
        address: address.parse::<IpAddr>().unwrap(),
    };
    let all = [interface("192.0.2.1", Capability::RSS_CAPABLE), interface("2001:db8::1", Capability::NONE)];
    let written = bytes(|w| network::encode(&all, w));
    assert_eq!(written.len(), 304);
    assert_eq!(
        written[..32],
        *b"\x98\0\0\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0\xe4\x0b\x54\x02\0\0\0\x02\0\0\0\xc0\0\x02\x01"
    );
    assert_eq!(written[152..156], [0; 4]);
    assert_eq!(written[176..200], *b"\x17\0\0\0\0\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01");
    assert_eq!(network::decode(&mut Reader::new(&written)).unwrap(), all);
    assert!(network::decode(&mut Reader::new(&written[..303])).is_err());
}

#[test]
fn addresses_of_other_families_are_left_out() {
    let mut sent = vec![0; 152];
    sent[24] = 99;
    assert_eq!(network::decode(&mut Reader::new(&sent)), Ok(vec![]));
}

/// Protocol facts 8.10: the first call has room for the counts only.
#[test]
fn snapshots_without_room_are_counted_only() {
    let labels = vec!["@GMT-2026.11.20-00.00.00".to_owned(), "@GMT-2026.11.21-00.00.00".to_owned()];
    let array_size = 2 * (24 + 1) * 2 + 2;
    let counted = Snapshots::fitting(labels.clone(), 16);
    assert_eq!(bytes(|w| counted.encode(w)), [2, 0, 0, 0, 0, 0, 0, 0, array_size, 0, 0, 0]);
    let listed = Snapshots::fitting(labels.clone(), 12 + usize::from(array_size));
    let written = bytes(|w| listed.encode(w));
    assert_eq!(written.len(), 12 + usize::from(array_size));
    assert_eq!(written[12..22], *b"@\0G\0M\0T\0-\0");
    assert_eq!(written[written.len() - 6..], *b"0\0\0\0\0\0");
    assert_eq!(whole(&written, Snapshots::decode).labels, labels);
    assert_eq!(Snapshots::fitting(labels, 11 + usize::from(array_size)).labels, [""; 0]);
}

/// MS-FSCC 2.3, FSCTL_PIPE_WAIT.
#[test]
fn waiting_for_a_pipe_may_name_its_time() {
    let sent = b"\x05\0\0\0\0\0\0\0\x04\0\0\0\x01\0a\0b\0";
    let wait = pipe::Wait { timeout: Some(5), name: text::of("ab") };
    assert_eq!(whole(sent, pipe::Wait::decode), wait);
    assert_eq!(bytes(|w| wait.encode(w)), sent);
    let mut unspecified = sent.to_vec();
    unspecified[12] = 0;
    assert_eq!(pipe::Wait::decode(&mut Reader::new(&unspecified)).unwrap().timeout, None);
}

/// MS-DFSC 2.2.2 and 2.2.3.
#[test]
fn a_referral_is_asked_for_a_path() {
    let sent = b"\x04\0\\\0s\0\0\0";
    let request = dfs::Request { max_referral_level: 4, path: text::of("\\s") };
    assert_eq!(whole(sent, dfs::Request::decode), request);
    assert_eq!(bytes(|w| request.encode(w)), sent);
    let sent = b"\x04\0\x01\0\x0a\0\0\0\x04\0\\\0s\0\x02\0x\0";
    let request = dfs::RequestEx { max_referral_level: 4, path: text::of("\\s"), site: Some(text::of("x")) };
    assert_eq!(whole(sent, dfs::RequestEx::decode), request);
    assert_eq!(bytes(|w| request.encode(w)), sent);
}

#[test]
fn other_structures_have_the_lengths_of_the_specification() {
    assert_eq!(bytes(|w| object::ObjectIdBuffer::default().encode(w)).len(), 64);
    assert_eq!(bytes(|w| object::Integrity::default().encode(w)).len(), 16);
    assert_eq!(bytes(|w| object::SetIntegrity::default().encode(w)).len(), 8);
    assert_eq!(bytes(|w| object::CompressionState::default().encode(w)).len(), 2);
    assert_eq!(bytes(|w| negotiate::Resiliency::default().encode(w)).len(), 8);
    assert_eq!(bytes(|w| negotiate::ValidateResponse::default().encode(w)).len(), 24);
    assert_eq!(bytes(|w| copy::CopyChunkResponse::default().encode(w)).len(), 12);
    assert_eq!(bytes(|w| ranges::RegionRequest::default().encode(w)).len(), 24);
    assert_eq!(bytes(|w| ranges::TrimResponse::default().encode(w)).len(), 4);
    assert_eq!(bytes(|w| pipe::Peek::default().encode(w)).len(), 16);
}
