//! Dates in the forms of formats, as seconds since 1970-01-01 00:00 UTC. A date without a time zone is taken as UTC.

/// A date of ISO 8601 in its usual form, `2024-02-29T12:00:00+01:00`, cut at any place after the year. The marks may be others, as
/// in EXIF (`2024:02:29 12:00:00`) and PDF (`D:20240229120000+01'00'`).
pub(super) fn iso(text: &str) -> Option<i64> {
    let mut rest = text.trim().trim_start_matches("D:");
    let year = number(&mut rest, 4)?;
    let mut next = |least: i64, marks: &[char]| {
        let after = rest.trim_start_matches(marks);
        let mut after_number = after;
        match number(&mut after_number, 2) {
            Some(found) => {
                rest = after_number;
                found
            }
            None => least,
        }
    };
    let (month, day) = (next(1, &['-', ':', '/']), next(1, &['-', ':', '/']));
    let (hour, minute, second) = (next(0, &['T', ' ']), next(0, &[':']), next(0, &[':']));
    let rest =
        rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    seconds((year, month, day), (hour, minute, second)).map(|at| at - zone(rest))
}

/// A date of mail, RFC 5322 3.3: `Thu, 29 Feb 2024 12:00:00 +0100`.
pub(super) fn mail(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split_whitespace();
    let day = words.next()?.parse().ok()?;
    let month = words.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let year = if year < 50 {
        year + 2000
    } else if year < 1000 {
        year + 1900
    } else {
        year
    };
    let mut time = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute) = (time.next()??, time.next()??);
    let second = time.next().flatten().unwrap_or(0);
    Some(seconds((year, month, day), (hour, minute, second))? - words.next().map_or(0, zone))
}

/// Seconds that a zone is east of UTC: `Z`, `+01:00`, `+0100`, `+01'00'`.
fn zone(text: &str) -> i64 {
    let text = text.trim();
    let (sign, digits) = match text.as_bytes() {
        [b'+', ..] => (1, &text[1..]),
        [b'-', ..] => (-1, &text[1..]),
        _ => return 0,
    };
    let digits: Vec<i64> = digits.chars().filter_map(|c| c.to_digit(10)).map(i64::from).take(4).collect();
    match digits[..] {
        [a, b] => sign * (a * 10 + b) * 3600,
        [a, b, c, d] => sign * ((a * 10 + b) * 3600 + (c * 10 + d) * 60),
        _ => 0,
    }
}

/// Cuts a number of exactly this many digits off.
fn number(text: &mut &str, digits: usize) -> Option<i64> {
    let found = text.get(..digits).filter(|found| found.bytes().all(|byte| byte.is_ascii_digit()))?;
    *text = &text[digits..];
    found.parse().ok()
}

fn seconds((year, month, day): (i64, i64, i64), (hour, minute, second): (i64, i64, i64)) -> Option<i64> {
    let is_date = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    if !is_date || !is_time {
        return None;
    }
    // Days since 1970-01-01 of the Gregorian calendar: years begin in March, so that a leap day ends one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_documents_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T12:00:00Z", 1_709_208_000),
            ("2024-02-29T12:00:00.125+01:00", 1_709_204_400),
            ("2024:02:29 12:00:00", 1_709_208_000),
            ("D:20240229120000-02'30'", 1_709_217_000),
            ("D:2024", 1_704_067_200),
            ("2024-02", 1_706_745_600),
        ] {
            assert_eq!(iso(text), Some(expected), "{text}");
        }
        assert_eq!(["", "24-02-29", "0000:00:00 00:00:00", "2024-13-01"].map(iso), [None; 4]);
    }

    #[test]
    fn dates_of_mail_are_read() {
        assert_eq!(mail("Thu, 29 Feb 2024 12:00:00 +0100"), Some(1_709_204_400));
        assert_eq!(mail("29 Feb 24 12:00 GMT"), Some(1_709_208_000));
        assert_eq!(["", "yesterday", "29 Foo 2024 12:00"].map(mail), [None; 3]);
    }
}
