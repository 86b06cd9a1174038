//! The folder of results: a file for each test, so that a test that runs again replaces only its own part.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::Record;
use super::figures::figures;
use super::page::page;
use crate::chart::svg;
use crate::experiments::Experiment;

/// Why results cannot be kept.
#[derive(Debug, Error)]
pub enum KeepError {
    /// A file cannot be read or written.
    #[error("{} cannot be used", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of results is none.
    #[error("{} is no result of this evaluation: delete it, and run its test again", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// A folder with results.
#[derive(Debug, Clone)]
pub struct Results {
    folder: PathBuf,
    /// The page for who wants the figures alone.
    figures: Option<PathBuf>,
}

impl Results {
    /// In this folder, which is made if it is not there.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), figures: None }
    }

    /// Also writes a page with the figures alone.
    #[must_use]
    pub fn with_figures(self, path: impl Into<PathBuf>) -> Self {
        Self { figures: Some(path.into()), ..self }
    }

    /// Replaces what there is of the record's test, then writes the page about all tests anew.
    pub fn keep(&self, record: &Record) -> Result<(), KeepError> {
        let data = self.folder.join("data");
        make(&data)?;
        let mut text = serde_json::to_string_pretty(record).unwrap_or_default();
        text.push('\n');
        write(&self.data_of(&record.test), &text)?;
        self.draw(record)?;
        self.write_page()
    }

    /// Draws every chart and writes the page anew, from the files that are there.
    pub fn render(&self) -> Result<(), KeepError> {
        for experiment in Experiment::every() {
            if let Some(record) = self.read(experiment.name)? {
                self.draw(&record)?;
            }
        }
        self.write_page()
    }

    /// The page about all tests that there are results of, from their files.
    fn write_page(&self) -> Result<(), KeepError> {
        make(&self.folder)?;
        let mut records = Vec::new();
        for experiment in Experiment::every() {
            records.extend(self.read(experiment.name)?);
        }
        write(&self.folder.join("results.md"), &page(&records))?;
        match &self.figures {
            Some(path) => write(path, &figures(&records)),
            None => Ok(()),
        }
    }

    /// What there is of a test.
    pub fn read(&self, of: &str) -> Result<Option<Record>, KeepError> {
        let path = self.data_of(of);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|source| KeepError::File { path: path.clone(), source })?,
        };
        let read = serde_json::from_str(&text);
        read.map(Some).map_err(|source| KeepError::Unreadable { path, source })
    }

    fn data_of(&self, test: &str) -> PathBuf {
        self.folder.join("data").join(format!("{test}.json"))
    }

    /// Charts that the test no longer has go.
    fn draw(&self, record: &Record) -> Result<(), KeepError> {
        let charts = self.folder.join("charts");
        make(&charts)?;
        let prefix = format!("{}-", record.test);
        for entry in fs::read_dir(&charts).map_err(at(&charts))? {
            let path = entry.map_err(at(&charts))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)) {
                fs::remove_file(&path).map_err(at(&path))?;
            }
        }
        for chart in &record.outcome.charts {
            write(&charts.join(chart.file(&record.test)), &svg(chart))?;
        }
        Ok(())
    }
}

fn make(folder: &Path) -> Result<(), KeepError> {
    fs::create_dir_all(folder).map_err(at(folder))
}

fn write(path: &Path, text: &str) -> Result<(), KeepError> {
    fs::write(path, text).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KeepError {
    let path = path.to_owned();
    move |source| KeepError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Chart};
    use crate::machine::Machine;
    use crate::outcome::{Cell, Outcome, Table};
    use crate::raw::Limits;

    fn record(test: &str, granted: u64, charts: &[&str]) -> Record {
        let mut table = Table::new("what was granted", &["granted"]);
        table.row([Cell::Count(granted)]);
        let chart = |name: &&str| Chart::lines(name, name, Axis::linear("x"), Axis::log("y"));
        let charts = charts.iter().map(chart).collect();
        Record {
            test: test.to_owned(),
            short: true,
            seed: 1,
            at: "2026-01-02T15:04:05Z".to_owned(),
            seconds: 1.5,
            machine: Machine::default(),
            limits: Limits::default(),
            outcome: Outcome { tables: vec![table], charts, ..Outcome::default() },
        }
    }

    #[test]
    fn a_test_that_runs_again_replaces_only_its_own_part() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::new(folder.path());
        let [first, second] = [0, 1].map(|at| Experiment::ALL[at].name);
        results.keep(&record(first, 1111, &["a", "b"])).unwrap();
        results.keep(&record(second, 2222, &["c"])).unwrap();
        results.keep(&record(first, 3333, &["b"])).unwrap();
        let page = fs::read_to_string(folder.path().join("results.md")).unwrap();
        let has = |number: &str| page.contains(&number.replace(' ', "\u{202f}"));
        assert!(has("3 333") && has("2 222") && !has("1 111"), "{page}");
        let chart = |test: &str, name: &str| {
            folder.path().join("charts").join(format!("{test}-{name}.svg")).is_file()
        };
        assert!(!chart(first, "a") && chart(first, "b") && chart(second, "c"));
        assert_eq!(results.read(first).unwrap().unwrap(), record(first, 3333, &["b"]));
        fs::remove_dir_all(folder.path().join("charts")).unwrap();
        results.render().unwrap();
        assert!(chart(first, "b") && chart(second, "c"));
    }

    #[test]
    fn the_pages_in_the_docs_say_what_their_data_says() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let kept = Results::new(docs.join("evaluation"));
        let folder = tempfile::tempdir().unwrap();
        let again = Results::new(folder.path()).with_figures(folder.path().join("figures.md"));
        let records = Experiment::every().map(|experiment| kept.read(experiment.name).unwrap());
        records.flatten().for_each(|record| again.keep(&record).unwrap());
        for (page, rendered) in
            [("evaluation/results.md", "results.md"), ("figures.md", "figures.md")]
        {
            let read = |path: PathBuf| fs::read_to_string(path).unwrap();
            let same = read(docs.join(page)) == read(folder.path().join(rendered));
            assert!(same, "docs/{page} is old: `cargo xtask evaluate --render` writes it anew");
        }
    }

    #[test]
    fn a_file_that_is_no_result_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let results = Results::new(folder.path());
        let test = Experiment::ALL[0].name;
        results.keep(&record(test, 1, &[])).unwrap();
        fs::write(results.data_of(test), "{}").unwrap();
        let error = results.render().unwrap_err();
        assert!(error.to_string().contains(test), "{error}");
    }
}
