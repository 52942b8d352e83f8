//! The API over HTTP: whether its certificate can be used.

use admin::{Port, Settings};

use super::DoctorFinding;
use crate::serve::api;

const ABOUT: &str = "API";

/// Loads the certificate, if the settings turn the API on.
pub(super) fn look(settings: &Settings) -> Option<DoctorFinding> {
    let of_api = &settings.server.api;
    if !matches!(of_api.port, Port::Number(_)) || !of_api.tls {
        return None;
    }
    if of_api.certificate.is_none() && !settings.server.state.join("api-certificate.pem").exists() {
        return None; // the server makes one
    }
    Some(match api::try_certificate(&settings.server) {
        Ok(()) => DoctorFinding::fine(ABOUT, "its certificate and its key can be used"),
        Err(why) => DoctorFinding::problem(
            ABOUT,
            why,
            "without it the API and the console stay off; the shares are served",
        ),
    })
}
