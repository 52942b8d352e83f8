//! The document that AFP clients see in the place of a link: an internet location, which the Finder opens by mounting its
//! URL. It is a property list with the one key `URL`.

use std::net::IpAddr;

use crate::refer::{Client, Namespace};
use crate::target::{Protocol, Target};

/// A document that leads to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The type by which the Finder recognizes it: `ilaf` for AFP, `ilge` for other protocols.
    pub file_type: [u8; 4],
    /// Where it leads.
    pub url: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// The creator of the document: the Finder's for what is dragged.
pub const CREATOR: [u8; 4] = *b"drag";

impl Document {
    /// The document of a link with this text for a client: of the best target of AFP, else of SMB, else of NFS.
    #[must_use]
    pub fn of(namespace: &Namespace, text: &[u8], client: IpAddr) -> Option<Self> {
        let referrals =
            Protocol::FOR_FINDER.iter().filter_map(|one| namespace.refer(text, *one, Client::at(client)));
        let targets: Vec<Target> =
            referrals.filter_map(|referral| Some(referral.targets.into_iter().next()?.target)).collect();
        let is_up = |target: &&Target| namespace.health(target).is_none_or(|health| health.is_up);
        targets.iter().find(is_up).or(targets.first()).map(Self::to)
    }

    fn to(target: &Target) -> Self {
        let url = target.to_string();
        let escaped = url.replace('&', "&amp;").replace('<', "&lt;");
        let content = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n\t<key>URL</key>\n\t<string>{escaped}</string>\n</dict>\n</plist>\n"
        );
        let file_type = target.protocol.location_type();
        Self { file_type, url, content: content.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::table::{DEFAULT_TTL, Link, Table, TargetOrder};

    fn shown(namespace: &Namespace, text: &str) -> (String, String) {
        let document = Document::of(namespace, text.as_bytes(), [192, 0, 2, 1].into()).unwrap();
        let content = String::from_utf8(document.content).unwrap();
        let url =
            content.split_once("<string>").and_then(|(_, rest)| rest.split_once("</string>")).unwrap().0;
        (String::from_utf8(document.file_type.to_vec()).unwrap(), url.to_owned())
    }

    #[test]
    fn macs_are_led_by_afp_else_by_smb() {
        let urls = ["smb://b/s%20t", "nfs://b/s", "afp://a/A&B"];
        let targets: Vec<Target> = urls.iter().map(|url| Target::of_url(url).unwrap()).collect();
        let link = Link {
            path: "s/a".into(),
            targets: targets.clone(),
            comment: String::new(),
            ttl: DEFAULT_TTL,
            order: TargetOrder::Listed,
            failback: true,
            checked: true,
            credentials: None,
        };
        let (namespace, text) = (Namespace::default(), link.text());
        namespace.set(Table { links: vec![link], sites: Vec::new() });
        assert_eq!(shown(&namespace, &text), ("ilaf".into(), "afp://a/A&amp;B".into()));
        namespace.checked(&targets[2], Err("down".into()), SystemTime::UNIX_EPOCH);
        assert_eq!(shown(&namespace, &text), ("ilge".into(), "smb://b/s%20t".into()));
        assert_eq!(Document::of(&namespace, b"docs", [192, 0, 2, 1].into()), None);
    }
}
