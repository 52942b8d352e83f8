//! Folders that Netatalk has served, with each setting of `ea`: what afpd wrote, this server reads over AFP and SMB; what this
//! server writes over either, afpd reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::content::{Amount, COLON, Data, LayoutItem, stream_of, text_list};
use super::facts::LayoutFacts;
use super::nfs::Nfs;
use super::place::{self, ADA, LayoutsPlace, SmbClientProgram};
use super::{CHANGED, Check, FOLDER, Layout, NETATALK, NEW, ODD, OLD, moving};
use crate::interop::outcome::Outcomes;
use crate::netatalk::packages;
use crate::{isolate, process};

/// The time limit of one run of the client.
const LIMIT: Duration = Duration::from_secs(60);
/// The names of files that are moved and removed.
const MOVED: &str = "moved";
const GONE: &str = "gone";
const COMMENT: &str = "A comment";

/// Bits, dates of creation and of the last change: those of [`place::MARKS`], as AFP has them.
pub const MARKS: [[i32; 3]; 2] =
    [[1, 1_000_000_000 - EPOCH, 1_234_567_890 - EPOCH], [4, 1_100_000_000 - EPOCH, 1_300_000_000 - EPOCH]];
/// 2000-01-01 as a Unix time.
const EPOCH: i32 = 946_684_800;

const TAGS: &str = "user.com.apple.metadata:_kMDItemUserTags";

/// As afp.conf names them.
pub const LAYOUTS: &[Layout] = &[
    layout("netatalk-sys", "ea = sys", ATTRIBUTES),
    layout("netatalk-samba", "ea = samba", ATTRIBUTES),
    in_files("netatalk-ad"),
];
/// The same, which this server does not serve.
pub const KEPT: &[Layout] = &[
    layout("netatalk-sys-kept", "ea = sys", ATTRIBUTES),
    layout("netatalk-samba-kept", "ea = samba", ATTRIBUTES),
    in_files("netatalk-ad-kept"),
];

/// The header file in `.AppleDouble`, as the place names it.
const HEADER: &str = ".AppleDouble/";
/// What `fourfold adopt` finds.
const ATTRIBUTES: &[&str] = &["netatalk", "sidecar", "plain-attributes"];
const FILES: &[&str] = &["netatalk2", "netatalk2-attributes"];

const fn layout(name: &'static str, settings: &'static str, survey: &'static [&'static str]) -> Layout {
    Layout { name, settings, tags: TAGS, finder_info: NETATALK, resource: None, survey }
}

/// All in `.AppleDouble`.
const fn in_files(name: &'static str) -> Layout {
    Layout {
        tags: ".AppleDouble/::EA::com.apple.metadata:3a_kMDItemUserTags",
        finder_info: HEADER,
        resource: Some(HEADER),
        ..layout(name, "ea = ad", FILES)
    }
}

/// The AFP client, with one of the servers.
pub struct Mac {
    /// A file of its own.
    items: PathBuf,
    port: String,
    facts: LayoutFacts,
    /// Who is asked, in the matrix of facts.
    reader: &'static str,
    /// Whether the files have comments.
    is_commented: bool,
}

impl Mac {
    /// afpd's, or that of this server.
    pub fn new(place: &LayoutsPlace, port: u16, reader: &'static str) -> Self {
        Self { facts: place.facts(), reader, ..Self::with(place.state("items.json"), port) }
    }

    /// Of files that no Mac has written over AFP.
    pub fn without_comments(self) -> Self {
        Self { is_commented: false, ..self }
    }

    pub fn with(items: PathBuf, port: u16) -> Self {
        let (facts, reader, is_commented) = (LayoutFacts::default(), "AFP", true);
        Self { items, port: port.to_string(), facts, reader, is_commented }
    }

    pub fn write(&self, volume: &str, items: &[LayoutItem]) -> Result<()> {
        self.with_items("write", volume, items)
    }

    /// The same, and gives all of them a date of the last change: seconds from 2000 on.
    pub fn write_dated(&self, volume: &str, items: &[LayoutItem], changed: i64) -> Result<()> {
        let mut items: Vec<Value> = items.iter().map(|item| self.as_json(item)).collect();
        items.iter_mut().for_each(|item| item["changed"] = changed.into());
        self.send("write", volume, items)
    }

    /// Whether these items are there with exactly this.
    pub fn check(&self, volume: &str, items: &[LayoutItem]) -> Result<()> {
        self.with_items("check", volume, items)
    }

    fn with_items(&self, command: &str, volume: &str, items: &[LayoutItem]) -> Result<()> {
        self.send(command, volume, items.iter().map(|item| self.as_json(item)).collect())
    }

    fn send(&self, command: &str, volume: &str, items: Vec<Value>) -> Result<()> {
        fs::write(&self.items, Value::from_iter(items).to_string())?;
        self.run(command, volume, &[&self.items.to_string_lossy()])
    }

    fn run(&self, command: &str, volume: &str, words: &[&str]) -> Result<()> {
        let script = process::root().join("interop/layouts/afp_items.py");
        let script = script.to_string_lossy();
        let to = [&*script, command, &self.port, volume, ADA.name, ADA.password];
        let output = process::output("python3", &[&to[..], words].concat(), LIMIT)?;
        self.facts.add_lines(volume, self.reader, &String::from_utf8_lossy(&output.stdout));
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{volume}: {}", said.lines().last().unwrap_or_default());
        Ok(())
    }

    fn as_json(&self, item: &LayoutItem) -> Value {
        let mut found = as_json(item);
        if self.is_commented {
            found["comment"] = COMMENT.into();
        }
        found
    }

    /// Gives files bits and a date of creation.
    pub fn mark(&self, volume: &str, names: &[&str], marks: [i32; 3]) -> Result<()> {
        self.send("write", volume, marked(names, marks))
    }

    /// Whether files have these.
    pub fn check_marks(&self, volume: &str, names: &[&str], marks: [i32; 3]) -> Result<()> {
        self.send("check", volume, marked(names, marks))
    }
}

/// Bits and dates of files, for a client that reads them from a file.
pub fn marked(names: &[&str], [bits, created, changed]: [i32; 3]) -> Vec<Value> {
    let one = |name: &&str| json!({"name": name, "bits": bits, "created": created, "changed": changed});
    names.iter().map(one).collect()
}

/// An item as a Mac sees it: with a slash for what is a colon to other systems.
pub fn as_json(item: &LayoutItem) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut found = Map::new();
    found.insert("name".into(), item.name.replace(COLON, "/").replace('\u{f025}', "?").into());
    match &item.data {
        Data::File(data) => drop(found.insert("data".into(), hex(data).into())),
        Data::Folder => drop(found.insert("folder".into(), true.into())),
        Data::Kept => {}
    }
    let mut attributes = Map::new();
    for (name, value) in &item.streams {
        match name.as_str() {
            "AFP_AfpInfo" => drop(found.insert("info".into(), hex(&value[16..48]).into())),
            "AFP_Resource" => drop(found.insert("fork".into(), hex(value).into())),
            name => drop(attributes.insert(name.replace(COLON, ":"), hex(value).into())),
        }
    }
    found.insert("attributes".into(), attributes.into());
    json!(found)
}

fn made_by_afpd() -> Vec<LayoutItem> {
    let files = [OLD, CHANGED, ODD, MOVED, GONE].map(|name| Amount::Little.older(name));
    // Nothing but its own form tells where such a text ends.
    let streams = vec![("com.apple.TextEncoding".to_owned(), b"utf-8;134217984".to_vec())];
    let lone = LayoutItem { name: "lone".into(), streams, ..files[0].clone() };
    files.into_iter().chain([lone, Amount::Little.folder(FOLDER)]).collect()
}

/// afpd, and its port.
pub type Afpd = (process::Running, u16);

/// afpd with its volumes, in which it has written, unless it cannot be had.
pub fn start(outcomes: &mut Outcomes, kind: &str, place: &LayoutsPlace) -> Result<Option<Afpd>> {
    let missing = ["python3", "cc"].iter().find(|program| process::find(program).is_none());
    let why = match missing {
        Some(program) => Some(format!("{program} is not installed")),
        None if packages::server().is_none() => Some("Debian's netatalk could not be fetched".into()),
        None if !isolate::is_isolated() => Some("it needs root and namespaces".into()),
        None => None,
    };
    if let Some(why) = why {
        outcomes.skip(&format!("{kind}: netatalk"), &why);
        return Ok(None);
    }
    let layouts = || LAYOUTS.iter().chain(KEPT);
    let afpd = place.afpd("netatalk", layouts().map(|layout| (layout.name, layout.settings)))?;
    outcomes.run(&format!("{kind}: netatalk"), &[], || {
        let mac = Mac::new(place, afpd.1, "afpd");
        layouts().try_for_each(|layout| mac.write(layout.name, &made_by_afpd()))
    });
    Ok(Some(afpd))
}

/// afpd and this server on the same folders. The ports of this one are those of SMB and AFP.
pub fn serve_both(
    outcomes: &mut Outcomes,
    kind: &str,
    place: &LayoutsPlace,
    (afpd, ours_smb, ours): (&Afpd, u16, u16),
) {
    let ports = NetatalkPorts { afpd: afpd.1, ours, ours_smb };
    for layout in LAYOUTS {
        read_and_write(place, layout, ports, &mut |what, test| {
            outcomes.run(&format!("{kind}: {}: {what}", layout.name), &[], test);
        });
    }
}

/// `fourfold adopt` on folders that afpd has written, and that this server does not serve.
pub fn adopt(outcomes: &mut Outcomes, kind: &str, place: &LayoutsPlace, (afpd, smbd): (&Afpd, u16)) {
    for layout in KEPT {
        let name = |what: &str| format!("{kind}: {}: {what}", layout.name);
        outcomes.run(&name("adopt finds it"), &[], || moving::survey(place, layout));
        let (all, mac) = (made_by_afpd(), Mac::new(place, afpd.1, "afpd"));
        let plain: Vec<LayoutItem> = all.iter().filter(|item| item.name != ODD).cloned().collect();
        outcomes.run(&name("smbd reads what is converted, and all comes back"), &[], || {
            let converted = place.converted(layout.name);
            moving::convert_and_undo(place, layout, || place.client(smbd).check(&converted, &plain))?;
            mac.check(layout.name, &all).context("as afpd reads it")
        });
    }
}

/// The servers: afpd, and this one over AFP and SMB.
#[derive(Clone, Copy)]
struct NetatalkPorts {
    afpd: u16,
    ours: u16,
    ours_smb: u16,
}

fn read_and_write(place: &LayoutsPlace, layout: &Layout, ports: NetatalkPorts, check: &mut Check<'_>) {
    let theirs = Mac::new(place, ports.afpd, "afpd");
    let ours = Mac::new(place, ports.ours, "AFP");
    let (smb, nfs) = (place.client(ports.ours_smb), Nfs::new(place));
    let volume = layout.name;
    let (old, new) = ([Amount::Little.older(CHANGED)], [Amount::Little.newer(CHANGED)]);
    check("reads what afpd wrote", &|| ours.check(volume, &made_by_afpd()));
    check("reads what afpd wrote over SMB", &|| smb.check(volume, &made_by_afpd()));
    check("reads what afpd wrote over NFS", &|| nfs.check(volume, &made_by_afpd()));
    check("afpd reads what is new over NFS", &|| {
        nfs.write(volume, &[Amount::Little.newer("over NFS")])?;
        nfs.check(volume, &[Amount::Little.newer("over NFS")])?;
        Mac::new(place, ports.afpd, "afpd")
            .without_comments()
            .check(volume, &[Amount::Little.newer("over NFS")])
    });
    check("afpd reads what is changed", &|| {
        ours.write(volume, &new)?;
        ours.check(volume, &new)?;
        smb.check(volume, &new)?;
        theirs.check(volume, &new)
    });
    check("afpd reads what is new", &|| {
        ours.write(volume, &[Amount::Little.newer(NEW)])?;
        theirs.check(volume, &[Amount::Little.newer(NEW)])
    });
    check("afpd reads what is changed over SMB", &|| changed_over_smb(volume, &smb, &ours, &theirs));
    for file in [CHANGED, NEW] {
        check(&format!("the {file} file has afpd's attributes"), &|| place.has_layout(layout, file));
    }
    check("reads what afpd changes again", &|| {
        theirs.write(volume, &old)?;
        ours.check(volume, &old)?;
        smb.check(volume, &old)
    });
    check("afpd reads a folder that is changed", &|| {
        let folder = LayoutItem { streams: new[0].streams[..1].to_vec(), ..Amount::Little.folder(FOLDER) };
        ours.write(volume, std::slice::from_ref(&folder))?;
        theirs.check(volume, &[folder])?;
        ours.write(volume, &[Amount::Little.folder(FOLDER)])?;
        theirs.check(volume, &[Amount::Little.folder(FOLDER)])
    });
    check("dates and bits over NFS", &|| {
        theirs.mark(volume, &[OLD], MARKS[0])?;
        nfs.check_marks(volume, &[OLD], MARKS[0])
    });
    check("dates and bits", &|| {
        theirs.mark(volume, &[OLD], MARKS[0])?;
        theirs.check_marks(volume, &[OLD], MARKS[0]).context("afpd's own")?;
        ours.check_marks(volume, &[OLD], MARKS[0]).context("afpd's, as this server shows them")?;
        smb.check_marks(volume, &[OLD], &place::MARKS[0]).context("afpd's, over SMB")?;
        ours.mark(volume, &[OLD], MARKS[1])?;
        smb.check_marks(volume, &[OLD], &place::MARKS[1]).context("over SMB")?;
        theirs.check_marks(volume, &[OLD], MARKS[1]).context("as afpd shows them")
    });
    move_and_remove(place, volume, (&theirs, &ours), check);
}

/// Entries that are moved, exchanged, made in a new folder and removed.
fn move_and_remove(place: &LayoutsPlace, volume: &str, (theirs, ours): (&Mac, &Mac), check: &mut Check<'_>) {
    check("afpd reads what is moved", &|| {
        ours.run("rename", volume, &[MOVED, "elsewhere"])?;
        ours.check(volume, &[Amount::Little.older("elsewhere")])?;
        theirs.check(volume, &[Amount::Little.older("elsewhere")])
    });
    check("afpd reads two files whose contents are exchanged", &|| {
        let [old, new] = [Amount::Little.older("elsewhere"), Amount::Little.newer(NEW)];
        ours.run("exchange", volume, &["elsewhere", NEW])?;
        theirs.check(volume, &[with_fork_of(&old, &new), with_fork_of(&new, &old)])?;
        ours.run("exchange", volume, &["elsewhere", NEW])?;
        theirs.check(volume, &[old, new])
    });
    check("afpd reads a new folder and a file in it", &|| {
        // A zero byte is between the names of a path.
        let made = [Amount::Little.folder("new folder"), Amount::Little.newer("new folder\0inner")];
        ours.write(volume, &made)?;
        theirs.check(volume, &made)
    });
    check("nothing is left of what is removed", &|| {
        ours.run("remove", volume, &[GONE])?;
        is_gone(Path::new(&place.share(volume)), GONE)
    });
}

/// A file with the resource fork of another one.
fn with_fork_of(item: &LayoutItem, other: &LayoutItem) -> LayoutItem {
    let is_fork = |(name, _): &&(String, Vec<u8>)| name == "AFP_Resource";
    let fork = other.streams.iter().find(is_fork).cloned();
    let rest = item.streams.iter().filter(|stream| !is_fork(stream)).cloned();
    LayoutItem { streams: rest.chain(fork).collect(), ..item.clone() }
}

/// A client of SMB writes a new file, and gives one of afpd another type and one more attribute.
fn changed_over_smb(volume: &str, smb: &SmbClientProgram, ours: &Mac, theirs: &Mac) -> Result<()> {
    let mut new = Amount::Little.newer("over SMB");
    new.streams.push((stream_of("com.apple.metadata:kMDItemFinderComment"), text_list(COMMENT)));
    smb.write(volume, std::slice::from_ref(&new))?;
    new.streams.pop();
    theirs.check(volume, &[new]).context("a new file")?;
    let mut changed = Amount::Little.older(OLD);
    let info =
        changed.streams.iter_mut().find(|(name, _)| name == "AFP_AfpInfo").context("no Finder info")?;
    info.1[16..24].copy_from_slice(b"PDF prvw");
    let added = ("added".to_owned(), b"over SMB".to_vec());
    let written =
        LayoutItem { data: Data::Kept, streams: vec![info.clone(), added.clone()], ..changed.clone() };
    changed.streams.push(added);
    smb.write(volume, &[written])?;
    ours.check(volume, std::slice::from_ref(&changed)).context("as this server shows it")?;
    theirs.check(volume, &[changed]).context("a changed file")
}

/// Whether neither the folder nor one in it has something of this name.
fn is_gone(folder: &Path, name: &str) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.file_name().to_string_lossy().into_owned();
        ensure!(!found.contains(name), "{} is there", entry.path().display());
        if entry.file_type()?.is_dir() {
            is_gone(&entry.path(), name)?;
        }
    }
    Ok(())
}
