//! Runs a program with a limit on its time and on what is kept of its output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;
use tracing::info;

/// Of a flood only the end is kept: it has the reason.
const LAST_LINES: usize = 10;

/// A line longer than this is cut: a program without line breaks must not fill the memory.
const LONGEST_LINE: u64 = 1024;

/// Of all that, so much is shown in a condition.
const LONGEST_WORDS: usize = 2048;

/// Why a program did not do what it should.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// It could not be run.
    #[error("it could not be run")]
    Run(#[source] io::Error),
    /// It ended with an error.
    #[error("it ended with {status}: {words}")]
    Failed {
        /// How it ended.
        status: String,
        /// Its last words.
        words: String,
    },
    /// It took too long, and was ended.
    #[error("it did not end within {} s and was killed: {words}", limit.as_secs())]
    TooLong {
        /// How long it had.
        limit: Duration,
        /// Its last words.
        words: String,
    },
}

/// Runs it, and returns its last words. Dropping this kills it.
pub(super) async fn run(
    program: &Path,
    arguments: &[OsString],
    limit: Duration,
) -> Result<String, ProcessError> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("NO_COLOR", "1")
        .kill_on_drop(true)
        .spawn()
        .map_err(ProcessError::Run)?;
    let words = Mutex::new(Words::default());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let ended = timeout(limit, async {
        tokio::try_join!(listen(out, &words), listen(err, &words))?;
        child.wait().await
    })
    .await;
    let words = words.into_inner().unwrap_or_else(PoisonError::into_inner).last();
    info!(program = %program.display(), words, "ended");
    match ended {
        Ok(Ok(status)) if status.success() => Ok(words),
        Ok(Ok(status)) => Err(ProcessError::Failed { status: status.to_string(), words }),
        Ok(Err(error)) => Err(ProcessError::Run(error)),
        Err(_) => {
            child.kill().await.map_err(ProcessError::Run)?;
            Err(ProcessError::TooLong { limit, words })
        }
    }
}

/// What a program said last.
#[derive(Default)]
struct Words(VecDeque<String>);

impl Words {
    fn hear(&mut self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        if self.0.len() == LAST_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.to_owned());
    }

    fn last(&self) -> String {
        let all: Vec<_> = self.0.iter().map(String::as_str).collect();
        let all = all.join("\n");
        let surplus = all.chars().count().saturating_sub(LONGEST_WORDS);
        all.chars().skip(surplus).collect()
    }
}

/// Until the stream has ended. A line that is too long is heard in pieces.
async fn listen(stream: Option<impl AsyncRead + Unpin>, words: &Mutex<Words>) -> io::Result<()> {
    let Some(stream) = stream else { return Ok(()) };
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while (&mut stream).take(LONGEST_LINE).read_until(b'\n', &mut line).await? > 0 {
        let text = String::from_utf8_lossy(&line);
        words.lock().unwrap_or_else(PoisonError::into_inner).hear(&text);
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, limit: Duration) -> Result<String, ProcessError> {
        run(Path::new("sh"), &["-c".into(), script.into()], limit).await
    }

    const LONG: Duration = Duration::from_mins(2);

    #[tokio::test]
    async fn the_last_words_of_both_streams_are_kept() {
        let said = shell("echo first; echo second >&2", LONG).await.unwrap();
        assert!(said.contains("first") && said.contains("second"), "{said}");
    }

    #[tokio::test]
    async fn a_failure_has_its_words() {
        let error = shell("echo no such cluster >&2; exit 3", LONG).await.unwrap_err();
        assert_eq!(error.to_string(), "it ended with exit status: 3: no such cluster");
    }

    #[tokio::test]
    async fn what_hangs_is_killed() {
        let error = shell("echo waiting; exec sleep 1000", Duration::from_secs(1)).await;
        let error = error.unwrap_err();
        assert!(matches!(&error, ProcessError::TooLong { words, .. } if words == "waiting"));
    }

    #[tokio::test]
    async fn a_flood_is_read_to_its_end_and_its_end_is_kept() {
        let flood = "head -c 3000000 /dev/zero | tr '\\0' 'x'; i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done";
        let said = shell(flood, LONG).await.unwrap();
        assert!(said.ends_with("line 4999"), "{said:.100}");
        assert!(said.len() <= LONGEST_WORDS);
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named_as_such() {
        let error = run(Path::new("no-such-program"), &[], LONG).await.unwrap_err();
        assert!(matches!(error, ProcessError::Run(_)));
    }
}
