//! A cluster as the broker sees it.

use rear_agent_sdk::communicator::{Advertisement, Timestamp};
use rear_api::amounts::{QuantityText, ResourceList};

use super::span::since;
use super::{Described, Description, Shown};
use crate::output::{Cell, Colours, Style, Table};

impl Shown for Advertisement {
    const KIND: &'static str = "clusters";
    const HEADING: &'static [&'static str] =
        &["NAME", "STATE", "SCORE", "CPU", "FREE", "MEMORY", "FREE", "GPU", "FREE", "SEEN"];
    const WIDE: &'static [&'static str] = &[
        "NAME", "STATE", "SCORE", "CPU", "RESERVED", "FREE", "MEMORY", "RESERVED", "FREE", "GPU",
        "RESERVED", "FREE", "STORAGE", "FREE", "SEEN", "COST", "LABELS", "CALLED",
    ];

    fn name(&self) -> String {
        self.cluster_id.clone()
    }

    fn row(&self, now: Timestamp) -> Vec<Cell> {
        let of = |list: &ResourceList| {
            [Some(list.cpu.clone()), Some(list.memory.clone()), list.gpu.clone()]
        };
        let (all, free) = (of(&self.resources.allocatable), of(&self.resources.available));
        let amounts = all.into_iter().zip(free).flat_map(|(all, free)| [cell(all), cell(free)]);
        self.head().into_iter().chain(amounts).chain([self.seen(now)]).collect()
    }

    fn wide_row(&self, now: Timestamp) -> Vec<Cell> {
        let shown = &self.resources;
        let reserved = shown.reserved.as_ref();
        let mut row = self.head();
        row.extend([
            cell(Some(shown.allocatable.cpu.clone())),
            cell(reserved.map(|list| list.cpu.clone())),
            cell(Some(shown.available.cpu.clone())),
            cell(Some(shown.allocatable.memory.clone())),
            cell(reserved.map(|list| list.memory.clone())),
            cell(Some(shown.available.memory.clone())),
            cell(shown.allocatable.gpu.clone()),
            cell(reserved.and_then(|list| list.gpu.clone())),
            cell(shown.available.gpu.clone()),
            cell(shown.allocatable.storage.clone()),
            cell(shown.available.storage.clone()),
            self.seen(now),
            self.price().into(),
            self.label_texts().join(",").into(),
            Cell::new(&self.cluster_name),
        ]);
        row
    }
}

fn cell(quantity: Option<QuantityText>) -> Cell {
    quantity.map_or_else(String::new, |quantity| rounded(&quantity.0)).into()
}

/// Bytes that are no whole number of anything, in a unit that can be read: rounded down, as `~609.5Gi`. Every other
/// quantity is short already, and stays exact.
fn rounded(quantity: &str) -> String {
    const UNITS: [(&str, u64); 4] =
        [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let bytes: Option<u64> = quantity.parse().ok();
    let larger = |bytes: u64| UNITS.into_iter().find(|(_, size)| bytes >= 10 * size);
    match bytes.and_then(|bytes| Some((bytes, larger(bytes)?))) {
        Some((bytes, (unit, size))) => {
            let tenths = bytes % size * 10 / size;
            format!("~{}.{tenths}{unit}", bytes / size)
        }
        None => quantity.to_owned(),
    }
}

/// How a cluster stands, in one word or several, and how good that is.
pub(crate) fn states(cluster: &Advertisement) -> (String, Style) {
    let Some(status) = &cluster.status else { return (String::new(), Style::Plain) };
    let troubles = [
        (!status.active, "Stale"),
        (status.overcommitted, "Overcommitted"),
        (status.recovering, "Recovering"),
    ];
    let words: Vec<&str> = troubles.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
    match words.is_empty() {
        true => ("Active".to_owned(), Style::Good),
        false if status.overcommitted => (words.join(","), Style::Bad),
        false => (words.join(","), Style::Careful),
    }
}

/// Parts of a cluster's picture.
trait Parts {
    fn head(&self) -> Vec<Cell>;
    fn seen(&self, now: Timestamp) -> Cell;
    fn price(&self) -> String;
    fn label_texts(&self) -> Vec<String>;
    fn amounts(&self) -> String;
}

impl Parts for Advertisement {
    fn head(&self) -> Vec<Cell> {
        let (state, style) = states(self);
        let score = self.status.as_ref().map_or("", |status| &status.score);
        vec![Cell::new(&self.cluster_id), Cell::styled(&state, style), Cell::new(score)]
    }

    fn seen(&self, now: Timestamp) -> Cell {
        let heard = self.status.as_ref().map_or(&self.timestamp, |status| &status.received_at);
        since(heard, now).into()
    }

    /// For a core, a GiB and a device, for an hour.
    fn price(&self) -> String {
        self.cost.as_ref().map_or_else(String::new, |cost| {
            let gpu = cost.gpu_cost.as_deref().unwrap_or("0");
            format!("{}/{}/{gpu} {}", cost.cpu_cost, cost.memory_cost, cost.currency)
        })
    }

    fn label_texts(&self) -> Vec<String> {
        let labels = self.labels.iter().flat_map(|labels| &labels.0);
        labels.map(|(key, value)| format!("{key}={value}")).collect()
    }

    fn amounts(&self) -> String {
        let shown = &self.resources;
        let lists = [
            ("capacity", Some(&shown.capacity)),
            ("allocatable", Some(&shown.allocatable)),
            ("allocated", Some(&shown.allocated)),
            ("reserved", shown.reserved.as_ref()),
            ("available", Some(&shown.available)),
        ];
        let rows: Vec<Vec<Cell>> = lists
            .into_iter()
            .filter_map(|(title, list)| Some((title, list?)))
            .map(|(title, list)| {
                let ResourceList { cpu, memory, gpu, storage } = list.clone();
                let exact = |quantity: Option<QuantityText>| {
                    Cell::from(quantity.map_or_else(String::new, |quantity| quantity.0))
                };
                vec![
                    title.into(),
                    exact(Some(cpu)),
                    exact(Some(memory)),
                    exact(gpu),
                    exact(storage),
                ]
            })
            .collect();
        Table::new(&["", "CPU", "MEMORY", "GPU", "STORAGE"], true, Colours::NONE).rows(&rows)
    }
}

impl Described for Advertisement {
    fn describe(&self, now: Timestamp) -> Description {
        let (state, style) = states(self);
        let status = self.status.as_ref();
        let heard = status.map_or("", |status| &status.received_at);
        let ago = if heard.is_empty() {
            String::new()
        } else {
            format!("{heard} ({} ago)", since(heard, now))
        };
        let consumed = self.consumed.iter().flatten().map(|used| {
            let of_all = format!("{}: {} CPU, {} memory", used.requester_id, used.cpu, used.memory);
            format!("{}\n", crate::output::printable(&of_all))
        });
        let labels = self.label_texts();
        let labels = labels.iter().map(|label| format!("{}\n", crate::output::printable(label)));
        Description::default()
            .field("Name", &self.cluster_id)
            .field("Called", &self.cluster_name)
            .styled("State", &state, style)
            .field("Score", status.map_or("", |status| &status.score))
            .field("Advertised", &self.timestamp)
            .field("Received", &ago)
            .field("Endpoint", self.endpoint_url.as_deref().unwrap_or_default())
            .field("Cost", &self.price())
            .block("Resources", self.amounts())
            .block("Labels", labels.collect())
            .block("Consumed by", consumed.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn bytes_are_rounded_down_and_marked_and_everything_else_is_exact() {
        assert_eq!(rounded("654553016158"), "~609.6Gi");
        assert_eq!(rounded("10239"), "10239");
        assert_eq!(rounded("10240"), "~10.0Ki");
        for exact in ["8", "1500m", "16Gi", "0", "2500Mi"] {
            assert_eq!(rounded(exact), exact);
        }
    }
}
