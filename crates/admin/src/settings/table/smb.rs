//! The settings of `[server]` for SMB.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new, port};

use Authority::{Limit, Operator};
use Kind::{Bool, OneOf};
use Table::Server;

/// The port of SMB.
pub(super) const PORT: &[Setting] = &[port("smb-port", "445", "445 for root, else 10445")
    .says("Port for SMB; 0 picks a free one, off turns it off.", "")];

/// What else there is, in the order of the documentation.
pub(super) const SERVER: &[Setting] = &[
    new(Server, "smb-signing", Limit("required"), OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether SMB clients must sign what they send.",
        "Messages of clients that sign are always verified, and answered with a signature. Guests cannot sign: they are \
         let in as `guests` says, whatever stands here.",
    ),
    new(Server, "smb-encryption", Limit("required"), OneOf(&["off", "optional", "required"]), "\"optional\"").says(
        "Whether SMB clients may, or must, encrypt all that they send.",
        "Required keeps out guests, and clients before SMB 3.0. See `encryption` of a share, too.",
    ),
    new(Server, "smb-min-dialect", Limit("3.1.1"), OneOf(&["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"]), "\"2.0.2\"").says(
        "The oldest dialect of SMB that clients may speak.",
        "A client that speaks older ones only cannot log in. 3.0 and newer can encrypt. Counts for connections made afterwards.",
    ),
    new(Server, "smb-directory-leases", Operator, Bool, "true").says(
        "SMB 3 clients may cache listings of folders under leases.",
        "Linux clients that negotiate SMB 3.1.1 never get such leases, because they crash Linux 6.1. Turn this off for \
         Linux clients that are mounted with `vers=3.0` or `vers=3.02` and without `nohandlecache`. Counts for \
         connections made afterwards.",
    ),
    new(Server, "smb-posix", Operator, Bool, "true").says(
        "SMB 3.1.1 clients may use the POSIX extensions, as Linux does with `mount -t cifs -o posix`.",
        "Such clients see modes, owners and special files as over NFS. Rights are the same: the server checks each request as \
         before. Counts for connections made afterwards.",
    ),
];
