//! The report for a terminal.

use std::fmt::Write as _;

use super::{EditReport, Outcome, Verdict};

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Limited => "works, with limits",
            Self::Refused => "REFUSED",
        }
    }
}

impl EditReport {
    /// For a terminal: the programs, then what was tried.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.target, self.agreed);
        self.write(&mut text).unwrap_or_default(); // writing to a string does not fail
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        let mut last = None;
        for judgement in &self.programs {
            if last.replace(judgement.program) != Some(judgement.program) {
                writeln!(text, "\n{}", judgement.program.name())?;
            }
            writeln!(text, "  {}: {}", judgement.purpose, judgement.verdict.word())?;
            for obstacle in &judgement.obstacles {
                writeln!(text, "    - {}", obstacle.why)?;
                writeln!(text, "      {}", obstacle.instead)?;
            }
        }
        writeln!(text, "\nTried")?;
        for trial in &self.trials {
            match &trial.outcome {
                Outcome::Works { seen } => writeln!(text, "  yes  {}: {seen}", trial.what)?,
                Outcome::Fails { why } => writeln!(text, "  NO   {}: {why}", trial.what)?,
                Outcome::Impossible => writeln!(text, "  -    {}: not over {}", trial.what, self.protocol)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::Protocol;
    use crate::editing::{Ability, Judgement, Obstacle, Program, Trial};

    use super::*;

    #[test]
    fn the_text_has_the_reason_and_the_remedy_of_each_obstacle() {
        let obstacle = Obstacle {
            verdict: Verdict::Refused,
            why: "a share is not offered".into(),
            instead: "make a sparse bundle".into(),
        };
        let report = EditReport {
            target: "smb://h:445/s".into(),
            protocol: Protocol::Smb,
            agreed: "SMB 3.1.1".into(),
            trials: vec![Trial {
                ability: Ability::Links,
                what: Ability::Links.what(),
                outcome: Outcome::Impossible,
            }],
            programs: vec![Judgement {
                program: Program::LogicPro,
                purpose: "the Sound Library",
                verdict: Verdict::Refused,
                obstacles: vec![obstacle],
            }],
            left: None,
        };
        let text = report.text();
        assert!(
            text.contains("Logic Pro\n  the Sound Library: REFUSED\n    - a share is not offered\n"),
            "{text}"
        );
        assert!(text.contains("      make a sparse bundle\n"), "{text}");
        assert!(text.contains("  -    symbolic links to media: not over smb\n"), "{text}");
    }
}
