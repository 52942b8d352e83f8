//! PDF (ISO 32000-1): the text of its pages, and its information dictionary. Encrypted files are passed over.

mod cmap;
mod content;
mod file;
mod filters;
mod fonts;
mod object;

use std::collections::HashSet;

use query::Attribute;

use self::content::PageReader;
use self::file::PdfFile;
use self::object::{Dictionary, Object};
use super::{Problem, Result, bytes, dates};
use crate::extracted::Extracted;
use crate::source::Source;

/// The most pages whose text is read.
const MOST_PAGES: usize = 5000;
/// How deep the tree of pages may be.
const DEEPEST: usize = 64;

pub(super) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let bytes = bytes::whole(source)?;
    let file = PdfFile::read(&bytes);
    if file.is_encrypted() {
        return Err(Problem::Damaged("it is encrypted"));
    }
    information(&file, found);
    let mut pages = Vec::new();
    let root = file.root().ok_or(Problem::Damaged("no catalogue"))?;
    let mut seen = HashSet::new();
    collect(&file, &root.object("Pages"), &Dictionary::default(), &mut pages, (&mut seen, DEEPEST));
    found.add_number(Attribute::Pages, pages.len() as f64);
    for page in pages.iter().take(MOST_PAGES) {
        PageReader::new(&file, found).page(page);
        if found.is_full() {
            break;
        }
    }
    Ok(())
}

/// ISO 32000-1 14.3.3.
fn information(file: &PdfFile<'_>, found: &mut Extracted) {
    let Some(facts) = file.information() else { return };
    let text = |name: &str| match file.resolved(&facts.object(name)) {
        Object::Text(bytes) => text(&bytes),
        _ => String::new(),
    };
    found.add_text(Attribute::Title, &text("Title"));
    found.add_text(Attribute::Author, &text("Author"));
    text("Keywords").split([',', ';']).for_each(|word| found.add_text(Attribute::Keyword, word));
    found.add_text(Attribute::Device, &text("Creator"));
    found.add_date(Attribute::Taken, dates::iso(&text("CreationDate")));
    found.push(&text("Subject"));
    found.end_line();
}

/// A text string, 7.9.2.2: UTF-16 or UTF-8 with a mark, or PDFDocEncoding, of which Latin-1 is the part that matters.
fn text(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into_owned(),
        [0xff, 0xfe, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into_owned(),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}

/// The pages below a node of the tree, 7.7.3: they inherit resources.
fn collect(
    file: &PdfFile<'_>,
    node: &Object,
    inherited: &Dictionary,
    pages: &mut Vec<Dictionary>,
    (seen, left): (&mut HashSet<u32>, usize),
) {
    let is_circle = matches!(node, Object::Reference(number) if !seen.insert(*number));
    if is_circle {
        return;
    }
    let Object::Dictionary(mut node) = file.resolved(node) else { return };
    if let (false, Some(resources)) = (node.has("Resources"), inherited.get("Resources")) {
        node.insert("Resources", resources.clone());
    }
    let Object::Array(kids) = file.resolved(&node.object("Kids")) else {
        pages.push(node);
        return;
    };
    for kid in &kids {
        if pages.len() < MOST_PAGES && left > 0 {
            collect(file, kid, &node, pages, (&mut *seen, left - 1));
        }
    }
}
