use super::*;
use crate::wire::text;

const WINDOWS: Folding = Folding { case_sensitive: false, normalisation_sensitive: false };
const EXACT: Folding = Folding { case_sensitive: true, normalisation_sensitive: true };

fn with(pattern: &str, folding: Folding) -> NamePattern {
    NamePattern::new(&text::of(pattern), folding).unwrap()
}

/// Both forms of a name must give the same answer.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern = with(pattern, WINDOWS);
    let answer = pattern.matches(EntryName::Utf8(name));
    assert_eq!(pattern.matches(EntryName::Units(&text::of(name))), answer, "{name}");
    answer
}

fn table(pattern: &str, matching: &[&str], others: &[&str]) {
    for name in matching {
        assert!(matches(pattern, name), "{pattern} matches {name}");
    }
    for name in others {
        assert!(!matches(pattern, name), "{pattern} does not match {name}");
    }
}

#[test]
fn a_star_is_any_characters_or_none() {
    table("*", &["a", ".", "..", "a.b.c", "Icon\u{f00d}"], &[]);
    table("he*o", &["hello", "heo", "heoo"], &["hella", "eo"]);
    table("*a*ab*abc", &["aabaabcdadabdabc"], &["aabaabcdadabdab"]);
    table("*.*.*.*", &["127.0.0.1"], &["127.0.0"]);
    table("a.**.c.d", &["a.b.c.d"], &["a.c.d"]);
}

#[test]
fn a_question_mark_is_one_character() {
    table("nt??krnl.???", &["ntoskrnl.exe"], &["ntkrnl.exe", "ntoskrnl.ex", "ntoskrnl.exes"]);
    table("?.?", &["1.0"], &["1", "1.", "10.0"]);
    table("?", &["\u{e9}"], &["\u{1F600}"]); // which is two units
    table("??", &["\u{1F600}"], &["\u{e9}"]);
}

/// The results are those of Windows' FsRtlIsNameInExpression, as ReactOS' kernel tests expect them.
#[test]
fn a_dos_star_goes_no_further_than_the_last_dot() {
    table("ab<exe", &["abcd.exe", "ab.exe", "abcdexe"], &["acd.exe", "ab.exe.x"]);
    table("a<b.exe", &["ab.exe"], &["a.bcd.exe"]);
    table("a.b<exe", &["a.bcd.exe"], &[]);
    table("<.exe", &["test.exe", "a.b.exe"], &["exe", "test.exe.bak"]);
}

/// What Win32 makes of `F0_*.*`.
#[test]
fn a_dos_star_before_a_dos_dot_is_a_name_with_or_without_an_extension() {
    table("F0_<\"*", &["f0_", "F0_.", "f0_001", "f0_001.", "f0_001.txt"], &[".", "..", "SETUP.EXE"]);
    table("F0_*.*", &["F0_.", "f0_001.", "f0_001.txt"], &["f0_", "f0_001"]);
}

/// What Win32 makes of `*.`: names without an extension.
#[test]
fn a_dos_star_at_the_end_takes_no_extension() {
    table("<", &["a", "abc"], &["a.b", "a.b.c"]);
}

#[test]
fn a_dos_question_mark_is_none_before_a_dot_and_at_the_end() {
    table("a>c.exe", &["abc.exe"], &["ac.exe"]);
    table("a>>>.exe", &["a.exe", "ab.exe", "abcd.exe"], &["abcde.exe"]);
    table("a>>>", &["a", "abcd"], &["abcde", "a.b"]);
    table("a>>>exe", &[], &["abc.exe", "ac.exe"]);
}

#[test]
fn a_dos_dot_is_a_dot_or_the_end() {
    table("ntoskrnl\"exe", &["ntoskrnl.exe"], &["ntoskrnlexe"]);
    table("ntoskrnl.exe\"", &["ntoskrnl.exe", "ntoskrnl.exe."], &["ntoskrnl.exe.x"]);
    table("\"a", &[".a"], &["a"]);
    table("a\"\"", &["a", "a.", "a.."], &["ab"]);
}

#[test]
fn what_is_no_wildcard_matches_itself() {
    table("abc.exe", &["abc.exe", "ABC.EXE"], &["abc.exe.", "abc.exes", "bc.exe"]);
    table("a[b]", &["a[b]"], &["ab"]);
    table("Icon\u{f00d}", &["Icon\u{f00d}"], &["Icon"]);
}

#[test]
fn case_and_normalisation_count_as_the_volume_says() {
    table("\u{c9}t*", &["\u{e9}t\u{e9}", "e\u{301}te"], &["ete"]);
    table("*\u{394}", &["\u{3b4}"], &[]);
    let exact = with("\u{c9}A*", EXACT);
    assert!(exact.matches(EntryName::Utf8("\u{c9}Ab")));
    assert!(!exact.matches(EntryName::Utf8("\u{c9}ab")) && !exact.matches(EntryName::Utf8("E\u{301}Ab")));
    assert!(
        with("A*", EXACT).matches(EntryName::Utf8("Ab")) && !with("A*", EXACT).matches(EntryName::Utf8("ab"))
    );
}

#[test]
fn an_unpaired_surrogate_is_a_character() {
    let pattern = NamePattern::new(&[0xD800, b'*'.into()], WINDOWS).unwrap();
    assert!(pattern.matches(EntryName::Units(&[0xD800, 0x61])));
    assert!(!pattern.matches(EntryName::Units(&[0xD801, 0x61])));
    assert!(with("?", WINDOWS).matches(EntryName::Units(&[0xDC00])));
}

#[test]
fn an_empty_pattern_and_stars_match_all() {
    for all in ["", "*", "***"] {
        assert!(with(all, WINDOWS).is_all(), "{all}");
        assert_eq!(with(all, WINDOWS).literal(), None);
    }
    assert!(!with("*.*", WINDOWS).is_all());
}

#[test]
fn a_pattern_without_wildcards_is_the_name_as_it_was_sent() {
    assert_eq!(with("ReadMe", WINDOWS).literal(), Some(&text::of("ReadMe")[..]));
    for pattern in ["a*", "a?", "a<", "a>", "a\""] {
        assert_eq!(with(pattern, WINDOWS).literal(), None);
    }
}

#[test]
fn the_longest_pattern_matches_and_a_longer_one_is_malformed() {
    let longest = "*a".repeat(255);
    assert!(matches(&longest, &"a".repeat(255)) && !matches(&longest, &"a".repeat(254)));
    assert!(NamePattern::new(&text::of(&"a".repeat(NamePattern::MAX_LEN + 1)), WINDOWS).is_err());
    assert!(matches(&"*".repeat(30_000), "a"));
}
