//! The page is the table: it cannot fall behind.

use std::path::Path;

#[test]
fn the_committed_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    if std::env::var_os("FOURFOLD_WRITE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, admin::settings::page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == admin::settings::page(),
        "docs/settings.md differs from the table of settings; write it anew with\n    \
         FOURFOLD_WRITE_DOCS=1 cargo test -p admin --test it settings_page"
    );
}

#[test]
fn every_setting_is_documented_and_has_an_example_it_accepts() {
    for setting in admin::settings::SETTINGS {
        assert!(setting.brief.ends_with('.') && !setting.brief.contains('\n'), "{}", setting.path());
        assert!(!setting.example.is_empty(), "{}", setting.path());
        assert!(setting.example.parse::<toml_edit::Value>().is_ok(), "{}", setting.path());
    }
}

#[test]
fn the_example_of_the_page_is_accepted() {
    let page = admin::settings::page();
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("projects/Films")).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), example.replace("/srv/projects", "projects"))
        .unwrap();
    let settings = admin::Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap();
    assert_eq!((settings.shares[0].clients.len(), settings.users.len(), settings.notes.len()), (2, 1, 0));
}
