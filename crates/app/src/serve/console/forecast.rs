//! When the disks will be full: a line through what was used in the last month.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use lock::Mutex;
use serde::{Deserialize, Serialize};
use web::manage::SpaceStatus;

use crate::ranks;

/// Seconds between two samples.
pub(super) const EVERY: u64 = 3600;
/// Samples that are kept: a month.
const MOST_SAMPLES: usize = 30 * 24;
/// Shares of which samples are kept.
const MOST_SHARES: usize = 256;
/// The time in seconds that samples must cover for a forecast.
const LEAST_SPAN: u64 = 24 * 3600;
/// A disk that is full later than this is not said to be full: ten years.
const LATEST: f64 = 10.0 * 365.0 * 86_400.0;
/// The longest file that is read, in bytes.
const LONGEST: u64 = 32 << 20;
/// Its name in the state folder.
const FILE: &str = "space.json";

/// What was used of each share's space, by its name.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Samples(BTreeMap<String, Vec<SpaceSample>>);

/// Seconds since 1970, and bytes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct SpaceSample(u64, u64);

/// The samples of a server.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    samples: Mutex<Samples, ranks::SpaceSamples>,
}

impl Forecast {
    /// With the samples of the last run. A file that cannot be read costs the forecast only.
    pub(super) fn of(state: &Path) -> Self {
        let path = state.join(FILE);
        let is_short = path.metadata().is_ok_and(|found| found.len() <= LONGEST);
        let text = if is_short { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
        Self { samples: Mutex::new(serde_json::from_slice(&text).unwrap_or_default()) }
    }

    /// Takes a sample, unless the last one is young.
    pub(super) fn sample(&self, spaces: &[SpaceStatus], state: &Path) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let text = {
            let mut samples = self.samples.lock();
            samples.add(spaces, now);
            serde_json::to_vec(&*samples).unwrap_or_default()
        };
        // A file that is lost costs the forecast only: it need not survive a loss of power.
        let new = state.join("space.json.new");
        let done = written(&new, &text).and_then(|()| std::fs::rename(&new, state.join(FILE)));
        if let Err(error) = done {
            tracing::debug!(%error, "the samples of space are not kept");
        }
    }

    /// Adds to each share how fast it grows, and when it is full.
    pub(super) fn judge(&self, spaces: &mut [SpaceStatus]) {
        let samples = self.samples.lock();
        for space in spaces {
            let Some((growth, available)) =
                samples.0.get(&space.share).and_then(|of| growth(of)).zip(space.available)
            else {
                continue;
            };
            space.growth_per_day = Some((growth * 86_400.0) as i64);
            let seconds = available as f64 / growth;
            space.full_in_s = (growth > 0.0 && seconds < LATEST).then_some(seconds as u64);
        }
    }
}

impl Samples {
    fn add(&mut self, spaces: &[SpaceStatus], now: u64) {
        self.0.retain(|share, _| spaces.iter().any(|space| space.share == *share));
        for space in spaces.iter().take(MOST_SHARES) {
            let (Some(size), Some(available)) = (space.size, space.available) else { continue };
            let size = space.quota.map_or(size, |quota| quota.min(size));
            let of = self.0.entry(space.share.clone()).or_default();
            of.retain(|sample| sample.0 <= now); // the clock may have gone back
            if of.last().is_some_and(|last| now - last.0 < EVERY / 2) {
                continue;
            }
            if of.len() >= MOST_SAMPLES {
                of.remove(0);
            }
            of.push(SpaceSample(now, size.saturating_sub(available)));
        }
    }
}

/// Writes a file that only the server reads.
fn written(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text)
}

/// Bytes for each second by the method of least squares. `None`: the samples cover too little.
fn growth(samples: &[SpaceSample]) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    if last.0.saturating_sub(first.0) < LEAST_SPAN {
        return None;
    }
    let count = samples.len() as f64;
    let at = |sample: &SpaceSample| (sample.0 - first.0) as f64;
    let used = |sample: &SpaceSample| sample.1 as f64 - first.1 as f64;
    let middle = samples.iter().map(at).sum::<f64>() / count;
    let level = samples.iter().map(used).sum::<f64>() / count;
    let product: f64 = samples.iter().map(|one| (at(one) - middle) * (used(one) - level)).sum();
    let square: f64 = samples.iter().map(|one| (at(one) - middle).powi(2)).sum();
    (square > 0.0).then(|| product / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(available: u64) -> SpaceStatus {
        SpaceStatus {
            share: "studio".into(),
            size: Some(1_000_000),
            available: Some(available),
            ..SpaceStatus::default()
        }
    }

    #[test]
    fn a_share_that_grows_evenly_is_full_when_the_line_says() {
        let (forecast, hour) = (Forecast::default(), EVERY);
        for step in 0..25 {
            let mut now = [space(900_000 - 100 * step)];
            forecast.judge(&mut now);
            assert_eq!(now[0].full_in_s, None, "{step}: the samples cover too little");
            forecast.samples.lock().add(&now, 1_000_000 + step * hour);
        }
        let mut now = [space(897_600)];
        forecast.judge(&mut now);
        assert_eq!(now[0].growth_per_day, Some(2400));
        assert_eq!(now[0].full_in_s, Some(8976 * hour));
    }

    #[test]
    fn a_share_that_shrinks_is_never_full_and_samples_are_limited() {
        let forecast = Forecast::default();
        for step in 0..MOST_SAMPLES as u64 + 50 {
            forecast.samples.lock().add(&[space(100_000 + step)], 1_000_000 + step * EVERY);
            forecast.samples.lock().add(&[space(0)], 1_000_001 + step * EVERY);
        }
        assert_eq!(forecast.samples.lock().0["studio"].len(), MOST_SAMPLES);
        let mut now = [space(200_000)];
        forecast.judge(&mut now);
        assert_eq!((now[0].growth_per_day, now[0].full_in_s), (Some(-24), None));
        forecast.samples.lock().add(&[], 9_000_000);
        assert!(forecast.samples.lock().0.is_empty(), "a share that is gone");
    }

    #[test]
    fn samples_survive_a_restart() {
        let state = tempfile::tempdir().unwrap();
        Forecast::of(state.path()).sample(&[space(5)], state.path());
        let again = Forecast::of(state.path());
        assert_eq!(again.samples.lock().0["studio"][0].1, 999_995);
        std::fs::write(state.path().join(FILE), "no JSON").unwrap();
        assert!(Forecast::of(state.path()).samples.lock().0.is_empty());
    }
}
