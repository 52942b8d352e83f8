//! Presets of shares: which of preset, own setting and inheritance counts.

use admin::settings::{Arguments, Explanation, Source};
use admin::{ReadAhead, Settings};

/// Loads the shares `A` and `A/b` with these lines.
fn load(a: &str, b: &str) -> (Settings, Explanation) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
    let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{a}\n[[share]]\nname = \"A/b\"\n{b}\n");
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    Settings::load_explained(&Arguments::new(false, folder.path().into())).unwrap()
}

fn source(explained: &Explanation, share: usize, key: &str) -> Source {
    let (_, properties) = &explained.properties[share];
    properties.iter().find(|property| property.name == key).unwrap().source.clone()
}

#[test]
fn a_preset_gives_what_the_share_does_not_set_itself() {
    let (settings, explained) = load("preset = \"editing\"\nsafe-save = false", "");
    let share = &settings.shares[0];
    assert!(!share.safe_save, "its own setting counts");
    assert_eq!(share.read_ahead, ReadAhead::Double);
    assert!(matches!(source(&explained, 0, "read-ahead"), Source::Preset("editing", _)));
    assert!(matches!(source(&explained, 0, "safe-save"), Source::Local(_)));
    assert!(matches!(source(&explained, 0, "hide"), Source::Default));
}

#[test]
fn a_preset_counts_before_what_is_inherited() {
    let above = "case-sensitive = true\nread-ahead = \"none\"\nmac-sidecars = false";
    let inner = &load(above, "preset = \"editing\"\nmac-sidecars = false").0.shares[1];
    assert!(!inner.case_sensitive && !inner.mac_sidecars);
    assert_eq!(inner.read_ahead, ReadAhead::Double);
}

#[test]
fn a_share_below_has_the_preset_or_says_none() {
    let (settings, explained) = load("preset = \"editing\"", "");
    assert_eq!(settings.shares[1].read_ahead, ReadAhead::Double);
    assert!(matches!(source(&explained, 1, "read-ahead"), Source::Inherited(above, _) if above == "A"));
    let inner = &load("preset = \"editing\"\nhide = [\"x\"]", "preset = \"none\"").0.shares[1];
    assert_eq!((inner.read_ahead, inner.hide.len()), (ReadAhead::Normal, 1));
}

#[test]
fn the_printed_settings_have_the_effect_of_the_preset() {
    let text = load("preset = \"editing\"", "").1.text;
    let line = text.lines().find(|line| line.starts_with("read-ahead = \"double\"")).unwrap();
    assert!(line.contains("# preset editing, fourfold.toml:4"), "{line}");
}
