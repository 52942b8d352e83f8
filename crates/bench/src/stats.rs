//! Statistics of repeats.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Repeats of one measurement, summarized.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// The average.
    pub mean: f64,
    /// The median.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The coefficient of variation: the standard deviation of the sample, as a part of the mean.
    pub cv: f64,
}

impl Summary {
    /// Of these values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len().is_multiple_of(2) {
            true => f64::midpoint(sorted[middle - 1], sorted[middle]),
            false => sorted[middle],
        };
        let (mean, variance) = mean_and_variance(values);
        let cv = if mean == 0.0 { 0.0 } else { variance.sqrt() / mean };
        Self { count: values.len(), mean, median, min: sorted[0], max: sorted[sorted.len() - 1], cv }
    }
}

/// The mean and the variance of a sample; the variance of one value is 0.
fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    (mean, if values.len() < 2 { 0.0 } else { squares / (count - 1.0) })
}

/// The probability of a difference at least this large, if both samples came from the same source:
/// Welch's t-test, two-sided. `None` for fewer than two values in a sample.
#[must_use]
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let ((mean_a, variance_a), (mean_b, variance_b)) = (mean_and_variance(a), mean_and_variance(b));
    let (part_a, part_b) = (variance_a / a.len() as f64, variance_b / b.len() as f64);
    let error = part_a + part_b;
    if error == 0.0 {
        return Some(if mean_a == mean_b { 1.0 } else { 0.0 });
    }
    let t = (mean_a - mean_b) / error.sqrt();
    let divisor = part_a.powi(2) / (a.len() as f64 - 1.0) + part_b.powi(2) / (b.len() as f64 - 1.0);
    let freedom = error.powi(2) / divisor;
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(2.0 * distribution.cdf(-t.abs()))
}

/// The knee of a load curve: the first number of clients that reaches 90 % of the best aggregate speed.
/// `None` for fewer than three points, or if the last point is the first that does.
#[must_use]
pub fn knee(points: &[(usize, f64)]) -> Option<usize> {
    const NEAR: f64 = 0.9;
    let best = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let at = points.iter().position(|point| point.1 >= NEAR * best)?;
    (points.len() >= 3 && at + 1 < points.len()).then(|| points[at].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_summarized_by_median_extremes_and_variation() {
        let summary = Summary::of(&[3.0, 1.0, 2.0]);
        assert_eq!((summary.count, summary.median, summary.min, summary.max), (3, 2.0, 1.0, 3.0));
        assert!((summary.cv - 0.5).abs() < 1e-12); // the standard deviation is 1, the mean 2
        assert_eq!(Summary::of(&[4.0, 2.0]).median, 3.0);
        assert_eq!(Summary::of(&[]), Summary::default());
    }

    #[test]
    fn welchs_test_gives_the_probability_of_students_distribution() {
        // By numerical integration of the density: t = -2.97385 with 27.8102 degrees of freedom.
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 29.6];
        let p = welch(&a, &b).unwrap();
        assert!((p - 0.006_016_664_56).abs() < 1e-9, "{p}");
        assert_eq!(welch(&[1.0], &b), None);
        assert_eq!(welch(&[2.0, 2.0], &[2.0, 2.0]), Some(1.0));
        assert!(welch(&[1.0, 1.1, 0.9], &[1.05, 0.95, 1.0]).unwrap() > 0.5);
    }

    #[test]
    fn the_knee_is_where_more_clients_bring_nothing() {
        assert_eq!(knee(&[(1, 585.0), (5, 850.0), (10, 860.0), (50, 840.0)]), Some(5));
        assert_eq!(knee(&[(1, 1.0), (5, 5.0), (10, 10.0)]), None);
        assert_eq!(knee(&[(1, 1.0), (5, 1.0)]), None);
    }
}
