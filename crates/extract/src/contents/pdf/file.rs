//! The objects of a file. They are found by looking for where they begin, and not by the tables of the file: damaged tables are
//! frequent, and a search needs no other order.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::super::bytes::find;
use super::filters;
use super::object::{Dictionary, Object, ObjectReader};

/// The most objects of a file.
const MOST_OBJECTS: usize = 1 << 20;
/// The most bytes of all streams of objects, unpacked.
const MOST_UNPACKED: usize = 64 << 20;
/// The most bytes of one stream, unpacked.
pub(super) const MOST_OF_STREAM: usize = 32 << 20;
/// How many references are followed to an object.
const MOST_STEPS: usize = 16;

/// Where an object is.
#[derive(Clone)]
enum Place {
    /// In the file.
    At(usize),
    /// In an unpacked stream of objects.
    Inside(Rc<Vec<u8>>, usize),
}

/// A file and the places of its objects.
pub(super) struct PdfFile<'a> {
    bytes: &'a [u8],
    places: HashMap<u32, Place>,
    trailer: Dictionary,
    /// Streams that pages have in common.
    unpacked: RefCell<usize>,
}

impl<'a> PdfFile<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let mut file =
            Self { bytes, places: HashMap::new(), trailer: Dictionary::default(), unpacked: RefCell::new(0) };
        file.find_objects();
        file.find_trailers();
        file.open_streams();
        file
    }

    /// `12 0 obj`: the last object of a number counts.
    fn find_objects(&mut self) {
        let mut from = 0;
        while let Some(at) = find(&self.bytes[from..], b"obj") {
            let at = from + at;
            from = at + 3;
            let number = number_before(self.bytes, at).filter(|_| self.places.len() < MOST_OBJECTS);
            number.into_iter().for_each(|number| drop(self.places.insert(number, Place::At(from))));
        }
    }

    fn find_trailers(&mut self) {
        let mut from = 0;
        while let Some(at) = find(&self.bytes[from..], b"trailer") {
            from += at + 7;
            if let Some(Object::Dictionary(trailer)) = ObjectReader::new(self.bytes, from).next() {
                self.adopt(&trailer);
            }
        }
    }

    /// What a trailer, or a stream in its place, says. A later one counts.
    fn adopt(&mut self, trailer: &Dictionary) {
        for name in ["Root", "Info", "Encrypt"] {
            if let Some(object) = trailer.get(name) {
                self.trailer.insert(name, object.clone());
            }
        }
    }

    /// Streams that have objects, 7.5.7, and streams in place of tables, 7.5.8. Objects outside of streams count more.
    fn open_streams(&mut self) {
        let mut numbers: Vec<(usize, u32)> = Vec::new();
        for (number, place) in &self.places {
            if let Place::At(at) = place {
                numbers.push((*at, *number));
            }
        }
        numbers.sort_unstable();
        for (at, _) in numbers {
            let Some(Object::Dictionary(head)) = ObjectReader::new(self.bytes, at).next() else { continue };
            match head.get("Type").and_then(Object::name) {
                Some("XRef") => self.adopt(&head),
                Some("ObjStm") => self.open_stream(at, &head),
                _ => {}
            }
        }
    }

    fn open_stream(&mut self, at: usize, head: &Dictionary) {
        if *self.unpacked.borrow() > MOST_UNPACKED {
            return;
        }
        let Some((_, data)) = self.stream_at(at) else { return };
        *self.unpacked.borrow_mut() += data.len();
        let data = Rc::new(data);
        let (count, first) = (self.count(head, "N"), self.count(head, "First"));
        let mut pairs = ObjectReader::new(&data, 0);
        for _ in 0..count.min(MOST_OBJECTS - self.places.len().min(MOST_OBJECTS)) {
            let number =
                pairs.next().and_then(|object| object.count()).and_then(|number| u32::try_from(number).ok());
            let (Some(number), Some(offset)) = (number, pairs.next().and_then(|object| object.count()))
            else {
                return;
            };
            let place = Place::Inside(data.clone(), first + offset);
            match self.places.get(&number) {
                Some(Place::At(other)) if *other > at => {} // a later version of the object
                _ => drop(self.places.insert(number, place)),
            }
        }
    }

    fn count(&self, dictionary: &Dictionary, name: &str) -> usize {
        self.resolved(&dictionary.object(name)).count().unwrap_or(0)
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.trailer.has("Encrypt")
    }

    /// The catalogue. Without a trailer it is looked for.
    pub(super) fn root(&self) -> Option<Dictionary> {
        if let Object::Dictionary(root) = self.resolved(&self.trailer.object("Root")) {
            return Some(root);
        }
        let is_catalogue = |number: &u32| match self.resolved(&Object::Reference(*number)) {
            Object::Dictionary(found) if found.get("Type").and_then(Object::name) == Some("Catalog") => {
                Some(found)
            }
            _ => None,
        };
        let mut numbers: Vec<&u32> = self.places.keys().collect();
        numbers.sort_unstable();
        numbers.into_iter().find_map(is_catalogue)
    }

    pub(super) fn information(&self) -> Option<Dictionary> {
        match self.resolved(&self.trailer.object("Info")) {
            Object::Dictionary(facts) => Some(facts),
            _ => None,
        }
    }

    /// The object itself, if this one is a reference.
    pub(super) fn resolved(&self, object: &Object) -> Object {
        let mut object = object.clone();
        for _ in 0..MOST_STEPS {
            let Object::Reference(number) = object else { return object };
            object = match self.places.get(&number) {
                Some(Place::At(at)) => ObjectReader::new(self.bytes, *at).next(),
                Some(Place::Inside(data, at)) => ObjectReader::new(data, *at).next(),
                None => None,
            }
            .unwrap_or_default();
        }
        Object::Null
    }

    /// The dictionary of this name in another one.
    pub(super) fn dictionary(&self, of: &Dictionary, name: &str) -> Dictionary {
        match self.resolved(&of.object(name)) {
            Object::Dictionary(found) => found,
            _ => Dictionary::default(),
        }
    }

    /// The dictionary and the unpacked data of a stream.
    pub(super) fn stream(&self, object: &Object) -> Option<(Dictionary, Vec<u8>)> {
        let Object::Reference(number) = object else { return None };
        match self.places.get(number)? {
            Place::At(at) => self.stream_at(*at),
            Place::Inside(..) => None, // streams are never inside of streams
        }
    }

    fn stream_at(&self, at: usize) -> Option<(Dictionary, Vec<u8>)> {
        let mut reading = ObjectReader::new(self.bytes, at);
        let Some(Object::Dictionary(head)) = reading.next() else { return None };
        reading.skip_space();
        let rest = self.bytes.get(reading.at..)?.strip_prefix(b"stream")?;
        let rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        let stated = self.count(&head, "Length");
        let is_right = |length: usize| {
            let after = rest.get(length..)?;
            let after = &after[..after.len().min(16)];
            find(after, b"endstream").map(|_| length)
        };
        // A length that is wrong is no reason to lose the stream.
        let length = Some(stated).filter(|stated| *stated > 0).and_then(is_right);
        let length = length.or_else(|| find(rest, b"endstream")).unwrap_or(rest.len());
        let data = filters::unpacked(self, &head, &rest[..length])?;
        Some((head, data))
    }
}

/// The number of an object whose `obj` is here.
fn number_before(bytes: &[u8], at: usize) -> Option<u32> {
    let from = at.saturating_sub(24);
    let before = std::str::from_utf8(&bytes[from..at]).ok().or_else(|| {
        // Anything may precede the numbers.
        let ascii = bytes[from..at].iter().rposition(|byte| !byte.is_ascii()).map_or(0, |last| last + 1);
        std::str::from_utf8(&bytes[from + ascii..at]).ok()
    })?;
    let mut words = before.split_ascii_whitespace().rev();
    let generation = words.next()?;
    generation.parse::<u32>().ok()?;
    let number = words.next()?;
    let digits = number.len() - number.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    number[number.len() - digits..].parse().ok()
}
