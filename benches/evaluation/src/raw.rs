//! What the machine can do at best, in the same run: so every figure is a ratio as well.

mod disk;
pub mod echo;
mod memory;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stage::{Stage, Trouble};

/// Callers at once of the busy echo: as many as the load tool has by default.
const CALLERS: usize = 64;

/// The raw limits of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Four KiB appended to a file until they are on the disk, in milliseconds: half of them are faster.
    pub sync_ms: f64,
    /// A request and its echo over TLS on a connection that is kept, in milliseconds: one caller.
    pub echo_ms: f64,
    /// How many echoes 64 callers get in a second.
    pub echoes_per_second: f64,
    /// Processor time of the echoing process for each, in milliseconds.
    pub echo_cpu_ms: f64,
    /// Bytes that are summed in a second, from memory.
    pub summed_per_second: f64,
}

impl Limits {
    /// Measures them: some seconds, or an instant for a short run.
    pub async fn measure(stage: &Stage) -> Result<Self, Trouble> {
        let span = stage.pick(Duration::from_secs(3), Duration::from_millis(200));
        let progress = stage.progress("raw limits", 4);
        let sync_ms = disk::sync(stage.folder(), span)?;
        progress.done();
        let echo = echo::Echo::start(stage)?;
        let alone = echo.load(stage, 1, span).await?;
        progress.done();
        let busy = echo.load(stage, CALLERS, span).await?;
        progress.done();
        let summed_per_second = memory::sum(span);
        Ok(Self {
            sync_ms,
            echo_ms: alone.median_ms,
            echoes_per_second: busy.per_second,
            echo_cpu_ms: busy.cpu_ms,
            summed_per_second,
        })
    }

    /// What a durable decision takes at least: a request and its answer over TLS, and one write that is on the disk.
    #[must_use]
    pub fn durable_answer_ms(&self) -> f64 {
        self.echo_ms + self.sync_ms
    }

    /// In a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        let Self { sync_ms, echo_ms, echoes_per_second, echo_cpu_ms, summed_per_second } = self;
        format!(
            "Raw limits of the same run: 4 KiB to the disk (`fdatasync`) {sync_ms:.3} ms, an echo over TLS {echo_ms:.3} ms, \
             {echoes_per_second:.0} echoes a second with {CALLERS} callers at {echo_cpu_ms:.4} ms of processor each, \
             {:.1} GB summed in a second.",
            summed_per_second / 1e9
        )
    }
}
