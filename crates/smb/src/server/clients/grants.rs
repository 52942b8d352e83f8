//! Who may connect to a share.

use std::net::IpAddr;

use auth::{Grant, SharePolicy, Visitor};

use super::session::User;
use crate::server::config::{Share, ShareKind};

/// A user's access to a share. `None`: the user may not connect.
pub(in crate::server) fn grant(share: &Share, user: &User, address: IpAddr) -> Option<Grant> {
    if matches!(share.kind, ShareKind::Pipes) {
        return Some(Grant::ReadWrite);
    }
    grant_by(&share.options.policy, user, address)
}

/// A user's access by the rules of a share. `None`: the user may not connect.
pub(in crate::server) fn grant_by(policy: &SharePolicy, user: &User, address: IpAddr) -> Option<Grant> {
    let account = user.has_account().then_some(&*user.name);
    let is_member = |group| user.caller.in_group(group);
    policy.grant(&Visitor { account, is_member: &is_member, address })
}
