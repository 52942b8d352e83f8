//! Objects, ISO 32000-1 7.3, and the lexical conventions of 7.2.

/// How deep objects may be inside of others.
const DEEPEST: usize = 64;
/// The most elements of an array or a dictionary.
const MOST_ELEMENTS: usize = 1 << 20;

/// An object.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Object {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    Array(Vec<Object>),
    Dictionary(Dictionary),
    /// Another object, by its number.
    Reference(u32),
    /// A word that is none of the others: an operator of a content stream, `obj`, `stream`.
    Word(String),
}

/// Values by their names.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Dictionary(Vec<(String, Object)>);

impl Dictionary {
    pub(super) fn get(&self, name: &str) -> Option<&Object> {
        self.0.iter().rev().find(|(of, _)| of == name).map(|(_, object)| object)
    }

    /// The object of this name, or null.
    pub(super) fn object(&self, name: &str) -> Object {
        self.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn insert(&mut self, name: &str, object: Object) {
        self.0.push((name.to_owned(), object));
    }
}

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A number that is a place or a count.
    pub(super) fn count(&self) -> Option<usize> {
        self.number().filter(|number| (0.0..4e9).contains(number)).map(|number| number as usize)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// Reads objects one after the other.
pub(super) struct ObjectReader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            if byte == b'%' {
                while self.peek().is_some_and(|byte| byte != b'\n' && byte != b'\r') {
                    self.at += 1;
                }
            } else if is_space(byte) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// The next object; none at the end.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.object(DEEPEST)
    }

    fn object(&mut self, left: usize) -> Option<Object> {
        self.skip_space();
        let next = self.bytes.get(self.at + 1);
        match (self.peek()?, next) {
            (b'/', _) => Some(Object::Name(self.name())),
            (b'(', _) => Some(Object::Text(self.literal())),
            (b'<', Some(b'<')) => {
                self.at += 2;
                self.dictionary(left.checked_sub(1)?)
            }
            (b'<', _) => Some(Object::Text(self.hexadecimal())),
            (b'[', _) => {
                self.at += 1;
                self.array(left.checked_sub(1)?)
            }
            (b'>', Some(b'>')) => {
                self.at += 2;
                Some(Object::Word(">>".into()))
            }
            (byte, _) if is_delimiter(byte) => {
                self.at += 1;
                Some(Object::Word(char::from(byte).into()))
            }
            _ => Some(self.word()),
        }
    }

    fn regular(&mut self) -> &'a [u8] {
        let from = self.at;
        while self.peek().is_some_and(|byte| !is_space(byte) && !is_delimiter(byte)) {
            self.at += 1;
        }
        &self.bytes[from..self.at]
    }

    fn name(&mut self) -> String {
        self.at += 1;
        let raw = self.regular();
        let mut name = Vec::new();
        let mut rest = raw;
        while let [first, after @ ..] = rest {
            rest = after;
            let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            match digits.filter(|_| *first == b'#').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                Some(byte) => {
                    name.push(byte);
                    rest = &after[2..];
                }
                None => name.push(*first),
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// A literal string, 7.3.4.2.
    fn literal(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut text, mut open) = (Vec::new(), 1);
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.escaped(&mut text),
                b'(' => {
                    open += 1;
                    text.push(byte);
                }
                b')' => {
                    open -= 1;
                    if open == 0 {
                        break;
                    }
                    text.push(byte);
                }
                byte => text.push(byte),
            }
        }
        text
    }

    fn escaped(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' | b'f' => text.push(b' '),
            b'\r' if self.peek() == Some(b'\n') => self.at += 1,
            b'\r' | b'\n' => {}
            b'0'..=b'7' => {
                let mut number = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek() else { break };
                    number = number * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                text.push(number as u8);
            }
            byte => text.push(byte),
        }
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            digits.extend(char::from(byte).to_digit(16).map(|digit| digit as u8));
        }
        digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)).collect()
    }

    fn array(&mut self, left: usize) -> Option<Object> {
        let mut elements = Vec::new();
        loop {
            match self.object(left)? {
                Object::Word(word) if word == "]" => return Some(Object::Array(elements)),
                Object::Word(word) if word == "R" => reference(&mut elements),
                object if elements.len() < MOST_ELEMENTS => elements.push(object),
                _ => return None,
            }
        }
    }

    fn dictionary(&mut self, left: usize) -> Option<Object> {
        let mut elements = Vec::new();
        loop {
            match self.object(left)? {
                Object::Word(word) if word == ">>" => break,
                Object::Word(word) if word == "R" => reference(&mut elements),
                object if elements.len() < MOST_ELEMENTS => elements.push(object),
                _ => return None,
            }
        }
        let mut entries = Vec::new();
        let mut elements = elements.into_iter();
        while let (Some(name), Some(object)) = (elements.next(), elements.next()) {
            if let Object::Name(name) = name {
                entries.push((name, object));
            }
        }
        Some(Object::Dictionary(Dictionary(entries)))
    }

    fn word(&mut self) -> Object {
        let word = self.regular();
        if word.is_empty() {
            self.at += 1; // nothing that a word could begin with
        }
        let word = String::from_utf8_lossy(word);
        match &*word {
            "true" => Object::Bool(true),
            "false" => Object::Bool(false),
            "null" => Object::Null,
            word => match word.parse::<f64>() {
                Ok(number) if number.is_finite() && !word.contains(['e', 'E', 'n', 'N']) => {
                    Object::Number(number)
                }
                _ => Object::Word(word.to_owned()),
            },
        }
    }
}

/// Two numbers and `R` are a reference.
fn reference(elements: &mut Vec<Object>) {
    let generation = elements.pop().and_then(|object| object.count());
    let number = elements.pop().and_then(|object| object.count());
    let number = number.filter(|_| generation.is_some()).and_then(|number| u32::try_from(number).ok());
    elements.push(number.map_or(Object::Null, Object::Reference));
}
