//! One picture: a line for each cluster, with a bar for each dimension.

use rear_agent_sdk::communicator::Advertisement;
use rear_agent_sdk::{Chain, Dimension, Error};

use super::Order;
use crate::output::{Colours, Style, printable};
use crate::show::states;

/// The dimensions that have bars, with their titles.
const DRAWN: [(Dimension, &str); 3] =
    [(Dimension::Cpu, "CPU"), (Dimension::Memory, "MEMORY"), (Dimension::Gpu, "GPU")];

/// Bars need this much to say anything, and no more to say it better.
const BAR: std::ops::RangeInclusive<usize> = 6..=24;

/// The longest name that is drawn whole.
const NAME: usize = 24;

/// The longest state that is drawn whole.
const STATE: usize = 14;

/// Above the clusters, and below them.
const AROUND: usize = 3;

/// How full a cluster is, in thousandths of what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bars {
    name: String,
    state: String,
    style: Style,
    /// What workloads use, and what is promised beyond that; absent where the cluster has none.
    parts: [Option<(u32, u32)>; DRAWN.len()],
}

/// The picture.
pub(super) struct Frame {
    broker: String,
    pub(super) order: Order,
    bars: Vec<Bars>,
    trouble: Option<String>,
    /// Whether anything was read yet.
    begun: bool,
    first: usize,
}

impl Bars {
    pub(super) fn of(cluster: &Advertisement) -> Result<Self, Error> {
        let shown = &cluster.resources;
        let amounts = |list: &rear_api::amounts::ResourceList| {
            list.resources().map_err(|error| Error::Garbage { detail: error.to_string() })
        };
        let (all, used, free) =
            (amounts(&shown.allocatable)?, amounts(&shown.allocated)?, amounts(&shown.available)?);
        let parts = DRAWN.map(|(dimension, _)| {
            let (all, used, free) = (all.get(dimension), used.get(dimension), free.get(dimension));
            let used = used.min(all);
            let promised = all.saturating_sub(used).saturating_sub(free);
            (all > 0).then(|| (thousandths(used, all), thousandths(promised, all)))
        });
        let (state, style) = states(cluster);
        Ok(Self { name: printable(&cluster.cluster_id).into_owned(), state, style, parts })
    }

    /// How full it is in a dimension, by its place.
    fn full(&self, place: usize) -> u32 {
        self.parts[place].map_or(0, |(used, promised)| used + promised)
    }

    fn line(&self, width: usize, colours: Colours) -> String {
        let name = format!("{:<NAME$}", cut(&self.name, NAME));
        let state = colours.paint(self.style, &format!("{:<STATE$}", cut(&self.state, STATE)));
        let bars: String = self.parts.iter().map(|part| bar(*part, width, colours)).collect();
        format!("{name} {state}{bars}\n")
    }
}

/// Rounded up: what is used at all is not drawn as nothing.
fn thousandths(part: u64, all: u64) -> u32 {
    let share = (u128::from(part) * 1000).div_ceil(u128::from(all.max(1)));
    u32::try_from(share).unwrap_or(1000).min(1000)
}

/// ` [####==....]  60%`: used, promised, free.
fn bar(part: Option<(u32, u32)>, width: usize, colours: Colours) -> String {
    let Some((used, promised)) = part else {
        return format!(" {:width$}   {:>4}", "", "-");
    };
    let full = (used + promised).min(1000);
    let cells = |share: u32| (share as usize * width).div_ceil(1000);
    let (drawn, drawn_used) = (cells(full), cells(used).min(cells(full)));
    let style = match full {
        ..700 => Style::Good,
        700..900 => Style::Careful,
        _ => Style::Bad,
    };
    let filled = format!("{}{}", "#".repeat(drawn_used), "=".repeat(drawn - drawn_used));
    let free = ".".repeat(width - drawn);
    format!(" [{}{free}] {:>3}%", colours.paint(style, &filled), full / 10)
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

impl Frame {
    pub(super) fn new(broker: &str, order: Order) -> Self {
        let broker = printable(broker).into_owned();
        Self { broker, order, bars: Vec::new(), trouble: None, begun: false, first: 0 }
    }

    /// What was read, or why it could not be: then the last picture stays, and says so.
    pub(super) fn learn(&mut self, read: Result<Vec<Bars>, Error>) {
        match read {
            Ok(bars) => (self.bars, self.trouble, self.begun) = (bars, None, true),
            Err(error) => self.trouble = Some(printable(&Chain(&error).to_string()).into_owned()),
        }
    }

    pub(super) fn scroll(&mut self, lines: isize) {
        self.first = self.first.saturating_add_signed(lines).min(self.bars.len().saturating_sub(1));
    }

    pub(super) fn sort(&mut self) {
        let full = |bars: &Bars| match self.order {
            Order::Full => (0..DRAWN.len()).map(|place| bars.full(place)).max().unwrap_or(0),
            Order::Cpu => bars.full(0),
            Order::Memory => bars.full(1),
            Order::Gpu => bars.full(2),
            Order::Name => 0,
        };
        self.bars.sort_by(|one, other| full(other).cmp(&full(one)).then(one.name.cmp(&other.name)));
    }

    /// Its lines, for so many columns, and at most so many clusters.
    pub(super) fn lines(
        &self,
        columns: usize,
        clusters: Option<usize>,
        colours: Colours,
    ) -> Vec<String> {
        let around = NAME + 1 + STATE + DRAWN.len() * " [] 100%".len();
        let width = (columns.saturating_sub(around) / DRAWN.len()).clamp(*BAR.start(), *BAR.end());
        let first = clusters.map_or(0, |_| self.first);
        let shown = self.bars.iter().skip(first).take(clusters.unwrap_or(usize::MAX));
        let heading = [self.summary(), titles(width, colours)];
        heading.into_iter().chain(shown.map(|bars| bars.line(width, colours))).collect()
    }

    fn summary(&self) -> String {
        let troubled = self.bars.iter().filter(|bars| bars.style != Style::Good).count();
        let count = self.bars.len();
        let state = match (&self.trouble, self.begun) {
            (Some(why), _) => format!("NOT CURRENT: {why}"),
            (None, false) => "reading the clusters".to_owned(),
            (None, true) => format!("{count} clusters, {troubled} not in order"),
        };
        format!("{}  {state}\n", self.broker)
    }

    /// The whole screen, drawn over the last one.
    pub(super) fn screen(&self, columns: usize, lines: usize, colours: Colours) -> String {
        let room = lines.saturating_sub(AROUND);
        let drawn = self.lines(columns, Some(room), colours).into_iter().map(|line| {
            let line = line.trim_end_matches('\n');
            // Colours have no width, so that a line with colours is not cut: bars fit by themselves.
            let line =
                if line.contains('\x1b') { line.to_owned() } else { cut(line, columns.max(2)) };
            line + "\x1b[K\r\n"
        });
        let drawn: String = drawn.collect();
        let help = "q quit  f c m g n sort  j k scroll   # used  = promised  . free";
        format!("\x1b[H{drawn}\x1b[J\x1b[{lines};1H{}\x1b[K", cut(help, columns.max(2)))
    }
}

fn titles(width: usize, colours: Colours) -> String {
    let column = width + " [] 100%".len();
    let [cpu, memory, gpu] = DRAWN.map(|(_, title)| format!(" {title:<rest$}", rest = column - 1));
    let line = format!("{:<NAME$} {:<STATE$}{cpu}{memory}{gpu}", "CLUSTER", "STATE");
    colours.paint(Style::Heading, line.trim_end()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_at_all_is_drawn() {
        assert_eq!(bar(Some((1, 0)), 10, Colours::NONE), " [#.........]   0%");
        assert_eq!(bar(Some((500, 250)), 10, Colours::NONE), " [#####===..]  75%");
        assert_eq!(bar(Some((1000, 0)), 10, Colours::NONE), " [##########] 100%");
        assert_eq!(bar(None, 10, Colours::NONE).len(), " [##########] 100%".len());
    }
}
