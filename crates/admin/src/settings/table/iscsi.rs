//! The settings of `[server]` for iSCSI.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new, port};

use Authority::{Administrator, Operator};
use Table::Server;

/// The port of iSCSI.
pub(super) const PORT: &[Setting] = &[port("iscsi-port", "3260", "3260 for root, else 13260")
    .says("Port for iSCSI; 0 picks a free one, off turns it off.", "")];

/// What else there is, in the order of the documentation.
pub(super) const SERVER: &[Setting] = &[
    new(Server, "iscsi-name", Operator, Kind::TargetPrefix, "\"iqn.2026-11.com.example.storage\"")
        .without_default("`iqn.2026-11.local.fourfold-` and the first eight digits of the server's id")
        .says(
            "What the names of iSCSI targets begin with: `NAME:share.lun`.",
            "Set it to a name under a domain of yours, or to take over from another server. Initiators remember targets \
             by their names: after a change they must log in anew.",
        ),
    new(Server, "iscsi-account", Administrator, Kind::AccountName, "\"storage\"").without_default("none").says(
        "The account with whose CHAP secret the server proves itself to initiators that ask (mutual CHAP).",
        "Make it with `fourfold user add NAME --chap-secret`, and give the initiators that name and secret as the \
         target's. No client needs to log in with it.",
    ),
];
