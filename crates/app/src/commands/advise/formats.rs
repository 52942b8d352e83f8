//! Formats of video, and the speed that a stream of each needs.

/// What a stream must have beyond its own speed, so that no picture is late while others seek.
pub(super) const HEADROOM: f64 = 1.25;

/// A format.
#[derive(Debug, Clone, Copy)]
pub(super) struct VideoFormat {
    pub(super) name: &'static str,
    /// Bytes per second.
    pub(super) speed: f64,
}

const fn megabits(name: &'static str, megabits: f64) -> VideoFormat {
    VideoFormat { name, speed: megabits * 125_000.0 }
}

const fn pictures(name: &'static str, bytes: f64, per_second: f64) -> VideoFormat {
    VideoFormat { name, speed: bytes * per_second }
}

/// From the least to the most. ProRes: Apple's white paper of 2022, target rates at 25 pictures per second. Uncompressed:
/// width × height × bytes of a pixel; 10 bits of 4:2:2 (v210) are 16 bytes for 6 pixels, DPX has 4 bytes for one.
pub(super) const FORMATS: [VideoFormat; 8] = [
    megabits("DV (SD)", 28.8),
    megabits("XDCAM HD422", 50.0),
    megabits("ProRes 422 HQ, 1920×1080", 184.0),
    pictures("SD uncompressed (720×576, 8 bits RGB)", 720.0 * 576.0 * 3.0, 25.0),
    megabits("ProRes 422 HQ, 3840×2160", 737.0),
    pictures("HD uncompressed (1920×1080, 10 bits 4:2:2)", 1920.0 * 1080.0 * 16.0 / 6.0, 25.0),
    pictures("2K DPX (2048×1080, 24 pictures)", 2048.0 * 1080.0 * 4.0, 24.0),
    pictures("4K uncompressed (3840×2160, 10 bits 4:2:2)", 3840.0 * 2160.0 * 16.0 / 6.0, 25.0),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_in_order_and_sd_needs_what_the_reference_says() {
        assert!(FORMATS.is_sorted_by(|a, b| a.speed < b.speed));
        let sd = FORMATS.iter().find(|format| format.name.starts_with("SD")).unwrap();
        assert!((sd.speed / 1e6 - 31.1).abs() < 0.1, "30 MB/s, rounded, of the ZFS and iSCSI report of 2007");
    }
}
