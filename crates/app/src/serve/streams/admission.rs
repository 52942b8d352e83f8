//! Whether streams can be reserved beside those that are: by the speeds of the disk and of the link.

use std::net::IpAddr;
use std::path::Path;

use admin::control::speed_words;
use admin::video::video_formats;
use anyhow::bail;
use vfs::reserved::HEADROOM;

use super::kept::Capacity;

/// The part of the disk and of the link that stays for others.
const FOR_OTHERS: f64 = 0.1;
/// What of the rate of a link TCP carries with packets of 1,500 bytes.
const CONTENT: f64 = 0.94;
const INTERFACES: &str = "/sys/class/net";

/// What the decision follows from.
pub(super) struct Admission<'a> {
    pub(super) disk: &'a Capacity,
    /// The fastest link, and its bytes per second.
    pub(super) link: Option<&'a (String, u64)>,
    /// Bytes per second that are reserved on the disk, and on all disks together.
    pub(super) on_disk: u64,
    pub(super) on_link: u64,
}

/// The streams that are to be reserved.
pub(super) struct Asked<'a> {
    pub(super) speed: u64,
    pub(super) streams: u32,
    pub(super) format: Option<&'a str>,
}

impl Admission<'_> {
    /// Admits the streams.
    ///
    /// # Errors
    /// They are too much. The error says what is missing, and what would be admitted.
    pub(super) fn admit(&self, asked: &Asked<'_>) -> anyhow::Result<()> {
        let each = asked.speed as f64 * HEADROOM;
        let needed = each * f64::from(asked.streams);
        let (place, speed, how, reserved) = self.tightest();
        let left = may_be_reserved(speed) - reserved as f64;
        if needed <= left {
            return Ok(());
        }
        let words = |bytes: f64| speed_words(bytes.max(0.0));
        let fit = (left.max(0.0) / each) as u64;
        let lighter = lighter(asked, left);
        bail!(
            "{} {} of {} cannot be kept: {place} carries {} ({how}), of which a tenth stays for others; {} are reserved, so {} are \
             left. With a quarter more than it plays, each stream needs {}, all together {}: {} are missing. {}{lighter}Release \
             other streams, or use a faster {}",
            asked.streams,
            if asked.streams == 1 { "stream" } else { "streams" },
            asked.format.map_or_else(|| speed_words(asked.speed as f64), str::to_owned),
            words(speed as f64),
            words(reserved as f64),
            words(left),
            words(each),
            words(needed),
            words(needed - left.max(0.0)),
            match fit {
                0 => String::new(),
                fit => format!("{fit} of them would be admitted. "),
            },
            if place.starts_with("the link") { "link" } else { "disk" },
        )
    }

    /// Bytes per second that can still be reserved.
    pub(super) fn left(&self) -> u64 {
        let (_, speed, _, reserved) = self.tightest();
        (may_be_reserved(speed) - reserved as f64).max(0.0) as u64
    }

    /// The place with the least room: its name, its bytes per second, how they are known, and what of them is reserved.
    fn tightest(&self) -> (String, u64, String, u64) {
        let disk = (
            format!("the disk of {}", self.disk.folder.display()),
            self.disk.speed,
            self.disk.source.clone(),
            self.on_disk,
        );
        let Some((name, speed)) = self.link else { return disk };
        let link = (format!("the link {name}"), *speed, "its rate".to_owned(), self.on_link);
        let room = |place: &(String, u64, String, u64)| may_be_reserved(place.1) - place.3 as f64;
        if room(&link) < room(&disk) { link } else { disk }
    }
}

/// What of a speed may be reserved.
fn may_be_reserved(speed: u64) -> f64 {
    speed as f64 * (1.0 - FOR_OTHERS)
}

/// The best format that as many streams could have.
fn lighter(asked: &Asked<'_>, left: f64) -> String {
    let Some(kind) =
        asked.format.and_then(|id| id.split_once('-')).map(|(_, frame)| frame.to_ascii_lowercase())
    else {
        return String::new();
    };
    let fits = |speed: f64| speed * HEADROOM * f64::from(asked.streams) <= left;
    let formats = video_formats();
    let mut same = formats.iter().filter(|one| one.id.ends_with(&format!("-{kind}")) && fits(one.speed));
    match same.next_back() {
        Some(format) => format!("{} needs {}, and would be admitted. ", format.id, speed_words(format.speed)),
        None => String::new(),
    }
}

/// The fastest link of this machine that says how fast it is, unless the client is on this machine.
pub(super) fn link(client: Option<IpAddr>) -> Option<(String, u64)> {
    if client.is_some_and(|client| client.to_canonical().is_loopback()) {
        return None;
    }
    fastest(Path::new(INTERFACES))
}

fn fastest(interfaces: &Path) -> Option<(String, u64)> {
    let speed = |entry: std::fs::DirEntry| {
        let text = |what: &str| std::fs::read_to_string(entry.path().join(what)).ok();
        let is_up = text("operstate")?.trim() == "up";
        let megabits = text("speed")?.trim().parse::<u64>().ok().filter(|speed| *speed > 0 && is_up)?;
        Some((
            entry.file_name().to_string_lossy().into_owned(),
            (megabits as f64 * 125_000.0 * CONTENT) as u64,
        ))
    };
    let links = std::fs::read_dir(interfaces).ok()?.flatten().filter_map(speed);
    links.max_by_key(|(_, speed)| *speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(speed: u64) -> Capacity {
        Capacity {
            device: 1,
            speed,
            source: "measured with 4 readers".into(),
            at: 0,
            folder: "/srv/video".into(),
        }
    }

    fn asked(streams: u32) -> Asked<'static> {
        Asked { speed: 92_125_000, streams, format: Some("prores422hq-2160p25") }
    }

    #[test]
    fn a_fifth_stream_is_refused_with_what_is_missing() {
        // 4 × 92.1 MB/s × 1.25 = 460.6 MB/s are 90 % of 511.8 MB/s; a fifth one needs 115.2 MB/s more.
        let disk = disk(520_000_000);
        let empty = Admission { disk: &disk, link: None, on_disk: 0, on_link: 0 };
        empty.admit(&asked(4)).unwrap();
        let full = Admission { on_disk: 460_625_000, on_link: 460_625_000, ..empty };
        let why = full.admit(&asked(1)).unwrap_err().to_string();
        assert!(why.contains("the disk of /srv/video carries 520.0 MB/s (measured with 4 readers)"), "{why}");
        assert!(why.contains("460.6 MB/s are reserved, so 7.4 MB/s are left"), "{why}");
        assert!(
            why.contains("each stream needs 115.2 MB/s") && why.contains("107.8 MB/s are missing"),
            "{why}"
        );
        assert_eq!(full.left(), 7_375_000);
    }

    #[test]
    fn what_would_be_admitted_is_named() {
        let disk = disk(300_000_000);
        let admission = Admission { disk: &disk, link: None, on_disk: 0, on_link: 0 };
        let why = admission.admit(&asked(4)).unwrap_err().to_string();
        assert!(why.contains("2 of them would be admitted"), "270 / 115.2: {why}");
        assert!(why.contains("prores lt".replace(' ', "").as_str()), "270 / 4 / 1.25 = 54 MB/s: {why}");
    }

    #[test]
    fn the_link_limits_where_it_is_slower_than_the_disk() {
        let disk = disk(2_000_000_000);
        let link = ("eno1".to_owned(), 117_500_000);
        let admission = Admission { disk: &disk, link: Some(&link), on_disk: 0, on_link: 0 };
        let why = admission.admit(&asked(1)).unwrap_err().to_string();
        assert!(why.contains("the link eno1 carries 117.5 MB/s (its rate)"), "{why}");
        assert!(why.ends_with("use a faster link"), "{why}");
    }

    #[test]
    fn the_fastest_link_that_is_up_counts() {
        let folder = tempfile::tempdir().unwrap();
        for (name, speed, state) in [("eno1", "1000", "up"), ("eno2", "10000", "down"), ("wlan0", "-1", "up")]
        {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("speed"), speed).unwrap();
            std::fs::write(path.join("operstate"), state).unwrap();
        }
        assert_eq!(fastest(folder.path()), Some(("eno1".into(), 117_500_000)));
        assert_eq!(link(Some("127.0.0.1".parse().unwrap())), None);
    }
}
