//! Code in documentation is not compiled and not run: `cargo xtask test` leaves out doc tests, since rustdoc would read each
//! crate once more for the few that there were. An example that proves something is a test.

use super::Violation;

/// Words behind a fence that make rustdoc take the block for a test.
const OF_TESTS: &[&str] = &["rust", "no_run", "should_panic", "compile_fail"];

pub fn check(file: &str, text: &str) -> Vec<Violation> {
    let mut is_inside = false;
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(doc) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            is_inside = false;
            continue;
        };
        let Some(fence) = doc.trim().strip_prefix("```") else { continue };
        is_inside = !is_inside;
        if is_inside && is_test(fence) {
            let what = "nothing runs this example: write ```ignore or ```text, or make it a test".into();
            findings.push(Violation { file: file.to_owned(), line: index + 1, what });
        }
    }
    findings
}

fn is_test(fence: &str) -> bool {
    let words: Vec<&str> = fence.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let is_of_test = |word: &&str| OF_TESTS.contains(word) || word.starts_with("edition");
    !words.contains(&"ignore") && (words.is_empty() || words.iter().any(is_of_test))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check("a.rs", text).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_example_that_rustdoc_would_run_is_found() {
        assert_eq!(lines("/// ```\n/// f();\n/// ```\n"), [1]);
        assert_eq!(lines("//! It.\n//! ```no_run\n//! f();\n//! ```\n"), [2]);
        assert_eq!(lines("    /// ```rust,should_panic\n    /// ```\nfn f() {}\n/// ```\n"), [1, 4]);
    }

    #[test]
    fn drawings_and_what_is_ignored_are_no_tests() {
        assert!(lines("/// ```text\n/// a ─► b\n/// ```\n").is_empty());
        assert!(lines("//! ```rust,ignore\n//! f();\n//! ```\n").is_empty());
        assert!(lines("// ```\nlet text = \"```\";\n").is_empty());
    }
}
