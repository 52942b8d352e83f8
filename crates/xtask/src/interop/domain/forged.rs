//! A ticket whose PAC was changed by a holder of the service's key: its signatures are wrong.

use anyhow::{Result, ensure};

use super::controller::{HOST, REALM, text};
use super::{DomainPlace, controller::Controller, passwords};
use crate::interop::outcome::Outcomes;
use crate::interop::smb::python;
use crate::process;

const NAME: &str = "smb: a ticket with a changed PAC is refused, and the log says so";
/// The number of the domain's administrator, MS-DTYP 2.4.2.4.
const ADMINISTRATOR: &str = "500";

pub fn checks(place: &DomainPlace, outcomes: &mut Outcomes) {
    match python::is_installed() {
        true => outcomes.run(NAME, &[], || changed(place)),
        false => {
            outcomes.skip(NAME, "its Python packages are not installed (`cargo xtask interop smb --install`)")
        }
    }
}

fn changed(place: &DomainPlace) -> Result<()> {
    let domain: &Controller = &place.domain;
    domain.kinit("alice")?;
    let (service, cache) = (format!("cifs/{HOST}"), domain.cache("alice"));
    let ticket = domain.run(&format!("KRB5CCNAME={cache}"), &["kvno", &service])?;
    ensure!(ticket.status.success(), "kvno: {}", text(&ticket));
    let [program, script, keytab, forged] = [
        python::program(),
        process::root().join("interop/domain/forged_pac.py"),
        domain.at("state/domain.keytab"),
        domain.at("cache-forged"),
    ]
    .map(|path| path.display().to_string());
    let (principal, rid) = (format!("{service}@{REALM}"), domain.rid("alice")?.to_string());
    let words =
        ["-B", &script, cache.trim_start_matches("FILE:"), &keytab, &principal, &rid, ADMINISTRATOR, &forged];
    let output = domain.run(&program, &words)?;
    ensure!(output.status.success(), "{}", text(&output));
    let log_in = || {
        let refused = place.client("smbclient", "forged", &["-c", "ls"])?;
        ensure!(text(&refused).contains("NT_STATUS_LOGON_FAILURE"), "{}", text(&refused).trim());
        Ok(())
    };
    log_in()?;
    let line = "the ticket of alice@LAB.TEST has no PAC, or the signature of its PAC is wrong";
    passwords::logged(place, line, &log_in)
}
