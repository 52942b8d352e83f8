//! Files in twelve languages and several formats.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;

/// The users of the host that the accounts act as.
pub const ADA: u32 = 61001;
pub const BOB: u32 = 61002;

/// Letters of the names below, decomposed and composed.
pub const ACCENTS: &[(&str, &str)] = &[
    ("E\u{301}", "É"),
    ("e\u{301}", "é"),
    ("a\u{300}", "à"),
    ("U\u{308}", "Ü"),
    ("a\u{308}", "ä"),
    ("n\u{303}", "ñ"),
    ("\u{438}\u{306}", "й"),
    ("\u{435}\u{308}", "ё"),
    ("\u{3b7}\u{301}", "ή"),
    ("\u{1112}\u{116c}\u{110b}\u{1174}\u{1105}\u{1169}\u{11a8}", "회의록"),
];

const TEXTS: &[(&str, &str)] = &[
    ("en/Annual Report 2024.txt", "The quarterly revenue grew by seven percent.\n"),
    ("en/annual budget.md", "# Budget Plan\n\nTravel costs are lower this year.\n"),
    ("fr/Été à la plage.txt", "Nous avons dîné près de la forêt.\n"),
    ("de/Überweisung März.md", "# Miete\n\nDie Zahlung für die Straße ist fällig.\n"),
    (
        "es/Año nuevo.html",
        "<html><head><title>Fiesta</title></head><body><p>&iexcl;Feliz a&ntilde;o, se&ntilde;or Mu&ntilde;oz!</p><script>hidden</script></body></html>",
    ),
    ("ru/Отчёт.txt", "Погода сегодня хорошая.\n"),
    ("el/Αθήνα.txt", "Καλημέρα κόσμε\n"),
    ("ja/旅行計画.txt", "来月は京都へ旅行します。\n"),
    ("zh/预算表.txt", "今年的预算已经批准。\n"),
    ("ko/회의록.txt", "다음 회의는 월요일입니다.\n"),
    ("ar/تقرير.txt", "هذا تقرير قصير\n"),
    ("he/שלום.txt", "ברוכים הבאים לכולם\n"),
    ("hi/पत्र.txt", "यह एक छोटा संदेश है\n"),
    (
        "docs/Letter.rtf",
        "{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0 Helvetica;}}{\\info{\\title Complaint}{\\author Grace}}Dear Sir, the caf\\'e9 was \\b closed\\b0 .}",
    ),
    (
        "docs/Mail.eml",
        "From: Ada <ada@lab.test>\r\nTo: bob@lab.test\r\nSubject: =?utf-8?Q?R=C3=A9union?=\r\nDate: Thu, 29 Feb 2024 12:00:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nRendez-vous =C3=A0 midi.\r\n",
    ),
    ("docs/Invoice 17.pdf", PDF),
    ("docs/empty.txt", ""),
    ("code/main.rs", "fn main() { println!(\"kumquat\"); }\n"),
    ("odd/x*x.txt", "star"),
    ("odd/x?x.txt", "mark"),
    ("odd/x(x.txt", "bracket"),
    ("odd/x=x.txt", "equals"),
    ("odd/x x.txt", "space"),
    ("private/Secret plan.txt", "The secret is out.\n"),
];

const PDF: &str = "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n\
    2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n\
    3 0 obj << /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj\n\
    4 0 obj << /Length 50 >> stream\nBT /F1 12 Tf 72 700 Td (Total amount: zucchini) Tj ET\nendstream endobj\n\
    5 0 obj << /Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding >> endobj\n\
    6 0 obj << /Title (Bill of March) /Author (Alan) >> endobj\n\
    trailer << /Root 1 0 R /Info 6 0 R >>\n%%EOF\n";

/// Writes the files. All but the folder `private` are Ada's.
pub fn write(folder: &Path) -> Result<()> {
    for (path, text) in TEXTS {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, text)?;
        set_owner(&path, ADA)?;
    }
    fs::write(folder.join("docs/large.bin"), vec![0; 5000])?;
    // 2001-01-02 00:00 UTC: a day after the beginning of Spotlight's clock.
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(978_393_600);
    fs::File::options().write(true).open(folder.join("en/annual budget.md"))?.set_modified(old)?;
    for entry in fs::read_dir(folder)?.flatten() {
        set_owner(&entry.path(), ADA)?;
    }
    set_owner(folder, ADA)?;
    let private = folder.join("private");
    set_owner(&private, BOB)?;
    set_owner(&private.join("Secret plan.txt"), BOB)?;
    fs::set_permissions(&private, fs::Permissions::from_mode(0o700))?;
    Ok(())
}

fn set_owner(path: &Path, uid: u32) -> Result<()> {
    Ok(chown(path, Some(uid), Some(uid))?)
}
