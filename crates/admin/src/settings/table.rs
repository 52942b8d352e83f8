//! The table of all settings. Its parts are in files of their own, one for what belongs together.

mod acme;
mod appletalk;
mod cluster;
mod link;
mod protocols;
mod server;
mod share;
mod user;

use super::setting::Setting;

/// The parts, in the order of the documentation.
const PARTS: &[&[Setting]] = &[
    server::PROCESS,
    protocols::PORTS,
    server::API,
    acme::ACME,
    server::USERS,
    protocols::SERVER,
    server::OPERATION,
    cluster::CLUSTER,
    share::SHARE,
    user::USER,
    link::LINK,
    appletalk::APPLETALK,
];

/// Every setting, in the order of the documentation.
pub static SETTINGS: &[Setting] = &JOINED;

static JOINED: [Setting; LENGTH] = joined();

const LENGTH: usize = {
    let (mut part, mut length) = (0, 0);
    while part < PARTS.len() {
        length += PARTS[part].len();
        part += 1;
    }
    length
};

const fn joined() -> [Setting; LENGTH] {
    let mut all = [server::PROCESS[0]; LENGTH];
    let (mut part, mut at) = (0, 0);
    while part < PARTS.len() {
        let mut of_part = 0;
        while of_part < PARTS[part].len() {
            all[at] = PARTS[part][of_part];
            (at, of_part) = (at + 1, of_part + 1);
        }
        part += 1;
    }
    all
}
