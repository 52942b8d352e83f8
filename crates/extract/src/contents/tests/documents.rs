//! Documents, mail, archives.

use super::*;

#[test]
fn word_documents_have_text_and_properties() {
    let found = found("report.docx", &samples::docx());
    assert_eq!(words(&found), "Annual report & more Second Head");
    assert!(found.text.contains("more\nSecond"));
    assert_eq!(
        (texts(&found, Attribute::Title), texts(&found, Attribute::Author)),
        (vec!["The Title"], vec!["Ada"])
    );
    assert_eq!(texts(&found, Attribute::Keyword), ["a", "b"]);
    assert_eq!(
        (number(&found, Attribute::Pages), date(&found, Attribute::Taken)),
        (Some(3.0), Some(1_709_208_000))
    );
}

#[test]
fn spreadsheets_have_strings_numbers_and_names_of_sheets() {
    assert_eq!(words(&found("budget.xlsx", &samples::xlsx())), "Budget Rent Food 1250.5 Inline");
}

#[test]
fn slides_are_in_the_order_of_their_numbers() {
    assert_eq!(words(&found("talk.pptx", &samples::pptx())), "Second Tenth Notes");
}

#[test]
fn open_documents_have_text_and_properties() {
    let found = found("letter.odt", &samples::odt());
    assert_eq!(words(&found), "Heading Some words here");
    assert_eq!(
        (texts(&found, Attribute::Title), texts(&found, Attribute::Author)),
        (vec!["Open"], vec!["Bob"])
    );
    assert_eq!((texts(&found, Attribute::Keyword), number(&found, Attribute::Pages)), (vec!["k"], Some(7.0)));
}

#[test]
fn mail_has_people_a_subject_and_the_text_of_its_parts() {
    let found = found("mail.eml", &samples::mail());
    assert_eq!(texts(&found, Attribute::Title), ["Résumé ☺"]);
    assert_eq!(texts(&found, Attribute::Author), ["Adé <ada@lab.test>"]);
    assert_eq!(texts(&found, Attribute::Recipient), ["bob@lab.test", "eve@lab.test"]);
    assert_eq!(date(&found, Attribute::Taken), Some(1_709_208_000));
    assert_eq!(words(&found), "Café soft break in html plan.pdf 日本");
}

#[test]
fn mail_of_apple_ends_at_its_length() {
    let mail = b"Subject: Short\n\nbody\n";
    let file = [format!("{}\n", mail.len()).as_bytes(), mail, b"<?xml version=\"1.0\"?><plist>flags</plist>"]
        .concat();
    let found = found("1.emlx", &file);
    assert_eq!((words(&found), texts(&found, Attribute::Title)), ("body".into(), vec!["Short"]));
}

#[test]
fn archives_have_the_names_of_what_is_in_them() {
    assert_eq!(
        found("a.zip", &samples::zip(&[("Fotos/été.jpg", "x"), ("b", "")])).text,
        "Fotos/été.jpg\nb\n"
    );
    assert_eq!(found("a.tar", &samples::tar(&["one", "two"])).text, "top/one\ntop/two\n");
    let mut packed = Vec::new();
    std::io::Read::read_to_end(
        &mut flate2::read::GzEncoder::new(&samples::tar(&["one"])[..], flate2::Compression::fast()),
        &mut packed,
    )
    .unwrap();
    assert_eq!(found("a.tgz", &packed).text, "top/one\n");
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_cut() {
    let large = "<a/>".repeat(1 << 18);
    let file = samples::zip(&[("[Content_Types].xml", ""), ("word/document.xml", &large)]);
    assert!(file.len() < large.len() / 10);
    assert_eq!(found("bomb.docx", &file).text, "");
}
