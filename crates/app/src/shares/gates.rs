//! The rules of shares inside other shares, for clients that come through the outer one.

use std::path::Path;
use std::sync::Arc;

use admin::{HostAudience, Protocol, Settings, ShareSettings};
use auth::{FileProtocol, Grant, HostRule, Match, SharePolicy, Visitor};
use vfs::Caller;
use vfs::backend::forest::{Admission, Gate, Hidden};
use vfs::names::Hiding;

use crate::host::host_names;
use crate::people::accounts;

/// The rules of one share for clients of a share above it.
struct GateRules {
    policy: SharePolicy,
    /// The hosts that NFS lets in without a login; `None`: those of the policy, also with a login.
    named: Option<HostRule>,
    protocols: Vec<FileProtocol>,
}

impl Admission for GateRules {
    /// Callers without an origin are the server's own: LUNs, restores, removals that are due.
    fn grant(&self, caller: &Caller) -> Option<Grant> {
        let Some(origin) = &caller.origin else { return Some(Grant::ReadWrite) };
        if !self.protocols.contains(&origin.protocol) {
            return None;
        }
        // Without logins, rules for clients are all that a share has.
        let is_it = |one: &Protocol| one.of_files() == Some(origin.protocol);
        if Protocol::OF_FILES.iter().filter(|one| is_it(one)).any(|one| !one.users_log_in()) {
            let is_let_in = |named: &HostRule| {
                origin.account.is_some()
                    || named.hosts.iter().any(|hosts| hosts.matches(origin.address) == Match::Yes)
            };
            let grant = self.policy.grant_to_host(origin.address);
            return grant.filter(|_| self.named.as_ref().is_none_or(is_let_in));
        }
        let is_member = |group| caller.in_group(group);
        let (account, address) = (origin.account.as_deref(), origin.address);
        self.policy.grant(&Visitor { account, is_member: &is_member, address })
    }
}

/// The rules for the folders inside the folder of a share that are shares below it. A folder that another share has under
/// another name is a view of its own: it restricts only the clients of that share.
pub(crate) fn of(
    share: &ShareSettings,
    settings: &Settings,
    is_read_only: impl Fn(&ShareSettings) -> bool,
) -> Vec<Gate> {
    let below = settings.shares.iter().chain(&settings.absent).filter_map(|inner| {
        let is_below = inner.name.strip_prefix(&*share.name).is_some_and(|rest| rest.starts_with('/'));
        if !is_below {
            return None;
        }
        let path = names(inner.path.strip_prefix(&share.path).ok()?);
        let policy = accounts::policy(inner);
        let named = match settings.server.audience(inner) {
            HostAudience::Rules => None,
            audience => {
                let hosts = audience.rule().map_or(Vec::new(), |rule| host_names::hosts(&rule.matches));
                Some(HostRule { hosts, grant: Some(Grant::ReadWrite) })
            }
        };
        Some(Gate {
            path,
            read_only: is_read_only(inner),
            hidden: Arc::new(hidden(inner)),
            roles: policy.roles.clone(),
            rules: Arc::new(GateRules { policy, named, protocols: protocols(share, inner, settings) }),
        })
    });
    below.filter(|gate| !gate.path.is_empty()).collect()
}

fn names(path: &Path) -> Vec<Vec<u8>> {
    path.iter().map(|name| name.as_encoded_bytes().to_vec()).collect()
}

fn hidden(share: &ShareSettings) -> Hidden {
    Hidden { hiding: Arc::new(Hiding::new(&share.hide, &share.show, share.case_sensitive)) }
}

/// The protocols by which clients of `outer` may pass to `inner`. What needs encryption, or a password, where the outer share
/// needs none is open to clients of the share itself only.
fn protocols(outer: &ShareSettings, inner: &ShareSettings, settings: &Settings) -> Vec<FileProtocol> {
    let is_sealed = outer.encryption_required || settings.server.requires_encryption();
    let has_password = inner.volume_password.is_none() || inner.volume_password == outer.volume_password;
    let passes = |protocol: &Protocol| {
        inner.protocols.contains(protocol)
            && (is_sealed || !inner.encryption_required || !protocol.encrypts())
            && (has_password || !protocol.has_volume_passwords())
    };
    Protocol::OF_FILES.into_iter().filter(passes).filter_map(Protocol::of_files).collect()
}
