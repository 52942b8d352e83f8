//! The formats of video that the advice is about.

use admin::video::{VideoFormat, video_formats};

/// What a stream must have beyond its own speed, so that no picture is late while others seek.
pub(super) use vfs::reserved::HEADROOM;

/// Those that people ask for first. `fourfold stream formats` has all.
const COMMON: [&str; 8] = [
    "dv-576p25",
    "xdcamhd422-1080p25",
    "prores422hq-1080p25",
    "rgb8-576p25",
    "prores422hq-2160p25",
    "v210-1080p25",
    "dpx-2k24",
    "v210-2160p25",
];

/// From the least to the most.
pub(super) fn common() -> Vec<VideoFormat> {
    video_formats().into_iter().filter(|format| COMMON.contains(&format.id.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_common_formats_are_known() {
        assert_eq!(common().len(), COMMON.len());
    }
}
