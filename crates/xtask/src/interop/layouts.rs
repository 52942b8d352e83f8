//! Folders that Samba or Netatalk has served, in each layout that their settings give: this server reads what smbd or afpd
//! wrote, writes it in the same layout, and the other server reads that. Then `fourfold adopt` surveys them, gives them another layout,
//! which smbd reads, too, and takes that back. On ext4 with little in each file, and on XFS, whose attributes have up to
//! 64 KiB, with much, and with files of real Macs.

mod catia;
pub mod content;
pub mod corpus;
mod facts;
pub mod image;
mod moving;
pub mod netatalk;
mod nfs;
pub mod place;

use anyhow::{Context, Result};

use super::expected::Expectations;
use super::outcome::Outcomes;
use super::{InteropArgs, conclude, prepare};
use crate::netatalk::packages;
use crate::{debian, isolate, process};
use content::{Amount, Data, LayoutItem};
use facts::LayoutFacts;
use netatalk::Mac;
use nfs::Nfs;
use place::{LayoutsPlace, MARKS};

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
    /// The layouts that `fourfold adopt` finds, by their names there.
    survey: &'static [&'static str],
}

/// Without settings, and with all in streams.
const PLAIN: &str = "  vfs objects = catia fruit streams_xattr";
const STREAMS: &str =
    "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream";

impl Layout {
    /// Whether characters that Windows forbids are in names as such.
    pub fn is_native(&self) -> bool {
        self.settings.contains("fruit:encoding = native")
    }

    /// The layout that `fourfold adopt --convert` gives it here, and the settings by which smbd reads that.
    fn converted(&self) -> (&'static str, &'static str) {
        match self.resource {
            Some(_) if self.finder_info != NETATALK => ("samba", PLAIN),
            _ => ("samba-streams", STREAMS),
        }
    }
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
        survey: &["netatalk", "sidecar", "samba-streams", "private-names"],
    },
    Layout {
        name: "native",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:encoding = native",
        tags: "user.DosStream.com.apple.metadata:_kMDItemUserTags:$DATA",
        finder_info: NETATALK,
        resource: None,
        survey: &["netatalk", "sidecar", "samba-streams"],
    },
    Layout {
        name: "stream",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream",
        tags: PRIVATE,
        finder_info: INFO,
        resource: None,
        survey: &["samba-info", "sidecar", "samba-streams", "private-names"],
    },
    Layout {
        name: "streams",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream",
        tags: PRIVATE,
        finder_info: INFO,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
        survey: &["samba-info", "samba-fork", "samba-streams", "private-names"],
    },
    Layout {
        name: "prefix",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream\n  \
                   streams_xattr:prefix = user.\n  streams_xattr:store_stream_type = no",
        tags: "user.com.apple.metadata\u{f022}_kMDItemUserTags",
        finder_info: "user.AFP_AfpInfo",
        resource: Some("user.AFP_Resource"),
        survey: &["services-for-macintosh", "plain-attributes", "private-names"],
    },
    Layout {
        name: "depot",
        settings: "  vfs objects = catia fruit streams_depot",
        tags: ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA",
        finder_info: NETATALK,
        resource: None,
        survey: &["samba-depot", "netatalk", "sidecar", "private-names"],
    },
    Layout {
        name: "depot-streams",
        settings: "  vfs objects = catia fruit streams_depot\n  fruit:metadata = stream\n  fruit:resource = stream",
        tags: ":com.apple.metadata\u{f022}_kMDItemUserTags:$DATA",
        finder_info: ":AFP_AfpInfo:$DATA",
        resource: Some(":AFP_Resource:$DATA"),
        survey: &["samba-depot", "private-names"],
    },
    Layout {
        name: "xattr-only",
        settings: "  vfs objects = streams_xattr",
        tags: PRIVATE,
        finder_info: INFO,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
        survey: &["samba-info", "samba-fork", "samba-streams", "private-names"],
    },
    Layout {
        name: "resource-stream",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:resource = stream",
        tags: PRIVATE,
        finder_info: NETATALK,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
        survey: &["netatalk", "samba-fork", "samba-streams", "private-names"],
    },
    Layout {
        name: "native-streams",
        settings: "  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n  fruit:resource = stream\n  \
                   fruit:encoding = native",
        tags: "user.DosStream.com.apple.metadata:_kMDItemUserTags:$DATA",
        finder_info: INFO,
        resource: Some("user.DosStream.AFP_Resource:$DATA"),
        survey: &["samba-info", "samba-fork", "samba-streams"],
    },
];

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = packages::install()
    {
        println!("no server of Netatalk: {error:#}");
    }
    prepare(
        args,
        &[debian::SMB_CLIENTS, debian::SMB_PEER, debian::AFP_PEER, debian::IMAGES, debian::NFS_PROGRAMS]
            .concat(),
        false,
    )?;
    let mut outcomes = Outcomes::default();
    let needs = ["smbd", "smbclient", "python3", "nfs-ls", "nfs-cat"];
    match needs.iter().find(|program| process::find(program).is_none()) {
        Some(program) => outcomes.skip("all", &format!("{program} is not installed")),
        None => {
            let facts = LayoutFacts::default();
            on(&mut outcomes, "ext4", Amount::Little, &facts)?;
            on(&mut outcomes, "xfs", Amount::Much, &facts)?;
            facts.conclude(&mut outcomes);
            outcomes.run("all", &[], || Ok(()));
        }
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join("interop/layouts/expected.toml"))?.else_pass();
    // Without XFS, or without the files of real Macs, some checks are not there.
    let expected = expected.retain(|name| !name.contains(": ") || outcomes.has(name));
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

/// All layouts on a file system of this kind. If there can be none, those with little are in an ordinary folder.
fn on(outcomes: &mut Outcomes, kind: &str, amount: Amount, facts: &LayoutFacts) -> Result<()> {
    let place = LayoutsPlace::new(kind, facts.clone())?;
    match place.mounted() {
        Ok(()) => outcomes.run(&format!("{kind}: image"), &[], || Ok(())),
        Err(error) => {
            outcomes.skip(&format!("{kind}: image"), &format!("no file system in a file: {error:#}"))
        }
    }
    if place.mounted().is_err() && amount == Amount::Much {
        return Ok(());
    }
    let macs = if amount == Amount::Much { real_files(outcomes)? } else { Vec::new() };
    let (_smbd, smbd) = place.smbd()?;
    outcomes.run(&format!("{kind}: adopt takes over smbd's accounts"), &[], || moving::accounts(&place));
    for (number, layout) in LAYOUTS.iter().enumerate() {
        let items: Vec<LayoutItem> =
            made_by_smbd(amount).into_iter().chain(share_of(&macs, number)).collect();
        place.client(smbd).write(layout.name, &items)?;
    }
    let afpd = netatalk::start(outcomes, kind, &place)?;
    let (ours_running, ours, ours_afp) = place.ours()?;
    for (number, layout) in LAYOUTS.iter().enumerate() {
        let check = |what: &str, outcomes: &mut Outcomes, test: &dyn Fn() -> Result<()>| {
            outcomes.run(&format!("{kind}: {}: {what}", layout.name), &[], test);
        };
        read_and_write(&place, layout, amount, (smbd, ours), &mut |what, test| check(what, outcomes, test));
        check("a Mac reads it over AFP", outcomes, &|| over_afp(&place, layout, amount, (smbd, ours_afp)));
        check("a Mac reads it over NFS", outcomes, &|| over_nfs(&place, layout, amount, smbd));
        let macs: Vec<LayoutItem> = share_of(&macs, number).collect();
        if !macs.is_empty() {
            let (told, lone): (Vec<LayoutItem>, Vec<LayoutItem>) =
                macs.into_iter().partition(|item| is_told(layout, item));
            check("keeps the files of real Macs", outcomes, &|| keeps(&place, layout, &told, (smbd, ours)));
            if !lone.is_empty() {
                check("reads lone attributes of real Macs", outcomes, &|| {
                    place.client(ours).check(layout.name, &lone)
                });
            }
        }
    }
    for table in catia::TABLES {
        outcomes.run(&format!("{kind}: {}: names are as with smbd's table", table.name), &[], || {
            catia::compare(&place, table, (smbd, ours, ours_afp))
        });
    }
    if let Some(afpd) = &afpd {
        netatalk::serve_both(outcomes, kind, &place, (afpd, ours, ours_afp));
    }
    drop(ours_running); // it would do what follows itself
    if let Some(afpd) = &afpd {
        netatalk::adopt(outcomes, kind, &place, (afpd, smbd));
    }
    for (number, layout) in LAYOUTS.iter().enumerate() {
        let name = |what: &str| format!("{kind}: {}: {what}", layout.name);
        outcomes.run(&name("adopt finds it"), &[], || moving::survey(&place, layout));
        let mut items = made_by_smbd(amount);
        // The settings with which smbd reads what is converted see another name if this is native.
        items.retain(|item| item.name != ODD || !layout.is_native());
        items.push(amount.newer(NEW));
        items.extend(share_of(&macs, number).filter(|item| is_told(layout, item)).map(changed));
        outcomes.run(&name("smbd reads what is converted, and all comes back"), &[], || {
            let converted = place.converted(layout.name);
            moving::convert_and_undo(&place, layout, || place.client(smbd).check(&converted, &items))?;
            place.client(smbd).check(layout.name, &items)
        });
    }
    Ok(())
}

const OLD: &str = "old";
const CHANGED: &str = "changed";
const NEW: &str = "new";
/// With a colon, as a Mac sends it.
const ODD: &str = "odd\u{f022}name";
/// The same for a file that this server makes.
const NEW_ODD: &str = "new\u{f025}odd";
const FOLDER: &str = "folder";
/// With dates and bits of its own. It is removed again: `adopt --convert` leaves it as it is.
const DATED: &str = "dated";

fn made_by_smbd(amount: Amount) -> Vec<LayoutItem> {
    let files = [OLD, CHANGED, ODD].map(|name| amount.older(name));
    files.into_iter().chain([amount.folder(FOLDER)]).collect()
}

/// Makes a check of this name.
type Check<'a> = dyn FnMut(&str, &dyn Fn() -> Result<()>) + 'a;

/// This server and smbd, on what the other has written.
fn read_and_write(
    place: &LayoutsPlace,
    layout: &Layout,
    amount: Amount,
    (smbd, ours): (u16, u16),
    check: &mut Check<'_>,
) {
    let (theirs, ours, nfs) = (place.client(smbd), place.client(ours), Nfs::new(place));
    let (old, new) = (amount.older(CHANGED), amount.newer(CHANGED));
    let (odd, plain): (Vec<LayoutItem>, Vec<LayoutItem>) =
        made_by_smbd(amount).into_iter().partition(|item| item.name == ODD);
    check("reads what smbd wrote", &|| ours.check(layout.name, &plain));
    check("reads a file with a colon in its name", &|| ours.check(layout.name, &odd));
    check("smbd reads what is changed", &|| {
        ours.write(layout.name, std::slice::from_ref(&new))?;
        ours.check(layout.name, std::slice::from_ref(&new))?;
        theirs.check(layout.name, std::slice::from_ref(&new))
    });
    check("smbd reads what is new", &|| {
        ours.write(layout.name, &[amount.newer(NEW)])?;
        theirs.check(layout.name, &[amount.newer(NEW)])
    });
    check("smbd reads a new file with a question mark in its name", &|| {
        ours.write(layout.name, &[amount.newer(NEW_ODD)])?;
        theirs.check(layout.name, &[amount.newer(NEW_ODD)])
    });
    for file in [CHANGED, NEW] {
        check(&format!("the {file} file has smbd's attributes"), &|| place.has_layout(layout, file));
    }
    check("reads what smbd changes again", &|| {
        theirs.write(layout.name, std::slice::from_ref(&old))?;
        ours.check(layout.name, std::slice::from_ref(&old))
    });
    check("dates and bits", &|| {
        let [old, new] = &MARKS;
        let (names, file) = ([DATED], LayoutItem { streams: Vec::new(), ..amount.older(DATED) });
        theirs.write(layout.name, &[file])?;
        theirs.mark(layout.name, &names, old)?;
        theirs.check_marks(layout.name, &names, old).context("smbd's own")?;
        ours.check_marks(layout.name, &names, old).context("as this server shows them")?;
        nfs.check_marks(layout.name, &names, netatalk::MARKS[0]).context("as it shows them over NFS")?;
        ours.mark(layout.name, &names, new)?;
        ours.check_marks(layout.name, &names, new).context("its own")?;
        theirs.check_marks(layout.name, &names, new).context("as smbd shows what is changed")?;
        theirs.remove(layout.name, DATED)
    });
    check("smbd reads a folder that is changed", &|| {
        let folder = LayoutItem { streams: new.streams[..1].to_vec(), ..amount.folder(FOLDER) };
        ours.write(layout.name, &[folder])?;
        ours.write(layout.name, &[amount.folder(FOLDER)])?;
        theirs.check(layout.name, &[amount.folder(FOLDER)])
    });
}

/// What smbd has, as this server shows it over AFP; and what it changes over AFP, as smbd shows it.
fn over_afp(place: &LayoutsPlace, layout: &Layout, amount: Amount, (smbd, afp): (u16, u16)) -> Result<()> {
    let (theirs, ours) = (place.client(smbd), Mac::new(place, afp, "AFP").without_comments());
    // AFP has no names of streams but those of attributes, up to 64 KiB.
    let old: Vec<LayoutItem> = made_by_smbd(amount).into_iter().filter(|item| item.name != CHANGED).collect();
    ours.check(layout.name, &old)?;
    let new = amount.newer("over AFP");
    ours.write(layout.name, std::slice::from_ref(&new))?;
    ours.check(layout.name, std::slice::from_ref(&new)).context("a new file")?;
    theirs.check(layout.name, &[new]).context("a new file, as smbd shows it")
}

/// What smbd has, as this server shows it over NFS; and what it changes over NFS, as smbd shows it.
fn over_nfs(place: &LayoutsPlace, layout: &Layout, amount: Amount, smbd: u16) -> Result<()> {
    let (theirs, ours) = (place.client(smbd), Nfs::new(place));
    let old: Vec<LayoutItem> = made_by_smbd(amount).into_iter().filter(|item| item.name != CHANGED).collect();
    ours.check(layout.name, &old)?;
    let new = amount.newer("over NFS");
    ours.write(layout.name, std::slice::from_ref(&new))?;
    ours.check(layout.name, std::slice::from_ref(&new)).context("a new file")?;
    theirs.check(layout.name, &[new]).context("a new file, as smbd shows it")
}

/// Each file of real Macs is in two of the layouts.
fn share_of(macs: &[LayoutItem], layout: usize) -> impl Iterator<Item = LayoutItem> {
    let is_there = move |number: usize| (number + layout).is_multiple_of(5);
    let macs: Vec<LayoutItem> = macs.to_vec();
    macs.into_iter().enumerate().filter(move |(number, _)| is_there(*number)).map(|(_, item)| item)
}

/// Whether it can be told that Samba's byte follows the values of a file's attributes: docs/on-disk-format.md.
fn is_told(layout: &Layout, item: &LayoutItem) -> bool {
    let mut streams = item.streams.iter();
    let is_sign = |(name, _): &(String, Vec<u8>)| name == "AFP_AfpInfo";
    layout.name != "prefix" || streams.any(is_sign)
}

fn real_files(outcomes: &mut Outcomes) -> Result<Vec<LayoutItem>> {
    match corpus::folder() {
        Some(folder) => {
            outcomes.run("files of real Macs", &[], || Ok(()));
            corpus::items(&folder)
        }
        None => {
            outcomes.skip("files of real Macs", "there is no corpus beside this folder");
            Ok(Vec::new())
        }
    }
}

/// The same after a client has given it another label, and has added an attribute.
fn changed(mut item: LayoutItem) -> LayoutItem {
    if let Some((_, info)) = item.streams.iter_mut().find(|(name, _)| name == "AFP_AfpInfo") {
        info[25] = info[25] & !0x0E | 4; // the label colour, Inside Macintosh: More Macintosh Toolbox 7-47
    }
    item.streams.push(("added".into(), b"by this server".to_vec()));
    item
}

/// This server reads what smbd wrote, changes it, and smbd reads all of it.
fn keeps(place: &LayoutsPlace, layout: &Layout, macs: &[LayoutItem], (smbd, ours): (u16, u16)) -> Result<()> {
    let (theirs, ours) = (place.client(smbd), place.client(ours));
    ours.check(layout.name, macs).context("as this server reads them")?;
    let now: Vec<LayoutItem> = macs.iter().cloned().map(changed).collect();
    let is_new = |(name, _): &(String, Vec<u8>)| matches!(name.as_str(), "AFP_AfpInfo" | "added");
    let written: Vec<LayoutItem> = now
        .iter()
        .map(|item| LayoutItem {
            name: item.name.clone(),
            data: Data::Kept,
            streams: item.streams.iter().filter(|stream| is_new(stream)).cloned().collect(),
        })
        .collect();
    ours.write(layout.name, &written)?;
    theirs.check(layout.name, &now).context("as smbd reads what is changed")
}
