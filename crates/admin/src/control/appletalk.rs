//! AppleTalk, as a running server knows it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// AppleTalk of a server that speaks it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AppleTalkStatus {
    /// The name under which the Chooser shows the server, `NAME:AFPServer@ZONE`; `None`: it is not registered yet.
    pub name: Option<String>,
    /// Whether it routes between its links.
    pub router: bool,
    /// Its links.
    pub links: Vec<AppleTalkLinkStatus>,
    /// The networks that it knows a way to.
    pub routes: Vec<AppleTalkRoute>,
    /// The zones that it knows.
    pub zones: Vec<String>,
    /// The nodes that were heard lately, the last one first.
    pub heard: Vec<AppleTalkNode>,
}

/// A link of AppleTalk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AppleTalkLinkStatus {
    /// As it is in the settings.
    pub link: String,
    /// Why it does not work; `None`: it does.
    pub problem: Option<String>,
    /// The server's node on it, `NETWORK.NODE`; `None`: it has none yet.
    pub node: Option<String>,
    /// The numbers of its network, `3-5`; `None`: they are not known.
    pub networks: Option<String>,
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the link did not take in time.
    pub lost: u64,
    /// Received frames that are damaged or of an unknown form.
    pub malformed: u64,
}

/// A way to a network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AppleTalkRoute {
    /// Its numbers, `3-5`.
    pub networks: String,
    /// Routers on the way.
    pub distance: u8,
    /// The link and the next router.
    pub by: String,
    /// Its zones.
    pub zones: Vec<String>,
}

/// A node that was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AppleTalkNode {
    /// `NETWORK.NODE`.
    pub node: String,
    /// The link.
    pub link: String,
    /// Seconds since it was last heard.
    pub since_s: u64,
    /// It is a router.
    pub router: bool,
}

impl AppleTalkLinkStatus {
    /// Its state in words.
    #[must_use]
    pub fn state(&self) -> String {
        match (&self.problem, &self.node) {
            (Some(problem), _) => problem.clone(),
            (None, Some(_)) => "works".into(),
            (None, None) => "looks for a free node".into(),
        }
    }
}
