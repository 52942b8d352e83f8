use std::fs;

use super::super::store::{FORMAT, META};
use super::*;

/// A state folder whose index has some rows of a tenant, closed well.
fn used() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let rows = rows(&index, "Share");
    (0..2_000).for_each(|row| rows.set(&index, row));
    drop(index);
    folder
}

fn refusal(folder: &Path) -> IndexError {
    Index::open(folder).map(|index| index.boot_epoch()).expect_err("it must be refused")
}

#[test]
fn a_newer_format_is_refused_in_words_and_its_rows_left_alone() {
    let folder = used();
    let newer = |transaction: &redb::WriteTransaction| {
        transaction.open_table(META)?.insert("format", FORMAT + 1)?;
        Ok(())
    };
    open(folder.path(), quiet()).store().write(newer).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, IndexError::Newer { found: 2, known: 1, .. }), "{error}");
    assert!(
        error.to_string().contains("newer version of this program (format 2, this one knows 1)"),
        "{error}"
    );
    let database = redb::Database::open(folder.path().join("index.redb")).unwrap();
    let meta = redb::ReadableDatabase::begin_read(&database).unwrap().open_table(META).unwrap();
    let row = |name| meta.get(name).unwrap().unwrap().value();
    assert_eq!(
        (row("format"), row("boot epoch")),
        (2, 2),
        "two opens before it was refused, none counted since"
    );
}

#[test]
fn a_second_server_with_the_same_state_folder_is_refused() {
    let folder = used();
    let _first = open(folder.path(), quiet());
    assert!(matches!(refusal(folder.path()), IndexError::InUse { .. }));
}

#[test]
fn an_empty_cut_or_foreign_file_is_damage_and_never_a_fresh_start() {
    let folder = used();
    let path = folder.path().join("index.redb");
    let whole = fs::read(&path).unwrap();
    let foreign = vec![b'x'; whole.len()];
    for bad in [&whole[..0], &whole[..100], &whole[..4096], &whole[..whole.len() / 2], &foreign[..]] {
        fs::write(&path, bad).unwrap();
        let error = refusal(folder.path());
        assert!(matches!(error, IndexError::Damaged { .. }), "{} bytes: {error}", bad.len());
        assert!(error.to_string().contains("restore it from a backup, or move it away"), "{error}");
    }
    fs::write(&path, &whole).unwrap();
    assert!(is_stored(&open(folder.path(), quiet()), "Share", 7), "restored");
}

#[test]
fn after_moving_the_file_away_all_starts_anew() {
    let folder = used();
    let before = open(folder.path(), quiet()).volume("Share").unwrap();
    fs::rename(folder.path().join("index.redb"), folder.path().join("old")).unwrap();
    let index = open(folder.path(), quiet());
    assert_eq!(index.boot_epoch(), 1);
    assert_ne!(index.volume("Share").unwrap(), before);
}

#[test]
fn a_database_without_a_format_version_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let database = redb::Database::create(folder.path().join("index.redb")).unwrap();
    drop(database);
    assert!(matches!(refusal(folder.path()), IndexError::Damaged { .. }));
}

#[test]
fn a_crash_while_the_file_was_made_is_in_nobodys_way() {
    for left in [&b""[..], b"half a page"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("index.redb.new"), left).unwrap();
        assert_eq!(open(folder.path(), quiet()).boot_epoch(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_state_folder_is_made_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("deep").join("state");
    drop(open(&state, quiet()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(&state.join("index.redb"))), (0o700, 0o600));
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = refusal(&file.join("state"));
    assert!(matches!(error, IndexError::Disk { .. }) && error.to_string().contains("state"), "{error}");
}
