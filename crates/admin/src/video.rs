//! Formats of video by the words that people type, and the speed that a stream of each needs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VideoFormat {
    /// What is typed: `prores422hq-2160p25`.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Bytes per second.
    pub speed: f64,
}

/// Pictures per second of the columns of [`PRORES`].
const RATES: [u32; 5] = [24, 25, 30, 50, 60];
/// The heights of the two rows of each kind.
const FRAMES: [(&str, &str); 2] = [("1080", "1920×1080"), ("2160", "3840×2160")];
/// Megabits per second of ProRes: Apple's white paper of 2022, target rates.
const PRORES: [(&str, &str, [[u32; 5]; 2]); 6] = [
    ("proxy", "422 Proxy", [[36, 38, 45, 76, 91], [145, 151, 182, 303, 363]]),
    ("lt", "422 LT", [[82, 85, 102, 170, 204], [328, 342, 410, 684, 821]]),
    ("422", "422", [[117, 122, 147, 245, 293], [471, 492, 589, 983, 1178]]),
    ("422hq", "422 HQ", [[176, 184, 220, 367, 440], [707, 737, 884, 1475, 1768]]),
    ("4444", "4444", [[264, 275, 330, 551, 660], [1061, 1106, 1326, 2212, 2652]]),
    ("4444xq", "4444 XQ", [[396, 413, 495, 826, 990], [1591, 1659, 1989, 3318, 3977]]),
];
/// Formats of one speed in megabits per second.
const FIXED: [(&str, &str, f64); 2] =
    [("dv-576p25", "DV (SD)", 28.8), ("xdcamhd422-1080p25", "XDCAM HD422", 50.0)];
/// Uncompressed formats: width × height × bytes of a pixel × pictures per second. 10 bits of 4:2:2 (v210) are 16 bytes for 6
/// pixels, DPX has 4 bytes for one.
const UNCOMPRESSED: [(&str, &str, f64); 4] = [
    ("rgb8-576p25", "SD uncompressed (720×576, 8 bits RGB)", 720.0 * 576.0 * 3.0 * 25.0),
    ("v210-1080p25", "HD uncompressed (1920×1080, 10 bits 4:2:2)", 1920.0 * 1080.0 * 16.0 / 6.0 * 25.0),
    ("dpx-2k24", "2K DPX (2048×1080, 24 pictures)", 2048.0 * 1080.0 * 4.0 * 24.0),
    ("v210-2160p25", "4K uncompressed (3840×2160, 10 bits 4:2:2)", 3840.0 * 2160.0 * 16.0 / 6.0 * 25.0),
];

/// All formats, from the least to the most.
#[must_use]
pub fn video_formats() -> Vec<VideoFormat> {
    let format = |id: &str, name: &str, speed: f64| VideoFormat { id: id.into(), name: name.into(), speed };
    let megabits = |of: f64| of * 125_000.0;
    let fixed = FIXED.iter().map(|(id, name, speed)| format(id, name, megabits(*speed)));
    let raw = UNCOMPRESSED.iter().map(|(id, name, speed)| format(id, name, *speed));
    let prores = PRORES.iter().flat_map(|(kind, name, rows)| {
        FRAMES.iter().zip(rows).flat_map(move |((height, frame), speeds)| {
            RATES.iter().zip(speeds).map(move |(rate, speed)| VideoFormat {
                id: format!("prores{kind}-{height}p{rate}"),
                name: format!("ProRes {name}, {frame}, {rate} pictures"),
                speed: megabits(f64::from(*speed)),
            })
        })
    });
    let mut all: Vec<VideoFormat> = fixed.chain(raw).chain(prores).collect();
    all.sort_by(|one, other| one.speed.total_cmp(&other.speed));
    all
}

/// The format that was typed, in any case of its letters.
#[must_use]
pub fn video_format(id: &str) -> Option<VideoFormat> {
    video_formats().into_iter().find(|format| format.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_word_of_its_own() {
        let mut ids: Vec<String> = video_formats().into_iter().map(|format| format.id).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!((ids.len(), count), (66, 66));
    }

    /// The white paper: 3840 × 2160 at 25 pictures has 737 Mb/s in 422 HQ, and 1920 × 1080 at 23.976 has 176.
    #[test]
    fn prores_needs_what_its_white_paper_says() {
        assert_eq!(video_format("ProRes422HQ-2160p25").unwrap().speed, 737.0 * 125_000.0);
        assert_eq!(video_format("prores422hq-1080p24").unwrap().speed, 22e6);
        assert_eq!(video_format("prores422hq-4320p25"), None);
    }

    #[test]
    fn an_uncompressed_picture_of_sd_needs_what_the_reference_says() {
        let sd = video_format("rgb8-576p25").unwrap();
        assert!((sd.speed / 1e6 - 31.1).abs() < 0.1, "30 MB/s, rounded, of the ZFS and iSCSI report of 2007");
    }

    #[test]
    fn formats_are_in_the_order_of_their_speeds() {
        assert!(video_formats().is_sorted_by(|one, other| one.speed <= other.speed));
    }
}
