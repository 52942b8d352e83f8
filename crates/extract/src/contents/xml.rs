//! XML as a stream of elements and texts. Entities of a document's own are not expanded.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use super::text::entities;

/// The most events of a document.
const MOST_EVENTS: usize = 4 << 20;

/// What a reader of XML is told.
pub(super) enum Item<'a> {
    /// An element begins. Its name without the prefix, and the element.
    Begin(&'a str, &'a BytesStart<'a>),
    /// An element ends.
    End(&'a str),
    /// A text.
    Text(&'a str),
}

/// Reads a document to its end, to the first error, or until `each` returns false. A document that is damaged has told what it
/// has until there.
pub(super) fn read(bytes: &[u8], mut each: impl FnMut(Item<'_>) -> bool) {
    let text = super::text::decode(bytes, None);
    let mut reader = Reader::from_str(&text);
    reader.config_mut().check_end_names = false;
    for _ in 0..MOST_EVENTS {
        let goes_on = match reader.read_event() {
            Ok(Event::Start(start)) => each(Item::Begin(local(start.name().as_ref()), &start)),
            Ok(Event::Empty(start)) => {
                let name = start.name();
                let name = local(name.as_ref());
                each(Item::Begin(name, &start)) && each(Item::End(name))
            }
            Ok(Event::End(end)) => each(Item::End(local(end.name().as_ref()))),
            Ok(Event::Text(text)) => each(Item::Text(&text)),
            Ok(Event::CData(text)) => each(Item::Text(&text)),
            Ok(Event::GeneralRef(name)) => {
                let c = entities::of(&name).map(String::from);
                let known = c.or_else(|| resolve_predefined_entity(&name).map(str::to_owned));
                known.is_none_or(|text| each(Item::Text(&text)))
            }
            Ok(Event::Eof) | Err(_) => return,
            Ok(_) => true,
        };
        if !goes_on {
            return;
        }
    }
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// The value of an attribute, whose name may have a prefix.
pub(super) fn value(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let found = attributes.find(|attribute| local(attribute.key.as_ref()) == name)?;
    Some(entities::replaced(&found.value))
}
