//! The texts that the servers of a cluster have in common, in etcd.

use std::sync::Arc;

use admin::settings::ClusterSettings;
use auth::common_text::{CommonText, TextRevision};
use cluster::{Cluster, Text, administered};

use super::certificates::endpoints;
use super::runtime;

/// A text of the cluster of this running server.
pub(super) struct OfMember(pub(super) Arc<Cluster>, pub(super) Text);

impl CommonText for OfMember {
    fn cluster(&self) -> &str {
        self.0.cluster()
    }

    fn read(&self) -> Result<TextRevision, String> {
        self.0.text(self.1)
    }

    fn swap(&self, revision: u64, text: &str) -> Result<bool, String> {
        self.0.swap_text(self.1, revision, text.to_owned())
    }
}

/// A text of the cluster of the settings, for a process that is not a member.
pub(super) struct OfSettings<'a>(pub(super) &'a ClusterSettings, pub(super) Text);

impl CommonText for OfSettings<'_> {
    fn cluster(&self) -> &str {
        &self.0.name
    }

    fn read(&self) -> Result<TextRevision, String> {
        let endpoints = endpoints(&self.0.etcd).map_err(|error| format!("{error:#}"))?;
        let asked = administered::text(endpoints, &self.0.name, self.1);
        let runtime = runtime().map_err(|error| error.to_string())?;
        runtime.block_on(asked).map_err(|error| error.to_string())
    }

    fn swap(&self, revision: u64, text: &str) -> Result<bool, String> {
        let endpoints = endpoints(&self.0.etcd).map_err(|error| format!("{error:#}"))?;
        let asked = administered::swap_text(endpoints, &self.0.name, (self.1, revision), text);
        let runtime = runtime().map_err(|error| error.to_string())?;
        runtime.block_on(asked).map_err(|error| error.to_string())
    }
}
