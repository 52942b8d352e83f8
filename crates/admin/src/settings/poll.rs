//! The setting `poll`: whether event loops poll before they sleep.

use std::fmt;
use std::time::Duration;

use super::kind::{Raw, Value};

/// The longest limit, in µs. A loop that polls for longer than a sleep costs only wastes the processor.
const MOST_US: u64 = 500;

/// What the value must be.
pub(super) const EXPECTS: &str = "\"auto\", \"off\", or a limit from \"1 us\" to \"500 us\"";

/// Whether event loops poll before they sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PollSetting {
    /// As each loop has learned.
    #[default]
    Auto,
    /// Never.
    Off,
    /// For at most so long.
    UpTo(Duration),
}

impl fmt::Display for PollSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::UpTo(limit) => write!(f, "{} us", limit.as_micros()),
        }
    }
}

/// The setting of a text that was checked.
pub(super) fn read(text: Option<&str>) -> PollSetting {
    text.and_then(parse).unwrap_or_default()
}

/// Checks a written value.
///
/// # Errors
/// Says that the text is no value of `poll`, and proposes a value where one is known.
pub(super) fn accept(raw: &Raw) -> Result<Value, Option<String>> {
    let better = |text: String| parse(&text).map(|setting| format!("\"{setting}\""));
    match raw {
        Raw::Text(text) => match parse(text) {
            Some(setting) => Ok(Value::Text(setting.to_string())),
            None => Err(better(format!("{} us", text.trim()))),
        },
        Raw::Integer(number) => Err(better(format!("{number} us"))),
        Raw::Bool(is_on) => Err(Some(if *is_on { "\"auto\"" } else { "\"off\"" }.into())),
        Raw::List(_) | Raw::Other(_) => Err(None),
    }
}

fn parse(text: &str) -> Option<PollSetting> {
    match text.trim() {
        "auto" => Some(PollSetting::Auto),
        "off" => Some(PollSetting::Off),
        limit => {
            let number = limit.strip_suffix("us").or_else(|| limit.strip_suffix("µs"))?;
            let number = number.trim_end().parse().ok().filter(|number| (1..=MOST_US).contains(number))?;
            Some(PollSetting::UpTo(Duration::from_micros(number)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_microseconds() {
        let limit = |us| Some(PollSetting::UpTo(Duration::from_micros(us)));
        assert_eq!(parse("50 us"), limit(50));
        assert_eq!(parse("50µs"), limit(50));
        assert_eq!((parse("0 us"), parse("501 us"), parse("1 ms"), parse("50")), (None, None, None, None));
        assert_eq!(read(Some("1 us")).to_string(), "1 us");
    }

    #[test]
    fn what_is_no_value_has_a_better_one_if_that_is_clear() {
        let text = |text: &str| accept(&Raw::Text(text.into()));
        assert_eq!(text("50 µs"), Ok(Value::Text("50 us".into())));
        assert_eq!(text("50"), Err(Some("\"50 us\"".into())));
        assert_eq!(text("always"), Err(None));
        assert_eq!(accept(&Raw::Integer(30)), Err(Some("\"30 us\"".into())));
        assert_eq!(accept(&Raw::Bool(false)), Err(Some("\"off\"".into())));
    }
}
