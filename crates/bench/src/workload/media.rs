//! Images and video.

use std::time::{Duration, Instant};

use super::Worker;
use crate::Result;
use crate::meter::Meter;
use client::OpenIntent;

/// Preview's test: 155 files, 415 MB.
const IMAGES: usize = 155;
/// What a browser of images reads first: the header with the preview.
const HEADER: u64 = 64 << 10;

fn image(number: usize) -> String {
    format!("images/IMG_{number:04}.JPG")
}

/// The lengths of the images: fewer at a small scale. Those of real images, or all the same.
fn images(worker: &Worker<'_>) -> Vec<u64> {
    let count = worker.count(IMAGES).min(IMAGES);
    let same = [(worker.bytes / count as u64).max(2 * HEADER)];
    let lengths = if worker.images.is_empty() { &same } else { worker.images };
    lengths.iter().copied().cycle().take(count).collect()
}

pub(super) fn prepare_images(worker: &mut Worker<'_>) -> Result<()> {
    worker.make_folder("images")?;
    let mut lengths = images(worker).into_iter().enumerate();
    lengths.try_for_each(|(number, length)| worker.write_file(&image(number), length))
}

/// The listing, the attributes and the beginning of each, then each as a whole: the window of a browser of images is there after the
/// first, and its thumbnails after the second. The lag is the longest time for one image.
pub(super) fn open_images(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    let lengths = images(worker);
    let block = worker.session.largest().min(1 << 20) as u64;
    let begun = Instant::now();
    let folder = worker.path("images");
    worker.session.list(&folder)?;
    meter.done(begun, 0);
    meter.mark("window");
    let mut longest = Duration::ZERO;
    for (most, done) in [(HEADER, "thumbnails"), (u64::MAX, "all images")] {
        for (number, length) in lengths.iter().enumerate() {
            if !meter.goes_on() {
                return Ok(());
            }
            let begun = Instant::now();
            let path = worker.path(&image(number));
            worker.session.stat(&path)?;
            let file = worker.open(&image(number), OpenIntent::Read)?;
            worker.stream(meter, file, (0, most.min(*length)), block, false)?;
            worker.session.close(file)?;
            longest = longest.max(begun.elapsed());
        }
        meter.mark(done);
    }
    meter.note("longest lag", longest.as_secs_f64());
    Ok(())
}

/// Pictures per second of PAL.
const PICTURES: u32 = 25;
/// Bytes of an uncompressed picture: PAL (720 x 576, 3 bytes a pixel) at 30 MB/s, HD (1920 x 1080) at 104 MB/s and
/// 4K (3840 x 2160) at 415 MB/s, with 2 bytes a pixel.
const PAL: u64 = 1_244_160;
const HD: u64 = 4_147_200;
const UHD: u64 = 16_588_800;
/// Pictures that the player has read ahead when it starts.
const AHEAD: u32 = 5;

pub(super) fn video(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    play(worker, meter, PAL)
}

pub(super) fn video_hd(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    play(worker, meter, HD)
}

pub(super) fn video_4k(worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
    play(worker, meter, UHD)
}

/// A picture is dropped if it is not there when it is due.
fn play(worker: &mut Worker<'_>, meter: &mut Meter<'_>, picture: u64) -> Result<()> {
    let (length, block) = (worker.length(), worker.session.largest().min(1 << 20) as u64);
    let picture = picture.next_multiple_of(512).min(length);
    let count = (length / picture).max(1) as u32;
    let file = worker.open("large", OpenIntent::Read)?;
    let due_after = Duration::from_secs(1) / PICTURES;
    let begun = Instant::now();
    for number in 0..count {
        if !meter.goes_on() {
            break;
        }
        let due = due_after * (number + 1);
        let at = u64::from(number) * picture;
        worker.stream(meter, file, (at, at + picture), block, false)?;
        let late = begun.elapsed() > due + due_after * AHEAD;
        meter.picture(late);
        // The player has room for the pictures that it reads ahead.
        let room_at = due.saturating_sub(due_after * AHEAD);
        if let Some(wait) = room_at.checked_sub(begun.elapsed()) {
            std::thread::sleep(wait);
        }
    }
    worker.session.close(file)
}
