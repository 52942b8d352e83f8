//! Shares of smbd with tables of characters, `catia:mappings`: what smbd stores and shows, this server stores and shows with the
//! settings that `fourfold adopt` makes of smbd's.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::content::{Amount, LayoutItem};
use super::facts::Fact;
use super::moving;
use super::netatalk::Mac;
use super::nfs::Nfs;
use super::place::{LayoutsPlace, SmbClientProgram};

/// A share with a table.
pub struct CatiaShare {
    pub name: &'static str,
    /// Its settings in smb.conf.
    pub settings: &'static str,
    /// Names on the disk, and as clients of SMB see them.
    names: &'static [(&'static str, &'static str)],
}

/// That of the manual, vfs_catia(8).
const MANUAL: &str = "  vfs objects = catia\n  catia:mappings = 0x22:0xa8,0x2a:0xa4,0x2f:0xf8,0x3a:0xf7,0x3c:0xab,0x3e:0xbb,0x3f:0xbf,\
                      0x5c:0xff,0x7c:0xa6,0x20:0xb1";
/// That of Windows' Services for UNIX, as Cygwin and other servers have it.
const UNIX: &str = "  vfs objects = catia\n  catia:mappings = 0x22:0xf022,0x2a:0xf02a,0x3a:0xf03a,0x3c:0xf03c,0x3e:0xf03e,0x3f:0xf03f,\
                    0x5c:0xf05c,0x7c:0xf07c";
/// That of Services for Macintosh, as TrueNAS writes it into smb.conf, beside fruit.
const MACINTOSH: &str = "  vfs objects = catia fruit streams_xattr\n  catia:mappings = 0x01:0xf001,0x02:0xf002,0x03:0xf003,0x04:0xf004,\
    0x05:0xf005,0x06:0xf006,0x07:0xf007,0x08:0xf008,0x09:0xf009,0x0a:0xf00a,0x0b:0xf00b,0x0c:0xf00c,0x0d:0xf00d,0x0e:0xf00e,\
    0x0f:0xf00f,0x10:0xf010,0x11:0xf011,0x12:0xf012,0x13:0xf013,0x14:0xf014,0x15:0xf015,0x16:0xf016,0x17:0xf017,0x18:0xf018,\
    0x19:0xf019,0x1a:0xf01a,0x1b:0xf01b,0x1c:0xf01c,0x1d:0xf01d,0x1e:0xf01e,0x1f:0xf01f,0x22:0xf020,0x2a:0xf021,0x3a:0xf022,\
    0x3c:0xf023,0x3e:0xf024,0x3f:0xf025,0x5c:0xf026,0x7c:0xf027";

pub const TABLES: &[CatiaShare] = &[
    CatiaShare {
        name: "catia",
        settings: "  vfs objects = catia\n  catia:mappings = 22:a8 3A:F7",
        names: &[("a:b", "a\u{f7}b"), ("a\"b", "a\u{a8}b"), ("plain", "plain")],
    },
    CatiaShare {
        name: "catia-manual",
        settings: MANUAL,
        names: &[
            ("a\"b*c:d<e>f?g\\h|i", "a\u{a8}b\u{a4}c\u{f7}d\u{ab}e\u{bb}f\u{bf}g\u{ff}h\u{a6}i"),
            ("two words", "two\u{b1}words"),
        ],
    },
    CatiaShare {
        name: "catia-unix",
        settings: UNIX,
        names: &[
            (
                "a\"b*c:d<e>f?g\\h|i",
                "a\u{f022}b\u{f02a}c\u{f03a}d\u{f03c}e\u{f03e}f\u{f03f}g\u{f05c}h\u{f07c}i",
            ),
            ("two words", "two words"),
        ],
    },
    CatiaShare {
        name: "catia-macintosh",
        settings: MACINTOSH,
        names: &[
            (
                "a\"b*c:d<e>f?g\\h|i",
                "a\u{f020}b\u{f021}c\u{f022}d\u{f023}e\u{f024}f\u{f025}g\u{f026}h\u{f027}i",
            ),
            ("Icon\r", "Icon\u{f00d}"),
        ],
    },
    CatiaShare {
        name: "catia-private",
        settings: "  vfs objects = catia fruit streams_xattr\n  catia:mappings = 0x3a:0xf7",
        names: &[("a:b", "a\u{f7}b"), ("a\u{f025}b", "a\u{f025}b"), ("a:b\u{f025}c", "a\u{f7}b\u{f025}c")],
    },
    CatiaShare {
        name: "catia-native",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:encoding = native\n  catia:mappings = 0x3a:0xf7",
        names: &[("a:b", "a\u{f022}b"), ("a\u{f7}b", "a\u{f7}b")],
    },
];

/// The settings of these shares, as `fourfold adopt` makes them of smbd's configuration.
pub fn adopted(place: &LayoutsPlace) -> Result<String> {
    let said = moving::settings_of(&place.state("smbd").join("smb.conf"))?;
    let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for section in said.split("[[share]]").skip(1) {
        let name = section.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or_default();
        let lines = section.lines().filter(|line| {
            let names = ["name-encoding", "catia-mappings", "mac-layout"];
            names.iter().any(|name| line.starts_with(name))
        });
        of.insert(name.trim_matches('"'), lines.collect());
    }
    let share = |table: &CatiaShare| {
        let lines = of.get(table.name).with_context(|| format!("adopt makes no share {}", table.name))?;
        let path = place.share(table.name);
        Ok(format!("[[share]]\nname = \"{}\"\npath = \"{path}\"\n{}\n\n", table.name, lines.join("\n")))
    };
    TABLES.iter().map(share).collect()
}

/// What smbd has made, this server shows over SMB and AFP; what this server makes over either, smbd shows.
pub fn compare(place: &LayoutsPlace, table: &CatiaShare, (smbd, ours, afp): (u16, u16, u16)) -> Result<()> {
    let (theirs, ours) = (place.client(smbd), place.client(ours));
    let mac = Mac::new(place, afp, "AFP").without_comments();
    let folder = place.share(table.name);
    let check = |client: &SmbClientProgram, begin: &str, what: &str| -> Result<()> {
        let items: Vec<LayoutItem> = table.names.iter().map(|name| data(begin, name.1)).collect();
        client.check(table.name, &items).with_context(|| format!("{what} shows them"))
    };
    let macs: Vec<LayoutItem> = ["s ", "o ", "m "]
        .iter()
        .flat_map(|begin| table.names.iter().map(move |name| data(begin, &of_mac(name.0))))
        .collect();
    let of = |items: &[LayoutItem], begin: &str| -> Vec<LayoutItem> {
        items.iter().filter(|item| item.name.starts_with(begin)).cloned().collect()
    };
    let made =
        |begin: &str| -> Vec<LayoutItem> { table.names.iter().map(|name| data(begin, name.1)).collect() };
    theirs.write(table.name, &made("s "))?;
    check(&theirs, "s ", "smbd")?;
    check(&ours, "s ", "this server")?;
    mac.check(table.name, &of(&macs, "s ")).context("this server shows smbd's over AFP")?;
    let stored: Vec<LayoutItem> = table.names.iter().map(|name| data("s ", name.0)).collect();
    Nfs::new(place).check(table.name, &stored).context("this server shows smbd's over NFS")?;
    ours.write(table.name, &made("o "))?;
    check(&ours, "o ", "this server")?;
    check(&theirs, "o ", "smbd")?;
    mac.check(table.name, &of(&macs, "o ")).context("this server shows its own over AFP")?;
    mac.write(table.name, &of(&macs, "m "))?;
    check(&theirs, "m ", "smbd")?;
    on_disk(place, table, &folder)
}

fn on_disk(place: &LayoutsPlace, table: &CatiaShare, folder: &str) -> Result<()> {
    let mut missing = None;
    for begin in ["s ", "o ", "m "] {
        for (disk, _) in table.names {
            // Where spaces are shown as others, clients have sent those.
            let path = Path::new(folder).join(format!("{begin}{disk}"));
            place.facts().add(table.name, "disk", Fact::Name, path.exists());
            missing = missing.or((!path.exists()).then_some(path));
        }
    }
    ensure!(missing.is_none(), "{} is not on the disk", missing.unwrap_or_default().display());
    Ok(())
}

/// A name on the disk as a Mac sees it over AFP: a slash for a colon, and the characters that private code points stand for.
fn of_mac(disk: &str) -> String {
    disk.replace(':', "/").replace('\u{f025}', "?")
}

/// A file without streams.
fn data(begin: &str, name: &str) -> LayoutItem {
    LayoutItem { streams: Vec::new(), ..Amount::Little.older(&format!("{begin}{name}")) }
}
