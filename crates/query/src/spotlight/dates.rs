//! Dates in Spotlight's language.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::SpotlightError;
use crate::language::Clock;

/// Seconds between 1970 and 2001, at which Spotlight's clock begins.
const Y2001: i64 = 978_307_200;
/// The most units before or after now.
const MOST: i64 = 1_000_000;

/// A number of seconds since 2001-01-01 00:00 UTC, as seconds since 1970.
pub(super) fn since_2001(text: &str) -> Option<i64> {
    let seconds: f64 = text.trim().parse().ok()?;
    let is_time = seconds.is_finite() && seconds.abs() < 1e12;
    is_time.then_some(seconds.floor() as i64 + Y2001)
}

/// A date after `$time.`: `now(-3600)`, `today`, `today(-7)`, `this_month(-1)`, `iso(2024-05-31T12:00:00Z)`.
pub(super) fn named(name: &str, argument: &str, clock: &Clock) -> Result<i64, SpotlightError> {
    if name == "iso" {
        return iso(argument.trim(), clock).ok_or(SpotlightError::Date);
    }
    let count = if argument.trim().is_empty() { Ok(0.0) } else { argument.trim().parse::<f64>() };
    let count = count.ok().filter(|count| count.is_finite()).ok_or(SpotlightError::Date)?;
    if name == "now" {
        return Ok(clock.now.saturating_add(count.clamp(-1e12, 1e12) as i64));
    }
    let count = count as i64;
    if count.abs() > MOST {
        return Err(SpotlightError::Date);
    }
    day(name, count, clock).ok_or(SpotlightError::Date)
}

/// The beginning of a day, a week, a month or a year, some of them before or after this one.
fn day(name: &str, count: i64, clock: &Clock) -> Option<i64> {
    let today = Timestamp::from_second(clock.now).ok()?.to_zoned(clock.zone.clone()).date();
    let date = match name {
        "today" => today.checked_add(count.days()),
        "yesterday" => today.checked_add((count - 1).days()),
        "tomorrow" => today.checked_add((count + 1).days()),
        "this_week" => {
            let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
            monday.checked_add((count * 7).days())
        }
        "this_month" => today.first_of_month().checked_add(i32::try_from(count).ok()?.months()),
        "this_year" => {
            today.first_of_year().checked_add(i32::try_from(count.clamp(-20_000, 20_000)).ok()?.years())
        }
        _ => return None,
    };
    Some(date.ok()?.to_zoned(clock.zone.clone()).ok()?.timestamp().as_second())
}

/// A date of ISO 8601. Without a zone it is in that of the asker.
fn iso(text: &str, clock: &Clock) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_second());
    }
    let (text, zone) = match text.strip_suffix('Z') {
        Some(text) => (text, TimeZone::UTC),
        None => (text, clock.zone.clone()),
    };
    let at: DateTime = text.parse().ok()?;
    Some(at.to_zoned(zone).ok()?.timestamp().as_second())
}
