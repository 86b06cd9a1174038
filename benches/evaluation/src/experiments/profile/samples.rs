//! What `perf report` prints, by function and by layer: pure.

use std::collections::BTreeMap;

/// Layers by the beginning of a function's name, the first that fits.
const LAYERS: [(&str, &[&str]); 8] = [
    ("decisions (rear-engine)", &["rear_engine::"]),
    ("ledger (rear-store, redb)", &["rear_store::", "redb::", "bincode::", "twox_hash::"]),
    (
        "broker (rear-broker, rear-api)",
        &["rear_broker::", "rear_api::", "axum", "tower", "governor", "matchit"],
    ),
    ("JSON", &["serde_json::", "serde::", "serde_core::"]),
    (
        "TLS",
        &[
            "rustls::",
            "tokio_rustls::",
            "aws_lc",
            "webpki",
            "x509_parser",
            "gcm_",
            "aes_",
            "sha256",
            "sha512",
            "ecp_",
            "p256",
            "chacha",
        ],
    ),
    ("HTTP", &["hyper", "h2::", "http::", "httparse", "http_body"]),
    ("tokio (threads and timers)", &["tokio::", "mio::", "parking_lot", "futures"]),
    ("logs", &["tracing", "jiff"]),
];

/// A function, and its share of the samples in percent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    pub(super) percent: f64,
    pub(super) symbol: String,
    kernel: bool,
}

impl Sample {
    /// Whose function it is.
    pub(super) fn layer(&self) -> &'static str {
        if self.kernel {
            return "Linux";
        }
        let name = self.symbol.trim_start_matches(['<', '&', '_']);
        let of =
            LAYERS.iter().find(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
        of.map_or("other (memory and the rest)", |(layer, _)| layer)
    }
}

/// Lines like `  5.32%  [.] rustls::conn::write`, most first.
pub(super) fn parse(report: &str) -> Vec<Sample> {
    let lines = report.lines().filter_map(|line| {
        let (percent, rest) = line.trim().split_once('%')?;
        let (mode, symbol) = rest.trim().split_once("] ")?;
        let symbol = symbol.trim().split("  ").next().unwrap_or_default();
        let kernel = mode == "[k";
        Some(Sample { percent: percent.trim().parse().ok()?, symbol: shortened(symbol), kernel })
    });
    let mut samples: Vec<Sample> = lines.collect();
    samples.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    samples
}

/// Without the hash that the compiler adds, and no longer than a line.
fn shortened(symbol: &str) -> String {
    let plain = symbol
        .rsplit_once("::h")
        .filter(|(_, hash)| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let plain = plain.map_or(symbol, |(name, _)| name);
    let mut short: String = plain.chars().take(90).collect();
    if short.len() < plain.len() {
        short.push('…');
    }
    short
}

/// The sum of each layer, largest first.
pub(super) fn by_layer(samples: &[Sample]) -> Vec<(&'static str, f64)> {
    let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
    for sample in samples {
        *sums.entry(sample.layer()).or_default() += sample.percent;
    }
    let mut layers: Vec<_> = sums.into_iter().collect();
    layers.sort_by(|a, b| b.1.total_cmp(&a.1));
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "
     2.00%  [.] redb::tree_store::btree::insert::h0123456789abcdef
    10.50%  [k] finish_task_switch.isra.0
     3.25%  [.] <rear_store::writer::Writer as core::ops::Drop>::drop
     0.25%  [.] malloc
# a comment
";

    #[test]
    fn functions_come_by_their_share_and_belong_to_a_layer() {
        let samples = parse(REPORT);
        let names: Vec<_> =
            samples.iter().map(|sample| (sample.symbol.as_str(), sample.layer())).collect();
        assert_eq!(names[0], ("finish_task_switch.isra.0", "Linux"));
        assert_eq!(names[1].1, "ledger (rear-store, redb)");
        assert_eq!(names[2].0, "redb::tree_store::btree::insert");
        assert_eq!(names[3].1, "other (memory and the rest)");
    }

    #[test]
    fn layers_are_summed() {
        let layers = by_layer(&parse(REPORT));
        assert_eq!(layers[0], ("Linux", 10.5));
        assert_eq!(layers[1], ("ledger (rear-store, redb)", 5.25));
    }
}
