//! Documents that are ZIP files of XML: Office Open XML (ECMA-376), OpenDocument (ISO 26300), EPUB.

use query::Attribute;

use super::zip::{self, Entry};
use super::{Result, archives, dates, text, xml};
use crate::extracted::Extracted;
use crate::source::Source;

/// The most bytes of one part of a document, unpacked.
const MOST_OF_PART: usize = 64 << 20;
/// The most parts of a document that are read, such as slides and chapters.
const MOST_PARTS: usize = 1000;

pub(super) fn extract(source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let entries = zip::entries(source)?;
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    if has("[Content_Types].xml") {
        open_xml(source, &entries, found)
    } else if has("META-INF/container.xml") {
        book(source, &entries, found)
    } else if has("content.xml") {
        open_document(source, &entries, found)
    } else {
        archives::names(entries.iter().map(|entry| &*entry.name), found);
        Ok(())
    }
}

/// Reads the parts whose names are accepted, in the order of their numbers.
fn parts(
    source: &mut dyn Source,
    entries: &[Entry],
    is_wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(&[u8]),
) -> Result<()> {
    let mut wanted: Vec<&Entry> = entries.iter().filter(|entry| is_wanted(&entry.name)).collect();
    // slide9 before slide10, and the document before its headers
    wanted.sort_by_key(|entry| (!entry.name.contains("document"), entry.name.len(), &entry.name));
    for entry in wanted.into_iter().take(MOST_PARTS) {
        each(&entry.read(source, MOST_OF_PART)?);
    }
    Ok(())
}

fn open_xml(source: &mut dyn Source, entries: &[Entry], found: &mut Extracted) -> Result<()> {
    parts(source, entries, |name| name == "docProps/core.xml", |part| properties(part, found))?;
    parts(source, entries, |name| name == "docProps/app.xml", |part| counts(part, found))?;
    let is_of_text = |name: &str| {
        let is_xml = name.ends_with(".xml");
        let of_word = [
            "word/document",
            "word/header",
            "word/footer",
            "word/footnotes",
            "word/endnotes",
            "word/comments",
        ];
        let of_slides = ["ppt/slides/slide", "ppt/notesSlides/notesSlide", "ppt/comments/"];
        is_xml && of_word.iter().chain(&of_slides).any(|begin| name.starts_with(begin))
    };
    parts(source, entries, is_of_text, |part| runs(part, found))?;
    parts(source, entries, |name| name == "xl/workbook.xml", |part| sheets(part, found))?;
    parts(source, entries, |name| name == "xl/sharedStrings.xml", |part| runs(part, found))?;
    parts(source, entries, |name| name.starts_with("xl/worksheets/sheet"), |part| cells(part, found))
}

/// Dublin Core, as both families of formats have it.
fn properties(part: &[u8], found: &mut Extracted) {
    let mut current = None;
    xml::read(part, |item| {
        match item {
            xml::Item::Begin(name, _) => current = Some(name.to_owned()),
            xml::Item::End(_) => current = None,
            xml::Item::Text(text) => match current.as_deref() {
                Some("title") => found.add_text(Attribute::Title, text),
                Some("creator" | "initial-creator" | "lastModifiedBy") => {
                    found.add_text(Attribute::Author, text)
                }
                Some("keyword" | "keywords") => {
                    text.split([',', ';']).for_each(|word| found.add_text(Attribute::Keyword, word));
                }
                Some("subject" | "description") => {
                    found.push(text);
                    found.end_line();
                }
                Some("created" | "creation-date" | "date") => {
                    found.add_date(Attribute::Taken, dates::iso(text))
                }
                Some("generator") => found.add_text(Attribute::Device, text),
                _ => {}
            },
        }
        true
    });
}

fn counts(part: &[u8], found: &mut Extracted) {
    let mut current = None;
    xml::read(part, |item| {
        match item {
            xml::Item::Begin(name, _) => current = Some(name.to_owned()),
            xml::Item::End(_) => current = None,
            xml::Item::Text(text) => match (current.as_deref(), text.trim().parse()) {
                (Some("Pages" | "Slides"), Ok(count)) if count > 0.0 => {
                    found.add_number(Attribute::Pages, count)
                }
                (Some("Application"), _) => found.add_text(Attribute::Device, text),
                _ => {}
            },
        }
        true
    });
}

/// The runs of text of a document, a slide or the strings of sheets: elements `t` in paragraphs.
fn runs(part: &[u8], found: &mut Extracted) {
    let mut is_text = false;
    xml::read(part, |item| {
        match item {
            xml::Item::Begin("t", _) => is_text = true,
            xml::Item::Begin("tab", _) => found.end_word(),
            xml::Item::Begin("br" | "cr", _) | xml::Item::End("p" | "si" | "tr") => found.end_line(),
            xml::Item::End("t") => is_text = false,
            xml::Item::Text(text) if is_text => found.push(text),
            _ => {}
        }
        !found.is_full()
    });
    found.end_line();
}

fn sheets(part: &[u8], found: &mut Extracted) {
    xml::read(part, |item| {
        if let xml::Item::Begin("sheet", start) = item {
            found.push(&xml::value(start, "name").unwrap_or_default());
            found.end_line();
        }
        true
    });
}

/// The numbers and the texts in the cells of a sheet. A cell of the kind `s` has the number of a shared string.
fn cells(part: &[u8], found: &mut Extracted) {
    let (mut is_shared, mut is_value) = (false, false);
    xml::read(part, |item| {
        match item {
            xml::Item::Begin("c", start) => is_shared = xml::value(start, "t").as_deref() == Some("s"),
            xml::Item::Begin("v" | "t", _) => is_value = !is_shared,
            xml::Item::End("v" | "t") => {
                is_value = false;
                found.end_word();
            }
            xml::Item::End("row") => found.end_line(),
            xml::Item::Text(text) if is_value => found.push(text),
            _ => {}
        }
        !found.is_full()
    });
}

fn open_document(source: &mut dyn Source, entries: &[Entry], found: &mut Extracted) -> Result<()> {
    parts(
        source,
        entries,
        |name| name == "meta.xml",
        |part| {
            properties(part, found);
            xml::read(part, |item| {
                if let xml::Item::Begin("document-statistic", start) = item {
                    let pages = xml::value(start, "page-count").and_then(|count| count.parse().ok());
                    pages.into_iter().for_each(|pages| found.add_number(Attribute::Pages, pages));
                }
                true
            });
        },
    )?;
    parts(source, entries, |name| name == "content.xml", |part| paragraphs(part, found))
}

/// The text of an OpenDocument: all texts inside of the body.
fn paragraphs(part: &[u8], found: &mut Extracted) {
    let mut is_body = false;
    xml::read(part, |item| {
        match item {
            xml::Item::Begin("body", _) => is_body = true,
            xml::Item::Begin("tab" | "s", _) => found.end_word(),
            xml::Item::Begin("table", start) => {
                found.push(&xml::value(start, "name").unwrap_or_default());
                found.end_line();
            }
            xml::Item::Begin("line-break", _) | xml::Item::End("p" | "h" | "table-row") => found.end_line(),
            xml::Item::Text(text) if is_body => found.push(text),
            _ => {}
        }
        !found.is_full()
    });
    found.end_line();
}

/// A book: its package document has the facts, and its chapters are HTML.
fn book(source: &mut dyn Source, entries: &[Entry], found: &mut Extracted) -> Result<()> {
    parts(source, entries, |name| name.ends_with(".opf"), |part| properties(part, found))?;
    let is_chapter = |name: &str| name.ends_with("html") || name.ends_with(".htm");
    parts(source, entries, is_chapter, |part| text::html::read(&text::decode(part, None), found, false))
}
