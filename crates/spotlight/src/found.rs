//! A file that a search has found, and its attributes under Spotlight's names.

use formats::{Kind, Time};

use crate::message::Value;

/// Seconds between 1970 and 2001: dates of Spotlight count from 2001-01-01 00:00 UTC.
const EPOCH: f64 = 978_307_200.0;

/// The attributes that [`FoundFile::attribute`] knows, as Macs are told them.
pub const ATTRIBUTES: &[&str] = &[
    "kMDItemFSName",
    "kMDItemDisplayName",
    "kMDItemPath",
    "kMDItemFSSize",
    "kMDItemLogicalSize",
    "kMDItemFSOwnerUserID",
    "kMDItemFSOwnerGroupID",
    "kMDItemFSContentChangeDate",
    "kMDItemContentModificationDate",
    "kMDItemFSCreationDate",
    "kMDItemContentCreationDate",
    "kMDItemLastUsedDate",
    "kMDItemContentType",
    "kMDItemContentTypeTree",
];

/// A file or folder that a search has found, as the tree described it then.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    /// The number by which the client's protocol identifies it.
    pub number: u64,
    /// Its names below the share, the outermost first, in the form that Macs see.
    pub path: Vec<String>,
    /// It is a folder.
    pub is_folder: bool,
    /// The length of its data in bytes.
    pub length: u64,
    /// The number of its owner.
    pub owner: u32,
    /// The number of its group.
    pub group: u32,
    /// When its data were last changed.
    pub modified: Time,
    /// When it was last read.
    pub accessed: Time,
    /// When it was created.
    pub created: Option<Time>,
}

impl FoundFile {
    /// The value of an attribute; nil if it is none of [`ATTRIBUTES`]. `base` is the path of the share.
    pub fn attribute(&self, name: &str, base: &str) -> Value {
        match name {
            "kMDItemFSName" | "kMDItemDisplayName" | "_kMDItemFileName" => {
                Value::Text(self.name().to_owned())
            }
            "kMDItemPath" => Value::Text(self.path_below(base)),
            "kMDItemFSSize" | "kMDItemLogicalSize" => Value::Integer(self.length),
            "kMDItemFSOwnerUserID" => Value::Integer(self.owner.into()),
            "kMDItemFSOwnerGroupID" => Value::Integer(self.group.into()),
            "kMDItemFSContentChangeDate" | "kMDItemContentModificationDate" => date(self.modified),
            "kMDItemLastUsedDate" => date(self.accessed),
            "kMDItemFSCreationDate" | "kMDItemContentCreationDate" => self.created.map_or(Value::Nil, date),
            "kMDItemContentType" => self.content_types().next().map_or(Value::Nil, Value::Text),
            "kMDItemContentTypeTree" => Value::Array(self.content_types().map(Value::Text).collect()),
            _ => Value::Nil,
        }
    }

    fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    fn path_below(&self, base: &str) -> String {
        [&[base.to_owned()][..], &self.path].concat().join("/")
    }

    /// Uniform type identifiers: its own first.
    fn content_types(&self) -> impl Iterator<Item = String> {
        let entry = if self.is_folder { Kind::Folder } else { Kind::File };
        let kind = query::kind_of(self.name(), entry, [0; 4]);
        query::content_types(kind, query::extension_of(self.name())).into_iter().map(str::to_owned)
    }
}

/// A time as Spotlight counts it.
fn date(time: Time) -> Value {
    Value::Date(time.secs as f64 - EPOCH + f64::from(time.nanos) / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_have_the_values_of_the_file() {
        let file = FoundFile {
            number: 7,
            path: vec!["Music".into(), "a.pdf".into()],
            is_folder: false,
            length: 5,
            owner: 501,
            group: 20,
            modified: Time { secs: 978_307_201, nanos: 500_000_000 },
            accessed: Time { secs: 978_307_200, nanos: 0 },
            created: None,
        };
        let of = |name| file.attribute(name, "/share");
        assert_eq!(of("kMDItemPath"), Value::Text("/share/Music/a.pdf".into()));
        assert_eq!(of("kMDItemFSName"), Value::Text("a.pdf".into()));
        assert_eq!(of("kMDItemFSSize"), Value::Integer(5));
        assert_eq!(of("kMDItemFSContentChangeDate"), Value::Date(1.5));
        assert_eq!((of("kMDItemFSCreationDate"), of("kMDItemAlbum")), (Value::Nil, Value::Nil));
        assert_eq!(of("kMDItemContentType"), Value::Text("com.adobe.pdf".into()));
        assert!(
            ATTRIBUTES
                .iter()
                .filter(|name| of(name) == Value::Nil)
                .all(|name| name.ends_with("CreationDate"))
        );
    }
}
