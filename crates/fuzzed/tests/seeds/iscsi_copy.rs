//! EXTENDED COPY. The selectors are those of `src/iscsi_copy.rs`.

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, selector: u8, bytes: &[u8]| Seed {
        target: "iscsi_copy",
        name,
        bytes: [&[selector], bytes].concat(),
    };
    let target = [&[0xe4, 0, 0, 0, 1, 3, 0, 8, 0x30, 0, 0, 0, 0, 0, 0, 1][..], &[0; 14], &[2, 0]].concat();
    let blocks = [&[0x02, 0x02, 0, 0x18, 0, 0, 0, 0, 0, 0, 0, 8][..], &[0; 15], &[9]].concat();
    let bytes = [&[0x0a, 0x00, 0, 0x1c, 0, 0, 0xff, 0xff, 0, 0, 2, 0][..], &[0; 19], &[9]].concat();
    let stream = [&[0x03, 0x01, 0, 0x10][..], &[0; 16]].concat();
    let segments = [&blocks[..], &bytes, &stream].concat();
    let head = [1, 0x10, 0, 32, 0, 0, 0, 0, 0, 0, 0, segments.len() as u8, 0, 0, 0, 0];
    vec![
        seed("copy", 0, &[0x83, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 76, 0, 0]),
        seed("list", 1, &[&head[..], &target, &segments].concat()),
        seed("failure", 2, &[0x84, 0x04, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0]),
    ]
}
