//! The settings of another server, one by one, and what became of each.
//!
//! The rule of `fourfold adopt`: what limits access is translated, or closes the share; it is never left out in silence. So every
//! setting of the source is in the report with its line, whether it limits access, and its outcome. A share with a limit that is not
//! kept is not in the settings, unless `--accept` names the limit.

use serde::Serialize;

/// What became of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub(super) enum Outcome {
    /// These of our settings say the same, or allow less.
    Translated { to: String },
    /// No setting says it; what keeps it is said.
    Kept { how: String },
    /// It changes nothing about who may do what. The reason is said.
    NoEffect { why: String },
    /// It limits access, and nothing here does. `limit` is the word that `--accept` takes.
    Lost { limit: &'static str, why: String },
}

/// A setting of another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct SourceSetting {
    /// The file that it is in.
    pub(super) file: String,
    /// Its line, counted from 1; `None`: a default of the other server.
    pub(super) line: Option<usize>,
    pub(super) name: String,
    pub(super) value: String,
    /// The protocol of that server, as the settings name it: a limit of the whole server is one of its shares.
    #[serde(skip)]
    pub(super) protocol: &'static str,
    /// The share there; `None`: it is one of the whole server, or a default for all shares.
    pub(super) share: Option<String>,
    /// Whether it can keep somebody from something.
    pub(super) limits_access: bool,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// The limits that may be lost: words of `--accept`, `LIMIT` or `SHARE:LIMIT`.
#[derive(Debug, Default)]
pub(super) struct AcceptedLimits(Vec<(Option<String>, String)>);

impl AcceptedLimits {
    pub(super) fn of(words: &[String]) -> Self {
        let split = |word: &String| match word.rsplit_once(':') {
            Some((share, limit)) => (Some(share.to_lowercase()), limit.to_lowercase()),
            None => (None, word.to_lowercase()),
        };
        Self(words.iter().map(split).collect())
    }

    /// Whether the limit may be lost in a share that has one of these names, here or there.
    pub(super) fn has(&self, limit: &str, shares: &[&str]) -> bool {
        let of = |name: &str| shares.iter().any(|share| share.to_lowercase() == name);
        self.0.iter().any(|(share, known)| known == limit && share.as_deref().is_none_or(of))
    }

    /// The words that name none of these limits.
    pub(super) fn unused(&self, limits: &[&str]) -> Vec<String> {
        let unknown = |(_, limit): &&(Option<String>, String)| !limits.contains(&&**limit);
        self.0.iter().filter(unknown).map(|(_, limit)| limit.clone()).collect()
    }
}

impl SourceSetting {
    /// The limit that is lost, if it is one.
    pub(super) fn lost(&self) -> Option<&'static str> {
        match self.outcome {
            Outcome::Lost { limit, .. } => Some(limit),
            _ => None,
        }
    }

    /// The place, as errors have it.
    pub(super) fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => format!("{}, by default", self.file),
        }
    }

    /// One line for people.
    pub(super) fn text(&self) -> String {
        let Self { name, value, .. } = self;
        let limits = if self.limits_access { "limits access; " } else { "" };
        let outcome = match &self.outcome {
            Outcome::Translated { to } => format!("translated: {to}"),
            Outcome::Kept { how } => format!("kept otherwise: {how}"),
            Outcome::NoEffect { why } => format!("no effect on access: {why}"),
            Outcome::Lost { limit, why } => format!("NOT KEPT ({limit}): {why}"),
        };
        let said = if value.is_empty() { name.clone() } else { format!("{name} = {value}") };
        format!("{}: {said}: {limits}{outcome}", self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_accepted_for_all_shares_or_for_one() {
        let words = ["hosts-allow", "Films:veto-files"].map(str::to_owned);
        let accepted = AcceptedLimits::of(&words);
        assert!(accepted.has("hosts-allow", &["films"]) && accepted.has("hosts-allow", &[]));
        assert!(accepted.has("veto-files", &["FILMS"]) && !accepted.has("veto-files", &["backup"]));
        assert!(!accepted.has("create-mask", &["films"]));
        assert_eq!(accepted.unused(&["hosts-allow"]), ["veto-files"]);
    }
}
