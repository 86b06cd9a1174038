//! The picture of a chart: readable on light and dark pages, and without colours.

use super::scale::{Range, written};
use super::{Chart, Series};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;

/// What is left beside the plot for numbers and names.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = 56.0;

/// Between two names above the plot, for each letter and for the mark.
const LETTER: f64 = 6.7;
const MARK: f64 = 30.0;

/// Colours that people with any eyes can tell apart, for light pages and for dark ones. A line has a form of its own
/// as well.
const LIGHT: [&str; 6] = ["#0060a8", "#b34700", "#00785a", "#a3357f", "#6b5b00", "#444444"];
const DARK: [&str; 6] = ["#6cb8f0", "#ff9d5c", "#4fd1a5", "#ef8ccb", "#e0cf57", "#bbbbbb"];
const DASHES: [&str; 6] = ["none", "7 3", "2 3", "10 3 2 3", "1 4", "5 5"];

/// The text of its SVG.
#[must_use]
pub fn svg(chart: &Chart) -> String {
    let mut picture = Picture::new(chart);
    picture.grid();
    picture.names();
    if chart.groups.is_empty() {
        chart.series.iter().enumerate().for_each(|(at, series)| picture.line(at, series));
    } else {
        picture.bars();
    }
    picture.text + "</svg>\n"
}

struct Picture<'a> {
    chart: &'a Chart,
    x: Range,
    y: Range,
    text: String,
}

impl<'a> Picture<'a> {
    fn new(chart: &'a Chart) -> Self {
        let points = || chart.series.iter().flat_map(|series| &series.points);
        let title = escaped(&chart.title);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>{title}</title>\n"
        );
        text += &style();
        let mut picture = Self {
            chart,
            x: Range::around(chart.x.scale, points().map(|point| point.0)),
            y: Range::around(chart.y.scale, points().map(|point| point.1)),
            text,
        };
        picture.put(&format!("<rect class=\"page\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
        picture.write(LEFT, 24.0, "start", "ink title", &chart.title);
        picture
    }

    fn put(&mut self, element: &str) {
        self.text.push_str(element);
        self.text.push('\n');
    }

    fn write(&mut self, x: f64, y: f64, anchor: &str, class: &str, words: &str) {
        let words = escaped(words);
        self.put(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{words}</text>"
        ));
    }

    fn across(&self, number: f64) -> f64 {
        LEFT + self.x.place(number) * (WIDTH - LEFT - RIGHT)
    }

    fn up(&self, number: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(number) * (HEIGHT - TOP - BOTTOM)
    }

    fn grid(&mut self) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for mark in self.y.marks() {
            let y = self.up(mark);
            self.put(&format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            self.write(LEFT - 8.0, y + 4.0, "end", "ink", &written(mark));
        }
        if self.chart.groups.is_empty() {
            for mark in self.x.marks() {
                let x = self.across(mark);
                self.put(&format!("<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/>"));
                self.write(x, bottom + 18.0, "middle", "ink", &written(mark));
            }
        }
        let middle = f64::midpoint(LEFT, right);
        let (x, y) = (self.chart.x.label.clone(), escaped(&self.chart.y.label));
        self.write(middle, HEIGHT - 14.0, "middle", "ink", &x);
        let height = f64::midpoint(TOP, bottom);
        self.put(&format!(
            "<text class=\"ink\" text-anchor=\"middle\" transform=\"translate(18 {height:.1}) rotate(-90)\">{y}</text>"
        ));
    }

    /// Above the plot, each with its mark; in a second row where one is not long enough.
    fn names(&mut self) {
        let (mut x, mut y) = (LEFT, 44.0);
        for (at, series) in self.chart.series.iter().enumerate() {
            let (class, letters) = (at % LIGHT.len(), series.name.chars().count());
            let letters = f64::from(u16::try_from(letters).unwrap_or(u16::MAX));
            let width = MARK + letters * LETTER;
            if x > LEFT && x + width > WIDTH {
                (x, y) = (LEFT, y + 16.0);
            }
            let mark = if self.chart.groups.is_empty() {
                format!("<path class=\"line s{class}\" d=\"M{x:.1} {y}h20\"/>")
            } else {
                let top = y - 6.0;
                format!(
                    "<rect class=\"bar s{class}\" x=\"{x:.1}\" y=\"{top}\" width=\"16\" height=\"11\"/>"
                )
            };
            self.put(&mark);
            self.write(x + 25.0, y + 4.0, "start", "ink", &series.name);
            x += width + 12.0;
        }
    }

    fn line(&mut self, at: usize, series: &Series) {
        let class = at % LIGHT.len();
        let places: Vec<(f64, f64)> =
            series.points.iter().map(|(x, y)| (self.across(*x), self.up(*y))).collect();
        let steps = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}"));
        let path = steps.collect::<Vec<_>>().join("L");
        self.put(&format!("<path class=\"line s{class}\" d=\"M{path}\"/>"));
        for (x, y) in places {
            self.put(&format!(
                "<circle class=\"dot s{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>"
            ));
        }
    }

    fn bars(&mut self) {
        let count = |many: usize| f64::from(u16::try_from(many).unwrap_or(u16::MAX)).max(1.0);
        let group = (WIDTH - LEFT - RIGHT) / count(self.chart.groups.len());
        let width = group * 0.8 / count(self.chart.series.len());
        let bottom = HEIGHT - BOTTOM;
        for (at, name) in self.chart.groups.iter().enumerate() {
            let middle = LEFT + group * (f64::from(u16::try_from(at).unwrap_or(0)) + 0.5);
            self.write(middle, bottom + 18.0, "middle", "ink", name);
        }
        for (at, series) in self.chart.series.iter().enumerate() {
            let class = at % LIGHT.len();
            for (place, height) in &series.points {
                let beside = f64::from(u16::try_from(at).unwrap_or(0)) * width;
                let (x, y) = (LEFT + group * (place + 0.1) + beside, self.up(*height));
                let (width, tall) = (width - 2.0, bottom - y);
                self.put(&format!(
                    "<rect class=\"bar s{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{tall:.1}\"/>"
                ));
            }
        }
    }
}

/// One picture for both kinds of pages: it asks its reader's system which it is.
fn style() -> String {
    let colours = |colours: [&str; 6]| {
        let each = colours.iter().enumerate();
        each.map(|(at, colour)| format!(".s{at}{{--c:{colour}}}")).collect::<Vec<_>>().concat()
    };
    let dash = |(at, dash)| format!(".line.s{at}{{stroke-dasharray:{dash}}}");
    let dashes: Vec<String> = DASHES.iter().enumerate().map(dash).collect();
    let dashes = dashes.concat();
    format!(
        "<style>.page{{fill:#fff}}.ink{{fill:#24292f}}.title{{font-size:15px;font-weight:600}}\
         .grid{{stroke:#d0d7de;stroke-width:1;fill:none}}.line{{stroke:var(--c);stroke-width:2;fill:none}}\
         .dot,.bar{{fill:var(--c)}}{}{dashes}\
         @media(prefers-color-scheme:dark){{.page{{fill:#0d1117}}.ink{{fill:#e6edf3}}.grid{{stroke:#30363d}}{}}}</style>\n",
        colours(LIGHT),
        colours(DARK)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Axis;

    fn lines() -> Chart {
        let (x, y) = (Axis::log("callers"), Axis::linear("ms"));
        let chart = Chart::lines("a", "waiting < & >", x, y);
        chart.with("p50", [(1.0, 2.0), (10.0, 4.0)]).with("p99", [(1.0, 3.0), (10.0, 8.0)])
    }

    #[test]
    fn every_point_is_drawn_and_every_line_has_a_form_of_its_own() {
        let text = svg(&lines());
        assert_eq!(text.matches("<circle").count(), 4);
        assert!(text.contains("waiting &lt; &amp; &gt;") && !text.contains("waiting <"));
        assert!(text.contains(".line.s1{stroke-dasharray:7 3}"));
        assert!(text.contains("prefers-color-scheme:dark"));
    }

    #[test]
    fn every_element_that_is_opened_is_closed() {
        for chart in [
            lines(),
            Chart::bars("b", "t", &["one", "two"], Axis::log("ms")).with_bars("a", [1.0, 20.0]),
        ] {
            let text = svg(&chart);
            let alone = text.matches("/>").count();
            let pairs = text.matches("</").count();
            assert_eq!(text.matches('<').count(), alone + 2 * pairs, "{text}");
        }
    }

    #[test]
    fn a_higher_number_is_higher_on_the_page() {
        let chart = lines();
        let picture = Picture::new(&chart);
        assert!(picture.up(8.0) < picture.up(2.0) && picture.across(10.0) > picture.across(1.0));
    }

    #[test]
    fn a_chart_without_numbers_is_a_chart() {
        let empty = Chart::lines("a", "t", Axis::log("x"), Axis::linear("y")).with("none", []);
        assert!(!svg(&empty).contains("NaN"));
    }
}
