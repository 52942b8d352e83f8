//! Dates in our own language: days of the calendar, and times before now.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span as CalendarSpan, Timestamp, ToSpan};

/// What days and hours mean to the asker.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub now: i64,
    /// Where a day begins.
    pub zone: TimeZone,
}

/// A stretch of time, in seconds since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Its first second.
    pub(super) from: i64,
    /// The first second after it. `None`: it lasts until now.
    pub(super) to: Option<i64>,
}

/// The years that can be asked for.
const YEARS: std::ops::RangeInclusive<i16> = 1..=9998;
/// The most units before now.
const MOST_BEFORE: i64 = 100_000;

/// What a text such as `2024-05`, `yesterday` or `7d` means.
pub(super) fn span(text: &str, clock: &Clock) -> Option<Span> {
    by_word(text, clock).or_else(|| before_now(text, clock)).or_else(|| by_calendar(text, clock))
}

fn by_word(text: &str, clock: &Clock) -> Option<Span> {
    let now = Timestamp::from_second(clock.now).ok()?.to_zoned(clock.zone.clone());
    let today = now.date();
    let week = || today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok();
    let (month, year) = (today.first_of_month(), today.first_of_year());
    let (first, length): (Date, CalendarSpan) = match text.to_ascii_lowercase().as_str() {
        "today" => (today, 1.day()),
        "yesterday" => (today.yesterday().ok()?, 1.day()),
        "this-week" => (week()?, 7.days()),
        "last-week" => (week()?.checked_sub(7.days()).ok()?, 7.days()),
        "this-month" => (month, 1.month()),
        "last-month" => (month.checked_sub(1.month()).ok()?, 1.month()),
        "this-year" => (year, 1.year()),
        "last-year" => (year.checked_sub(1.year()).ok()?, 1.year()),
        _ => return None,
    };
    days(first, first.checked_add(length).ok()?, clock)
}

/// `7d`: the last seven days, to the second.
fn before_now(text: &str, clock: &Clock) -> Option<Span> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let count: i64 = text[..end].parse().ok().filter(|count| (1..=MOST_BEFORE).contains(count))?;
    let seconds = match &text[end..] {
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "mo" => 30 * 86_400,
        "y" => 365 * 86_400,
        _ => return None,
    };
    Some(Span { from: clock.now.saturating_sub(count * seconds), to: None })
}

/// `2024`, `2024-05` or `2024-05-31`.
fn by_calendar(text: &str, clock: &Clock) -> Option<Span> {
    let mut parts = text.split('-');
    let year: i16 = number(parts.next()?, 4)?;
    let month: Option<i8> = parts.next().map(|month| number(month, 2).ok_or(())).transpose().ok()?;
    let day: Option<i8> = parts.next().map(|day| number(day, 2).ok_or(())).transpose().ok()?;
    if parts.next().is_some() || !YEARS.contains(&year) {
        return None;
    }
    let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    let length = match (month, day) {
        (None, _) => 1.year(),
        (_, None) => 1.month(),
        _ => 1.day(),
    };
    days(first, first.checked_add(length).ok()?, clock)
}

fn number<T: std::str::FromStr>(digits: &str, length: usize) -> Option<T> {
    let is_number = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn days(first: Date, after: Date, clock: &Clock) -> Option<Span> {
    let begin = |day: Date| Some(day.to_zoned(clock.zone.clone()).ok()?.timestamp().as_second());
    Some(Span { from: begin(first)?, to: Some(begin(after)?) })
}
