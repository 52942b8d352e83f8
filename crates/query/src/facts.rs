//! What is known of one file.

use crate::kinds::{FileKind, content_types, extension_of, kind_of};
use crate::{Attribute, ValueKind};

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of an attribute of [`ValueKind::Text`].
    Text(String),
    /// Of an attribute of [`ValueKind::Number`]; never NaN.
    Number(f64),
    /// Of an attribute of [`ValueKind::Date`]: seconds since 1970-01-01 00:00 UTC.
    Date(i64),
}

impl Value {
    /// The type of the value.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match self {
            Self::Text(_) => ValueKind::Text,
            Self::Number(_) => ValueKind::Number,
            Self::Date(_) => ValueKind::Date,
        }
    }
}

/// What is known of one file: values by their attributes. An attribute may have several values, or none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    values: Vec<(Attribute, Value)>,
}

impl Facts {
    /// The facts that follow from the name, the kind of entry and the Mac type: name, kind, extension, content types.
    /// `type_code` is the Mac type; all zeros means none.
    #[must_use]
    pub fn of_name(name: &str, entry: formats::Kind, type_code: [u8; 4]) -> Self {
        let mut facts = Self::default();
        facts.add_text(Attribute::Name, name);
        let kind = kind_of(name, entry, type_code);
        for of in FileKind::ALL.iter().filter(|of| kind.is_a(**of)) {
            facts.add_text(Attribute::Kind, of.name());
        }
        let extension =
            extension_of(name).filter(|_| entry != formats::Kind::Folder || kind != FileKind::Folder);
        if let Some(extension) = extension {
            facts.add_text(Attribute::Extension, extension);
        }
        for identifier in content_types(kind, extension) {
            facts.add_text(Attribute::ContentType, identifier);
        }
        facts
    }

    /// Adds a value. It is left out if it has not the type of the attribute, or is a number that is none.
    pub fn add(&mut self, attribute: Attribute, value: Value) {
        let is_number = !matches!(value, Value::Number(number) if number.is_nan());
        if value.kind() == attribute.kind() && is_number {
            self.values.push((attribute, value));
        }
    }

    /// Adds a text.
    pub fn add_text(&mut self, attribute: Attribute, text: impl Into<String>) {
        self.add(attribute, Value::Text(text.into()));
    }

    /// The values of one attribute.
    pub fn of(&self, attribute: Attribute) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(move |(of, _)| *of == attribute).map(|(_, value)| value)
    }

    /// The texts of one attribute.
    pub fn texts(&self, attribute: Attribute) -> impl Iterator<Item = &str> {
        self.of(attribute).filter_map(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The first date of an attribute.
    #[must_use]
    pub fn date(&self, attribute: Attribute) -> Option<i64> {
        self.of(attribute).find_map(|value| match value {
            Value::Date(at) => Some(*at),
            _ => None,
        })
    }

    /// The first number of an attribute.
    #[must_use]
    pub fn number(&self, attribute: Attribute) -> Option<f64> {
        self.of(attribute).find_map(|value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// All values with their attributes.
    #[must_use]
    pub fn all(&self) -> &[(Attribute, Value)] {
        &self.values
    }
}

impl Extend<(Attribute, Value)> for Facts {
    fn extend<I: IntoIterator<Item = (Attribute, Value)>>(&mut self, values: I) {
        values.into_iter().for_each(|(attribute, value)| self.add(attribute, value));
    }
}
