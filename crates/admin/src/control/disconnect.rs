//! The selection of sessions to end, or of a file that they close.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wire::AppleTalkClient;

/// Sessions that match all fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Disconnect {
    /// The account, in any case of letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The client's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub client: Option<IpAddr>,
    /// One of its connections, as `status` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub connection: Option<SocketAddr>,
    /// The sessions continue, but close this file, which is a path on the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub file: Option<PathBuf>,
}

impl Disconnect {
    /// Whether there is no condition: all sessions match.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a session matches. Addresses are compared without their mapping into IPv6.
    #[must_use]
    pub fn means(&self, user: Option<&str>, peers: &[SocketAddr]) -> bool {
        let is_user = |wanted: &String| user.is_some_and(|user| user.eq_ignore_ascii_case(wanted));
        let is_client = |ip: &IpAddr| peers.iter().any(|peer| peer.ip().to_canonical() == ip.to_canonical());
        let is_connection = |at: &SocketAddr| {
            let same = |peer: &SocketAddr| {
                (peer.ip().to_canonical(), peer.port()) == (at.ip().to_canonical(), at.port())
                    || is_same_socket(*peer, *at)
            };
            peers.iter().any(same)
        };
        self.user.as_ref().is_none_or(is_user)
            && self.client.as_ref().is_none_or(is_client)
            && self.connection.as_ref().is_none_or(is_connection)
    }
}

/// Whether a session over AppleTalk is one of the socket that a person wrote, who knows no number of the session.
fn is_same_socket(peer: SocketAddr, written: SocketAddr) -> bool {
    let written = AppleTalkClient::of(written).filter(|written| written.session == 0);
    let peer = AppleTalkClient::of(peer).map(|peer| AppleTalkClient { session: 0, ..peer });
    written.is_some() && written == peer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_over_appletalk_is_meant_by_its_node_and_its_socket() {
        let client = |session| AppleTalkClient { network: 3, node: 7, socket: 250, session }.address();
        let connection = |session| Disconnect { connection: Some(client(session)), ..Disconnect::default() };
        assert!(connection(0).means(None, &[client(4)]) && connection(4).means(None, &[client(4)]));
        assert!(!connection(5).means(None, &[client(4)]));
        let node = Disconnect { client: Some(client(0).ip()), ..Disconnect::default() };
        assert!(node.means(None, &[client(4)]) && !node.means(None, &["[100::7]:250".parse().unwrap()]));
    }

    #[test]
    fn all_that_is_said_must_hold() {
        let peers = ["[::ffff:192.0.2.7]:5000".parse().unwrap(), "192.0.2.7:5001".parse().unwrap()];
        let means = |what: Disconnect| what.means(Some("Ada"), &peers);
        let (user, client) = (Some("ada".into()), Some("192.0.2.7".parse().unwrap()));
        assert!(means(Disconnect { user: user.clone(), client, ..Disconnect::default() }));
        assert!(means(Disconnect {
            connection: Some("192.0.2.7:5000".parse().unwrap()),
            ..Disconnect::default()
        }));
        let other = Some("192.0.2.8".parse().unwrap());
        assert!(!means(Disconnect { user, client: other, ..Disconnect::default() }));
        let port = Some("192.0.2.7:5002".parse().unwrap());
        assert!(!means(Disconnect { connection: port, ..Disconnect::default() }));
        assert!(!Disconnect { user: Some("ada".into()), ..Disconnect::default() }.means(None, &peers));
    }
}
