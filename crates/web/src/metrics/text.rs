//! The text of a scrape, in the OpenMetrics format that Prometheus reads.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::counting::{BOUNDS_US, Counts, Failure, Key, Series};
use super::figures::{Figures, Gauge, Meaning};

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All metrics at this moment.
pub(crate) fn text(counts: &Arc<Counts>, figures: Figures) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("fourfold");
    registry.register_collector(Box::new(Scrape { counts: counts.clone(), figures }));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Scrape {
    counts: Arc<Counts>,
    figures: Figures,
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let (series, failures) = self.counts.sums();
        operations(&mut encoder, &series)?;
        bytes(&mut encoder, &series)?;
        latencies(&mut encoder, &series)?;
        errors(&mut encoder, &failures)?;
        self.figures.gauges.iter().try_for_each(|gauge| shown(&mut encoder, gauge))
    }
}

type Labels<'a> = Vec<(&'a str, &'a str)>;

fn labels<'a>(key: &'a Key, more: Option<(&'a str, &'a str)>) -> Labels<'a> {
    let own = [("protocol", key.protocol), ("command", &key.command), ("share", &key.share)];
    own.into_iter().chain(more).collect()
}

fn counter(metric: &mut MetricEncoder<'_>, labels: &Labels<'_>, value: u64) -> fmt::Result {
    metric.encode_family(labels)?.encode_counter::<NoLabelSet, u64, f64>(&value, None)
}

fn operations(encoder: &mut DescriptorEncoder<'_>, all: &[(Key, Series)]) -> fmt::Result {
    let help = "Operations of clients";
    let mut metric = encoder.encode_descriptor("operations", help, None, MetricType::Counter)?;
    for (key, series) in all {
        for (result, count) in [("ok", series.succeeded), ("failed", series.failed)] {
            counter(&mut metric, &labels(key, Some(("result", result))), count)?;
        }
    }
    Ok(())
}

fn bytes(encoder: &mut DescriptorEncoder<'_>, all: &[(Key, Series)]) -> fmt::Result {
    let help = "Bytes of requests and replies";
    let mut metric =
        encoder.encode_descriptor("transferred", help, Some(&Unit::Bytes), MetricType::Counter)?;
    for (key, series) in all {
        for (direction, count) in [("in", series.bytes_in), ("out", series.bytes_out)] {
            counter(&mut metric, &labels(key, Some(("direction", direction))), count)?;
        }
    }
    Ok(())
}

fn latencies(encoder: &mut DescriptorEncoder<'_>, all: &[(Key, Series)]) -> fmt::Result {
    let help = "From the arrival of a request to its reply";
    let mut metric =
        encoder.encode_descriptor("operation_duration", help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (key, series) in all {
        let bounds = BOUNDS_US.iter().map(|bound| *bound as f64 / 1e6).chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(series.buckets).collect();
        metric.encode_family(&labels(key, None))?.encode_histogram::<NoLabelSet>(
            series.nanoseconds as f64 / 1e9,
            series.succeeded + series.failed,
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn errors(encoder: &mut DescriptorEncoder<'_>, failures: &[(Failure, u64)]) -> fmt::Result {
    let help = "Operations that failed, by their result";
    let mut metric = encoder.encode_descriptor("errors", help, None, MetricType::Counter)?;
    failures.iter().try_for_each(|((protocol, result), count)| {
        counter(&mut metric, &vec![("protocol", protocol), ("result", result)], *count)
    })
}

fn shown(encoder: &mut DescriptorEncoder<'_>, gauge: &Gauge) -> fmt::Result {
    let unit = (gauge.meaning == Meaning::Bytes).then_some(&Unit::Bytes);
    let kind = if gauge.meaning == Meaning::Count { MetricType::Counter } else { MetricType::Gauge };
    let mut metric = encoder.encode_descriptor(gauge.name, gauge.help, unit, kind)?;
    gauge.values.iter().try_for_each(|(labels, value)| {
        let labels: Labels<'_> = labels.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut metric = metric.encode_family(&labels)?;
        match gauge.meaning {
            Meaning::Count => metric.encode_counter::<NoLabelSet, f64, f64>(value, None),
            Meaning::Number | Meaning::Bytes => metric.encode_gauge(value),
        }
    })
}
