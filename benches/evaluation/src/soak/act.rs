//! Has things happen to a broker, and audits it after each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rear_fleet::{Authority, Fleet, Operation};
use tokio::time::{Instant, sleep};

use super::plan::Happening;
use super::sample::Target;
use super::{PATIENCE, ledger_in, names, told_by};
use crate::broker::Broker;
use crate::outcome::Outcome;
use crate::stage::Trouble;

/// How often it is looked whether something has come to pass.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A new certificate for everyone, in the place of the old one.
pub(super) fn rotate(authority: &Authority, pki: &Path, clusters: usize) -> Result<(), Trouble> {
    authority.issue_broker(pki)?;
    Ok(names(clusters).try_for_each(|name| authority.issue(pki, &name))?)
}

/// A broker in a soak, with everything around it.
pub(super) struct Soaked<'a> {
    broker: Broker<'a>,
    fleet: Fleet,
    authority: Authority,
    clusters: usize,
    target: Arc<Mutex<Option<Target>>>,
    life: u32,
    backup: Option<PathBuf>,
    granted: u64,
    outcome: Outcome,
}

impl<'a> Soaked<'a> {
    pub(super) fn new(
        broker: Broker<'a>,
        fleet: Fleet,
        authority: Authority,
        clusters: usize,
        target: Arc<Mutex<Option<Target>>>,
    ) -> Self {
        let outcome = Outcome::default();
        let (life, backup, granted) = (0, None, 0);
        Self { broker, fleet, authority, clusters, target, life, backup, granted, outcome }
    }

    /// Whether the auditors or the fleet have found something that must not be.
    pub(super) fn is_broken(&self) -> bool {
        !(self.outcome.broken.is_empty() && self.fleet.report().is_clean())
    }

    /// Until every cluster has advertised.
    pub(super) async fn begin(&mut self) -> Result<(), Trouble> {
        self.is_up()?;
        self.fleet.advertised().await;
        Ok(())
    }

    /// From now on this process is looked at.
    fn is_up(&mut self) -> Result<(), Trouble> {
        self.life += 1;
        let target = Target {
            life: self.life,
            process: self.broker.id(),
            metrics: self.broker.metrics()?,
            ledger: ledger_in(self.broker.data()),
        };
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = Some(target);
        Ok(())
    }

    /// What this process has counted goes with it.
    fn is_about_to_end(&mut self) -> Result<(), Trouble> {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = None;
        for (metric, what) in [
            ("rear_broker_expired_total", "expired"),
            ("rear_broker_panics_total", "requests that panicked"),
            ("rear_broker_failed_commits_total", "failed commits"),
        ] {
            self.outcome.count(what, self.broker.count(metric)?);
        }
        Ok(())
    }

    /// Ends when something was granted since the last time: the broker is not only there, it works.
    pub(super) async fn more_is_granted(&mut self, patience: Duration) -> Result<(), Trouble> {
        let before = self.granted;
        self.come_to_pass("nothing is granted any more", patience, |soaked| {
            soaked.granted = soaked.fleet.report().count(Operation::Reserve);
            Ok(soaked.granted > before)
        })
        .await
    }

    async fn come_to_pass(
        &mut self,
        otherwise: &str,
        patience: Duration,
        has: impl Fn(&mut Self) -> Result<bool, Trouble>,
    ) -> Result<(), Trouble> {
        let deadline = Instant::now() + patience;
        while !has(self)? {
            if Instant::now() >= deadline {
                let report = self.fleet.report();
                return Err(Trouble::Other(format!("{otherwise}:\n{report}")));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Has it happen, and looks at everything afterwards.
    pub(super) async fn happen(&mut self, happening: Happening) -> Result<(), Trouble> {
        match happening {
            Happening::Kill { away } => self.kill(away).await?,
            Happening::Stop => self.stop()?,
            Happening::Rotate => self.rotate().await?,
            Happening::Look => {}
            Happening::Backup => self.back_up()?,
            Happening::Restore => self.restore().await?,
        }
        self.audit()
    }

    async fn kill(&mut self, away: Duration) -> Result<(), Trouble> {
        self.is_about_to_end()?;
        self.broker.kill()?;
        let found = self.broker.look_at_rest(self.broker.data())?;
        self.outcome.breaks(found);
        self.outcome.count("audits", 1);
        sleep(away).await;
        self.outcome.count("kills", 1);
        self.start_again()
    }

    fn stop(&mut self) -> Result<(), Trouble> {
        self.is_about_to_end()?;
        let ended = tokio::task::block_in_place(|| self.broker.stop())?;
        self.outcome
            .expect(ended.success(), || format!("a broker that was stopped ended: {ended}"));
        self.outcome.count("stops", 1);
        self.start_again()
    }

    fn start_again(&mut self) -> Result<(), Trouble> {
        tokio::task::block_in_place(|| self.broker.restart())?;
        self.is_up()
    }

    /// The broker is to take its new certificate while it runs; the agents do as they connect.
    async fn rotate(&mut self) -> Result<(), Trouble> {
        let reloaded = "rear_broker_certificates_reloaded_total";
        let before = self.broker.metric(reloaded)?;
        rotate(&self.authority, &self.broker.pki(), self.clusters)?;
        self.come_to_pass("a new certificate is not taken", PATIENCE, |soaked| {
            Ok(soaked.broker.metric(reloaded)? > before)
        })
        .await?;
        self.outcome.count("rotations", 1);
        Ok(())
    }

    fn back_up(&mut self) -> Result<(), Trouble> {
        let backup = self.broker.new_folder("backup")?.join("snapshot");
        tokio::task::block_in_place(|| self.broker.save(&backup))?;
        if let Some(before) = self.backup.replace(backup) {
            fs::remove_file(before)?;
        }
        self.outcome.count("backups", 1);
        Ok(())
    }

    /// Everything since the backup is lost, but what the fleet knows. Nobody wishes for anything new while that happens: a grant
    /// whose provider has not been told of it is lost with the disk.
    async fn restore(&mut self) -> Result<(), Trouble> {
        let backup = self.backup.clone();
        let backup = backup.ok_or_else(|| Trouble::Other("there is no backup".to_owned()))?;
        self.fleet.pause(PATIENCE).await;
        self.is_about_to_end()?;
        self.broker.kill()?;
        let lost = self.broker.data().to_owned();
        let data = self.broker.new_folder("restored")?;
        tokio::task::block_in_place(|| self.broker.restore(&backup, &data))?;
        self.broker.move_to(data);
        fs::remove_dir_all(lost)?;
        self.start_again()?;
        self.come_to_pass("clusters do not recover", PATIENCE, |soaked| {
            Ok(soaked.broker.metric("rear_broker_clusters{state=\"recovering\"}")? < 1.0)
        })
        .await?;
        self.fleet.give_back_again(PATIENCE).await;
        self.fleet.resume();
        self.outcome.count("restores", 1);
        Ok(())
    }

    /// The ledger of the running broker, copied as of one commit, restored elsewhere, and looked at there record by record and as a
    /// whole.
    fn audit(&mut self) -> Result<(), Trouble> {
        let folder = self.broker.new_folder("audit")?;
        let (copy, data) = (folder.join("snapshot"), folder.join("data"));
        let found = tokio::task::block_in_place(|| {
            self.broker.save(&copy)?;
            self.broker.restore(&copy, &data)?;
            self.broker.look_at_rest(&data)
        })?;
        fs::remove_dir_all(folder)?;
        self.outcome.breaks(found);
        self.outcome.count("audits", 1);
        Ok(())
    }

    /// Everything is given back and compared, the fleet ends, and the file is looked at once more.
    pub(super) async fn settle(mut self, patience: Duration) -> Result<Outcome, Trouble> {
        let report = self.fleet.settle(patience).await;
        self.is_about_to_end()?;
        self.fleet.stop().await;
        let mut outcome = self.outcome;
        told_by(&report, &mut outcome);
        outcome.breaks(self.broker.verify()?);
        outcome.count("audits", 1);
        for what in ["requests that panicked", "failed commits"] {
            let many = outcome.counted(what);
            outcome.expect(many == 0, || format!("{many} {what}"));
        }
        Ok(outcome)
    }
}
