//! EXTENDED COPY and RECEIVE COPY RESULTS: crates/iscsi/src/wire/scsi/{extended_copy,receive_copy_results}.rs. The first byte of an
//! input says what the others are.

use iscsi::wire::scsi::{
    COPY_HEADER, COPY_TARGET, CopyHeader, CopyTarget, ReceiveCopyResults, Segment, copy_list_length,
};
use wire::Reader;

/// Descriptor blocks and parameter lists.
pub fn messages(input: &[u8]) {
    let Some((selector, bytes)) = input.split_first() else { return };
    match selector {
        0 => _ = copy_list_length(&mut Reader::new(bytes)),
        1 => list(bytes),
        2 => _ = ReceiveCopyResults::decode(&mut Reader::new(bytes)),
        _ => {}
    }
}

/// A list as long as its head says it is. A target has 32 bytes, a segment eight at least, so that there is no end of neither.
fn list(bytes: &[u8]) {
    let mut r = Reader::new(bytes);
    let Ok(header) = CopyHeader::decode(&mut r) else { return };
    assert_eq!(r.position(), COPY_HEADER);
    let Ok(targets) = r.take(usize::from(header.targets_length)) else { return };
    for target in targets.chunks_exact(COPY_TARGET) {
        let mut one = Reader::new(target);
        assert!(CopyTarget::decode(&mut one).unwrap().designator.len() <= 20);
        assert_eq!(one.remaining(), 0);
    }
    while r.remaining() > 0 {
        let before = r.position();
        if Segment::decode(&mut r).is_err() {
            return;
        }
        assert!(r.position() >= before + 8);
    }
}
