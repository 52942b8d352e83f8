//! Contents of files, and what the process that reads them says: crates/extract.

use extract::contents;
use extract::extracted::{LONGEST_FACT, MOST_FACTS, MOST_TEXT};
use extract::messages::{Saying, Task};
use query::Value;

/// Names of all formats. The first byte of an input chooses one.
const NAMES: &[&str] = &[
    "a.txt", "a.md", "a.html", "a.rtf", "a.pdf", "a.docx", "a.xlsx", "a.pptx", "a.odt", "a.epub", "a.eml",
    "a.emlx", "a.zip", "a.tar", "a.tgz", "a.jpg", "a.png", "a.gif", "a.tif", "a.heic", "a.webp", "a.mp4",
    "a.mp3", "a.wav", "a.aiff", "a.flac", "a",
];

/// Facts and text of any contents stay in their limits.
pub fn contents(data: &[u8]) {
    let Some((name, mut bytes)) = data.split_first() else { return };
    let name = NAMES[usize::from(*name) % NAMES.len()];
    let (found, _) = contents::extract(name, &mut bytes);
    assert!(found.text.len() <= MOST_TEXT && found.facts.len() <= MOST_FACTS);
    for (attribute, value) in &found.facts {
        assert_eq!(attribute.kind(), value.kind());
        if let Value::Text(text) = value {
            assert!(text.len() <= LONGEST_FACT && !text.is_empty());
        }
    }
}

/// What is understood is written as it was.
pub fn messages(data: &[u8]) {
    if let Ok(saying) = Saying::decode(data) {
        let again = saying.encode();
        assert_eq!(Saying::decode(&again[4..]), Ok(saying));
    }
    let _ = Task::decode(data);
}
