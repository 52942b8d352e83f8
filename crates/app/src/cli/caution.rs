//! What commands have in common that delete, move or overwrite something.

use clap::Args;

use crate::terminal::out;

/// Before something that cannot be taken back.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Caution {
    /// Change nothing, and say what would be done
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

impl Caution {
    /// Whether to go on. With --dry-run this only says what would be done. Else it asks at the terminal; without one, nothing is done
    /// unless --yes was given. `what` is a sentence without its end, such as `all files in /srv/film are deleted`.
    ///
    /// # Errors
    /// The answer is no, or there is no terminal to ask at.
    pub(crate) fn permits(&self, what: &str) -> anyhow::Result<bool> {
        if self.dry_run {
            out::line(format_args!("dry run: {what}"))?;
            return Ok(false);
        }
        if !self.yes {
            out::confirm(&format!("{}. Go on?", sentence(what)))?;
        }
        Ok(true)
    }

    /// The same for what scripts do every day: without a terminal nobody is asked.
    ///
    /// # Errors
    /// The answer is no.
    pub(crate) fn permits_script(&self, what: &str) -> anyhow::Result<bool> {
        if !self.dry_run && !self.yes && !out::is_asking_possible() {
            return Ok(true);
        }
        self.permits(what)
    }
}

fn sentence(what: &str) -> String {
    let mut letters = what.chars();
    match letters.next() {
        // A name stays as it is.
        Some(first)
            if what.split(' ').next().is_some_and(|word| word.chars().all(|l| l.is_ascii_lowercase())) =>
        {
            first.to_uppercase().chain(letters).collect()
        }
        _ => what.to_owned(),
    }
}
