//! The form in which texts are compared, and the words in a text.

use std::borrow::Cow;

use formats::names::{FoldedKey, Folding};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The longest word, in bytes of its folded form. The rest of a longer one does not count.
pub const MAX_WORD: usize = 64;

/// A text without case and accents: composed and folded as the tree folds names, then without marks. `Résumé` and `RESUME`
/// become `resume`, `Straße` stays apart from `strasse`. Marks that are letters of their own, as in Hangul, stay.
#[must_use]
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // A mark can keep a letter from being folded: `İ` without its dot is `I`.
    case_folded(&without_marks(&case_folded(text)))
}

/// A text without case, as the tree folds names.
pub(crate) fn case_folded(text: &str) -> String {
    let key = FoldedKey::new(text.as_bytes(), Folding::default());
    String::from_utf8_lossy(key.as_bytes()).into_owned()
}

/// A text without accents.
pub(crate) fn without_marks(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfd().filter(|c| !is_combining_mark(*c)).nfc().collect())
}

/// The words of a text as an index keeps them, folded, in their order. Writing without spaces (Chinese, Japanese kana, Thai and
/// its neighbours) becomes pairs of neighbouring characters, and the last character alone.
pub fn words(text: &str, mut each: impl FnMut(&str)) {
    let text = folded(text);
    let mut word = String::new();
    let mut dense: Vec<char> = Vec::new();
    for c in text.chars() {
        if is_dense(c) {
            flush_word(&mut word, &mut each);
            dense.push(c);
            if dense.len() == 2 {
                each(&dense.iter().collect::<String>());
                dense.remove(0);
            }
            continue;
        }
        flush_dense(&mut dense, &mut each);
        if is_in_word(c) {
            if word.len() + c.len_utf8() <= MAX_WORD {
                word.push(c);
            }
        } else {
            flush_word(&mut word, &mut each);
        }
    }
    flush_word(&mut word, &mut each);
    flush_dense(&mut dense, &mut each);
}

fn flush_word(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        each(word);
        word.clear();
    }
}

fn flush_dense(dense: &mut Vec<char>, each: &mut impl FnMut(&str)) {
    if !dense.is_empty() {
        each(&dense.drain(..).collect::<String>());
    }
}

/// Whether a character is part of a word.
pub(crate) fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Whether a character belongs to a script that has no spaces between words.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF       // Thai, Lao
        | 0x1000..=0x109F     // Myanmar
        | 0x1780..=0x17FF     // Khmer
        | 0x3005..=0x3007     // ideographic iteration mark, zero
        | 0x3040..=0x30FF     // Hiragana, Katakana
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF     // CJK extension A
        | 0x4E00..=0x9FFF     // CJK
        | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D     // half-width Katakana
        | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        found
    }

    #[test]
    fn case_and_accents_do_not_count() {
        for (text, expected) in [
            ("Résumé", "resume"),
            ("Re\u{301}sume\u{301}", "resume"),
            ("STRASSE", "strasse"),
            ("İSTANBUL", "istanbul"),
            ("Straße", "straße"),
            ("ΑΘΗΝΑ", "αθηνα"),
            ("Москва", "москва"),
            ("한국", "한국"),
            ("日本語", "日本語"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(words_of("Invoice_2024-05 (final).PDF"), ["invoice", "2024", "05", "final", "pdf"]);
        assert_eq!(words_of("  "), [""; 0]);
        assert_eq!(words_of(&"x".repeat(100)), ["x".repeat(MAX_WORD)]);
    }

    #[test]
    fn writing_without_spaces_becomes_pairs() {
        assert_eq!(words_of("日本語 text"), ["日本", "本語", "語", "text"]);
        assert_eq!(words_of("東"), ["東"]);
        assert_eq!(words_of("2024年報"), ["2024", "年報", "報"]);
    }
}
