//! Charts as data, and as pictures: pure, from numbers to the text of an SVG.

mod draw;
mod scale;

use serde::{Deserialize, Serialize};

pub use draw::svg;
pub use scale::Scale;

/// A chart: lines over an axis of numbers, or bars over names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Its name within its test, which its file has.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// For bars: what stands below each group. Empty for lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// What is compared.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it counts, with its unit.
    pub label: String,
    /// How.
    pub scale: Scale,
}

/// One line, or one bar of every group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whose.
    pub name: String,
    /// Where; for bars, the first number is the group's.
    pub points: Vec<(f64, f64)>,
}

impl Axis {
    /// Equal steps.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Linear }
    }

    /// Equal factors.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), scale: Scale::Log }
    }
}

impl Chart {
    /// A chart of lines, without any yet.
    #[must_use]
    pub fn lines(name: &str, title: &str, x: Axis, y: Axis) -> Self {
        let (name, title) = (name.to_owned(), title.to_owned());
        Self { name, title, x, y, groups: Vec::new(), series: Vec::new() }
    }

    /// A chart of bars over these names, without any yet.
    #[must_use]
    pub fn bars(name: &str, title: &str, groups: &[&str], y: Axis) -> Self {
        let groups = groups.iter().map(ToString::to_string).collect();
        Self { groups, ..Self::lines(name, title, Axis::linear(""), y) }
    }

    /// With a further line.
    #[must_use]
    pub fn with(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        self.series.push(Series { name: name.to_owned(), points });
        self
    }

    /// With a bar in each group, in their order.
    #[must_use]
    pub fn with_bars(self, name: &str, heights: impl IntoIterator<Item = f64>) -> Self {
        let groups = (0_u32..).map(f64::from);
        self.with(name, groups.zip(heights))
    }

    /// The name of its file.
    #[must_use]
    pub fn file(&self, test: &str) -> String {
        format!("{test}-{}.svg", self.name)
    }
}
