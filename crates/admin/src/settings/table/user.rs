//! The settings of accounts.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::Administrator;
use Kind::{Bool, Number};
use Table::User;

/// In the order of the documentation.
pub(super) const USER: &[Setting] = &[
    new(User, "name", Administrator, Kind::AccountName, "\"ada\"").without_default("").says(
        "The account's name.",
        "Its password is set with `fourfold user passwd NAME`; the settings file holds none.",
    ),
    new(User, "uid", Administrator, Number(0, 4_294_967_294), "1000")
        .without_default("that of the host user of the same name, else `default-user`")
        .says("The Unix user the account acts as.", "A server that does not run as root does everything as its own user."),
    new(User, "gid", Administrator, Number(0, 4_294_967_294), "1000")
        .without_default("the first group of that user; 65534 for a uid that no user of the host has")
        .says("The first group of the account, which the files it makes belong to.", ""),
    new(User, "disabled", Administrator, Bool, "false").says("The account may not log in.", ""),
    new(User, "admin", Administrator, Bool, "false").says(
        "The account may administer the server.",
        "It can log in to the console (`admin-port`). `fourfold user add --admin` says the same for accounts of the state folder.",
    ),
];
