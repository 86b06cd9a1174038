//! What a process costs: its processor time and its memory, as Linux counts them.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// What a process has used while it was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// How long it was watched.
    pub span: Duration,
    /// The processor time that its threads used.
    pub cpu: Duration,
    /// Its resident memory at the end, in bytes.
    pub resident: u64,
    /// The part of it that is no file's: heap and stacks.
    pub anonymous: u64,
}

impl Cost {
    /// Watches a process for a time.
    pub async fn watch(pid: u32, span: Duration) -> io::Result<Self> {
        let (before, start) = (cpu(pid)?, Instant::now());
        sleep(span).await;
        let used = cpu(pid)?.saturating_sub(before);
        let status = fs::read_to_string(process(pid).join("status"))?;
        let [resident, anonymous] = ["VmRSS:", "RssAnon:"].map(|name| bytes(&status, name));
        Ok(Self { span: start.elapsed(), cpu: used, resident, anonymous })
    }

    /// The processor time that the threads of a process have used since it began.
    pub fn processor_time(pid: u32) -> io::Result<Duration> {
        cpu(pid)
    }
}

fn process(pid: u32) -> PathBuf {
    format!("/proc/{pid}").into()
}

/// In nanoseconds, where `/proc/PID/stat` has hundredths of seconds: an idle agent uses less than that in a minute.
fn cpu(pid: u32) -> io::Result<Duration> {
    let mut sum = 0;
    for thread in fs::read_dir(process(pid).join("task"))? {
        // A thread that has ended meanwhile takes its time with it; servers keep theirs.
        let Ok(told) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        sum += told.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

fn bytes(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "a size for people")]
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let percent = 100.0 * self.cpu.as_secs_f64() / self.span.as_secs_f64().max(f64::EPSILON);
        writeln!(f, "cpu      {percent:>9.4} % of a core, {:?} in {:?}", self.cpu, self.span)?;
        writeln!(
            f,
            "memory   {:>9.1} MB resident, of it {:.1} anonymous",
            mega(self.resident),
            mega(self.anonymous)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_process_costs_something_and_a_missing_one_is_an_error() {
        let own = Cost::watch(std::process::id(), Duration::from_millis(10)).await.unwrap();
        assert!(own.resident > 0 && own.anonymous > 0 && own.cpu > Duration::ZERO, "{own}");
        assert!(Cost::watch(u32::MAX, Duration::ZERO).await.is_err());
    }
}
