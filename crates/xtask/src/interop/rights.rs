//! Team folders: people with roles, by all protocols and by local programs, against the grid that is written by hand from the
//! roles (`interop/rights/roles.py`). With `--peer`, smbd and Ganesha play the same cells over a folder with POSIX ACLs.

mod kernel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use toml_edit::DocumentMut;

use super::expected::Expectations;
use super::outcome::Outcomes;
use super::smb::python;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, ganesha, isolate, ports, process, samba, server};

const EXPECTED: &str = "interop/rights/expected.toml";
/// The time limit of one script, on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);
/// The share, as Ganesha calls it, too.
const SHARE: &str = "share";
const PASSWORD: &str = "secret";
/// The group of the editors. This mount namespace has it in /etc/group.
const GROUP: (&str, u32) = ("studio", 61399);
/// How many random operations a run without `--walk` makes, and their seed.
const STEPS: u32 = 150;
const SEED: u64 = 1;

/// A person of the list.
struct ListedPerson {
    name: String,
    uid: u32,
    role: String,
    is_of_group: bool,
}

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    let peers = if args.peer { [debian::SMB_PEER, debian::NFS_PEER].concat() } else { Vec::new() };
    let is_by_kernel = args.only == ["kernel"];
    if is_by_kernel
        && !isolate::is_isolated()
        && let Err(error) = debian::ensure(debian::LINUX_FILES, false).and_then(|_| kernel::fetch())
    {
        println!("no virtual machine: {error:#}");
    }
    prepare(args, &[debian::NFS_CLIENTS, debian::RIGHTS, &peers].concat(), false)?;
    let mut outcomes = Outcomes::default();
    match unable() {
        Some(why) => {
            for name in ["grid", "walk"] {
                outcomes.skip(name, &why);
            }
        }
        None if args.peer => return compare_peers(),
        None if is_by_kernel => {
            let place = process::fresh_folder("interop-rights-kernel")?;
            let people = people()?;
            make_group(&place, &people)?;
            kernel::run(&place, &people, &mut outcomes)?;
        }
        None => play(args, &mut outcomes)?,
    }
    if args.list {
        print!("{}", outcomes.as_toml());
    }
    let expected = Expectations::read(&process::root().join(EXPECTED))?.else_pass();
    conclude(args, &expected.compare(&outcomes, process::is_ci()))
}

fn unable() -> Option<String> {
    if !isolate::is_isolated() {
        return Some("it needs root and namespaces".into());
    }
    (!python::is_installed()).then(|| "its Python packages are not installed".into())
}

fn play(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    let place = process::fresh_folder("interop-rights")?;
    let people = people()?;
    make_group(&place, &people)?;
    if args.walk.is_none() {
        let server = TeamServer::start(&place.join("grid"), &people)?;
        script(outcomes, "grid", &server.arguments(), &args.only);
    }
    if args.only.is_empty() {
        let (steps, seed) = (args.walk.unwrap_or(STEPS), args.seed.unwrap_or(SEED));
        let server = TeamServer::start(&place.join("walk"), &people)?;
        let mut words = server.arguments();
        words.extend(["--steps".into(), steps.to_string(), "--seed".into(), seed.to_string()]);
        words.extend(["--program".into(), server::binary().display().to_string()]);
        words.extend(["--settings".into(), server.settings.display().to_string()]);
        words.extend(["--state".into(), server.state.display().to_string()]);
        script(outcomes, "walk", &words, &[]);
    }
    Ok(())
}

/// The group of the editors, in this mount namespace.
fn make_group(place: &Path, people: &[ListedPerson]) -> Result<()> {
    let members = people.iter().filter(|person| person.is_of_group).map(|person| person.name.as_str());
    samba::unix_group(place, GROUP, &members.collect::<Vec<_>>())
}

/// The people of the list.
fn people() -> Result<Vec<ListedPerson>> {
    let list: DocumentMut = fs::read_to_string(process::root().join(EXPECTED))?.parse()?;
    let table = list.get("people").and_then(|people| people.as_table()).context("no people are listed")?;
    let person = |(name, item): (&str, &toml_edit::Item)| {
        let text = |field: &str| item.get(field).and_then(|value| value.as_str());
        let uid =
            item.get("uid").and_then(|value| value.as_integer()).and_then(|uid| u32::try_from(uid).ok());
        let role = text("role").with_context(|| format!("{name} has no role"))?.to_owned();
        let uid = uid.with_context(|| format!("{name} has no uid"))?;
        Ok(ListedPerson { name: name.to_owned(), uid, role, is_of_group: text("group").is_some() })
    };
    table.iter().map(person).collect()
}

/// A server of our own with one team folder.
struct TeamServer {
    folder: PathBuf,
    settings: PathBuf,
    state: PathBuf,
    ports: [(&'static str, String); 3],
    _running: process::Running,
}

impl TeamServer {
    fn start(place: &Path, people: &[ListedPerson]) -> Result<Self> {
        Self::start_at(place, people, &["--listen", "127.0.0.1"])
    }

    /// The same at other addresses, which `listen` names.
    fn start_at(place: &Path, people: &[ListedPerson], listen: &[&str]) -> Result<Self> {
        let (folder, state, settings) =
            (place.join("team"), place.join("state"), place.join("settings.toml"));
        fs::create_dir_all(&folder)?;
        fs::write(&settings, settings_text(&folder, people))?;
        for person in people {
            let gid = person.uid.to_string();
            let mut more = vec!["--gid", &gid];
            if person.is_of_group {
                more.extend(["--groups", GROUP.0]);
            }
            server::add_user_with(&state, &person.name, PASSWORD, person.uid, &more)?;
        }
        let port = || Ok::<_, anyhow::Error>(ports::free_port()?.to_string());
        let ports = [("--smb-port", port()?), ("--afp-port", port()?), ("--nfs-port", port()?)];
        let mut words: Vec<&str> = ports.iter().flat_map(|(name, port)| [*name, port]).collect();
        words.extend(listen);
        let running = server::ours_with_settings(&settings, &state, &words)?;
        Ok(Self { folder, settings, state, ports, _running: running })
    }

    fn port(&self, flag: &str) -> &str {
        self.ports.iter().find(|(name, _)| *name == flag).map_or("", |(_, port)| port)
    }

    fn arguments(&self) -> Vec<String> {
        let mut words = place_arguments(&self.folder);
        words.extend(self.ports.iter().flat_map(|(name, port)| [(*name).to_owned(), port.clone()]));
        words
    }
}

fn place_arguments(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    ["--folder", &folder, "--share", SHARE, "--password", PASSWORD].map(str::to_owned).to_vec()
}

/// Who has which role. The editors are the group's members.
fn settings_text(folder: &Path, people: &[ListedPerson]) -> String {
    let of_role = |role: &str| {
        let named = people.iter().filter(|person| person.role == role && !person.is_of_group);
        let mut names: Vec<String> = named.map(|person| format!("\"{}\"", person.name)).collect();
        if people.iter().any(|person| person.role == role && person.is_of_group) {
            names.push(format!("\"@{}\"", GROUP.0));
        }
        names.join(", ")
    };
    let roles = [
        ("owners", "owner"),
        ("editors", "editor"),
        ("contributors", "contributor"),
        ("readers", "reader"),
        ("drop", "drop"),
    ];
    let lists: String = roles.map(|(setting, role)| format!("{setting} = [{}]\n", of_role(role))).concat();
    format!(
        "[server]\nbonjour = \"off\"\nnfs-versions = [\"3\", \"4.1\", \"4.2\"]\nafp-logins = [\"dhx2\", \"cleartext\"]\n\n\
         [[share]]\nname = \"{SHARE}\"\npath = \"{}\"\niscsi = false\n{lists}client = [{{ match = \"127.0.0.1\" }}, {{ match = \"10.0.2.0/24\" }}]\n",
        folder.display()
    )
}

/// Runs `interop/rights/<name>.py`, of which an outcome with its name tells whether it came to its end.
fn script(outcomes: &mut Outcomes, name: &str, words: &[String], only: &[String]) {
    let mut text = String::new();
    outcomes.run(name, &["rsync", "vim"], || {
        text = played(name, words, only)?;
        Ok(())
    });
    if let Some(count) = text.lines().last() {
        println!("{name}: {count}");
    }
    outcomes.add_lines(name, &text);
}

fn played(name: &str, words: &[String], only: &[String]) -> Result<String> {
    let script = process::root().join(format!("interop/rights/{name}.py")).display().to_string();
    let ways = only.join(",");
    let mut all = vec!["-B", &script];
    all.extend(words.iter().map(String::as_str));
    if !only.is_empty() {
        all.extend(["--ways", &ways]);
    }
    let output = process::output(python::program(), &all, LIMIT)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    eprint!("{errors}");
    ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a careful administrator writes for these people. What is made inherits the folder's POSIX ACL.
const SMBD: &str = "  valid users = olga ada grace carl cora rita dora
  read list = rita
  inherit acls = yes
  force group = +studio
  create mask = 0770
  force create mode = 0660
  directory mask = 0770
  force directory mode = 2770
  map archive = no
";

/// Plays the grid against smbd and Ganesha, and against this server for the same cells, and prints the counts.
fn compare_peers() -> Result<()> {
    let (place, people) = (process::fresh_folder("interop-rights-peers")?, people()?);
    let accounts: Vec<_> = people
        .iter()
        .map(|person| (samba::SambaUser { name: person.name.clone().leak(), password: PASSWORD }, person.uid))
        .collect();
    samba::unix_users(&place, &accounts)?;
    make_group(&place, &people)?;
    let users: Vec<_> = accounts.iter().map(|(user, _)| *user).collect();
    let (for_smbd, for_ganesha) = (place.join("smbd-folder"), place.join("ganesha-folder"));
    for folder in [&for_smbd, &for_ganesha] {
        fs::create_dir_all(folder)?;
    }
    let smb_port = ports::free_port()?;
    let share = samba::SambaShare { name: SHARE.into(), folder: for_smbd.clone(), settings: SMBD };
    let _smbd = samba::start(&place.join("smbd"), smb_port, &users, &[share], "")?;
    let smb_port = smb_port.to_string();
    play_by("smbd", &place_arguments(&for_smbd), &["--peer", "--smb-port", &smb_port], "smb,local")?;
    let ganesha = ganesha::start(&for_ganesha, &place.join("ganesha"))?;
    let (nfs, mount) = (ganesha.address.nfs_port.to_string(), ganesha.address.mount_port.to_string());
    let ports = ["--peer", "--nfs-port", &nfs, "--mount-port", &mount];
    play_by("Ganesha", &place_arguments(&for_ganesha), &ports, "nfs3,nfs4,local")?;
    for (number, ways) in ["smb,local", "nfs3,nfs4,local", "smb,nfs3,nfs4,afp,local"].iter().enumerate() {
        let ours = TeamServer::start(&place.join(format!("ours-{number}")), &people)?;
        play_by("Fourfold", &ours.arguments(), &[], ways)?;
    }
    Ok(())
}

fn play_by(server: &str, words: &[String], more: &[&str], ways: &str) -> Result<()> {
    let words = [words, &more.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()].concat();
    let text = played("grid", &words, &[ways.to_owned()])?;
    println!("{server}, {ways}: {}", text.lines().last().unwrap_or("nothing"));
    Ok(())
}
