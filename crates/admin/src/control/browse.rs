//! Requests about disk images whose contents are served for a while, and answers. Scripts read them: fields may be added, never
//! renamed or removed.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request about the contents of disk images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum BrowseRequest {
    /// Lists what is served.
    List,
    /// Serves the contents of an image.
    Begin(NewBrowse),
    /// Ends it.
    End {
        /// The hidden share.
        name: String,
    },
}

/// An image whose contents are to be served to one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBrowse {
    /// The backups of a Mac or another image, as `MAC`, `SHARE/MAC` or `SHARE/PATH`, with `@SNAPSHOT` behind it for an earlier time.
    pub place: String,
    /// The account that sees it; `None`: the owner of the image.
    #[serde(default)]
    pub account: Option<String>,
    /// How many minutes it is served.
    pub minutes: u32,
    /// What opens it, if it is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passphrase: Option<TypedPassphrase>,
}

/// A passphrase as a person has typed it. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TypedPassphrase(pub String);

impl fmt::Debug for TypedPassphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Contents of an image that are served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BrowsedStatus {
    /// The hidden share.
    pub name: String,
    /// The account that sees it.
    pub account: String,
    /// The share that the image is in.
    pub share: String,
    /// The path of the image in the share.
    pub path: String,
    /// The snapshot of the share from which it is read; `None`: the image as it was when this began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The file system in it, such as `HFS+ (journaled)`.
    pub format: String,
    /// The protocols over which it is served.
    pub protocols: Vec<String>,
    /// When it ends by itself, in seconds since 1970.
    pub until: u64,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowseAnswer {
    /// What is served; after a beginning only the new one.
    Shown(Vec<BrowsedStatus>),
    /// It was done; lines about it.
    Done(Vec<String>),
    /// The image is encrypted: the same request with the passphrase can succeed.
    NeedsPassphrase,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Request;

    #[test]
    fn a_passphrase_is_sent_and_never_shown() {
        let passphrase = Some(TypedPassphrase("open sesame".into()));
        let new = NewBrowse { place: "Ada's Mac".into(), account: None, minutes: 60, passphrase };
        let request = Request::Browse(BrowseRequest::Begin(new));
        assert!(!format!("{request:?}").contains("sesame"));
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains("\"ask\":\"browse\"") && text.contains("\"do\":\"begin\""), "{text}");
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
    }
}
