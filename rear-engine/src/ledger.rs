//! The ledger of one cluster: what is promised on it, to whom, and what that leaves. One place subtracts capacity.
//!
//! ```text
//! available = allocatable − allocated − Σ over requesters q of max(0, reserved(q) − consumed(q))
//! ```

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::advertisement::{Advertisement, Consumed};
use crate::id::ClusterId;
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// What is promised on one cluster.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    total: Resources,
    /// `Σ max(0, reserved − consumed)`: promised, and not yet among what the cluster reports as allocated.
    outstanding: Resources,
    accounts: FxHashMap<ClusterId, Account>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    reserved: Resources,
    consumed: Resources,
}

impl Account {
    fn outstanding(self) -> Resources {
        self.reserved.saturating_sub(self.consumed)
    }
}

/// Why an entry was refused; the ledger is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LedgerError {
    /// The sum of all promises would not fit.
    #[error("the sum of the promises is too large")]
    Overflow,
    /// More was given back than was promised.
    #[error("more was given back than was promised")]
    Underflow,
}

impl Ledger {
    /// The sum of the live promises.
    #[must_use]
    pub fn total(&self) -> Resources {
        self.total
    }

    /// The live promises to one requester.
    #[must_use]
    pub fn reserved_for(&self, requester: &ClusterId) -> Resources {
        self.accounts.get(requester).map_or(Resources::NONE, |account| account.reserved)
    }

    /// Every requester with what it was promised, in no order.
    pub fn accounts(&self) -> impl Iterator<Item = (&ClusterId, Resources)> {
        self.accounts.iter().map(|(requester, account)| (requester, account.reserved))
    }

    /// Promises more to a requester that already uses `consumed`.
    pub fn hold(
        &mut self,
        requester: &ClusterId,
        amount: Resources,
        consumed: Resources,
    ) -> Result<(), LedgerError> {
        let total = self.total.checked_add(amount).ok_or(LedgerError::Overflow)?;
        let account = self.accounts.entry(requester.clone()).or_default();
        // Not more than the total, which was just checked.
        let reserved = account.reserved.checked_add(amount).unwrap_or(total);
        let before = std::mem::replace(account, Account { reserved, consumed }).outstanding();
        let after = account.outstanding();
        self.post(total, before, after);
        Ok(())
    }

    /// Takes a promise back.
    pub fn give_back(
        &mut self,
        requester: &ClusterId,
        amount: Resources,
    ) -> Result<(), LedgerError> {
        let account = self.accounts.get_mut(requester).ok_or(LedgerError::Underflow)?;
        let total = self.total.checked_sub(amount).ok_or(LedgerError::Underflow)?;
        let reserved = account.reserved.checked_sub(amount).ok_or(LedgerError::Underflow)?;
        let before = account.outstanding();
        account.reserved = reserved;
        let after = account.outstanding();
        if reserved.is_none() {
            self.accounts.remove(requester);
        }
        self.post(total, before, after);
        Ok(())
    }

    /// What is outstanding is part of the total in each dimension, so that it fits wherever that does.
    fn post(&mut self, total: Resources, before: Resources, after: Resources) {
        let others = self.outstanding.saturating_sub(before);
        self.outstanding = others.checked_add(after).unwrap_or(total);
        self.total = total;
    }

    /// Takes over a new report of what is consumed.
    pub fn recount(&mut self, consumed: &Consumed) {
        let mut outstanding = Resources::NONE;
        for (requester, account) in &mut self.accounts {
            account.consumed = consumed.by(requester);
            outstanding = outstanding.checked_add(account.outstanding()).unwrap_or(self.total);
        }
        self.outstanding = outstanding;
    }

    /// What is left on a cluster that advertises this.
    #[must_use]
    pub fn available(&self, advertisement: &Advertisement) -> Available {
        let mut left = [0; DIMENSIONS];
        for dimension in Dimension::ALL {
            let amount = |resources: Resources| i128::from(resources.get(dimension));
            let exact = amount(advertisement.allocatable)
                - amount(advertisement.allocated)
                - amount(self.outstanding);
            // Only that it is far below zero matters there.
            left[dimension.index()] = i64::try_from(exact).unwrap_or(i64::MIN);
        }
        Available(left)
    }
}

/// What is left in each dimension; below zero when a cluster filled up after it promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Available([i64; DIMENSIONS]);

impl Available {
    /// What is left in one dimension, possibly below zero.
    #[must_use]
    pub const fn get(self, dimension: Dimension) -> i64 {
        self.0[dimension.index()]
    }

    /// The amounts as they are shown: never below zero.
    #[must_use]
    pub fn shown(self) -> Resources {
        Resources::from_amounts(self.0.map(|left| left.max(0).cast_unsigned())).unwrap_or_default()
    }

    /// Whether more is promised or used than there is, in any dimension.
    #[must_use]
    pub fn is_overcommitted(self) -> bool {
        self.0.iter().any(|&left| left < 0)
    }
}
