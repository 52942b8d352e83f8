//! The homes of users as AFP volumes.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use admin::ShareSettings;
use afp::server::{OpenHome, Share};
use auth::Identity;
use lock::Mutex;

use super::Shares;
use crate::people::accounts;
use crate::ranks;
use crate::shares::volumes::Homes;

/// Opens homes. Sessions that have one open share it, as they see each other's changes by it.
pub(super) struct AfpHomes {
    homes: Homes,
    shares: Shares,
    /// By the name of the account.
    open: Mutex<HashMap<String, Weak<Share>>, ranks::SharedVolumes>,
}

impl AfpHomes {
    pub(super) fn of(homes: Homes, shares: Shares) -> afp::server::HomesShare {
        afp::server::HomesShare {
            name: homes.share.flat_name(),
            has_password: homes.share.volume_password.is_some(),
            policy: accounts::policy(&homes.share),
            settings: homes.settings(),
            opener: Arc::new(Self { homes, shares, open: Mutex::default() }),
        }
    }
}

impl OpenHome for AfpHomes {
    fn open(&self, account: &str, caller: &Identity, name: &str) -> Option<Arc<Share>> {
        let share = |home: &ShareSettings, volume| {
            let home_in = Some(self.homes.share.flat_name());
            self.shares.share(home, name.to_owned(), volume, home_in)
        };
        let new = self.homes.open(account, caller, share)?;
        let mut open = self.open.lock();
        open.retain(|_, share| share.strong_count() > 0);
        let is_as_new = |share: &Arc<Share>| Arc::ptr_eq(&share.volume, &new.volume);
        if let Some(share) = open.get(account).and_then(Weak::upgrade).filter(is_as_new) {
            return Some(share);
        }
        open.insert(account.to_owned(), Arc::downgrade(&new));
        Some(new)
    }
}
