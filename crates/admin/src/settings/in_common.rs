//! The part of a settings file that all servers of a cluster have alike, as a text; and what is to be done when it has changed at
//! this server, at another one, or at both.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table as TomlTable};

use super::scope::OF_ONE_SERVER;

/// The longest list of differences that is told.
const MOST_TOLD: usize = 20;
/// Settings of one server that do not fit another machine.
const OF_ONE_MACHINE: [&str; 6] =
    ["listen", "admin-listen", "bonjour-name", "threads", "cluster-etcd-certificate", "cluster-etcd-key"];
/// The table that each server has for itself.
const OWN_TABLE: &str = "appletalk";
/// The tables of which there can be several.
const LISTS: [&str; 4] = ["share", "user", "link", "site"];

/// What both sides had when they were last the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before<'a> {
    /// The part in common of the settings file.
    pub here: &'a str,
    /// The text of the cluster.
    pub there: &'a str,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Todo {
    /// Nothing: both mean the same.
    Nothing,
    /// The settings here become those of the cluster.
    Give,
    /// Those of the cluster become the settings here.
    Take,
    /// Both have changed: a person has to choose. These settings differ.
    Choose(Vec<String>),
}

/// What is to be done with the settings here and those of the cluster, if there are any yet. `before`: `None` if they were never
/// the same.
///
/// # Errors
/// One of the texts is not TOML.
pub fn todo(here: &str, there: Option<&str>, before: Option<Before<'_>>) -> Result<Todo, String> {
    let Some(there) = there else { return Ok(Todo::Give) };
    let (is_here, is_there) = match before {
        Some(before) => (here != before.here, there != before.there),
        None => (true, true),
    };
    let differing = differing(here, there)?;
    Ok(match (is_here, is_there) {
        (false, false) => Todo::Nothing,
        (_, true) if differing.is_empty() => Todo::Take, // comments, at most
        (true, false) => Todo::Give,
        (false, true) => Todo::Take,
        (true, true) => Todo::Choose(differing),
    })
}

/// The part of a settings file that all servers have alike. Comments stay with what they are above of.
///
/// # Errors
/// It is not TOML.
pub fn common_part(text: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    document.remove(OWN_TABLE);
    if let Some(server) = server(&mut document)? {
        OF_ONE_SERVER.iter().for_each(|key| drop(server.remove(key)));
        if server.is_empty() {
            document.remove("server");
        }
    }
    Ok(document.to_string())
}

/// A settings file with what `own` has for its server alone, and all else of `common`.
///
/// # Errors
/// One of them is not TOML.
pub fn joined(own: &str, common: &str) -> Result<String, String> {
    let (mut own, mut rest) = (parse(own)?, parse(common)?);
    let mut joined = TomlTable::new();
    let mut take = |table: &mut TomlTable, is_own: bool| {
        let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys.iter().filter(|key| OF_ONE_SERVER.contains(&key.as_str()) == is_own) {
            if let Some((key, item)) = table.remove_entry(key) {
                joined.insert_formatted(&key, item);
            }
        }
    };
    if let Some(table) = server(&mut own)? {
        take(table, true);
    }
    let mut decor = None;
    if let Some(table) = server(&mut rest)? {
        take(table, false);
        decor = Some(table.decor().clone());
    }
    rest.remove("server");
    if let Some(decor) = decor {
        *joined.decor_mut() = decor;
    }
    let mut first = DocumentMut::new();
    if !joined.is_empty() {
        first.insert("server", Item::Table(joined));
    }
    rest.remove(OWN_TABLE);
    if let Some((key, item)) = own.remove_entry(OWN_TABLE) {
        first.insert_formatted(&key, item);
    }
    let (first, rest) = (first.to_string(), rest.to_string());
    let gap = if first.is_empty() || rest.is_empty() || rest.starts_with('\n') { "" } else { "\n" };
    Ok(format!("{first}{gap}{rest}"))
}

/// What a new server of a cluster has for itself.
#[derive(Debug, Clone, Copy)]
pub struct NewServer<'a> {
    /// `cluster-server`.
    pub name: &'a str,
    /// `cluster-listen`.
    pub listen: &'a str,
    /// `cluster-certificate`.
    pub certificate: &'a str,
    /// `cluster-key`.
    pub key: &'a str,
    /// `cluster-ca`.
    pub ca: &'a str,
}

/// The settings file of a new server, made of that of another server of the cluster. What is about that machine is left out.
///
/// # Errors
/// The text is not TOML, or has no cluster, or the name is no name or that of the other server.
pub fn of_new_server(text: &str, new: &NewServer<'_>) -> Result<String, String> {
    if !super::cluster::is_name(new.name) {
        return Err(format!("{:?} is not a name; use up to 63 of a-z, 0-9, `-` and `.`", new.name));
    }
    let mut document = parse(text)?;
    let server = server(&mut document)?.filter(|server| server.contains_key("cluster"));
    let server = server.ok_or("the settings have no `cluster`: this server is alone")?;
    if server.get("cluster-server").and_then(Item::as_str) == Some(new.name) {
        return Err(format!("{} is the name of the server that these settings are of", new.name));
    }
    OF_ONE_MACHINE.iter().for_each(|key| drop(server.remove(key)));
    let own = [
        ("cluster-server", new.name),
        ("cluster-listen", new.listen),
        ("cluster-certificate", new.certificate),
        ("cluster-key", new.key),
        ("cluster-ca", new.ca),
    ];
    for (key, value) in own {
        server.insert(key, value.into());
    }
    document.remove(OWN_TABLE);
    Ok(document.to_string())
}

/// A text of `[server]`, as it is written.
#[must_use]
pub fn file_of(text: &str, key: &str) -> Option<String> {
    let mut document = parse(text).ok()?;
    server(&mut document).ok()??.get(key)?.as_str().map(str::to_owned)
}

/// The settings in which two texts differ: `server.smb-signing`, `share "studio": read-only`.
///
/// # Errors
/// One of them is not TOML.
pub fn differing(one: &str, other: &str) -> Result<Vec<String>, String> {
    let (one, other) = (values(one)?, values(other)?);
    let mut found = Vec::new();
    let empty = Value::Object(Map::new());
    let (a, b) = (one.get("server").unwrap_or(&empty), other.get("server").unwrap_or(&empty));
    found.extend(keys(a, b).into_iter().map(|key| format!("server.{key}")));
    for list in LISTS {
        let (a, b) = (entries(&one, list), entries(&other, list));
        let before = found.len();
        let names: Vec<&String> = a.iter().chain(&b).map(|(name, _)| name).collect();
        let names: Vec<&String> = names
            .iter()
            .enumerate()
            .filter(|(at, name)| !names[..*at].contains(name))
            .map(|(_, name)| *name)
            .collect();
        for name in names {
            let find = |all: &[(String, Value)]| {
                all.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
            };
            match (find(&a), find(&b)) {
                (Some(a), Some(b)) => {
                    found.extend(keys(&a, &b).into_iter().map(|key| format!("{list} {name}: {key}")));
                }
                _ => found.push(format!("{list} {name}")),
            }
        }
        if found.len() == before && a != b {
            found.push(format!("the order of [[{list}]]"));
        }
    }
    if found.len() > MOST_TOLD {
        let more = found.len() - MOST_TOLD;
        found.truncate(MOST_TOLD);
        found.push(format!("{more} more"));
    }
    Ok(found)
}

/// The keys in which two tables differ.
fn keys(one: &Value, other: &Value) -> BTreeSet<String> {
    let all = [one, other].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    all.filter(|key| one.get(key.as_str()) != other.get(key.as_str())).cloned().collect()
}

/// The entries of a list with their names, or else their numbers.
fn entries(values: &Value, list: &str) -> Vec<(String, Value)> {
    let all = values.get(list).and_then(Value::as_array).cloned().unwrap_or_default();
    let named =
        all.into_iter().enumerate().map(|(at, value)| match value.get("name").and_then(Value::as_str) {
            Some(name) => (format!("{name:?}"), value),
            None => ((at + 1).to_string(), value),
        });
    named.collect()
}

fn values(text: &str) -> Result<Value, String> {
    toml_edit::de::from_str(text).map_err(|error| error.message().to_owned())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())
}

/// `[server]`, also if it is written in one line.
fn server(document: &mut DocumentMut) -> Result<Option<&mut TomlTable>, String> {
    let Some(item) = document.get_mut("server") else { return Ok(None) };
    if item.is_inline_table() {
        item.make_value();
        *item = std::mem::take(item).into_table().map(Item::Table).unwrap_or_default();
    }
    item.as_table_mut().map(Some).ok_or_else(|| "`server` must be one table".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "# Of gate1.\n[server]\n# Only here.\nlisten = [\"10.0.0.1\"]\ncluster-server = \"gate1\"\n\
                       # For all.\nsmb-signing = \"required\" # always\n\n# Work.\n[[share]]\nname = \"studio\"\npath = \"/mnt/studio\"\n\n\
                       [[share.client]]\nmatch = \"*\"\n";
    const TWO: &str =
        "[server]\nlisten = [\"10.0.0.2\"] # gate2\ncluster-server = \"gate2\"\nsmb-signing = \"optional\"\n";

    #[test]
    fn the_common_part_has_no_setting_of_one_server_and_keeps_its_comments() {
        let common = common_part(ONE).unwrap();
        assert!(
            !common.contains("listen") && !common.contains("gate1\"") && !common.contains("Only here"),
            "{common}"
        );
        for kept in ["# For all.", "smb-signing = \"required\" # always", "# Work.", "[[share.client]]"] {
            assert!(common.contains(kept), "{common}");
        }
        assert_eq!(common_part("[server]\nlisten = [\"::\"]\n").unwrap(), "");
        assert_eq!(common_part("server = { listen = [\"::\"] }\n").unwrap().trim(), "");
    }

    #[test]
    fn a_file_that_takes_the_common_part_keeps_what_is_its_own() {
        let common = common_part(ONE).unwrap();
        let joined = joined(TWO, &common).unwrap();
        for kept in ["listen = [\"10.0.0.2\"] # gate2", "\"gate2\"", "smb-signing = \"required\"", "# Work."]
        {
            assert!(joined.contains(kept), "{joined}");
        }
        assert!(!joined.contains("10.0.0.1") && !joined.contains("optional"), "{joined}");
        assert_eq!(differing(&common_part(&joined).unwrap(), &common).unwrap(), [""; 0]);
        let again = super::joined(&joined, &common).unwrap();
        assert_eq!(again, joined, "it does not grow");
        assert_eq!(super::joined(ONE, "").unwrap().matches("listen").count(), 1);
    }

    #[test]
    fn a_new_server_has_the_settings_of_another_one_and_its_own_name() {
        let text = format!("{ONE}[[user]]\nname = \"ada\"\n")
            .replace("[server]", "[server]\ncluster = \"etcds://a:2379\"");
        let new = NewServer {
            name: "gate3",
            listen: "10.0.0.13:7420",
            certificate: "gate3.pem",
            key: "gate3.key",
            ca: "cluster-ca.pem",
        };
        let made = of_new_server(&text, &new).unwrap();
        assert_eq!(file_of(&made, "cluster-server").as_deref(), Some("gate3"));
        assert_eq!(file_of(&made, "cluster").as_deref(), Some("etcds://a:2379"));
        assert!(!made.contains("10.0.0.1\"") && made.contains("[[user]]"), "{made}");
        assert_eq!(differing(&common_part(&made).unwrap(), &common_part(&text).unwrap()).unwrap(), [""; 0]);
        assert!(of_new_server(&text, &NewServer { name: "gate1", ..new }).unwrap_err().contains("gate1"));
        assert!(of_new_server(&text, &NewServer { name: "Gate 3", ..new }).is_err());
        assert!(of_new_server(ONE, &new).unwrap_err().contains("alone"));
    }

    #[test]
    fn differences_are_named() {
        let other = ONE.replace("required", "optional").replace("/mnt/studio", "/srv/studio")
            + "\n[[user]]\nname = \"ada\"\n";
        let told = differing(ONE, &other).unwrap();
        assert_eq!(told, ["server.smb-signing", "share \"studio\": path", "user \"ada\""]);
        let two = "[[share]]\nname = \"a\"\n[[share]]\nname = \"b\"\n";
        let turned = "[[share]]\nname = \"b\"\n[[share]]\nname = \"a\"\n";
        assert_eq!(differing(two, turned).unwrap(), ["the order of [[share]]"]);
    }

    #[test]
    fn a_change_at_one_side_counts_and_of_changes_at_both_a_person_chooses() {
        let text = |signing: &str| format!("[server]\nsmb-signing = \"{signing}\"\n");
        let (old, new, other) = (text("optional"), text("required"), text("none"));
        let before = Some(Before { here: &old, there: &old });
        assert_eq!(todo(&old, None, None), Ok(Todo::Give));
        assert_eq!(todo(&old, Some(&old), before), Ok(Todo::Nothing));
        assert_eq!(todo(&new, Some(&old), before), Ok(Todo::Give));
        assert_eq!(todo(&old, Some(&new), before), Ok(Todo::Take));
        assert_eq!(todo(&new, Some(&new), before), Ok(Todo::Take), "the same change");
        let choose = Ok(Todo::Choose(vec!["server.smb-signing".to_owned()]));
        assert_eq!(todo(&new, Some(&other), before), choose);
        assert_eq!(todo(&new, Some(&old), None), choose, "it joins with other settings");
        assert_eq!(todo(&old, Some(&old), None), Ok(Todo::Take));
        assert!(todo("[server", Some(&old), before).is_err());
    }
}
