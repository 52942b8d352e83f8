//! What the site has decided about the backups of one Mac: an element of `time-machine-macs`.

use std::fmt::{self, Display};
use std::time::Duration;

use super::kind::Raw;
use super::units::{format_size, parse_duration, parse_size};

/// What the setting expects.
pub(super) const EXPECTS: &str =
    "a list such as [\"Ada's Mac: limit=800GiB alert=14d\", \"Old Mac: retired\"]";
/// The longest name of a Mac, in characters.
const LONGEST_NAME: usize = 128;

/// What counts for one Mac: `Ada's Mac: limit=800GiB alert=14d`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MacPolicy {
    /// The name of its bundle without the ending.
    pub mac: String,
    /// The size that is reported to it, in bytes; `None`: that of the share.
    pub limit: Option<u64>,
    /// How old its newest backup may become before there is an alert.
    pub alert: MacAlert,
    /// It backs up no longer: its backups stay, and no alert expects others.
    pub retired: bool,
}

/// When an alert says that a Mac has not backed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MacAlert {
    /// As the setting `alert-backup` says.
    #[default]
    Usual,
    /// After so long.
    After(Duration),
    /// Never.
    Never,
}

impl MacPolicy {
    /// Reads an element; `None`: it means nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mac, words) = text.rsplit_once(": ")?;
        let mut policy = Self { mac: mac.to_owned(), ..Self::default() };
        if !is_name(mac) {
            return None;
        }
        for word in words.split_ascii_whitespace() {
            match word.split_once('=') {
                None if word == "retired" => policy.retired = true,
                Some(("limit", size)) => policy.limit = Some(parse_size(size).filter(|size| *size > 0)?),
                Some(("alert", "never")) => policy.alert = MacAlert::Never,
                Some(("alert", age)) => {
                    let age = parse_duration(age).filter(|milliseconds| *milliseconds > 0)?;
                    policy.alert = MacAlert::After(Duration::from_millis(age));
                }
                _ => return None,
            }
        }
        (!policy.is_usual()).then_some(policy)
    }

    /// Whether nothing is decided about this Mac.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        self.limit.is_none() && self.alert == MacAlert::Usual && !self.retired
    }

    /// How old its newest backup may become, if `usual` counts for others. `None`: there is no alert.
    #[must_use]
    pub fn alert_after(&self, usual: Option<Duration>) -> Option<Duration> {
        match self.alert {
            _ if self.retired => None,
            MacAlert::Usual => usual,
            MacAlert::After(age) => Some(age),
            MacAlert::Never => None,
        }
    }
}

/// Whether a Mac can be named in the settings.
#[must_use]
pub fn is_mac_name(name: &str) -> bool {
    is_name(name)
}

/// A written element of the list.
pub(super) fn accepted(raw: &Raw) -> Result<String, Option<String>> {
    let text = raw.text().ok_or(None)?;
    MacPolicy::parse(text).map(|_| text.to_owned()).ok_or(None)
}

/// Whether a Mac can have this name: no comma, because commas part the elements on the command line.
fn is_name(name: &str) -> bool {
    let length = name.chars().count();
    (1..=LONGEST_NAME).contains(&length)
        && name.trim() == name
        && !name.chars().any(|letter| letter.is_control() || letter == ',' || letter == '/')
}

/// As in the settings.
impl Display for MacPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.mac)?;
        if let Some(limit) = self.limit {
            let text = format_size(limit).replace(' ', "");
            let exact = if parse_size(&text) == Some(limit) { text } else { limit.to_string() };
            write!(f, " limit={exact}")?;
        }
        match self.alert {
            MacAlert::Usual => {}
            MacAlert::Never => f.write_str(" alert=never")?,
            MacAlert::After(age) if age.as_secs().is_multiple_of(86_400) => {
                write!(f, " alert={}d", age.as_secs() / 86_400)?;
            }
            MacAlert::After(age) => write!(f, " alert={}s", age.as_secs().max(1))?,
        }
        if self.retired {
            f.write_str(" retired")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn an_element_says_what_counts_for_a_mac_and_reads_as_it_is_written() {
        let policy = MacPolicy::parse("Ada's Mac: limit=800GiB alert=14d").unwrap();
        let expected = MacPolicy {
            mac: "Ada's Mac".into(),
            limit: Some(800 << 30),
            alert: MacAlert::After(DAY * 14),
            retired: false,
        };
        assert_eq!(policy, expected);
        for text in
            ["a: limit=800GiB", "a: b: alert=never", "a: limit=1000B alert=90s retired", "Old Mac: retired"]
        {
            assert_eq!(MacPolicy::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_element_that_decides_nothing_is_refused() {
        for text in [
            "",
            "a",
            "a: ",
            "a:retired",
            ": retired",
            "a: limit=0",
            "a: limit=x",
            "a: alert=0d",
            "a: x",
            "a,b: retired",
        ] {
            assert_eq!(MacPolicy::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_alert_waits_as_long_as_the_mac_or_else_the_server_says() {
        let after = |text: &str, usual| MacPolicy::parse(text).unwrap().alert_after(usual);
        assert_eq!(after("a: limit=1G", Some(DAY * 7)), Some(DAY * 7));
        assert_eq!(after("a: alert=30d", Some(DAY * 7)), Some(DAY * 30));
        assert_eq!(after("a: alert=30d", None), Some(DAY * 30));
        assert_eq!(after("a: alert=never", Some(DAY)), None);
        assert_eq!(after("a: retired", Some(DAY)), None);
    }
}
