//! Contents as programs write them, made here by hand.

mod documents;
mod media;
mod pdf;
mod samples;

use query::{Attribute, Value};

use super::*;

/// What is found in a file of this name and these bytes, without a problem.
fn found(name: &str, bytes: &[u8]) -> Extracted {
    let (found, problem) = extract(name, &mut &*bytes);
    assert!(problem.is_none(), "{name}: {problem:?}");
    found
}

/// The words of the text.
fn words(found: &Extracted) -> String {
    found.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn texts(found: &Extracted, attribute: Attribute) -> Vec<&str> {
    let of = found.facts.iter().filter(|(of, _)| *of == attribute);
    of.filter_map(|(_, value)| if let Value::Text(text) = value { Some(&**text) } else { None }).collect()
}

fn number(found: &Extracted, attribute: Attribute) -> Option<f64> {
    found.facts.iter().find_map(|(of, value)| match value {
        Value::Number(number) if *of == attribute => Some(*number),
        _ => None,
    })
}

fn date(found: &Extracted, attribute: Attribute) -> Option<i64> {
    found.facts.iter().find_map(|(of, value)| match value {
        Value::Date(at) if *of == attribute => Some(*at),
        _ => None,
    })
}

#[test]
fn text_is_read_in_the_encodings_of_its_time() {
    let russian = "Здравствуйте, это обычный русский текст о погоде и о природе.";
    let japanese = "これは日本語の文章です。天気はとても良いと思います。";
    let korean = "안녕하세요. 이것은 한국어로 쓴 글입니다. 날씨가 좋습니다.";
    let french = "L'été dernier, nous avons dîné à la plage près de la forêt.";
    let cases: [(&str, Vec<u8>); 9] = [
        (french, french.as_bytes().to_vec()),
        (french, encoding_rs::WINDOWS_1252.encode(french).0.into_owned()),
        (russian, encoding_rs::WINDOWS_1251.encode(russian).0.into_owned()),
        (russian, encoding_rs::KOI8_R.encode(russian).0.into_owned()),
        (japanese, encoding_rs::SHIFT_JIS.encode(japanese).0.into_owned()),
        (japanese, encoding_rs::EUC_JP.encode(japanese).0.into_owned()),
        (korean, encoding_rs::EUC_KR.encode(korean).0.into_owned()),
        (french, [&[0xff, 0xfe][..], &samples::utf16_le(french)].concat()),
        (french, samples::utf16_le(french)),
    ];
    for (at, (text, bytes)) in cases.iter().enumerate() {
        assert_eq!(found("letter.txt", bytes).text, *text, "case {at}");
    }
    assert_eq!(found("README", b"no ending").text, "no ending");
}

#[test]
fn what_is_no_text_has_none() {
    for name in ["letter.txt", "README", "unknown.xyz"] {
        assert_eq!(found(name, &[0, 1, 2, 3, 250, 0, 0, 1]), Extracted::default(), "{name}");
    }
    assert_eq!(found("empty.txt", b""), Extracted::default());
}

#[test]
fn html_is_read_as_people_see_it() {
    let html = "<!DOCTYPE html><html><head><meta charset=utf-8><title>Caf&eacute; &#x263A;</title>\
        <meta name=\"author\" content=\"Ada, B\"><meta name='keywords' content='one, two'>\
        <style>p { color: red }</style><script>var hidden = '<p>no</p>';</script></head>\
        <body><h1>He<b>ad</b>ing</h1><p>1 &lt; 2 &amp; 3</p><!-- comment --><ul><li>a<li>b</ul></body></html>";
    let found = found("page.html", html.as_bytes());
    assert_eq!(words(&found), "Heading 1 < 2 & 3 a b");
    assert_eq!(texts(&found, Attribute::Title), ["Café ☺"]);
    assert_eq!(texts(&found, Attribute::Author), ["Ada, B"]);
    assert_eq!(texts(&found, Attribute::Keyword), ["one", "two"]);
}

#[test]
fn html_states_its_encoding() {
    let (bytes, ..) = encoding_rs::SHIFT_JIS.encode("<meta charset=\"shift_jis\"><p>日本");
    assert_eq!(words(&found("page.htm", &bytes)), "日本");
}

#[test]
fn markdown_has_its_heading_as_title() {
    let found = found("notes.md", b"intro\n\n# The Plan #\n\n* one\n");
    assert_eq!((texts(&found, Attribute::Title), words(&found).contains("* one")), (vec!["The Plan"], true));
}

#[test]
fn rtf_is_read_without_its_tables() {
    let rtf = b"{\\rtf1\\ansi\\ansicpg1252\\uc1{\\fonttbl{\\f0 Hidden;}}{\\info{\\title My \\'c9t\\'e9}{\\author Ada}}\
        {\\*\\generator Hidden}Na\\u239 ?ve \\b bold\\b0 \\{x\\}\\par\nsecond \\u-10179?\\u-8694? line\\'80}";
    let found = found("letter.rtf", rtf);
    assert_eq!(found.text, "Naïve bold{x}\nsecond 😊 line€");
    assert_eq!(
        (texts(&found, Attribute::Title), texts(&found, Attribute::Author)),
        (vec!["My Été"], vec!["Ada"])
    );
}

#[test]
fn text_ends_at_its_limit() {
    let found = found("long.txt", "word ".repeat(1 << 20).as_bytes());
    assert!(found.is_cut && found.text.len() <= crate::extracted::MOST_TEXT);
    assert!(found.text.len() > crate::extracted::MOST_TEXT - 8);
}

/// Each prefix of each sample, and the sample with single bytes changed.
#[test]
fn damaged_contents_neither_panic_nor_loop() {
    for (name, bytes) in samples::all() {
        let step = (bytes.len() / 64).max(1);
        for end in (0..bytes.len()).step_by(step) {
            let _ = extract(name, &mut &bytes[..end]);
            let mut changed = bytes.clone();
            for value in [0, 0x7f, 0xff] {
                changed[end] = value;
                let _ = extract(name, &mut &changed[..]);
            }
        }
    }
}
