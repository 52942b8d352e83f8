//! Folders that Samba has served, in each layout that its settings give: this server reads what smbd
//! wrote, writes it in the same layout, and smbd reads that.

mod place;

use anyhow::{Result, ensure};

use super::expected::Expected;
use super::outcome::Outcomes;
use super::{Args, conclude, prepare};
use crate::{debian, process};
use place::{Client, Place};

/// A layout, as smb.conf names it.
pub struct Layout {
    pub name: &'static str,
    /// The settings of smbd's share.
    pub settings: &'static str,
    /// The attribute with the tags of a file, or the file in Samba's depot.
    tags: &'static str,
    /// The same for Finder info, and for the resource fork; `None`: `._name`.
    finder_info: &'static str,
    resource: Option<&'static str>,
}

const NETATALK: &str = "user.org.netatalk.Metadata";
const INFO: &str = "user.DosStream.AFP_AfpInfo:$DATA";
const PRIVATE: &str = "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA";

pub const LAYOUTS: &[Layout] = &[
    Layout {
        name: "fruit",
        settings: "  vfs objects = catia fruit streams_xattr",
        tags: PRIVATE,
        finder_info: NETATALK,
        resource: None,
    },
    Layout {
        name: "native",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:encoding = native",
        tags: "user.DosStream.com.apple.metadata:_kMDItemUserTags:$DATA",
        finder_info: NETATALK,
        resource: None,
    },
    Layout {
        name: "stream",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream",
        tags: PRIVATE,
        finder_info: INFO,
        resource: None,
    },
    Layout {
        name: "streams",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream",
        tags: PRIVATE,
        finder_info: INFO,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
    },
    Layout {
        name: "prefix",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream\n  \
                   streams_xattr:prefix = user.\n  streams_xattr:store_stream_type = no",
        tags: "user.com.apple.metadata\u{f022}_kMDItemUserTags",
        finder_info: "user.AFP_AfpInfo",
        resource: Some("user.AFP_Resource"),
    },
    Layout {
        name: "depot",
        settings: "  vfs objects = catia fruit streams_depot",
        tags: ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA",
        finder_info: NETATALK,
        resource: None,
    },
    Layout {
        name: "depot-streams",
        settings: "  vfs objects = catia fruit streams_depot\n  fruit:metadata = stream\n  fruit:resource = stream",
        tags: ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA",
        finder_info: ":AFP_AfpInfo:$DATA",
        resource: Some(":AFP_Resource:$DATA"),
    },
    Layout {
        name: "xattr-only",
        settings: "  vfs objects = streams_xattr",
        tags: PRIVATE,
        finder_info: INFO,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
    },
];

pub fn run(args: &Args) -> Result<()> {
    prepare(args, &[debian::SMB_CLIENTS, debian::SMB_PEER].concat(), false)?;
    let mut outcomes = Outcomes::default();
    let needs = ["smbd", "smbclient"];
    match needs.iter().find(|program| process::find(program).is_none()) {
        Some(program) => {
            for layout in LAYOUTS {
                outcomes.skip(layout.name, &format!("{program} is not installed"));
            }
        }
        None => all(&mut outcomes)?,
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expected::read(&process::root().join("interop/layouts/expected.toml"))?;
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn all(outcomes: &mut Outcomes) -> Result<()> {
    let place = Place::new()?;
    let (_smbd, smbd) = place.smbd()?;
    for layout in LAYOUTS {
        place.client(smbd).write(layout.name, OLD, &Content::old())?;
        place.client(smbd).write(layout.name, CHANGED, &Content::old())?;
    }
    let (_ours, ours) = place.ours()?;
    for layout in LAYOUTS {
        let (theirs, ours) = (place.client(smbd), place.client(ours));
        let mut check = |what: &str, test: &dyn Fn() -> Result<()>| {
            outcomes.run(&format!("{}: {what}", layout.name), &[], test);
        };
        check("reads what smbd wrote", &|| Content::old().check(&ours, layout.name, OLD));
        check("smbd reads what is changed", &|| {
            ours.write(layout.name, CHANGED, &Content::new())?;
            Content::new().check(&ours, layout.name, CHANGED)?;
            Content::new().check(&theirs, layout.name, CHANGED)
        });
        check("smbd reads what is new", &|| {
            ours.write(layout.name, NEW, &Content::new())?;
            Content::new().check(&theirs, layout.name, NEW)
        });
        for file in [CHANGED, NEW] {
            check(&format!("the {file} file has smbd's attributes"), &|| place.has_layout(layout, file));
        }
        check("reads what smbd changes again", &|| {
            theirs.write(layout.name, CHANGED, &Content::old())?;
            Content::old().check(&ours, layout.name, CHANGED)
        });
    }
    Ok(())
}

const OLD: &str = "old";
const CHANGED: &str = "changed";
const NEW: &str = "new";

/// What a Mac stores beside the data of a file.
pub struct Content {
    finder_info: Vec<u8>,
    resource: Vec<u8>,
    tags: Vec<u8>,
    plain: Vec<u8>,
}

/// A binary property list with one text: what macOS stores for one tag.
fn tags(tag: &str) -> Vec<u8> {
    let text = tag.as_bytes();
    let mut list = [b"bplist00\xA1\x01", &[0x50 | text.len() as u8][..], text].concat();
    let table = list.len() as u8;
    list.extend([8, 10]);
    list.extend([
        0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, table,
    ]);
    list
}

impl Content {
    fn old() -> Self {
        Self::of(b"TEXTttxt", 7, "Holiday", b"plain")
    }

    fn new() -> Self {
        Self::of(b"JPEGogle", 200, "Work", b"plain, and longer")
    }

    fn of(kind: &[u8; 8], bytes: u32, tag: &str, plain: &[u8]) -> Self {
        // AFP_AfpInfo: signature, version, no backup, Finder info.
        let mut finder_info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
        finder_info.extend(kind);
        finder_info.resize(60, 0);
        // Inside Macintosh: More Macintosh Toolbox 1-121: data, and a map of 30 bytes.
        let mut resource = Vec::new();
        for number in [256, 256 + bytes, bytes, 30] {
            resource.extend(number.to_be_bytes());
        }
        resource.resize(256 + bytes as usize + 30, b'r');
        Self { finder_info, resource, tags: tags(tag), plain: plain.to_vec() }
    }

    /// The streams as SMB names them.
    fn streams(&self) -> [(&'static str, &[u8]); 4] {
        [
            ("AFP_AfpInfo", &self.finder_info),
            ("AFP_Resource", &self.resource),
            ("com.apple.metadata\u{f022}_kMDItemUserTags", &self.tags),
            ("plain", &self.plain),
        ]
    }

    fn check(&self, client: &Client<'_>, share: &str, file: &str) -> Result<()> {
        for ((name, expected), found) in self.streams().into_iter().zip(client.read(share, file, self)?) {
            ensure!(
                found == expected,
                "{file}:{name} is {}, not {}",
                found.escape_ascii(),
                expected.escape_ascii()
            );
        }
        Ok(())
    }
}
