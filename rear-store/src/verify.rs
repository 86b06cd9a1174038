//! Verify: every row is read, and the whole is checked against the invariants, by code that decides nothing.
//!
//! [`verify`] looks at a snapshot, also of a ledger in use. [`verify_file`] looks at a file that nobody uses,
//! redb's own checksums included, and does not change a byte of it.

mod file;
mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rear_engine::audit::{Books, Violation, books};
use rear_engine::fleet::ClusterRecord;
use rear_engine::{ClusterId, Duration, Reservation, Resources, Timestamp};
use thiserror::Error;

use crate::chain::chain;
use crate::journal::JournalError;
use crate::position::{EventId, Position};
use crate::records::Table;
use crate::records::meta::Meta;
use crate::rows::{
    ReadRows, cluster_of, event_id_of, event_of, id_of, ledger_of, read_meta, reservation_of,
};
use history::History;

pub use file::verify_file;

/// So many findings tell enough; the rest is counted.
pub const MAX_FINDINGS: usize = 1000;

/// What was looked at, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// How many rows each table has.
    pub rows: Vec<(&'static str, usize)>,
    /// What is wrong; empty if all is well.
    pub findings: Vec<Finding>,
    /// How many more findings there were.
    pub more: usize,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Finding {
    /// A row that cannot be read.
    #[error("table {table}, row {key}: {why}")]
    Row {
        /// Which table.
        table: &'static str,
        /// Which row.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// A table or file that cannot be read.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// A broken invariant.
    #[error("invariant {number}: {violation}", number = .0.invariant(), violation = .0)]
    Invariant(Violation),
    /// A ledger row that belongs to nobody.
    #[error("invariant 1: {cluster} is not known, and its ledger says {total}")]
    OrphanedLedger {
        /// Whose.
        cluster: ClusterId,
        /// What it says.
        total: Resources,
    },
    /// Something from a time that has not come yet.
    #[error("{what} is {ahead} ahead of the ledger's last time")]
    FromTheFuture {
        /// What.
        what: String,
        /// How far.
        ahead: Duration,
    },
    /// An event of a commit that was not made, or that was trimmed.
    #[error("event {id} is outside of the log, which goes from {from} to {to}")]
    EventOutside {
        /// Which one.
        id: EventId,
        /// The last commit whose events are gone.
        from: Position,
        /// The last commit.
        to: Position,
    },
    /// An event is missing: those of one commit are numbered without gaps.
    #[error("event {0} is missing")]
    EventMissing(EventId),
    /// Invariant 9: a reservation is not as its last event says.
    #[error("invariant 9: {reservation} is {phase}, its last event says {told}")]
    Untold {
        /// Which one.
        reservation: rear_engine::ReservationId,
        /// Its phase.
        phase: &'static str,
        /// What was told of it.
        told: &'static str,
    },
}

/// Looks at every row of a snapshot.
#[must_use]
pub fn verify(rows: &dyn ReadRows) -> Report {
    let mut check = Check::default();
    match read_meta(rows) {
        Ok(meta) => check.meta = Some(meta),
        Err(error) => check.unreadable(Table::Meta.name(), &error),
    }
    for table in Table::ALL {
        check.read_table(rows, table);
    }
    check.conclude()
}

/// What has been read so far.
#[derive(Default)]
struct Check {
    report: Report,
    meta: Option<Meta>,
    clusters: BTreeSet<ClusterId>,
    ledgers: BTreeMap<ClusterId, Resources>,
    reservations: Vec<Reservation>,
    history: History,
}

impl Check {
    fn read_table(&mut self, rows: &dyn ReadRows, table: Table) {
        let mut count = 0;
        let read = rows.each_from(table, &[], &mut |key, value| {
            count += 1;
            if let Err(error) = self.read_row(table, key, value) {
                let (key, why) = (shown(table, key), chain(&error));
                self.find(Finding::Row { table: table.name(), key, why });
            }
            Ok(true)
        });
        if let Err(error) = read {
            self.unreadable(table.name(), &error);
        }
        self.report.rows.push((table.name(), count));
    }

    fn read_row(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), JournalError> {
        match table {
            Table::Meta => {}
            Table::Advertisements => self.see_cluster(&cluster_of(key, value)?),
            Table::Ledger => {
                self.ledgers.insert(id_of(table, key)?, ledger_of(key, value)?);
            }
            Table::Reservations => self.reservations.push(reservation_of(key, value)?),
            Table::Events => {
                let (id, event) = (event_id_of(key)?, event_of(key, value)?);
                self.check_time(|| format!("event {id}"), event.at);
                if let Some(meta) = &self.meta {
                    let findings = self.history.see(id, &event, meta);
                    for finding in findings {
                        self.find(finding);
                    }
                }
            }
        }
        Ok(())
    }

    fn see_cluster(&mut self, record: &ClusterRecord) {
        if let Some(advertised) = &record.advertised {
            let what = || format!("the advertisement of {}", record.id);
            self.check_time(what, advertised.received_at);
        }
        self.clusters.insert(record.id.clone());
    }

    /// What needs all tables.
    fn conclude(mut self) -> Report {
        let reservations = std::mem::take(&mut self.reservations);
        for kept in &reservations {
            self.check_time(
                || kept.id.to_string(),
                kept.phase.ended_at().unwrap_or(kept.reserved_at),
            );
            if let Some(untold) = self.history.contradicts(kept) {
                self.find(untold);
            }
        }
        self.check_books(&reservations);
        self.report
    }

    fn check_books(&mut self, reservations: &[Reservation]) {
        let clusters = std::mem::take(&mut self.clusters);
        let ledgers = std::mem::take(&mut self.ledgers);
        let without = clusters.iter().map(|cluster| (cluster, Resources::NONE));
        let known = ledgers.iter().filter(|(cluster, _)| clusters.contains(*cluster));
        let violations = books(&Books {
            ledgers: without.chain(known.map(|(cluster, total)| (cluster, *total))).collect(),
            reservations: reservations.iter().collect(),
        });
        for broken in violations {
            self.find(Finding::Invariant(broken));
        }
        for (cluster, total) in &ledgers {
            if !clusters.contains(cluster) {
                let cluster = cluster.clone();
                self.find(Finding::OrphanedLedger { cluster, total: *total });
            }
        }
    }

    fn check_time(&mut self, what: impl FnOnce() -> String, at: Timestamp) {
        if let Some(Meta { time_mark: mark, .. }) = self.meta
            && at > mark
        {
            self.find(Finding::FromTheFuture { what: what(), ahead: at.since(mark) });
        }
    }

    fn unreadable(&mut self, what: &str, error: &dyn std::error::Error) {
        self.find(Finding::Unreadable { what: what.to_owned(), why: chain(error) });
    }

    fn find(&mut self, finding: Finding) {
        if self.report.findings.len() < MAX_FINDINGS {
            self.report.findings.push(finding);
        } else {
            self.report.more += 1;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.iter().map(|(table, count)| format!("{count} {table}"));
        writeln!(f, "read {}", rows.collect::<Vec<_>>().join(", "))?;
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))?;
        match (self.findings.len(), self.more) {
            (0, _) => write!(f, "all is well"),
            (1, 0) => write!(f, "1 finding"),
            (found, 0) => write!(f, "{found} findings"),
            (found, more) => write!(f, "{} findings, the first {found} are shown", found + more),
        }
    }
}

/// A key as people write it.
fn shown(table: Table, key: &[u8]) -> String {
    let text = || String::from_utf8_lossy(key).into_owned();
    match table {
        Table::Events => event_id_of(key).map_or_else(|_| text(), |id| id.to_string()),
        Table::Reservations => key.try_into().map_or_else(
            |_| text(),
            |bits| rear_engine::ReservationId::from_bits(u128::from_be_bytes(bits)).to_string(),
        ),
        Table::Advertisements | Table::Ledger | Table::Meta => text(),
    }
}
