//! Each file over 20 lines opens with what it is for: a reader who comes from a search learns it from the first line. A module
//! with a folder is `name.rs` beside `name/`: the tabs of an editor then show different names.

use super::Violation;
use super::source::Source;

/// Files up to this length explain themselves.
const SHORT: usize = 20;

pub fn check(source: &Source) -> Option<Violation> {
    if source.path.contains("/src/") && source.path.ends_with("/mod.rs") {
        let what = "a module with a folder is `name.rs` beside `name/`".into();
        return Some(Violation { file: source.path.clone(), line: 1, what });
    }
    let is_for_tests = source.is_test() || source.path.ends_with("/testing.rs");
    let is_exempt = is_for_tests || !source.path.contains("/src/") || source.lines <= SHORT;
    (!is_exempt && !source.has_opening).then(|| Violation {
        file: source.path.clone(),
        line: 1,
        what: "a file over 20 lines opens with a `//!` that says what it is for".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "//! What it is for.\n";

    fn found(path: &str, text: &str) -> bool {
        check(&Source::parse(path, text).unwrap()).is_some()
    }

    #[test]
    fn a_long_file_without_an_opening_comment_is_found() {
        let code = "fn a() {}\n".repeat(SHORT + 1);
        assert!(found("crates/x/src/a.rs", &code));
        assert!(found("crates/x/src/a.rs", &format!("/// A function.\n{code}")));
        assert!(!found("crates/x/src/a.rs", &format!("{LONG}\n{code}")));
        assert!(!found("crates/x/src/a.rs", &format!("\n{LONG}{code}")));
    }

    #[test]
    fn a_module_with_a_folder_has_its_name() {
        assert!(found("crates/x/src/a/mod.rs", LONG));
        assert!(!found("crates/x/src/a.rs", LONG));
        assert!(!found("crates/x/tests/it/a/mod.rs", LONG));
    }

    #[test]
    fn short_files_and_tests_need_no_opening_comment() {
        let code = "fn a() {}\n".repeat(SHORT);
        assert!(!found("crates/x/src/a.rs", &code));
        assert!(!found(
            "crates/x/src/a.rs",
            &format!("{code}#[cfg(test)]\nmod tests {{\n    fn b() {{}}\n}}\n")
        ));
        let long = "fn a() {}\n".repeat(100);
        for path in ["crates/x/src/tests/a.rs", "crates/x/src/testing.rs", "crates/x/tests/a.rs"] {
            assert!(!found(path, &long), "{path}");
        }
    }
}
