//! Charts as SVG. They have the colours of the page: the colours that are drawn here are names, which
//! variables of the page's style replace.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Text and axes.
const INK: RGBColor = RGBColor(1, 1, 1);
/// Lines behind the data.
const GRID: RGBColor = RGBColor(2, 2, 2);
/// The first colour of a series; the others follow.
const SERIES: u8 = 16;
/// Colours of series, in the page's style.
pub(super) const COLORS: u8 = 8;
const FONT: &str = "sans-serif";
const WIDTH: u32 = 460;
const BAR: u32 = 26;

type DrawResult = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A bar with its extremes.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) color: usize,
    /// The local folder, which may be off the scale of the protocols.
    pub(super) is_local: bool,
    pub(super) value: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

/// A line through points.
pub(super) struct Line {
    pub(super) color: usize,
    pub(super) points: Vec<(f64, f64)>,
}

fn color(number: usize) -> RGBColor {
    RGBColor(SERIES, SERIES, SERIES + (number % usize::from(COLORS)) as u8)
}

/// The drawing with the page's colours. A drawing into a string does not fail.
fn svg(size: (u32, u32), about: &str, draw: impl FnOnce(&Area<'_>) -> DrawResult) -> String {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        if draw(&area).is_err() || area.present().is_err() {
            return String::new();
        }
    }
    let text = text.replace("\"#010101\"", "\"currentColor\"").replace("\"#020202\"", "\"var(--grid)\"");
    let about = format!("<svg role=\"img\" aria-label=\"{}\"", super::html::escaped(about));
    let text = text.replacen("<svg", &about, 1);
    (0..COLORS).fold(text, |text, number| {
        let drawn = format!("\"#{SERIES:02X}{SERIES:02X}{:02X}\"", SERIES + number);
        text.replace(&drawn, &format!("\"var(--s{number})\""))
    })
}

/// Horizontal bars from 0, the extremes as a thin line, the value behind.
pub(super) fn bars(about: &str, bars: &[Bar]) -> String {
    const NAMES: i32 = 64;
    const LABELS: i32 = 170;
    const GAP: i32 = 5;
    let scaled = |bar: &&Bar| !bar.is_local || bars.iter().all(|bar| bar.is_local);
    let most = bars.iter().filter(scaled).map(|bar| bar.max).fold(0.0, f64::max).max(1e-9);
    let height = BAR * bars.len() as u32 + 4;
    svg((WIDTH, height), about, |area| {
        let room = f64::from(WIDTH as i32 - NAMES - LABELS);
        let x = |value: f64| NAMES + (value.min(most) / most * room) as i32;
        let text = (FONT, 15).into_font().color(&INK);
        for (number, bar) in bars.iter().enumerate() {
            let top = number as i32 * BAR as i32 + GAP;
            let (bottom, middle) = (top + BAR as i32 - 2 * GAP, top + BAR as i32 / 2 - GAP);
            area.draw(&Text::new(bar.name.clone(), (0, middle - 7), text.clone()))?;
            area.draw(&Rectangle::new([(NAMES, top), (x(bar.value), bottom)], color(bar.color).filled()))?;
            let extremes = vec![(x(bar.min), middle), (x(bar.max), middle)];
            area.draw(&PathElement::new(extremes, INK.stroke_width(1)))?;
            let at = (x(bar.max.max(bar.value)) + 6, middle - 7);
            let off = if bar.value > most { " (off the scale)" } else { "" };
            area.draw(&Text::new(format!("{}{off}", bar.label), at, text.clone()))?;
        }
        Ok(())
    })
}

/// What the axes of a line chart say.
pub(super) struct Axes<'a> {
    pub(super) about: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Formats a mark of the x axis.
    pub(super) mark: fn(f64) -> String,
    /// A number of the y axis.
    pub(super) number: fn(f64) -> String,
}

/// The marks of the x axis: the places of the points if they are few, else round numbers.
fn marks(lines: &[Line], low: f64, high: f64) -> Vec<f64> {
    const FEW: usize = 8;
    let mut places: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    if places.len() <= FEW {
        return places;
    }
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let rounds = |steps: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        all.filter(|mark| (low..=high).contains(mark)).collect()
    };
    let whole = rounds(&[1.0]);
    if whole.len() >= 3 { whole } else { rounds(&[1.0, 2.0, 5.0]) }
}

/// Lines over a logarithmic x axis.
pub(super) fn lines(axes: &Axes<'_>, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let low = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.0).fold(0.0, f64::max);
    let top = points().map(|point| point.1).fold(0.0, f64::max) * 1.08;
    if !(low > 0.0 && low < high && top > 0.0) {
        return String::new();
    }
    svg((WIDTH, 260), axes.about, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(16)
            .x_label_area_size(38)
            .y_label_area_size(62)
            .build_cartesian_2d((low..high).log_scale().with_key_points(marks(lines, low, high)), 0.0..top)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(GRID)
            .label_style((FONT, 14).into_font().color(&INK))
            .axis_desc_style((FONT, 14).into_font().color(&INK))
            .x_desc(axes.x)
            .y_desc(axes.y)
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&|value| (axes.mark)(*value))
            .y_label_formatter(&|value| (axes.number)(*value))
            .draw()?;
        for line in lines {
            let color = color(line.color);
            chart.draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(2)))?;
            if line.points.len() <= 12 {
                let dots = line.points.iter().map(|point| Circle::new(*point, 3, color.filled()));
                chart.draw_series(dots)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_words_and_the_pages_colours() {
        let bar = |name: &str, color, value| Bar {
            name: name.into(),
            label: "100 MB/s".into(),
            color,
            is_local: name == "file",
            value,
            min: value * 0.9,
            max: value * 1.1,
        };
        let svg = bars("a & b", &[bar("smb", 0, 1e8), bar("nfs", 1, 2e8)]);
        assert!(svg.contains("smb") && svg.contains("100 MB/s") && svg.contains("a &amp; b"), "{svg}");
        assert!(svg.contains("var(--s0)") && svg.contains("var(--s1)") && !svg.contains("#1010"), "{svg}");
        let svg = bars("", &[bar("smb", 0, 1e8), bar("file", 1, 2e9)]);
        assert!(svg.contains("100 MB/s (off the scale)"), "{svg}");
        assert!(svg.contains("currentColor") && !svg.contains("#010101"), "{svg}");
    }

    #[test]
    fn lines_need_two_places() {
        let axes =
            Axes { about: "", x: "clients", y: "MB/s", mark: |x| x.to_string(), number: |y| y.to_string() };
        let of = |points| lines(&axes, &[Line { color: 2, points }]);
        assert!(of(vec![(1.0, 1.0)]).is_empty() && of(Vec::new()).is_empty());
        let svg = of(vec![(1.0, 1.0), (5.0, 5.0)]);
        assert!(svg.contains("var(--s2)") && svg.contains("\n5\n"), "{svg}");
    }

    #[test]
    fn marks_are_the_places_of_few_points_or_round_numbers() {
        let line = |count: u32| {
            vec![Line {
                color: 0,
                points: (0..count).map(|n| (50.0 * 1.3_f64.powi(n as i32), 1.0)).collect(),
            }]
        };
        assert_eq!(marks(&line(2), 50.0, 65.0), [50.0, 65.0]);
        assert_eq!(marks(&line(9), 50.0, 407.0), [50.0, 100.0, 200.0]);
        assert_eq!(marks(&line(40), 50.0, 1.4e6), [1e2, 1e3, 1e4, 1e5, 1e6]);
    }
}
