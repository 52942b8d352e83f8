//! The committed list of expected outcomes: `"name" = "pass"`, `"fail: why"`, `"skip: why"` (the test itself finds nothing
//! to do), `"pass or skip: when it is skipped"`, or `"pass or fail: what it depends on"`. Tables are read by the programs that
//! the list is for.

use std::path::Path;

use anyhow::{Context, Result, bail};
use toml_edit::DocumentMut;

use super::outcome::{Outcome, Outcomes};

/// How the line of a difference begins.
const FAILED: &str = "FAILED";

#[derive(Debug, PartialEq, Eq)]
enum Expectation {
    Pass,
    Fail,
    Skip,
    PassOrSkip,
    PassOrFail,
}

#[derive(Debug)]
pub struct Expectations {
    listed: Vec<(String, Expectation)>,
    /// Whether an unlisted test is expected to pass. Otherwise an unlisted test is an error.
    else_pass: bool,
}

/// The comparison of the outcomes.
#[derive(Debug, Default)]
pub struct SuiteVerdict {
    /// Lines to print: differences, known failures, skipped tests.
    pub lines: Vec<String>,
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
}

impl SuiteVerdict {
    pub fn summary(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    /// The summary, and below it the failures.
    pub fn record(&self) -> String {
        let failures = self.lines.iter().filter(|line| line.starts_with(FAILED));
        failures.fold(self.summary(), |text, line| text + "\n" + line)
    }

    /// The counts and the failures that [`Self::record`] wrote.
    pub fn of_record(text: &str) -> Option<Self> {
        let (summary, failures) = text.split_once('\n').unwrap_or((text, ""));
        let counts = summary.split(", ").map(|part| part.split(' ').next()?.parse().ok());
        let [passed, failed, skipped] = counts.collect::<Option<Vec<usize>>>()?.try_into().ok()?;
        Some(Self { lines: failures.lines().map(str::to_owned).collect(), passed, failed, skipped })
    }

    /// A run that did not get as far as its verdict: one failure, so that a missing result is not mistaken for success.
    pub fn absent(protocol: &str) -> Self {
        let mut verdict = Self::default();
        verdict.fail(format!("{FAILED}  {protocol}: it has no verdict"));
        verdict
    }

    /// Adds the counts and the lines of another list.
    pub fn add(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    fn fail(&mut self, line: String) {
        self.failed += 1;
        self.lines.push(line);
    }

    fn skip(&mut self, line: String) {
        self.skipped += 1;
        self.lines.push(line);
    }
}

impl Expectations {
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let document: DocumentMut = text.parse()?;
        let entries = document.iter().filter(|(_, item)| !item.is_table()).map(|(name, item)| {
            let expectation = match item.as_str() {
                Some("pass") => Expectation::Pass,
                Some(text) if text.starts_with("fail: ") => Expectation::Fail,
                Some(text) if text.starts_with("skip: ") => Expectation::Skip,
                Some(text) if text.starts_with("pass or skip: ") => Expectation::PassOrSkip,
                Some(text) if text.starts_with("pass or fail: ") => Expectation::PassOrFail,
                _ => bail!("{name}: say \"pass\", \"fail: why\", \"skip: why\", \"pass or skip: when\" or \"pass or fail: why\""),
            };
            Ok((name.to_owned(), expectation))
        });
        Ok(Self { listed: entries.collect::<Result<_>>()?, else_pass: false })
    }

    /// Expects tests that are not listed to pass.
    pub fn else_pass(self) -> Self {
        Self { else_pass: true, ..self }
    }

    /// The same list, with these lines in the place of its own.
    pub fn but(mut self, other: Self) -> Self {
        self.listed.retain(|(name, _)| !other.lists(name));
        self.listed.extend(other.listed);
        self
    }

    /// Removes the tests that the filters exclude.
    pub fn retain(mut self, is_meant: impl Fn(&str) -> bool) -> Self {
        self.listed.retain(|(name, _)| is_meant(name));
        self
    }

    /// Whether the list has a line for this test.
    pub fn lists(&self, name: &str) -> bool {
        self.listed.iter().any(|(listed, _)| listed == name)
    }

    fn of(&self, name: &str) -> Option<&Expectation> {
        let listed =
            self.listed.iter().find(|(listed, _)| listed == name).map(|(_, expectation)| expectation);
        listed.or(self.else_pass.then_some(&Expectation::Pass))
    }

    /// Any difference is a failure: a test that fails, one that passes although the list expects a
    /// failure, one that is not listed, one that did not run. Outside CI tests that cannot run may
    /// be skipped.
    pub fn compare(&self, outcomes: &Outcomes, is_ci: bool) -> SuiteVerdict {
        let mut verdict = SuiteVerdict::default();
        for (name, outcome) in &outcomes.0 {
            self.one(name, outcome, is_ci, &mut verdict);
        }
        for (name, expectation) in &self.listed {
            if !outcomes.0.iter().any(|(found, _)| found == name) {
                self.absent(name, expectation, is_ci, outcomes, &mut verdict);
            }
        }
        verdict
    }

    /// Whether this outcome is the one that is expected.
    pub fn is_met(&self, name: &str, outcome: &Outcome) -> bool {
        let mut verdict = SuiteVerdict::default();
        self.one(name, outcome, true, &mut verdict);
        verdict.failed == 0
    }

    fn one(&self, name: &str, outcome: &Outcome, is_ci: bool, verdict: &mut SuiteVerdict) {
        match (outcome, self.of(name)) {
            (Outcome::Pass, Some(Expectation::Pass | Expectation::PassOrSkip | Expectation::PassOrFail)) => {
                verdict.passed += 1
            }
            // With hundreds of tests, some that fail here pass elsewhere: that is printed, but is
            // no failure.
            (Outcome::Pass, Some(Expectation::Fail | Expectation::Skip)) if self.else_pass => {
                verdict.passed += 1;
                verdict.lines.push(format!("better  {name}: passes, but the list says otherwise"));
            }
            (Outcome::Pass, Some(Expectation::Fail | Expectation::Skip)) => {
                verdict.fail(format!("FAILED  {name}: passes, but the list says otherwise: change the list"));
            }
            (Outcome::Fail(why), Some(Expectation::Fail | Expectation::PassOrFail)) => {
                verdict.passed += 1;
                verdict.lines.push(format!("known   {name}: {why}"));
            }
            (Outcome::Fail(why), _) => verdict.fail(format!("FAILED  {name}: {why}")),
            (Outcome::Skip(why), Some(Expectation::PassOrSkip | Expectation::Skip)) => {
                verdict.skip(format!("skipped {name}: {why}"))
            }
            (Outcome::Skip(why), Some(_)) if !is_ci => verdict.skip(format!("skipped {name}: {why}")),
            (Outcome::Skip(why), _) => verdict.fail(format!("FAILED  {name}: cannot be skipped here: {why}")),
            (Outcome::Pass, None) => verdict.fail(format!("FAILED  {name}: passes, but is not in the list")),
        }
    }

    /// A listed test without an outcome: skipped with its whole program, or lost.
    fn absent(
        &self,
        name: &str,
        expectation: &Expectation,
        is_ci: bool,
        outcomes: &Outcomes,
        verdict: &mut SuiteVerdict,
    ) {
        let program = name.split(": ").next().unwrap_or(name);
        let skipped =
            outcomes.0.iter().any(|(found, outcome)| found == program && matches!(outcome, Outcome::Skip(_)));
        if skipped && (!is_ci || *expectation == Expectation::PassOrSkip) {
            verdict.skip(format!("skipped {name}: with all of {program}"));
        } else {
            verdict.fail(format!("FAILED  {name}: did not run"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(list: &str, outcomes: &[(&str, Outcome)], is_ci: bool) -> (usize, usize, usize) {
        let outcomes = Outcomes(outcomes.iter().map(|(n, o)| ((*n).to_owned(), o.clone())).collect());
        let verdict = Expectations::parse(list).unwrap().compare(&outcomes, is_ci);
        (verdict.passed, verdict.failed, verdict.skipped)
    }

    fn failed() -> Outcome {
        Outcome::Fail("is 1, not 0".into())
    }

    fn skipped() -> Outcome {
        Outcome::Skip("not installed".into())
    }

    #[test]
    fn what_depends_may_pass_or_fail_and_a_list_of_exceptions_is_not_broken_by_what_is_better() {
        let list = "a = 'pass or fail: the machine'\nb = 'fail: the peer too'\n";
        assert_eq!(compare(list, &[("a", failed()), ("b", failed())], true), (2, 0, 0));
        assert_eq!(compare(list, &[("a", Outcome::Pass), ("b", Outcome::Pass)], true), (1, 1, 0));
        let outcomes = Outcomes(vec![("b".into(), Outcome::Pass), ("c".into(), failed())]);
        let verdict = Expectations::parse("b = 'fail: x'").unwrap().else_pass().compare(&outcomes, true);
        assert_eq!((verdict.passed, verdict.failed), (1, 1));
    }

    #[test]
    fn what_is_as_listed_passes() {
        let list = "\"a: x\" = 'pass'\nb = 'fail: the peer too'\nc = 'pass or skip: needs root'\n";
        let outcomes = [("a: x", Outcome::Pass), ("b", failed()), ("c", skipped())];
        assert_eq!(compare(list, &outcomes, true), (2, 0, 1));
    }

    #[test]
    fn any_difference_fails() {
        assert_eq!(compare("a = 'pass'", &[("a", failed())], false), (0, 1, 0));
        assert_eq!(compare("a = 'fail: x'", &[("a", Outcome::Pass)], false), (0, 1, 0));
        assert_eq!(compare("", &[("a", Outcome::Pass)], false), (0, 1, 0));
        assert_eq!(compare("a = 'pass'", &[], false), (0, 1, 0));
    }

    #[test]
    fn a_list_of_exceptions_has_the_rest_pass() {
        let expected = Expectations::parse("a = 'fail: x'\nb = 'skip: x'\nother = 'fail: x'").unwrap();
        let expected = expected.else_pass().retain(|name| name != "other");
        let verdict = |outcomes: &[(&str, Outcome)]| {
            let outcomes = outcomes.iter().map(|(n, o)| ((*n).to_owned(), o.clone())).collect();
            let verdict = expected.compare(&Outcomes(outcomes), true);
            (verdict.passed, verdict.failed, verdict.skipped)
        };
        assert_eq!(verdict(&[("a", failed()), ("b", skipped()), ("c", Outcome::Pass)]), (2, 0, 1));
        assert_eq!(verdict(&[("a", Outcome::Pass), ("b", Outcome::Pass), ("c", failed())]), (2, 1, 0));
    }

    #[test]
    fn a_missing_client_is_skipped_except_under_ci() {
        assert_eq!(compare("a = 'pass'", &[("a", skipped())], false), (0, 0, 1));
        assert_eq!(compare("a = 'pass'", &[("a", skipped())], true), (0, 1, 0));
    }

    #[test]
    fn counts_and_failures_are_read_from_the_record() {
        let lines =
            ["FAILED  a: is 1, not 0", "known   b: as listed", "FAILED  c: is absent"].map(str::to_owned);
        let verdict = SuiteVerdict { lines: lines.to_vec(), passed: 3, failed: 20, skipped: 1 };
        let read = SuiteVerdict::of_record(&verdict.record()).unwrap();
        assert_eq!((read.passed, read.failed, read.skipped), (3, 20, 1));
        assert_eq!(read.lines, [&*lines[0], &*lines[2]]);
        assert!(SuiteVerdict::of_record("").is_none());
    }

    #[test]
    fn the_checks_of_a_skipped_program_are_skipped_with_it() {
        assert_eq!(compare("'lock: x' = 'pass'\nlock = 'pass'", &[("lock", skipped())], false), (0, 0, 2));
    }
}
