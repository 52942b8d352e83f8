//! Logins of users of the host.

use ::pam::Service;
use admin::Settings;

use super::DoctorFinding;
use crate::host::here;
use crate::people::host_accounts;

const ABOUT: &str = "PAM";

/// Whether PAM can verify passwords, if the settings want it.
pub(super) fn look(settings: &Settings) -> Option<DoctorFinding> {
    let service = settings.server.pam_service.as_ref()?;
    if let Err(error) = host_accounts::open(service) {
        let mend = "install PAM, or remove `host-accounts`";
        return Some(DoctorFinding::problem(ABOUT, error, mend));
    }
    let files = Service::of(service).map(|service| service.files()).unwrap_or_default();
    let Some(file) = files.iter().find(|file| file.exists()) else {
        let found = format!("there is no file for the service {service}: users of the host cannot log in");
        let mend = "write /etc/pam.d/fourfold: docs/security.md has an example";
        return Some(DoctorFinding::problem(ABOUT, found, mend));
    };
    if !here::privileged() {
        let found = "not run as root: PAM mostly verifies other users' passwords for root only";
        return Some(DoctorFinding::warning(
            ABOUT,
            found,
            "`sudo fourfold doctor`, and start the server as root",
        ));
    }
    Some(DoctorFinding::fine(
        ABOUT,
        format!("passwords of the host's users are verified by {}", file.display()),
    ))
}
