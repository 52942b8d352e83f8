//! What the doctor inside a running server has found: where the time of each client goes, and what slows it down.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::settings::Protocol;

/// What the doctor knows now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct DoctorStatus {
    /// The clients that did something in the last minute, those with troubles first.
    pub clients: Vec<ClientDiagnosis>,
    /// Troubles of this machine: its disks and interfaces.
    pub machine: Vec<Trouble>,
    /// Which protocol is the best for each client that did much since the server began.
    pub protocols: Vec<ProtocolAdvice>,
    /// Why the kernel tells nothing of connections, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blind: Option<String>,
}

/// Where the time of a client's connection went in the last minute; the rest it did nothing. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClientDiagnosis {
    /// The protocol.
    pub protocol: Protocol,
    /// The client's address.
    #[schema(value_type = String, example = "192.0.2.7:51515")]
    pub peer: SocketAddr,
    /// The account; `None`: unknown.
    pub user: Option<String>,
    /// The part of the last minute in which it did something.
    pub active_ms: u64,
    /// Data were on their way, or were sent again.
    pub network_ms: u64,
    /// The server worked on its requests.
    pub server_ms: u64,
    /// The client worked, or took no data.
    pub client_ms: u64,
    /// The usual round trip in microseconds; 0: unknown.
    pub round_trip_micros: u64,
    /// The shortest round trip in microseconds; 0: unknown.
    pub least_round_trip_micros: u64,
    /// Segments that were sent again, in percent.
    pub lost_percent: f64,
    /// What slows it down.
    pub troubles: Vec<Trouble>,
}

/// Which protocol is the best for a client, by what it is and what it has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProtocolAdvice {
    /// The client's address.
    #[schema(value_type = String, example = "192.0.2.7")]
    pub client: IpAddr,
    /// The account that it used last.
    pub user: Option<String>,
    /// What it uses, the one with the most requests first.
    pub uses: Vec<Protocol>,
    /// The best for it.
    pub best: Protocol,
    /// Why.
    pub reason: String,
    /// The system whose mount command it needs, as in `fourfold advise --mount`.
    pub system: String,
    /// The command for each share, if it uses another protocol than the best.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<(String, String)>,
}

impl ProtocolAdvice {
    /// Whether it uses another one than the best.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.uses.first() != Some(&self.best)
    }
}

impl fmt::Display for ProtocolAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses = self.uses.iter().map(|one| one.title()).collect::<Vec<_>>().join(" and ");
        let who = self
            .user
            .as_ref()
            .map_or_else(|| self.client.to_string(), |user| format!("{user} at {}", self.client));
        match self.is_change() {
            true => writeln!(f, "{who} uses {uses}, and {} is better: {}", self.best.title(), self.reason)?,
            false => writeln!(f, "{who} uses {uses}, which is right: {}", self.reason)?,
        }
        self.commands.iter().try_for_each(|(share, command)| writeln!(f, "    {share}: {command}"))
    }
}

/// Something that slows clients down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Trouble {
    /// Its kind: `mtu`, `delayed-ack`, `half-duplex`, `loss`, `bufferbloat`, `wifi`, `slow-client`, `busy-client`, `scanner`,
    /// `slow-disk` or `interface`.
    pub name: String,
    /// The client, disk or interface.
    pub about: String,
    /// When it was found, RFC 3339 in UTC.
    pub since: String,
    /// What was seen, what it means, and what to do.
    pub text: String,
}

impl ClientDiagnosis {
    /// The user and the address, as in a sentence.
    #[must_use]
    pub fn who(&self) -> String {
        let at = format!("{} ({})", self.peer.ip(), self.protocol.title());
        self.user.as_ref().map_or_else(|| at.clone(), |user| format!("{user} at {at}"))
    }
}

impl fmt::Display for DoctorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.blind {
            writeln!(f, "The kernel tells nothing of connections: {why}.")?;
        }
        if self.clients.is_empty() {
            writeln!(f, "No client did anything in the last minute.")?;
        }
        for client in &self.clients {
            let seconds = |ms: u64| (ms + 500) / 1000;
            let (active, rest) = (client.active_ms, client.network_ms + client.server_ms + client.client_ms);
            writeln!(
                f,
                "{}: of {} s, {} s waiting for the network, {} s for the server, {} s for itself, {} s idle",
                client.who(),
                seconds(active),
                seconds(client.network_ms),
                seconds(client.server_ms),
                seconds(client.client_ms),
                seconds(active.saturating_sub(rest)),
            )?;
            if client.least_round_trip_micros > 0 {
                let ms = |micros: u64| micros as f64 / 1000.0;
                let (usual, least) = (ms(client.round_trip_micros), ms(client.least_round_trip_micros));
                let lost = client.lost_percent;
                writeln!(
                    f,
                    "    round trip {usual:.1} ms, at least {least:.2} ms; {lost:.2} % of the segments sent again"
                )?;
            }
            client
                .troubles
                .iter()
                .try_for_each(|trouble| writeln!(f, "    {}: {}", trouble.name, trouble.text))?;
        }
        for trouble in &self.machine {
            writeln!(f, "{} {}: {}", trouble.name, trouble.about, trouble.text)?;
        }
        let has_none =
            self.machine.is_empty() && self.clients.iter().all(|client| client.troubles.is_empty());
        if has_none { writeln!(f, "Nothing slows a client down.") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_protocol_is_shown_with_its_command() {
        let advice = ProtocolAdvice {
            client: [192, 0, 2, 7].into(),
            user: Some("ada".into()),
            uses: vec![Protocol::Afp],
            best: Protocol::Smb,
            reason: "macOS 27 has no AFP.".into(),
            system: "macOS (SMB)".into(),
            commands: vec![("films".into(), "open smb://h/films".into())],
        };
        assert_eq!(
            advice.to_string(),
            "ada at 192.0.2.7 uses AFP, and SMB is better: macOS 27 has no AFP.\n    films: open smb://h/films\n"
        );
        let right = ProtocolAdvice { uses: vec![Protocol::Smb], commands: Vec::new(), user: None, ..advice };
        assert_eq!(right.to_string(), "192.0.2.7 uses SMB, which is right: macOS 27 has no AFP.\n");
    }

    #[test]
    fn each_client_is_shown_with_where_its_time_went() {
        let trouble = Trouble {
            name: "loss".into(),
            about: "ada".into(),
            since: "2026-11-29T11:00:00Z".into(),
            text: "3.0 % of the segments are lost.".into(),
        };
        let client = ClientDiagnosis {
            protocol: Protocol::Smb,
            peer: ([192, 0, 2, 7], 50_000).into(),
            user: Some("ada".into()),
            active_ms: 52_000,
            network_ms: 40_000,
            server_ms: 2_000,
            client_ms: 6_000,
            round_trip_micros: 12_300,
            least_round_trip_micros: 900,
            lost_percent: 3.0,
            troubles: vec![trouble],
        };
        let status = DoctorStatus { clients: vec![client], ..DoctorStatus::default() };
        assert_eq!(
            status.to_string(),
            "ada at 192.0.2.7 (SMB): of 52 s, 40 s waiting for the network, 2 s for the server, 6 s for itself, 4 s idle\n    \
             round trip 12.3 ms, at least 0.90 ms; 3.00 % of the segments sent again\n    \
             loss: 3.0 % of the segments are lost.\n"
        );
        let idle = DoctorStatus::default().to_string();
        assert_eq!(idle, "No client did anything in the last minute.\nNothing slows a client down.\n");
    }
}
