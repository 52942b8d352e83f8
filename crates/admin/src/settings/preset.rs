//! Presets of shares: a word that gives several settings the values that a job needs.
//!
//! What the share sets itself counts before its preset, and the preset counts before what the share would inherit. A preset widens
//! no rights, because it has no setting of people, clients or modes.

use super::kind::{Value, accept};
use super::setting::{Table, setting};

/// A preset.
#[derive(Debug)]
pub(super) struct Preset {
    /// Its word.
    pub(super) name: &'static str,
    /// The settings, with their values as TOML.
    pub(super) settings: &'static [(&'static str, &'static str)],
}

/// The words of the setting `preset`.
pub(super) const WORDS: &[&str] = &["none", "editing"];

/// All of them.
pub(super) const PRESETS: &[Preset] = &[Preset {
    name: "editing",
    settings: &[
        // Projects of Macs and Windows find media whatever the case of their names.
        ("case-sensitive", "false"),
        // Media browsers see no `._` files, which they take for clips.
        ("mac-sidecars", "true"),
        // Macs, Windows and Linux see the names that people have written.
        ("name-encoding", "\"plain\""),
        // A project that is saved keeps its tags and its date of creation.
        ("safe-save", "true"),
        // Media are read from front to back, several at the same time.
        ("read-ahead", "\"double\""),
    ],
}];

impl Preset {
    /// The preset of this name. `none` is no preset.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The keys of the settings, with their checked values.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, Option<Value>)> {
        let checked = |(key, toml): &(&'static str, &str)| {
            let raw = super::file::raw(&toml.parse().ok()?);
            accept(setting(Table::Share, key)?, &raw).ok()
        };
        self.settings.iter().map(move |entry| (entry.0, checked(entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_has_settings_with_values_that_are_accepted() {
        for preset in PRESETS {
            assert!(preset.values().all(|(_, value)| value.is_some()), "{preset:?}");
            assert!(
                preset.values().all(|(key, _)| setting(Table::Share, key).is_some_and(|one| one.inherits))
            );
        }
    }

    #[test]
    fn each_word_but_none_is_a_preset() {
        let words: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!([&["none"], &words[..]].concat(), WORDS);
        assert!(Preset::named("none").is_none());
    }
}
