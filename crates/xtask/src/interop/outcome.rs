//! Named outcomes of tests.

use std::fmt::Write;

use anyhow::Result;

use crate::process;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Pass,
    Fail(String),
    Skip(String),
}

/// In the order they were found.
#[derive(Debug, Default)]
pub struct Outcomes(pub Vec<(String, Outcome)>);

impl Outcomes {
    pub fn add(&mut self, name: impl Into<String>, outcome: Outcome) {
        self.0.push((name.into(), outcome));
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(found, _)| found == name)
    }

    /// Runs a test if the programs that it needs are installed.
    pub fn run(&mut self, name: &str, needs: &[&str], test: impl FnOnce() -> Result<()>) {
        let outcome = match needs.iter().find(|program| process::find(program).is_none()) {
            Some(program) => Outcome::Skip(format!("{program} is not installed")),
            None => test().map_or_else(|error| Outcome::Fail(format!("{error:#}")), |()| Outcome::Pass),
        };
        self.add(name, outcome);
    }

    pub fn skip(&mut self, name: &str, reason: &str) {
        self.add(name, Outcome::Skip(reason.to_owned()));
    }

    /// Adds the lines `pass NAME` and `fail NAME: WHY` of one of our C programs. The program's name
    /// precedes each name.
    pub fn add_lines(&mut self, program: &str, text: &str) {
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("pass ") {
                self.add(format!("{program}: {name}"), Outcome::Pass);
            } else if let Some((name, why)) =
                line.strip_prefix("fail ").and_then(|rest| rest.split_once(": "))
            {
                self.add(format!("{program}: {name}"), Outcome::Fail(why.to_owned()));
            }
        }
    }

    /// The outcomes that did not pass, as a list of expectations. The reasons are the programs' own
    /// and should be replaced.
    pub fn exceptions_as_toml(&self) -> String {
        let line = |name: &str, what: &str, why: &str| {
            let short: String =
                why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(150).collect();
            let (name, what) =
                (toml_edit::Value::from(name), toml_edit::Value::from(format!("{what}: {short}")));
            format!("{name} = {what}\n")
        };
        let lines = self.0.iter().map(|(name, outcome)| match outcome {
            Outcome::Pass => String::new(),
            Outcome::Fail(why) => line(name, "fail", why),
            Outcome::Skip(why) => line(name, "skip", why),
        });
        lines.collect()
    }

    /// All outcomes as a list of expectations.
    pub fn as_toml(&self) -> String {
        let mut text = String::new();
        for (name, outcome) in &self.0 {
            let what = match outcome {
                Outcome::Pass => "pass".to_owned(),
                Outcome::Fail(why) => format!("fail: {why}"),
                Outcome::Skip(why) => format!("pass or skip: {why}"),
            };
            let _ = writeln!(
                text,
                "{} = {}",
                toml_edit::Value::from(name.as_str()),
                toml_edit::Value::from(what)
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_lines_become_outcomes_under_its_name() {
        let mut outcomes = Outcomes::default();
        outcomes.add_lines("lock", "pass test: held\nnoise\nfail cancel: is 1, not 0\n");
        let fail = Outcome::Fail("is 1, not 0".into());
        assert_eq!(outcomes.0, [("lock: test: held".into(), Outcome::Pass), ("lock: cancel".into(), fail)]);
    }

    #[test]
    fn a_missing_program_skips_and_says_which() {
        let mut outcomes = Outcomes::default();
        outcomes.run("x", &["no-such-program"], || unreachable!());
        assert_eq!(outcomes.0[0].1, Outcome::Skip("no-such-program is not installed".into()));
    }
}
