//! Commands that move and manage blocks. The selectors are those of `src/iscsi_blocks.rs`.

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, selector: u8, bytes: &[u8]| Seed {
        target: "iscsi_blocks",
        name,
        bytes: [&[selector], bytes].concat(),
    };
    let range = [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 0];
    let list = [&[0, 38, 0, 32, 0, 0, 0, 0][..], &range, &range].concat();
    vec![
        seed("access", 0, &[0x28, 0, 0, 0, 0, 1, 0, 0, 8, 0]),
        seed("read-6", 1, &[0x08, 0x1f, 0, 1, 0, 0]),
        seed("read-10", 1, &[0x28, 0x1c, 0, 0, 0, 1, 0x1f, 0, 8, 0]),
        seed("read-12", 1, &[0xa8, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0]),
        seed("read-16", 1, &[0x88, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0]),
        seed("write-10", 2, &[0x2a, 0x08, 0, 0, 0, 1, 0, 0, 8, 0]),
        seed("or-write", 2, &[0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0]),
        seed("synchronize", 3, &[0x35, 0x02, 0, 0, 0, 1, 0, 0, 8, 0]),
        seed("pre-fetch", 3, &[0x90, 0x02, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0]),
        seed("verify", 4, &[0x2f, 0x06, 0, 0, 0, 1, 0, 0, 8, 0]),
        seed("write-and-verify", 4, &[0xae, 0x02, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0]),
        seed("write-same", 5, &[0x93, 0x09, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0]),
        seed("unmap", 6, &[0x42, 0x01, 0, 0, 0, 0, 0, 0, 40, 0]),
        seed("get-lba-status", 7, &[0x9e, 0x12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 24, 0, 0]),
        seed("compare-and-write", 8, &[0x89, 0x18, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0]),
        seed("defects-10", 9, &[0x37, 0, 0x1d, 0, 0, 0, 0, 0, 32, 0]),
        seed("defects-12", 9, &[0xb7, 0x08, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0]),
        seed("lba-status", 10, &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 1]),
        seed("ranges", 11, &list),
    ]
}
