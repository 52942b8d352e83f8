//! PDF.

use super::*;

/// A file with one page, whose objects stand in the file itself.
pub(super) fn simple() -> Vec<u8> {
    let content = "BT /F1 12 Tf 72 700 Td (Hello) Tj ( caf\\351) Tj 0 -14 Td [(Wo) -20 (rld) -300 (again)] TJ \
        /F2 12 Tf T* <00010002> Tj ET BI /W 1 ID \x01EI\x02 EI /X1 Do";
    let map = "1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfchar <0001> <65e5> endbfchar \
        1 beginbfrange <0002> <0003> <672c> endbfrange";
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F1 5 0 R /F2 6 0 R >> /XObject << /X1 8 0 R >> >> >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /ToUnicode 7 0 R >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{map}\nendstream", map.len()),
        "<< /Subtype /Form /Length 999 >>\nstream\nBT /F1 9 Tf (form) Tj ET\nendstream".to_owned(),
        "<< /Title (The \\(PDF\\) Title) /Author <FEFF00C90074> /CreationDate (D:20240229120000Z) >>".to_owned(),
    ];
    let mut file = b"%PDF-1.4\n".to_vec();
    for (number, object) in (1..).zip(&objects) {
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(encoding_rs::mem::encode_latin1_lossy(object).iter());
        file.extend(b"\nendobj\n");
    }
    file.extend(b"trailer << /Root 1 0 R /Info 9 0 R >>\n%%EOF");
    file
}

/// A file of version 1.5: objects in a packed stream, and a packed stream of content.
pub(super) fn with_streams() -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] >>",
        "<< /Type /Page /Contents 10 0 R /Resources << /Font << /F1 << /Subtype /Type1 /Encoding << /Differences [65 /eacute /fi] >> >> >> >> >>",
    ];
    let mut head = String::new();
    let mut body = String::new();
    for (number, object) in (1..).zip(objects) {
        head += &format!("{number} {} ", body.len());
        body += object;
        body += " ";
    }
    let first = head.len();
    let packed = samples::zlib((head + &body).as_bytes());
    let content = samples::zlib(b"BT /F1 12 Tf (AB) Tj ET");
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut stream = |number: u32, entries: &str, data: &[u8]| {
        file.extend(
            format!("{number} 0 obj << {entries} /Filter /FlateDecode /Length {} >> stream\n", data.len())
                .bytes(),
        );
        file.extend(data);
        file.extend(b"\nendstream endobj\n");
    };
    stream(20, &format!("/Type /ObjStm /N 3 /First {first}"), &packed);
    stream(10, "", &content);
    stream(21, "/Type /XRef /Root 1 0 R", &samples::zlib(b""));
    file
}

#[test]
fn pages_have_the_text_that_is_shown() {
    let found = found("a.pdf", &simple());
    assert_eq!(words(&found), "Hello café World again 日本 form");
    assert!(found.text.contains("café\nWorld again"));
    assert_eq!(
        (texts(&found, Attribute::Title), texts(&found, Attribute::Author)),
        (vec!["The (PDF) Title"], vec!["Ét"])
    );
    assert_eq!(
        (number(&found, Attribute::Pages), date(&found, Attribute::Taken)),
        (Some(1.0), Some(1_709_208_000))
    );
}

#[test]
fn objects_may_be_in_streams_and_glyphs_have_names() {
    assert_eq!(words(&found("a.pdf", &with_streams())), "e\u{301}fi");
}

#[test]
fn an_encrypted_file_is_not_read() {
    let mut file = simple();
    file.extend(b"trailer << /Encrypt 5 0 R >>");
    let (found, problem) = extract("a.pdf", &mut &file[..]);
    assert!(found.text.is_empty() && matches!(problem, Some(Problem::Damaged("it is encrypted"))));
}

#[test]
fn pages_in_a_circle_are_read_once() {
    let file = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj 2 0 obj << /Kids [2 0 R 2 0 R 3 0 R] >> endobj \
        3 0 obj << /Kids [2 0 R] >> endobj trailer << /Root 1 0 R >>";
    assert_eq!(number(&found("a.pdf", file), Attribute::Pages), Some(0.0));
}
