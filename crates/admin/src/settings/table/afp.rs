//! The settings of `[server]` for AFP.

use super::super::afp::LOGIN_WORDS;
use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new, port};

use Authority::{Administrator, Limit, Operator};
use Kind::{Bool, SomeOf};
use Table::Server;

/// The port of AFP.
pub(super) const PORT: &[Setting] = &[port("afp-port", "548", "548 for root, else 10548")
    .says("Port for AFP over TCP; 0 picks a free one, off turns it off.", "")];

/// What else there is, in the order of the documentation.
pub(super) const SERVER: &[Setting] = &[
    new(Server, "afp-logins", Administrator, SomeOf(LOGIN_WORDS), "[\"dhx2\", \"srp\"]").says(
        "How people with an account may log in over AFP.",
        "`dhx2` and `srp` are for Mac OS X. Older Macs need one of the others, and each of them gives \
         something away. `cleartext` sends the password as it is. `randnum` and `2-way-randnum` use its first eight \
         characters and a cipher that is searched in hours. An attacker who listens can compute the key of `dhx`. \
         Name them where you trust the network. Guests are a matter of `guests`.",
    ),
    new(Server, "afp-change-password", Limit("false"), Bool, "false").says(
        "People may change the password of their account from a Mac, over AFP.",
        "It counts for every protocol. Accounts of `--user` cannot be changed.",
    ),
    new(Server, "afp-signature", Administrator, Kind::Identity, "\"00112233445566778899AABBCCDDEEFF\"")
        .without_default("the server's own, made once and kept in the state folder; in a cluster that of its first server")
        .says(
            "The 16 bytes by which Macs tell AFP servers apart, and their aliases find this one again.",
            "Set it only to take over from another server: Netatalk keeps its own in `afp_signature.conf`.",
        ),
    new(Server, "afp-greeting", Operator, Kind::Text, "\"Backups run at noon.\"").without_default("none").says(
        "A message that Macs show when a user logs in over AFP.",
        "Mac OS X shows up to 1000 bytes of it, older systems up to 199 characters.",
    ),
];
