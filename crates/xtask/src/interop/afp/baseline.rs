//! `interop/afp/netatalk.toml`: the results of Netatalk's own server in its test programs, measured
//! by `cargo xtask interop afp --peer --afpd PATH`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::DocumentMut;

use super::spectest::SetResult;
use crate::interop::outcome::Outcome;

/// The text before the table.
const HEAD: &str = "# How Netatalk's afpd 4.5.1 (built with AppleTalk, without which it refuses AFP 2.1; sqlite, ea = sys) fares in Netatalk's test
# programs: written by `cargo xtask interop afp --peer --afpd PATH`, not by hand. One table for each version of the programs and each set; in it,
# for each version of AFP, how many tests passed, failed and were skipped, and which did not pass.
";

/// The results, by the version of the programs and the set's name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<String, SetBaseline>);

/// The results of a set, by the version of AFP.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SetBaseline {
    counts: BTreeMap<String, [usize; 3]>,
    failed: BTreeMap<String, Vec<String>>,
    skipped: BTreeMap<String, Vec<String>>,
}

/// The numbers of tests that passed, failed and were skipped.
pub fn counts(tests: &[(String, Outcome)]) -> [usize; 3] {
    let count = |is: fn(&Outcome) -> bool| tests.iter().filter(|(_, outcome)| is(outcome)).count();
    [
        count(|outcome| *outcome == Outcome::Pass),
        count(|outcome| matches!(outcome, Outcome::Fail(_))),
        count(|outcome| matches!(outcome, Outcome::Skip(_))),
    ]
}

impl SetBaseline {
    pub fn counts(&self, version: &str) -> Option<[usize; 3]> {
        self.counts.get(version).copied()
    }

    fn lists(&self, table: &BTreeMap<String, Vec<String>>, version: &str, test: &str) -> bool {
        table.get(version).is_some_and(|tests| tests.iter().any(|listed| listed == test))
    }

    /// Whether Netatalk skips this test, too.
    pub fn skips(&self, version: &str, test: &str) -> bool {
        self.lists(&self.skipped, version, test)
    }

    pub fn passes(&self, version: &str, test: &str) -> bool {
        self.counts.contains_key(version)
            && !self.skips(version, test)
            && !self.lists(&self.failed, version, test)
    }
}

fn key(suite: &str, set: &str) -> String {
    format!("{suite} {set}")
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path)?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    pub fn set(&self, suite: &str, set: &str) -> Option<&SetBaseline> {
        self.0.get(&key(suite, set))
    }

    fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let mut found = Self::default();
        for (key, item) in document.iter() {
            let set = found.0.entry(key.to_owned()).or_default();
            for (version, counts) in item.as_table_like().into_iter().flat_map(|table| table.iter()) {
                if let Some(text) = counts.as_str() {
                    let numbers: Vec<usize> = text.split('/').filter_map(|part| part.parse().ok()).collect();
                    let numbers = numbers.try_into().ok().with_context(|| format!("{key}: {text}"))?;
                    set.counts.insert(version.to_owned(), numbers);
                }
            }
            for (name, table) in [("failed", &mut set.failed), ("skipped", &mut set.skipped)] {
                let listed = item.get(name).and_then(|item| item.as_table_like());
                for (version, tests) in listed.into_iter().flat_map(|table| table.iter()) {
                    let tests = tests.as_array().into_iter().flatten().filter_map(|test| test.as_str());
                    table.insert(version.to_owned(), tests.map(str::to_owned).collect());
                }
            }
        }
        Ok(found)
    }

    /// Replaces the results of the sets that were run.
    pub fn take(&mut self, suite: &str, said: &[SetResult]) {
        for one in said {
            let (set, version) =
                (self.0.entry(key(suite, &one.set)).or_default(), one.version.name.to_owned());
            set.counts.insert(version.clone(), counts(&one.tests));
            let names = |is: fn(&Outcome) -> bool| -> Vec<String> {
                one.tests.iter().filter(|(_, outcome)| is(outcome)).map(|(name, _)| name.clone()).collect()
            };
            let failed = names(|outcome| matches!(outcome, Outcome::Fail(_)));
            let skipped = names(|outcome| matches!(outcome, Outcome::Skip(_)));
            for (table, tests) in [(&mut set.failed, failed), (&mut set.skipped, skipped)] {
                table.remove(&version);
                if !tests.is_empty() {
                    table.insert(version.clone(), tests);
                }
            }
        }
    }

    pub fn as_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        for (key, set) in &self.0 {
            let _ = writeln!(text, "\n[{}]", toml_edit::Value::from(key.as_str()));
            for (version, [passed, failed, skipped]) in &set.counts {
                let _ = writeln!(text, "\"{version}\" = \"{passed}/{failed}/{skipped}\"");
            }
            for (name, table) in [("failed", &set.failed), ("skipped", &set.skipped)] {
                for (version, tests) in table {
                    let list: toml_edit::Array = tests.iter().map(String::as_str).collect();
                    let _ = writeln!(text, "{name}.\"{version}\" = {list}");
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::afp::version::VERSIONS;

    #[test]
    fn what_is_written_is_read_again() {
        let outcomes =
            [("a", Outcome::Pass), ("b", Outcome::Fail("x".into())), ("c", Outcome::Skip("y".into()))];
        let tests = outcomes.map(|(name, outcome)| (name.to_owned(), outcome)).to_vec();
        let mut baseline = Baseline::default();
        baseline
            .take("4.5.1", &[SetResult { version: VERSIONS[0], set: "FPRead".into(), tests, seconds: 1.0 }]);
        assert_eq!(Baseline::parse(&baseline.as_toml()).unwrap(), baseline);
        let set = baseline.set("4.5.1", "FPRead").unwrap();
        assert_eq!(set.counts("2.1"), Some([1, 1, 1]));
        assert!(set.passes("2.1", "a") && !set.passes("2.1", "b") && set.skips("2.1", "c"));
        assert!(!set.passes("3.4", "a"));
    }
}
