//! The icon that classic Macs show for the server: 32 by 32 bits and a mask, in the format of
//! resources of type `ICN#`.

use crate::wire::server_info::ICON_LEN;

const SIDE: usize = 32;

/// A leaflet folded fourfold, two panels of it in the shade, standing on a network cable. `#` is
/// black, `.` is white, and other characters are transparent.
const PICTURE: [&[u8; SIDE]; SIDE] = [
    b"                                ",
    b"                                ",
    b"                                ",
    b" ##           ###           ##  ",
    b" #.##       ##.#.##       ##.#  ",
    b" #...##   ###.##...##   ###.##  ",
    b" #.....# #.#.#.#.....# #.#.#.#  ",
    b" #......#.#.#.##......#.#.#.##  ",
    b" #......##.#.#.#......##.#.#.#  ",
    b" #.##...#.#.#.##.##...#.#.#.##  ",
    b" #...##.##.#.#.#...##.##.#.#.#  ",
    b" #......#.#.#.##......#.#.#.##  ",
    b" #.##...##.#.#.#.##...##.#.#.#  ",
    b" #...##.#.#.#.##...##.#.#.#.##  ",
    b" #......##.#.#.#......##.#.#.#  ",
    b" #.##...#.#.#.##.##...#.#.#.##  ",
    b" #...##.##.#.#.#...##.##.#.#.#  ",
    b" #......#.#.#.##......#.#.#.##  ",
    b" #......##.#.#.#......##.#.#.#  ",
    b" #......#.#.#.##......#.#.#.##  ",
    b" ##.....##.#.####.....##.#.###  ",
    b"   ##...#.#.##   ##...#.#.##    ",
    b"     ##.####       ##.####      ",
    b"       ###           ###        ",
    b"        #      ##     #         ",
    b"               ##               ",
    b"               ##               ",
    b"               ##               ",
    b"            ########            ",
    b"  ###########......###########  ",
    b"            ########            ",
    b"                                ",
];

/// The icon, then its mask.
pub(in crate::server) const ICON: [u8; ICON_LEN] = drawn(&PICTURE);

const fn drawn(picture: &[&[u8; SIDE]; SIDE]) -> [u8; ICON_LEN] {
    let mut icon = [0; ICON_LEN];
    let mut at = 0;
    while at < SIDE * SIDE {
        let bit = 0x80 >> (at % 8);
        match picture[at / SIDE][at % SIDE] {
            b'#' => {
                icon[at / 8] |= bit;
                icon[ICON_LEN / 2 + at / 8] |= bit;
            }
            b'.' => icon[ICON_LEN / 2 + at / 8] |= bit,
            _ => {}
        }
        at += 1;
    }
    icon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_four_bytes_from_the_left_and_the_mask_covers_what_is_drawn() {
        assert_eq!(ICON[3 * 4..][..4], [0b0110_0000, 0b0000_0011, 0b1000_0000, 0b0000_1100]);
        assert_eq!(ICON[128 + 4 * 4..][..4], [0b0111_1000, 0b0000_1111, 0b1110_0000, 0b0011_1100]);
        let (picture, mask) = ICON.split_at(128);
        assert!(picture.iter().zip(mask).all(|(picture, mask)| picture & !mask == 0));
    }
}
