//! Limits of speed by the time of the day, and the bucket that keeps to them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lock::Mutex;

use crate::ranks;

/// Minutes of a day.
const DAY: u16 = 24 * 60;
/// The longest sleep at a time, so that the end of a limit and a stop are noticed.
const NAP: Duration = Duration::from_millis(100);

/// Bytes per second in a part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The first minute of the day.
    pub from: u16,
    /// The minute behind the last; before `from` if midnight lies between.
    pub to: u16,
    /// Bytes per second; 0 stops copying.
    pub rate: u64,
}

impl Limit {
    /// Reads `RATE` or `HH:MM-HH:MM=RATE`; a rate is a number of bytes with K, M or G behind it.
    ///
    /// # Errors
    /// What is wrong, and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text}: write a rate such as 50M, or hours and a rate such as 08:00-18:00=20M");
        let Some((hours, speed)) = text.split_once('=') else {
            let rate = rate(text).ok_or_else(wrong)?;
            return Ok(Self { from: 0, to: DAY, rate });
        };
        let (from, to) = hours.split_once('-').ok_or_else(wrong)?;
        let (from, to) = minute(from).zip(minute(to)).ok_or_else(wrong)?;
        let rate = rate(speed).ok_or_else(wrong)?;
        if from == to { Err(wrong()) } else { Ok(Self { from, to, rate }) }
    }

    fn holds(&self, minute: u16) -> bool {
        match self.from < self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    (minute < 60 && hour * 60 + minute <= DAY).then_some(hour * 60 + minute)
}

fn rate(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The smallest rate of the limits that hold at a minute of the day. `None`: no limit.
fn rate_at(limits: &[Limit], minute: u16) -> Option<u64> {
    limits.iter().filter(|limit| limit.holds(minute)).map(|limit| limit.rate).min()
}

/// What all workers take their bytes from.
#[derive(Debug)]
pub(crate) struct ByteBucket {
    limits: Vec<Limit>,
    /// When the bytes that were taken so far are paid for.
    paid: Mutex<Instant, ranks::Migration>,
}

impl ByteBucket {
    pub(crate) fn new(limits: &[Limit]) -> Self {
        Self { limits: limits.to_vec(), paid: Mutex::new(Instant::now()) }
    }

    /// Waits until so many bytes may be moved, or until `stop` is set.
    pub(crate) fn take(&self, bytes: u64, stop: &AtomicBool) {
        if self.limits.is_empty() {
            return;
        }
        while !stop.load(Ordering::Relaxed) {
            let now = jiff::Zoned::now();
            let minute = now.hour() as u16 * 60 + now.minute() as u16;
            match rate_at(&self.limits, minute) {
                None => return,
                Some(0) => std::thread::sleep(NAP),
                Some(rate) => match self.reserve(bytes, rate) {
                    None => return,
                    Some(wait) => std::thread::sleep(wait.min(NAP)),
                },
            }
        }
    }

    /// Takes the bytes if those before are paid for; else says how long that lasts.
    fn reserve(&self, bytes: u64, rate: u64) -> Option<Duration> {
        let mut paid = self.paid.lock();
        let now = Instant::now();
        if *paid > now {
            return Some(*paid - now);
        }
        *paid = now + Duration::from_secs_f64(bytes as f64 / rate as f64);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_hours_are_read_and_others_refused() {
        assert_eq!(Limit::parse("50M"), Ok(Limit { from: 0, to: 1440, rate: 50 << 20 }));
        assert_eq!(Limit::parse("08:00-18:30=20k"), Ok(Limit { from: 480, to: 1110, rate: 20 << 10 }));
        for text in ["", "M", "50X", "8-18=1M", "25:00-26:00=1M", "08:00-08:00=1M", "08:61-09:00=1M"] {
            assert!(Limit::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_smallest_limit_of_the_hour_holds_also_over_midnight() {
        let limits = ["100M", "08:00-18:00=10M", "22:00-06:00=50M"].map(|text| Limit::parse(text).unwrap());
        let at = |minute| rate_at(&limits, minute).unwrap() >> 20;
        assert_eq!((at(7 * 60), at(8 * 60), at(18 * 60 - 1), at(18 * 60)), (100, 10, 10, 100));
        assert_eq!((at(23 * 60), at(0), at(6 * 60)), (50, 50, 100));
        assert_eq!(rate_at(&limits[1..2], 0), None);
    }

    #[test]
    fn a_bucket_lets_no_more_through_than_its_rate() {
        let bucket = ByteBucket::new(&[Limit { from: 0, to: DAY, rate: 1 << 20 }]);
        let (begun, stop) = (Instant::now(), AtomicBool::new(false));
        for _ in 0..4 {
            bucket.take(64 << 10, &stop);
        }
        // The fourth waits for the three before it: 3/16 s.
        assert!(begun.elapsed() >= Duration::from_millis(180), "{:?}", begun.elapsed());
    }

    #[test]
    fn hours_are_those_of_the_hosts_time_zone() {
        const ZONE: &str = "TST-14"; // POSIX: 14 hours east of Greenwich
        if std::env::var("TZ").is_ok_and(|zone| zone == ZONE) {
            assert_eq!(jiff::Zoned::now().offset().seconds(), 14 * 3600);
            return;
        }
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let again =
            again.args(["--exact", "limit::tests::hours_are_those_of_the_hosts_time_zone"]).env("TZ", ZONE);
        assert!(again.output().unwrap().status.success());
    }
}
