//! Metrics: operations as they end, and figures that are read when they are asked for.

mod counting;
mod figures;
mod text;

use std::sync::Arc;

pub(crate) use self::counting::{BOUNDS_US, Series};
pub use self::figures::{Figures, Gauge, LabelledValue, Meaning};
pub(crate) use self::text::MEDIA_TYPE;

/// The metrics of a server.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    counts: Arc<counting::Counts>,
}

impl Metrics {
    /// Metrics that count the operations of this process from now on.
    #[must_use]
    pub fn of_process() -> Self {
        let metrics = Self::default();
        if !conn::observe::set(Box::new(counting::Counter(metrics.counts.clone()))) {
            tracing::error!("something else observes operations; the metrics have none");
        }
        metrics
    }

    /// The operations of each protocol.
    pub(crate) fn by_protocol(&self) -> std::collections::BTreeMap<&'static str, Series> {
        self.counts.by_protocol()
    }

    /// The text of a scrape.
    pub(crate) fn text(&self, figures: Figures) -> Result<String, std::fmt::Error> {
        text::text(&self.counts, figures)
    }
}
