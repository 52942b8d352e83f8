//! A query as text of our own language, for logs and answers.

use std::fmt;

use crate::query::{Comparison, Order, Query, Test};

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::And(parts) => joined(f, parts, " "),
            Self::Or(parts) => joined(f, parts, " OR "),
            Self::Not(part) => write!(f, "-{part}"),
            Self::Is(comparison) => write!(f, "{comparison}"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Query], between: &str) -> fmt::Result {
    f.write_str("(")?;
    for (number, part) in parts.iter().enumerate() {
        f.write_str(if number == 0 { "" } else { between })?;
        write!(f, "{part}")?;
    }
    f.write_str(")")
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.attribute.name();
        match &self.test {
            Test::Present => write!(f, "has:{name}"),
            Test::Text(test) => write!(f, "{name}:{:?}", test.pattern.to_text()),
            Test::Number(order, with) => write!(f, "{name}:{}{with}", sign(*order)),
            Test::Date(order, with) => write!(f, "{name}:{}@{with}", sign(*order)),
        }
    }
}

fn sign(order: Order) -> &'static str {
    match order {
        Order::Less => "<",
        Order::AtMost => "<=",
        Order::Equal => "=",
        Order::AtLeast => ">=",
        Order::More => ">",
    }
}
