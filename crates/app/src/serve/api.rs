//! The API over HTTP of a running server.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use admin::control::{Listener, ListenerStatus};
use admin::{ApiSettings, ServerSettings};
use anyhow::Context;
use auth::LoginGuard;
use tokio::sync::watch;
use web::{Api, Certificate, Figures, Manage, Metrics};

use crate::fronts;
use crate::fronts::bind::{self, ProtocolListeners};
use crate::serve::acme::Acme;
use crate::serve::alerts::Alerts;
use crate::serve::console::{Console, ConsoleNotifier};
use crate::serve::figures::Scrape;
use crate::serve::running::Running;
use crate::terminal::log;

/// Opens the listeners, if the API is on. A certificate that cannot be used keeps the API off, not the shares: the reason is
/// logged and returned for an alert.
pub(crate) fn open(settings: &ServerSettings) -> anyhow::Result<(Option<ProtocolListeners>, Option<String>)> {
    let admin::Port::Number(port) = settings.api.port else { return Ok((None, None)) };
    if let Err(why) = try_certificate(settings) {
        tracing::error!("{why} The API and the console stay off; the shares are served.");
        return Ok((None, Some(why)));
    }
    Ok((bind::tcp("the API", "admin", &settings.api.listen, port).map(Some)?, None))
}

/// Whether the certificate of the API can be used, else why not and what to do.
pub(crate) fn try_certificate(settings: &ServerSettings) -> Result<(), String> {
    let own = settings.api.certificate.is_none();
    let loaded = certificate(&settings.api, &settings.state)
        .and_then(|certificate| certificate.map_or(Ok(()), |one| web::check_certificate(&one, None)));
    loaded.map_err(|error| match own {
        true => format!(
            "The certificate of the API in the state folder cannot be used: {error}. Remove api-certificate.pem and \
             api-key.pem there and restart the server, which makes new ones."
        ),
        false => format!(
            "The certificate of the API cannot be used: {error}. Correct `admin-certificate` and `admin-key`, and restart \
             the server."
        ),
    })
}

/// The listeners for a status.
pub(crate) fn listeners(bound: Option<&ProtocolListeners>) -> Vec<ListenerStatus> {
    let addresses = bound.into_iter().flat_map(|bound| &bound.tcp).filter_map(|tcp| tcp.local_addr().ok());
    let status = |address| ListenerStatus { protocol: Listener::Api, transport: "tcp".into(), address };
    addresses.map(status).collect()
}

/// The address of the console for browsers on this host, or on others if it listens for them.
pub(crate) fn console(listeners: &[ListenerStatus], settings: &ApiSettings) -> Option<String> {
    let of_api = listeners.iter().filter(|one| one.protocol == Listener::Api);
    let addresses: Vec<SocketAddr> = of_api.map(|one| one.address).collect();
    let outer = addresses.iter().find(|address| !address.ip().is_loopback());
    let port = outer.or(addresses.first())?.port();
    let host = match outer.map(SocketAddr::ip) {
        None => "localhost".to_owned(),
        // The server's own certificate has this name.
        Some(ip) if ip.is_unspecified() => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        Some(IpAddr::V6(ip)) => format!("[{ip}]"),
        Some(ip) => ip.to_string(),
    };
    let scheme = if settings.tls { "https" } else { "http" };
    Some(format!("{scheme}://{host}:{port}/"))
}

/// Serves the API until told to stop.
pub(crate) fn serve(
    bound: Option<ProtocolListeners>,
    running: &Arc<Running>,
    (logins, notifier, alerts): (Arc<LoginGuard>, &ConsoleNotifier, Arc<Alerts>),
    stopping: &watch::Receiver<bool>,
) -> anyhow::Result<()> {
    let Some(bound) = bound else { return Ok(()) };
    let current = running.current();
    let settings = &current.settings.server;
    let certificate = certificate(&settings.api, &settings.state).context("the certificate of the API")?;
    let acme = Acme::new(running.clone());
    let console = Arc::new(Console::new(running.clone(), alerts, acme.clone()));
    console.start();
    let scrape = Scrape::new(running.clone(), console.clone());
    let figures: Arc<dyn Fn() -> Figures + Send + Sync> = Arc::new(move || scrape.figures());
    let metrics = (Metrics::of_process(), figures);
    let manage: Arc<dyn Manage> = console;
    let kept = (notifier.events.clone(), log::kept());
    let api = Api::new(settings.state.clone(), (running.clone(), manage), metrics, logins, kept);
    let live = web::serve(bound.tcp, certificate.as_ref(), api, stopping).context("the API cannot start")?;
    if let Some(live) = live {
        acme.keep(live.clone(), stopping);
        notifier.served_with(live);
    }
    Ok(())
}

/// What is wrong with the certificates of the API and of protocols: they cannot be read, are none, or do not fit their keys.
pub(crate) fn check(settings: &ServerSettings) -> Vec<String> {
    let of_api = settings.api.certificate.clone().filter(|_| settings.api.tls);
    let of_api = of_api.map(|(chain, key)| web::check_certificate(&Certificate { chain, key }, None));
    let wrong = of_api.and_then(Result::err).map(|error| format!("`admin-certificate`: {error}"));
    let mut lines: Vec<String> = wrong.into_iter().chain(fronts::wrong_certificates(settings)).collect();
    lines.dedup_by_key(|line| line.split_once(": ").map(|(_, why)| why.to_owned()));
    lines
}

fn certificate(settings: &ApiSettings, state: &Path) -> std::io::Result<Option<Certificate>> {
    if !settings.tls {
        return Ok(None);
    }
    let given = settings.certificate.clone().map(|(chain, key)| Certificate { chain, key });
    given.map_or_else(|| web::own_certificate(state, &settings.listen), Ok).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_is_shown_by_an_address_that_a_browser_reaches() {
        let listeners = |all: &[&str]| -> Vec<ListenerStatus> {
            let of = |protocol, address: &str| ListenerStatus {
                protocol,
                transport: "tcp".into(),
                address: address.parse().unwrap(),
            };
            let smb = of(Listener::Protocol(admin::Protocol::Smb), "0.0.0.0:445");
            all.iter().map(|address| of(Listener::Api, address)).chain([smb]).collect()
        };
        let settings = |tls| ApiSettings {
            port: admin::Port::Number(0),
            listen: Vec::new(),
            tls,
            certificate: None,
            requires_second_factor: false,
        };
        let shown = |all: &[&str]| console(&listeners(all), &settings(true));
        assert_eq!(shown(&[]), None);
        assert_eq!(shown(&["127.0.0.1:8443", "[::1]:8443"]), Some("https://localhost:8443/".into()));
        assert_eq!(shown(&["127.0.0.1:1", "192.0.2.1:8443"]), Some("https://192.0.2.1:8443/".into()));
        assert_eq!(shown(&["[2001:db8::1]:8443"]), Some("https://[2001:db8::1]:8443/".into()));
        let everywhere = shown(&["0.0.0.0:8443"]).unwrap();
        assert!(!everywhere.contains("0.0.0.0"), "{everywhere}");
        let clear = console(&listeners(&["127.0.0.1:80"]), &settings(false));
        assert_eq!(clear, Some("http://localhost:80/".into()));
    }
}
