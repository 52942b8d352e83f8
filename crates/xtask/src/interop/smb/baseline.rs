//! `interop/smb/smbd.toml`: the results of Samba's own server in smbtorture, measured by `cargo
//! xtask interop smb --peer`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, Item};

use super::torture::SuiteResult;
use crate::interop::outcome::Outcome;

/// The text before the table.
const HEAD: &str = "# How Debian's smbd fares in smbtorture, both 4.17.12: written by `cargo xtask interop smb --peer`, not by hand.
# `passed-otherwise` are tests that it passes only with `acl_xattr` beside `catia fruit streams_xattr` and `fruit:encoding = private`.
";

#[derive(Debug, Default, PartialEq, Eq)]
pub struct SuiteBaseline(pub BTreeMap<String, Tests>);

/// The names of a suite's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    pub passed: Vec<String>,
    pub otherwise: Vec<String>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
}

impl Tests {
    pub fn of(tests: &[(String, Outcome)]) -> Self {
        let mut found = Self::default();
        for (name, outcome) in tests {
            let list = match outcome {
                Outcome::Pass => &mut found.passed,
                Outcome::Fail(_) => &mut found.failed,
                Outcome::Skip(_) => &mut found.skipped,
            };
            list.push(name.clone());
        }
        found
    }

    /// Adds the tests that pass in the other configuration.
    fn add_otherwise(&mut self, tests: &Self) {
        for name in &tests.passed {
            for list in [&mut self.failed, &mut self.skipped] {
                if let Some(at) = list.iter().position(|listed| listed == name) {
                    self.otherwise.push(list.remove(at));
                }
            }
        }
    }

    pub fn has_passed(&self, name: &str) -> bool {
        self.passed.iter().chain(&self.otherwise).any(|listed| listed == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.passed.iter().chain(&self.otherwise).chain(&self.failed).chain(&self.skipped)
    }

    /// The numbers of tests that passed, failed and were skipped.
    pub fn counts(&self) -> String {
        format!("{}/{}/{}", self.passed.len() + self.otherwise.len(), self.failed.len(), self.skipped.len())
    }

    fn lists(&mut self) -> [(&'static str, &mut Vec<String>); 4] {
        [
            ("passed", &mut self.passed),
            ("passed-otherwise", &mut self.otherwise),
            ("failed", &mut self.failed),
            ("skipped", &mut self.skipped),
        ]
    }
}

impl SuiteBaseline {
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let suites = document.iter().map(|(suite, item)| (suite.to_owned(), Self::suite(item)));
        Ok(Self(suites.collect()))
    }

    fn suite(item: &Item) -> Tests {
        let mut tests = Tests::default();
        for (name, list) in tests.lists() {
            let array = item.get(name).and_then(Item::as_array);
            let texts = array.into_iter().flatten().filter_map(|value| value.as_str());
            list.extend(texts.map(str::to_owned));
        }
        tests
    }

    /// Replaces the results of the suites that were run.
    pub fn take(&mut self, said: &[SuiteResult], otherwise: &[SuiteResult]) {
        for one in said {
            let mut tests = Tests::of(&one.tests);
            if let Some(again) = otherwise.iter().find(|again| again.suite.name == one.suite.name) {
                tests.add_otherwise(&Tests::of(&again.tests));
            }
            self.0.insert(one.suite.name.to_owned(), tests);
        }
    }

    pub fn as_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        for (suite, tests) in &self.0 {
            let _ = writeln!(text, "\n[{}]", toml_edit::Value::from(suite.as_str()));
            for (name, list) in tests.clone().lists() {
                if !list.is_empty() {
                    let lines: Vec<String> = list
                        .iter()
                        .map(|name| format!("    {},\n", toml_edit::Value::from(name.as_str())))
                        .collect();
                    let _ = writeln!(text, "{name} = [\n{}]", lines.concat());
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::smb::suites::SUITES;

    fn said(tests: &[(&str, Outcome)]) -> SuiteResult {
        let tests = tests.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect();
        SuiteResult { suite: &SUITES[0], tests, seconds: 1.0, log: "log".into() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut baseline = SuiteBaseline::default();
        let why = || Outcome::Fail("wrong".into());
        let first = [("a", Outcome::Pass), ("b (x)", why()), ("c", why()), ("d", Outcome::Skip("no".into()))];
        baseline.take(&[said(&first)], &[said(&[("a", why()), ("c", Outcome::Pass)])]);
        let tests = &baseline.0[SUITES[0].name];
        assert_eq!(tests.counts(), "2/1/1");
        assert!(tests.has_passed("c") && !tests.has_passed("b (x)"));
        assert_eq!(SuiteBaseline::parse(&baseline.as_toml()).unwrap(), baseline);
    }
}
