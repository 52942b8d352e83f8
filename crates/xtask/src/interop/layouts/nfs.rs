//! NFS clients of this server: libnfs's programs for names and data, and a client of named attributes for all that Macs keep besides.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::content::{COLON, Data, LayoutItem};
use super::facts::{Fact, LayoutFacts};
use super::netatalk::{as_json, marked};
use super::place::{LayoutsPlace, UID};
use crate::process;
use crate::server::ExportAddress;

/// The time limit of one run of a client.
const LIMIT: Duration = Duration::from_secs(60);
/// Who is asked, in the matrix of facts.
const READER: &str = "NFS";
/// Folders in which other servers keep what belongs to files: they are not listed.
const OF_SERVERS: [&str; 4] = [".streams", ".AppleDouble", "@eaDir", ".fourfold"];
/// The columns of nfs-ls before the name: mode, links, user, group and size.
const COLUMNS: usize = 5;

pub struct Nfs {
    /// A file of its own.
    items: PathBuf,
    port: u16,
    facts: LayoutFacts,
}

impl Nfs {
    pub fn new(place: &LayoutsPlace) -> Self {
        Self { items: place.state("nfs-items.json"), port: place.nfs_port(), facts: place.facts() }
    }

    /// Writes files and folders with their named attributes.
    pub fn write(&self, share: &str, items: &[LayoutItem]) -> Result<()> {
        self.send("write", share, items.iter().map(of_item).collect())
    }

    /// Whether items are there with exactly this, and nothing that other servers keep for themselves.
    pub fn check(&self, share: &str, items: &[LayoutItem]) -> Result<()> {
        let listed = self.listed(share)?;
        let of_servers = listed.iter().find(|name| OF_SERVERS.iter().any(|own| name.starts_with(own)));
        self.facts.add(share, READER, Fact::Name, of_servers.is_none());
        let mut wrong = of_servers.map(|name| format!("{name} is listed"));
        for item in items {
            let is_listed = listed.iter().any(|name| plain(name) == plain(&item.name));
            self.facts.add(share, READER, Fact::Name, is_listed);
            wrong = wrong.or((!is_listed).then(|| format!("{} is not listed", item.name)));
            if let (Data::File(data), Some(found)) = (&item.data, self.data(share, &plain(&item.name))?) {
                self.facts.add(share, READER, Fact::Data, found == *data);
                wrong =
                    wrong.or((found != *data).then(|| format!("nfs-cat reads other data of {}", item.name)));
            }
        }
        self.send("check", share, items.iter().map(of_item).collect())?;
        wrong.map_or(Ok(()), |wrong| Err(anyhow::anyhow!("{share}: {wrong}")))
    }

    /// Whether files have these bits and dates.
    pub fn check_marks(&self, share: &str, names: &[&str], marks: [i32; 3]) -> Result<()> {
        self.send("check", share, marked(names, marks))
    }

    fn send(&self, command: &str, share: &str, items: Vec<Value>) -> Result<()> {
        fs::write(&self.items, Value::from_iter(items).to_string())?;
        let script = process::root().join("interop/layouts/nfs_items.py");
        let (script, items) = (script.to_string_lossy(), self.items.to_string_lossy());
        let (port, uid) = (self.port.to_string(), UID.to_string());
        let output = process::output("python3", &[&script, command, &port, share, &uid, &items], LIMIT)?;
        self.facts.add_lines(share, READER, &String::from_utf8_lossy(&output.stdout));
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{share}: {}", said.lines().last().unwrap_or_default());
        Ok(())
    }

    /// The names in a share, as nfs-ls shows them.
    fn listed(&self, share: &str) -> Result<Vec<String>> {
        let text = process::stdout_of("nfs-ls", &[&self.url(share, "")], LIMIT)?;
        let lines = text.split('\n').filter(|line| !line.is_empty());
        lines.map(|line| name_of(line).with_context(|| format!("nfs-ls says {line:?}"))).collect()
    }

    /// The data of a file, as nfs-cat reads them. `None`: a URL cannot have the name.
    fn data(&self, share: &str, name: &str) -> Result<Option<Vec<u8>>> {
        if name.contains('?') {
            return Ok(None);
        }
        let output = process::output("nfs-cat", &[&self.url(share, &format!("/{name}"))], LIMIT)?;
        Ok(Some(output.stdout))
    }

    fn url(&self, share: &str, path: &str) -> String {
        let (nfs_port, mount_port) = (self.port, self.port);
        let address = ExportAddress { export: format!("/{share}"), nfs_port, mount_port };
        format!("{}&uid={UID}&gid={UID}", address.url(path))
    }
}

fn name_of(line: &str) -> Option<String> {
    let mut rest = line;
    for _ in 0..COLUMNS {
        rest = rest.trim_start().split_once(' ')?.1;
    }
    Some(rest.trim_start().to_owned())
}

/// A name with the characters for which private code points stand: by it a file is found, whichever form is on the disk.
fn plain(name: &str) -> String {
    name.replace(COLON, ":").replace('\u{f025}', "?")
}

fn of_item(item: &LayoutItem) -> Value {
    let mut found = as_json(item);
    found["name"] = plain(&item.name).into();
    found
}
