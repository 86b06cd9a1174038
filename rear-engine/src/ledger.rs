//! The ledger of one cluster: what is promised on it, to whom, and what that leaves. One place subtracts capacity.
//!
//! ```text
//! available = allocatable − allocated − Σ over requesters q of max(0, reserved(q) − consumed(q))
//! ```

use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::advertisement::{Advertisement, Consumed};
use crate::id::ClusterId;
use crate::refusal::Refusal;
use crate::resources::{DIMENSIONS, Dimension, Resources};

/// What is promised on one cluster.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    sums: Sums,
    accounts: FxHashMap<ClusterId, Account>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    total: Resources,
    /// `Σ max(0, reserved − consumed)`: promised, and not yet among what the cluster reports as allocated.
    outstanding: Resources,
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

impl Sums {
    /// One account has changed, and with it the total. What is outstanding is part of the total in each
    /// dimension, so that it fits wherever that does.
    fn post(&mut self, total: Resources, before: Account, after: Account) {
        let others = self.outstanding.saturating_sub(before.outstanding());
        self.outstanding = others.checked_add(after.outstanding()).unwrap_or(total);
        self.total = total;
    }

    /// Takes a promise out of an account and out of the sums.
    fn give_back(&mut self, account: Account, amount: Resources) -> Result<Account, LedgerError> {
        let total = self.total.checked_sub(amount).ok_or(LedgerError::Underflow)?;
        let reserved = account.reserved.checked_sub(amount).ok_or(LedgerError::Underflow)?;
        let after = Account { reserved, ..account };
        self.post(total, account, after);
        Ok(after)
    }

    fn available(self, advertisement: &Advertisement) -> Available {
        let mut left = [0; DIMENSIONS];
        for dimension in Dimension::ALL {
            // Amounts end at `i64::MAX`, so that a difference of two always fits; of a sum of three, only that it
            // is far below zero matters.
            let amount = |resources: Resources| resources.get(dimension).cast_signed();
            let unused = amount(advertisement.allocatable) - amount(advertisement.allocated);
            left[dimension.index()] = unused.saturating_sub(amount(self.outstanding));
        }
        Available(left)
    }
}

/// Refuses a report of more consumption than there is use: no promise can be argued away.
pub(crate) fn check_consumed(advertisement: &Advertisement) -> Result<(), Refusal> {
    let allocated = advertisement.allocated;
    let mut left = allocated;
    for (_, amount) in advertisement.consumed.iter() {
        if let Some(dimension) = amount.first_beyond(left) {
            let allocated = allocated.get(dimension);
            return Err(Refusal::ConsumedBeyondAllocated { dimension, allocated });
        }
        left = left.saturating_sub(amount);
    }
    Ok(())
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
        self.sums.total
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
        let total = self.sums.total.checked_add(amount).ok_or(LedgerError::Overflow)?;
        let account = self.accounts.entry(requester.clone()).or_default();
        let before = *account;
        // Not more than the total, which was just checked.
        let reserved = before.reserved.checked_add(amount).unwrap_or(total);
        *account = Account { reserved, consumed };
        self.sums.post(total, before, *account);
        Ok(())
    }

    /// Takes a promise back.
    pub fn give_back(
        &mut self,
        requester: &ClusterId,
        amount: Resources,
    ) -> Result<(), LedgerError> {
        let account = self.accounts.get_mut(requester).ok_or(LedgerError::Underflow)?;
        *account = self.sums.give_back(*account, amount)?;
        if account.reserved.is_none() {
            self.accounts.remove(requester);
        }
        Ok(())
    }

    /// Takes over a new report of what is consumed.
    pub fn recount(&mut self, consumed: &Consumed) {
        let mut outstanding = Resources::NONE;
        for (requester, account) in &mut self.accounts {
            account.consumed = consumed.by(requester);
            let sum = outstanding.checked_add(account.outstanding());
            outstanding = sum.unwrap_or(self.sums.total);
        }
        self.sums.outstanding = outstanding;
    }

    /// What is left on a cluster that advertises this.
    #[must_use]
    pub fn available(&self, advertisement: &Advertisement) -> Available {
        self.sums.available(advertisement)
    }
}

/// A ledger as it will be after endings that are being decided; only touched accounts are copied.
pub(crate) struct Draft<'a> {
    ledger: &'a Ledger,
    sums: Sums,
    touched: FxHashMap<&'a ClusterId, Account>,
}

impl<'a> Draft<'a> {
    pub(crate) fn of(ledger: &'a Ledger) -> Self {
        Self { ledger, sums: ledger.sums, touched: FxHashMap::default() }
    }

    pub(crate) fn give_back(
        &mut self,
        requester: &'a ClusterId,
        amount: Resources,
    ) -> Result<(), LedgerError> {
        let touched = self.touched.get(requester).or_else(|| self.ledger.accounts.get(requester));
        let account = *touched.ok_or(LedgerError::Underflow)?;
        self.touched.insert(requester, self.sums.give_back(account, amount)?);
        Ok(())
    }

    pub(crate) fn total(&self) -> Resources {
        self.sums.total
    }

    pub(crate) fn available(&self, advertisement: &Advertisement) -> Available {
        self.sums.available(advertisement)
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
