//! The check of a bundle: its lists parse and agree, and each band is what it was when it was closed last. It only reads.
//!
//! ```text
//! lists: Info.plist, Info.bckup, token, MachineID, SnapshotHistory ─► problems
//! bands, by their numbers: length, place, BLAKE3 beside the known one ─┬─► the same: whole
//!                                                                      ├─► another time of change: learned
//!                                                                      └─► the same time, other bytes: rotten
//! ```
//!
//! All of this blocks. It goes on from any band, so it can be ended at any time and continued later.

use super::image::{BackupImage, Band};
use super::problem::ImageProblem;
use super::sums::{BandSum, BandSums};
use crate::backend::{Found, Wait};
use crate::caller::server;
use crate::mac::sparse_bundle::{BANDS, BundleInfo, INFO, INFO_COPY, TOKEN, is_binary, is_whole};
use crate::mac::time_machine::{HISTORY, MACHINE, MacCheck, mac_check, mac_check_date};
use crate::{Access, Attributes, Error, Result, Time};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// What has changed within this time may change again with the same time of change.
const SETTLED_AFTER_SECS: i64 = 2;

/// Which bands are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BandWork {
    /// Those without a checksum. A Mac may have removed others.
    Learn,
    /// All. What is missing that was there is a problem.
    Verify,
    /// All of a snapshot, in which bands may be missing that came later.
    VerifyPoint,
}

/// A caller that is told what a check finds.
pub trait ImageObserver {
    /// Something is wrong.
    fn found(&mut self, problem: ImageProblem);
    /// So many bytes were read since the last call, of this band. The check ends after it if the answer is false.
    fn read(&mut self, band: u64, bytes: u64) -> bool;
}

/// What a check of bands has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BandsChecked {
    /// Bands that are what their checksums say.
    pub whole: u64,
    /// Bands that had no checksum, and have one now.
    pub learned: u64,
    /// Bands that changed while they were read, or just before: they have none.
    pub unsettled: u64,
    /// The first band that was not looked at; `None`: all were.
    pub next: Option<u64>,
}

impl BackupImage<'_> {
    /// What is wrong with the lists, and with whose they are.
    pub fn check_lists(&self) -> Vec<ImageProblem> {
        let mut problems = Vec::new();
        let info = self.readable(INFO, &mut problems);
        if info.is_some_and(|info| !is_binary(&info)) && self.info.is_none() {
            problems.push(ImageProblem::NoBandSize);
        }
        let copy = self.list(INFO_COPY).as_deref().and_then(BundleInfo::read);
        if let (Some(info), Some(copy)) = (self.info, copy)
            && info.band_size != copy.band_size
        {
            problems.push(ImageProblem::InfoDiffers { info: info.band_size, copy: copy.band_size });
        }
        if self.attributes(TOKEN).is_none() {
            problems.push(ImageProblem::ListMissing(text(TOKEN)));
        }
        // The Mac makes these with the first backup. One that is there must be whole.
        for name in [MACHINE, HISTORY] {
            if self.attributes(name).is_some() {
                self.readable(name, &mut problems);
            }
        }
        let machine = self.machine().unwrap_or_default();
        if mac_check(&machine) == Some(MacCheck::Damaged) {
            problems.push(ImageProblem::FoundByMac { at: mac_check_date(&machine) });
        }
        if self.bands.is_none() {
            problems.push(ImageProblem::NoBands);
        }
        let owner = self.folder.attributes.uid;
        // What a journal has belongs to the server.
        for name in [INFO, TOKEN, MACHINE, HISTORY, BANDS] {
            if self.point.is_none() && self.attributes(name).is_some_and(|file| file.uid != owner) {
                problems.push(ImageProblem::OtherOwner(text(name)));
            }
        }
        problems
    }

    /// A list that must be there and whole. Of a long one only the end is looked at.
    fn readable(&self, name: &[u8], problems: &mut Vec<ImageProblem>) -> Option<Vec<u8>> {
        let Some(list) = self.list(name) else {
            problems.push(ImageProblem::ListMissing(text(name)));
            return None;
        };
        let size = self.attributes(name).map_or(0, |file| file.size);
        let is_all = size <= list.len() as u64;
        if !(if is_all { is_whole(&list) } else { list.trim_ascii_end().ends_with(b"</plist>") }) {
            problems.push(ImageProblem::ListBroken(text(name)));
        }
        Some(list)
    }

    /// Checks the bands from this number on, and learns the checksums of those that have none.
    ///
    /// # Errors
    /// There is no folder of bands, or it cannot be listed.
    pub fn check_bands(
        &self,
        (work, from): (BandWork, u64),
        now: Time,
        sums: &mut BandSums,
        observer: &mut dyn ImageObserver,
    ) -> Result<BandsChecked> {
        let found = self.bands()?;
        let mut done = BandsChecked::default();
        if from == 0 {
            for name in &found.odd {
                observer.found(ImageProblem::NoBand(String::from_utf8_lossy(name).into_owned()));
            }
        }
        let is_there = |number: u64| found.bands.binary_search_by_key(&number, |band| band.number).is_ok();
        let missing: Vec<u64> = sums.there().filter(|number| *number >= from && !is_there(*number)).collect();
        for number in missing {
            match work {
                BandWork::Learn => sums.gone(number),
                BandWork::Verify => observer.found(ImageProblem::BandMissing { number }),
                BandWork::VerifyPoint => {}
            }
        }
        for band in found.bands.iter().filter(|band| band.number >= from) {
            let step = match self.check_band(band, work, now, (sums, &mut done), observer) {
                Ok(step) => step,
                Err(Error::NotFound) if self.point.is_some() => {
                    observer.found(ImageProblem::BandMissing { number: band.number });
                    Step::GoOn
                }
                Err(Error::NotFound | Error::Stale) => Step::GoOn, // a Mac has removed it meanwhile
                Err(error) => {
                    observer.found(ImageProblem::BandUnreadable { number: band.number, error });
                    Step::after(observer.read(band.number, 0))
                }
            };
            let last = found.bands.last().map_or(0, |last| last.number);
            match step {
                Step::GoOn => {}
                Step::EndAfter if band.number < last => done.next = Some(band.number + 1),
                Step::EndAfter => {}
                Step::EndBefore => done.next = Some(band.number),
            }
            if done.next.is_some() {
                break;
            }
        }
        Ok(done)
    }

    fn check_band(
        &self,
        band: &Band,
        work: BandWork,
        now: Time,
        (sums, done): (&mut BandSums, &mut BandsChecked),
        observer: &mut dyn ImageObserver,
    ) -> Result<Step> {
        let number = band.number;
        let found = self.band(&band.name)?;
        let Attributes { size, modified, .. } = found.attributes;
        if self.point.as_ref().is_some_and(|point| point.is_other(number, (size, modified))) {
            observer.found(ImageProblem::BandChanged { number });
            return Ok(Step::GoOn);
        }
        if let Some(info) = self.info {
            if size > info.band_size {
                observer.found(ImageProblem::BandTooLong { number, size, most: info.band_size });
            }
            if info.most_bands().is_some_and(|most| number >= most) {
                observer.found(ImageProblem::BandBeyond { number });
            }
        }
        let known = sums.of(number, size, modified).copied();
        if known.is_some() && work == BandWork::Learn {
            return Ok(Step::GoOn);
        }
        let (Some(sum), step) = sum_of(&found, number, observer)? else { return Ok(Step::EndBefore) };
        let after = found.object.attributes()?;
        let is_settled = modified.secs.saturating_add(SETTLED_AFTER_SECS) <= now.secs;
        if (after.size, after.modified) != (size, modified) || !is_settled {
            done.unsettled += 1;
            return Ok(step);
        }
        match known {
            Some(known) if known == sum => done.whole += 1,
            Some(_) => observer.found(ImageProblem::BandRotten { number, modified }),
            None => {
                sums.learn(number, BandSum { size, modified, sum });
                done.learned += 1;
            }
        }
        Ok(step)
    }
}

/// How a check goes on with the bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    GoOn,
    /// It ends after this band,
    EndAfter,
    /// or has ended before the band was whole.
    EndBefore,
}

impl Step {
    fn after(goes_on: bool) -> Self {
        if goes_on { Self::GoOn } else { Self::EndAfter }
    }
}

/// The checksum of a file; `None`: the check was ended before its end.
fn sum_of(found: &Found, number: u64, observer: &mut dyn ImageObserver) -> Result<(Option<[u8; 32]>, Step)> {
    found.object.prepare(server(), &found.attributes, Access::READ, true)?;
    let (mut hasher, mut at, mut piece) = (blake3::Hasher::new(), 0, Vec::with_capacity(PIECE));
    loop {
        piece.clear();
        let count = found.object.read_at(at, PIECE, &mut piece, Wait::Allowed)?;
        hasher.update(&piece);
        at += count as u64;
        let goes_on = observer.read(number, count as u64);
        if count < PIECE {
            return Ok((Some(*hasher.finalize().as_bytes()), Step::after(goes_on)));
        }
        if !goes_on {
            return Ok((None, Step::EndBefore));
        }
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests;
