//! What is read at the moment of a scrape.

/// Labels and a value.
pub type LabelledValue = (Vec<(&'static str, String)>, f64);

/// What a value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A number that goes up and down.
    Number,
    /// The same in bytes.
    Bytes,
    /// A number that only grows.
    Count,
}

/// Values of one kind, each with its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge {
    /// The name, without the prefix and the unit.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// What they mean.
    pub meaning: Meaning,
    /// The values.
    pub values: Vec<LabelledValue>,
}

/// All values of one scrape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// In the order in which they are shown.
    pub gauges: Vec<Gauge>,
}

impl Figures {
    /// Adds values.
    #[must_use]
    pub fn with(
        mut self,
        name: &'static str,
        help: &'static str,
        meaning: Meaning,
        values: Vec<LabelledValue>,
    ) -> Self {
        self.gauges.push(Gauge { name, help, meaning, values });
        self
    }
}
