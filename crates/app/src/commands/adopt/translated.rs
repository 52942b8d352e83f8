//! What the settings of other servers become together: `fourfold.toml`, and the report.

use std::path::Path;

use admin::settings::Severity;
use admin::{Arguments, Settings};
use anyhow::bail;

use super::share::{Share, quoted};
use super::source::{AcceptedLimits, SourceSetting};
use crate::host::here;

/// What the settings of another server become.
#[derive(Debug, Default)]
pub(super) struct Translation {
    pub(super) shares: Vec<Share>,
    /// Settings of `[server]`: names, and values in TOML.
    pub(super) server: Vec<(&'static str, String)>,
    /// Accounts that may not log in.
    pub(super) disabled: Vec<String>,
    /// Shares, each with names that must not enter and that no list of it leaves out.
    pub(super) invalid: Vec<(String, Vec<String>)>,
    /// The settings of the whole server, and those of sections that become no share.
    pub(super) source: Vec<SourceSetting>,
    /// What concerns no share, or a share that cannot be translated.
    pub(super) notes: Vec<String>,
}

impl Translation {
    /// Takes what another server's settings say, too. Shares of one folder are one.
    pub(super) fn join(&mut self, other: Self) {
        self.notes.extend(other.notes);
        self.source.extend(other.source);
        self.disabled.extend(other.disabled);
        for (name, value) in other.server {
            if !self.server.iter().any(|(known, _)| *known == name) {
                self.server.push((name, value));
            }
        }
        for mut share in other.shares {
            match self.shares.iter_mut().find(|known| known.path == share.path) {
                Some(known) => known.join(share),
                None => {
                    self.notes.extend(share.rename_beside(&self.shares));
                    self.shares.push(share);
                }
            }
        }
    }

    /// The words that accept nothing.
    pub(super) fn unused(&self, accepted: &AcceptedLimits) -> Vec<String> {
        let all = self.source.iter().chain(self.shares.iter().flat_map(|share| &share.source));
        accepted.unused(&all.filter_map(SourceSetting::lost).collect::<Vec<_>>())
    }

    /// The settings file, and a line for each share that is not in it. `fourfold check` accepts the file: a share that it would refuse
    /// is left out, too.
    pub(super) fn settings(&self, accepted: &AcceptedLimits) -> anyhow::Result<(String, Vec<String>)> {
        let mut closed: Vec<Option<String>> =
            self.shares.iter().map(|share| self.closed(share, accepted)).collect();
        // Each round closes a share at least.
        for _ in 0..=self.shares.len() {
            let text = self.with(&closed);
            let Some((share, why)) = self.refused(&text, &closed)? else {
                return Ok((text, closed.into_iter().flatten().chain(self.never_made(accepted)).collect()));
            };
            if let Some(slot) = closed.get_mut(share) {
                *slot = Some(why);
            }
        }
        bail!("the settings are refused: this is a fault of fourfold adopt")
    }

    /// Sections of the source that could become no share.
    fn never_made(&self, accepted: &AcceptedLimits) -> Vec<String> {
        let is_lost = |one: &&SourceSetting| {
            let share = one.share.as_deref();
            share.is_some() && one.lost().is_some_and(|limit| !accepted.has(limit, share.as_slice()))
        };
        self.source.iter().filter(is_lost).map(SourceSetting::text).collect()
    }

    /// Why a share is not in the settings.
    fn closed(&self, share: &Share, accepted: &AcceptedLimits) -> Option<String> {
        let lost: Vec<&SourceSetting> = share.lost(&self.source, accepted).collect();
        let reasons: Vec<String> = lost.iter().map(|one| one.text()).collect();
        let mut words: Vec<&str> = lost.iter().filter_map(|one| one.lost()).collect();
        words.sort_unstable();
        words.dedup();
        let accept: Vec<String> = words.iter().map(|word| format!("--accept {word}")).collect();
        (!lost.is_empty()).then(|| {
            format!(
                "the share {} is not in the settings, because a limit is not kept: {} (without it: {})",
                share.name,
                reasons.join("; "),
                accept.join(" ")
            )
        })
    }

    fn with(&self, closed: &[Option<String>]) -> String {
        let mut parts = Vec::new();
        let notes: String = self.notes.iter().map(|note| comment(note)).collect();
        parts.extend(Some(notes).filter(|notes| !notes.is_empty()));
        if !self.server.is_empty() {
            let lines: String =
                self.server.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
            parts.push(format!("[server]\n{lines}"));
        }
        for (share, why) in self.shares.iter().zip(closed) {
            parts.push(why.as_ref().map_or_else(|| share.toml(), |why| comment(why)));
        }
        let user = |name: &String| format!("[[user]]\nname = {}\ndisabled = true\n", quoted(name));
        parts.extend(self.disabled.iter().map(user));
        parts.join("\n")
    }

    /// The first share that the settings are refused for, with the reason.
    fn refused(&self, text: &str, closed: &[Option<String>]) -> anyhow::Result<Option<(usize, String)>> {
        let arguments = Arguments {
            state_home: here::state_home(),
            ..Arguments::new(here::privileged(), here::folder()?)
        };
        let Err(diagnostics) = Settings::of_text(&arguments, Path::new("fourfold.toml"), text) else {
            return Ok(None);
        };
        let Some(first) = diagnostics.iter().find(|one| one.severity == Severity::Error) else {
            return Ok(None);
        };
        let admin::settings::Place::File { line, .. } = first.place else { bail!("{first}") };
        let before: usize = text.lines().take(line).filter(|line| *line == "[[share]]").count();
        let open = closed.iter().enumerate().filter(|(_, why)| why.is_none()).map(|(at, _)| at);
        let at = before.checked_sub(1).and_then(|nth| open.into_iter().nth(nth));
        let Some((at, share)) = at.and_then(|at| Some((at, self.shares.get(at)?))) else { bail!("{first}") };
        let why = format!(
            "the share {} is not in the settings, which would be refused: {}; {}",
            share.name, first.what, first.instead
        );
        Ok(Some((at, why)))
    }

    /// The report of all settings, for people.
    pub(super) fn text(&self) -> String {
        let all = self.source.iter().chain(self.shares.iter().flat_map(|share| &share.source));
        let lines: String = all.map(|one| format!("  {}\n", one.text())).collect();
        if lines.is_empty() { lines } else { format!("\nThe other server's settings:\n{lines}") }
    }
}

/// Lines of a comment in TOML.
fn comment(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}
