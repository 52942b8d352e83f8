//! Names in many languages. The expected hits are written by hand.

use crate::scene::Scene;

const NAMES: &[&str] = &[
    "Annual Report 2024.pdf",    // English
    "Jahresbericht Straße.docx", // German
    "Résumé été.txt",            // French
    "Año nuevo – menú.md",       // Spanish
    "Москва отчёт.xlsx",         // Russian
    "Αθήνα αναφορά.txt",         // Greek
    "東京の天気予報.txt",        // Japanese
    "北京年度报告.pdf",          // Chinese
    "한국어 보고서.hwp",         // Korean
    "تقرير سنوي.pdf",            // Arabic
    "דוח שנתי.txt",              // Hebrew
    "รายงานประจำปี.txt",          // Thai
    "İstanbul raporu.txt",       // Turkish
];

#[test]
fn names_are_found_in_all_languages() {
    let mut scene = Scene::without_index();
    NAMES.iter().for_each(|name| drop(scene.file(name, b"")));
    scene.file("Re\u{301}sume\u{301} 2.txt", b""); // as Macs write it over NFS
    scene.start();
    scene.settle();
    for (text, expected) in [
        ("REPORT", &["Annual Report 2024.pdf"][..]),
        ("eport", &["Annual Report 2024.pdf"]),
        ("straße", &["Jahresbericht Straße.docx"]),
        ("resume", &["Re\u{301}sume\u{301} 2.txt", "Résumé été.txt"]),
        ("RÉSUMÉ ete", &["Résumé été.txt"]),
        ("menu", &["Año nuevo – menú.md"]),
        ("МОСКВА", &["Москва отчёт.xlsx"]),
        ("отчет", &["Москва отчёт.xlsx"]),
        ("ΑΘΗΝΑ", &["Αθήνα αναφορά.txt"]),
        ("天気", &["東京の天気予報.txt"]),
        ("報", &["東京の天気予報.txt"]),
        ("年度报告", &["北京年度报告.pdf"]),
        ("보고서", &["한국어 보고서.hwp"]),
        ("سنوي", &["تقرير سنوي.pdf"]),
        ("שנתי", &["דוח שנתי.txt"]),
        ("ประจำ", &["รายงานประจำปี.txt"]),
        ("istanbul", &["İstanbul raporu.txt"]),
        ("name:*.pdf", &["Annual Report 2024.pdf", "تقرير سنوي.pdf", "北京年度报告.pdf"]),
        ("kind:spreadsheet", &["Москва отчёт.xlsx"]),
        ("nowhere", &[]),
    ] {
        assert_eq!(scene.found(text), expected, "{text}");
    }
}
