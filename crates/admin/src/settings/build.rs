//! Conversion of checked sections to [`Settings`], and the checks of the whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use formats::names::Characters;

use super::accounts;
use super::acme;
use super::api;
use super::appletalk;
use super::classic;
use super::client_rule::{Access, ClientRule, Squash};
use super::cluster;
use super::defaults::find_file;
use super::diagnostic::{Diagnostic, Findings, Place};
use super::domain;
use super::effective::{self, Property};
use super::file::{self, Sections, Source};
use super::flags::{self, Arguments};
use super::homes;
use super::host_accounts;
use super::link;
use super::lun;
use super::mac_policy::MacPolicy;
use super::mentions;
use super::model::{DenyModes, MacLayout, ReadAhead, SearchScope, Settings, ShareSettings, SnapshotFolder};
use super::over_network;
use super::port::Port;
use super::protocol::{self, Ports, Protocol};
use super::secret::{VolumePassword, note_open_secrets};
use super::section::{RawTables, Section};
use super::server::{self, ServerSettings};
use super::setting::Table;
use super::share;
use super::team::{self, TeamFolder};
use super::told::{self, AuditScope};
use super::{ClientSec, ClientTls};

/// The effective settings with their sources.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// A settings file with the same effect, except for passwords; comments name the sources.
    pub text: String,
    /// The settings of `[server]`.
    pub server: Vec<Property>,
    /// The settings of each share, by its name, in their order.
    pub properties: Vec<(String, Vec<Property>)>,
    /// The tables behind them.
    pub(super) written: RawTables,
}

impl Settings {
    /// Reads the settings file, applies the command line and checks the whole.
    ///
    /// # Errors
    /// All errors, not only the first.
    pub fn load(arguments: &Arguments) -> Result<Self, Vec<Diagnostic>> {
        let (file, source, findings) = opened(arguments);
        Ok(Self::checked(arguments, file, source, findings)?.0.divided())
    }

    /// Like [`Self::load`], with all effective settings and their sources.
    ///
    /// # Errors
    /// All errors, not only the first.
    pub fn load_explained(arguments: &Arguments) -> Result<(Self, Explanation), Vec<Diagnostic>> {
        let (file, source, findings) = opened(arguments);
        Self::explained(arguments, file, source, findings)
    }

    /// The settings that this text would be as the settings file `name`. Nothing is read but the folders that it names.
    ///
    /// # Errors
    /// All errors, not only the first.
    pub fn of_text(arguments: &Arguments, name: &Path, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let source = Source { path: name.into(), text: text.into() };
        Ok(Self::checked(arguments, Some(name.into()), Some(source), Findings::default())?.0.divided())
    }

    /// The settings with this text as the settings file, before they are divided, and what was written.
    fn checked(
        arguments: &Arguments,
        file: Option<PathBuf>,
        source: Option<Source>,
        mut findings: Findings,
    ) -> Result<(Self, RawTables), Vec<Diagnostic>> {
        let sections = source.map(|source| file::read(&source, &mut findings)).unwrap_or_default();
        let (settings, written) = build(arguments, file, sections, &mut findings);
        if findings.refused() {
            return Err(findings.sorted());
        }
        Ok((Self { notes: findings.sorted(), ..settings }, written))
    }

    /// The settings with this text as the settings file.
    pub(super) fn explained(
        arguments: &Arguments,
        file: Option<PathBuf>,
        source: Option<Source>,
        findings: Findings,
    ) -> Result<(Self, Explanation), Vec<Diagnostic>> {
        let (settings, written) = Self::checked(arguments, file, source, findings)?;
        let text = effective::text(&settings, &written, arguments.privileged);
        let server = effective::of_server(&settings, &written, arguments.privileged);
        let explanation = {
            let properties = effective::properties(&settings, &written);
            Explanation { text, server, properties, written }
        };
        Ok((settings.divided(), explanation))
    }

    /// What this text as the settings file and the command line say, whether or not it would be refused.
    pub(super) fn written(arguments: &Arguments, file: Option<PathBuf>, source: Option<Source>) -> RawTables {
        let mut unsaid = Findings::default();
        let sections = source.map(|source| file::read(&source, &mut unsaid)).unwrap_or_default();
        build(arguments, file, sections, &mut unsaid).1
    }

    /// Only the state folder, for commands that talk to a running server: other settings may be
    /// wrong.
    ///
    /// # Errors
    /// A named settings file cannot be read.
    pub fn state_folder(arguments: &Arguments) -> Result<PathBuf, Vec<Diagnostic>> {
        let mut findings = Findings::default();
        let file = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
        let source = file.as_ref().map(|f| Source::open(&arguments.folder, f, &mut findings));
        if findings.refused() {
            return Err(findings.sorted());
        }
        let mut unsaid = Findings::default();
        let sections = source.flatten().map(|s| file::read(&s, &mut unsaid)).unwrap_or_default();
        let mut server = sections.server.unwrap_or_else(|| Section::empty(Table::Server));
        flags::single(arguments, &mut server, &mut unsaid);
        Ok(server::state(arguments, file.as_deref(), &server))
    }
}

/// The settings file, what it says, and what is wrong with it by now.
fn opened(arguments: &Arguments) -> (Option<PathBuf>, Option<Source>, Findings) {
    let mut findings = Findings::default();
    let file = arguments.config.clone().or_else(|| find_file(arguments.privileged, &arguments.folder));
    let source = file.as_ref().and_then(|file| Source::open(&arguments.folder, file, &mut findings));
    (file, source, findings)
}

fn build(
    arguments: &Arguments,
    file: Option<PathBuf>,
    sections: Sections,
    findings: &mut Findings,
) -> (Settings, RawTables) {
    let Sections {
        server,
        appletalk,
        shares: mut sections_of_shares,
        users: sections_of_users,
        links: sections_of_links,
        sites: sections_of_sites,
    } = sections;
    let mut server = server.unwrap_or_else(|| Section::empty(Table::Server));
    let mut appletalk = appletalk.unwrap_or_else(|| Section::empty(Table::AppleTalk));
    flags::single(arguments, &mut server, findings);
    flags::single(arguments, &mut appletalk, findings);
    let over_appletalk = appletalk::read(&appletalk);
    let settings = server::read(arguments, file.as_deref(), &server);
    settings.ceph_conf.iter().for_each(|conf| cephfs::set_conf(conf));
    let beside =
        file.as_deref().and_then(Path::parent).map_or(arguments.folder.clone(), |p| arguments.folder.join(p));
    let none_written = sections_of_shares.is_empty() && arguments.shares.is_empty();
    let mut shares = share::all(arguments, &beside, &mut sections_of_shares, findings);
    homes::check(&sections_of_shares, &shares, server.is_set("cluster"), findings);
    classic::check(arguments.privileged, &sections_of_shares, findings);
    check_alone(arguments, (&server, &settings), findings);
    let with_appletalk = (&appletalk, over_appletalk.as_ref());
    protocol::settings::check(&server, &settings, with_appletalk, (&sections_of_shares, &shares), findings);
    accounts::check_default_user(arguments, &server, findings);
    share::find_folders(&mut shares, findings);
    lun::check(&shares, findings);
    cluster::check(&server, settings.cluster.as_ref(), (&sections_of_shares, &shares), findings);
    cluster::check_luns(settings.cluster.as_ref(), &shares, findings);
    check_reachable(&server, (&settings.ports, over_appletalk.is_some()), &shares, findings);
    let set = server.is_set("state").then(|| server.place_of("state"));
    share::check_state(&settings.state, set, &shares, findings);
    note_earlier_state(arguments, set, &settings.state, findings);
    if none_written && !findings.refused() {
        note_nothing_shared(file.as_deref(), findings);
    }
    let users = accounts::all(arguments, &sections_of_users, findings);
    let from = (arguments.folder.as_path(), file.as_deref());
    let links = link::all((&sections_of_links, &sections_of_sites), &mut shares, from, findings);
    let written = RawTables {
        server,
        appletalk,
        shares: sections_of_shares,
        users: sections_of_users,
        links: sections_of_links,
        sites: sections_of_sites,
    };
    let has_secrets = written.has_secret();
    note_open_secrets(arguments, file.as_deref().filter(|_| has_secrets), findings);
    let settings = Settings {
        file,
        server: settings,
        appletalk: over_appletalk,
        shares: numbered(shares),
        absent: Vec::new(),
        users,
        links,
        mentions: mentions::of(&written),
        has_secrets,
        notes: Vec::new(),
    };
    (settings, written)
}

/// The shares without their places, each with its number in the order of the settings.
fn numbered(shares: Vec<share::LocatedShare>) -> Vec<ShareSettings> {
    shares.into_iter().enumerate().map(|(number, (_, share))| ShareSettings { number, ..share }).collect()
}

/// The checks of `[server]` that need nothing of the shares.
fn check_alone(
    arguments: &Arguments,
    (server, settings): (&Section, &ServerSettings),
    findings: &mut Findings,
) {
    check_ports(server, findings);
    api::check(server, &settings.api, findings);
    acme::check(server, settings.acme.as_ref(), findings);
    over_network::check_roots(server, findings);
    told::check(server, &settings.told, findings);
    domain::check_keytab(server, settings.kerberos_keytab.as_deref(), findings);
    host_accounts::check(server, settings.pam_service.as_deref(), arguments.privileged, findings);
    domain::check(server, settings.domain.as_ref(), findings);
}

/// A settings file without shares is accepted: shares are added to a server that runs. Without a file nothing says
/// what the server is for.
fn note_nothing_shared(file: Option<&Path>, findings: &mut Findings) {
    let what = "nothing is shared";
    match file {
        Some(path) => {
            let place = Place::File { path: path.to_owned(), line: 1, column: 1 };
            findings.note(&place, what, "make a share: `fourfold create NAME --path DIR`");
        }
        None => {
            let instead =
                "name a folder, `fourfold serve ~/Share`, or write a `[[share]]` with `name` and `path`";
            findings.error(&Place::Default, what, instead);
        }
    }
}

/// Notes a state folder that an earlier version made, because it is not the folder that users
/// expect now.
fn note_earlier_state(arguments: &Arguments, set: Option<&Place>, state: &Path, findings: &mut Findings) {
    let Some(home) = arguments.state_home.as_ref().filter(|_| set.is_none() && !arguments.privileged) else {
        return;
    };
    if !state.starts_with(home) {
        let (state, home) = (state.display(), home.join("fourfold"));
        let what = format!("the state folder is `{state}`, which an earlier version made");
        findings.note(
            &Place::Default,
            what,
            format!("move it to `{}` to have it from everywhere", home.display()),
        );
    }
}

fn check_ports(section: &Section, findings: &mut Findings) {
    let ports = server::ports(section);
    let words = Protocol::ALL.into_iter().map(|protocol| (protocol.word(), ports.of(protocol)));
    let fixed: Vec<(&str, u16)> = words
        .chain(
            ["admin", "cluster-rpc", "cluster-witness"]
                .map(|word| (word, section.port(&format!("{word}-port")))),
        )
        .filter_map(
            |(word, port)| if let Port::Number(n) = port { (n != 0).then_some((word, n)) } else { None },
        )
        .collect();
    for (index, (word, number)) in fixed.iter().enumerate() {
        if let Some((other, _)) = fixed[..index].iter().find(|(_, n)| n == number) {
            let key = format!("{word}-port");
            let what = format!("`{key}` is {number}, which `{other}-port` has already");
            findings.error(
                section.place_of(&key),
                what,
                "write another port, 0 for any free one, or \"off\"",
            );
        }
    }
}

/// A server needs at least one protocol; a share may lack one that is on.
fn check_reachable(
    server: &Section,
    (ports, has_appletalk): (&Ports, bool),
    shares: &[share::LocatedShare],
    findings: &mut Findings,
) {
    let off = |protocol: Protocol| {
        ports.of(protocol) == Port::Off && !(has_appletalk && protocol.goes_over_appletalk())
    };
    if Protocol::SERVED.into_iter().all(off) {
        findings.error(
            server.place_of("nfs-port"),
            "NFS, SMB, AFP and iSCSI are all turned off, so nothing would be served",
            "leave one of `nfs-port`, `smb-port`, `afp-port` and `iscsi-port` on",
        );
        return;
    }
    for ((place, _), share) in shares.iter().filter(|(_, share)| share.protocols.iter().all(|one| off(*one)))
    {
        let titles: Vec<&str> = share.protocols.iter().map(|protocol| protocol.title()).collect();
        let why = match titles.as_slice() {
            [] => "all protocols are off for it".to_owned(),
            [one] => format!("it is shown over {one} only, which is turned off"),
            _ => format!("it is shown over {} only, which are turned off", titles.join(" and ")),
        };
        let what = format!("no client can reach the share {:?}: {why}", share.name);
        findings.note(
            place,
            what,
            "set `nfs`, `smb`, `afp` or `iscsi` of the share to true, and leave its port on",
        );
    }
}

/// One `[[share.client]]`.
pub(super) fn rule(section: &Section) -> ClientRule {
    let id = |key| section.number(key).and_then(|n| u32::try_from(n).ok()).unwrap_or(65534);
    let matches = section.matches("match");
    ClientRule {
        matches: if matches.is_empty() { vec![super::kind::ClientMatch::Any] } else { matches },
        access: match section.text("access").as_deref() {
            Some("ro") => Access::ReadOnly,
            Some("none") => Access::None,
            _ => Access::ReadWrite,
        },
        squash: match section.text("squash").as_deref() {
            Some("all") => Squash::All,
            Some("none") => Squash::None,
            _ => Squash::Root,
        },
        anon_uid: id("anon-uid"),
        anon_gid: id("anon-gid"),
        secure: section.bool("secure"),
        tls: ClientTls::of(section),
        sec: ClientSec::of(section),
    }
}

fn characters(section: &Section) -> Characters {
    section.text("catia-mappings").and_then(|text| Characters::parse(&text)).unwrap_or_default()
}

fn mac_layout(section: &Section) -> MacLayout {
    match section.text("mac-layout").as_deref() {
        Some("samba") => MacLayout::Samba,
        Some("samba-streams") => MacLayout::SambaStreams,
        _ => MacLayout::Netatalk,
    }
}

fn read_ahead(section: &Section) -> ReadAhead {
    match section.text("read-ahead").as_deref() {
        Some("double") => ReadAhead::Double,
        Some("none") => ReadAhead::Off,
        _ => ReadAhead::Normal,
    }
}

fn search(section: &Section) -> SearchScope {
    match section.text("search").as_deref() {
        Some("names") => SearchScope::Names,
        Some("contents") => SearchScope::Contents,
        _ => SearchScope::Off,
    }
}

fn deny_modes(section: &Section) -> DenyModes {
    match section.text("deny-modes").as_deref() {
        Some("silly-rename") => DenyModes::SillyRename,
        Some("data-only") => DenyModes::DataOnly,
        _ => DenyModes::Strict,
    }
}

/// A number of snapshots or sessions.
fn count(section: &Section, key: &str) -> usize {
    section.number(key).and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

fn volume_password(section: &Section) -> Option<VolumePassword> {
    let password = section.secret("afp-password")?;
    super::kind::volume_password(password.reveal()).map(VolumePassword::new)
}

/// What counts for the backups of single Macs.
fn mac_policies(section: &Section) -> Vec<MacPolicy> {
    section.texts("time-machine-macs").iter().filter_map(|text| MacPolicy::parse(text)).collect()
}

/// How often backups are verified.
fn verification(section: &Section) -> Option<Duration> {
    section.number("time-machine-verify").filter(|every| *every > 0).map(Duration::from_millis)
}

fn snapshot_folder(section: &Section) -> SnapshotFolder {
    match section.text("snapshot-folder").as_deref() {
        Some("visible") => SnapshotFolder::Visible,
        Some("off") => SnapshotFolder::Off,
        _ => SnapshotFolder::Hidden,
    }
}

/// Only the source changes a replica, until it is promoted.
fn is_replica(path: &Path) -> bool {
    path.ancestors().any(snapshots::is_replica)
}

/// `[[share]]`, after the checks of its name and folder.
pub(super) fn share_settings(section: &Section, name: String, path: PathBuf) -> ShareSettings {
    let team = team::of(section);
    let homes = section.text("path").is_some_and(|path| homes::folder(&path).is_some());
    let read_only = section.bool("read-only") || is_replica(&path);
    ShareSettings {
        name,
        path,
        from: None,
        from_credentials: None,
        number: 0,
        homes,
        make_homes: section.bool("make-homes"),
        shared: section.bool("shared"),
        must_be_mounted: section.bool("must-be-mounted"),
        absence: None,
        is_missing: false,
        comment: section.text("comment").unwrap_or_default(),
        protocols: homes::protocols(section, homes),
        read_only,
        guests: team.as_ref().map_or_else(|| section.bool("guests"), TeamFolder::admits_guests),
        users: section.texts("users"),
        groups: section.texts("groups"),
        group_ids: Vec::new(),
        team,
        roles: None,
        encryption_required: section.text("encryption").as_deref() == Some("required"),
        time_machine: section.bool("time-machine"),
        time_machine_size: section.number("time-machine-size"),
        time_machine_snapshots: count(section, "time-machine-snapshots"),
        time_machine_journal: count(section, "time-machine-journal"),
        time_machine_macs: mac_policies(section),
        time_machine_verify: verification(section),
        volume_id: section.identity("volume-id"),
        volume_password: volume_password(section),
        case_sensitive: section.bool("case-sensitive"),
        mac_sidecars: section.bool("mac-sidecars"),
        mac_layout: mac_layout(section),
        private_names: section.text("name-encoding").as_deref() == Some("private"),
        characters: characters(section),
        deny_modes: deny_modes(section),
        read_only_by_mode: section.bool("read-only-by-mode"),
        safe_save: section.bool("safe-save"),
        local_recall: section.bool("local-recall"),
        read_ahead: read_ahead(section),
        dfs: section.bool("dfs"),
        continuous: section.bool("continuous"),
        cross_mounts: section.bool("cross-mounts"),
        hide: section.texts("hide"),
        show: section.texts("show"),
        search: search(section),
        device_nodes: section.text("device-nodes").as_deref() == Some("allow"),
        whole_names: section.bool("nfs-whole-names"),
        snapshot_folder: snapshot_folder(section),
        snapshot_schedule: section
            .text("snapshot-schedule")
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        snapshot_floor: section.number("snapshot-floor"),
        replicate_from: section.text("replicate-from").filter(|from| !from.is_empty()),
        replicate_schedule: section
            .text("replicate-schedule")
            .and_then(|text| snapshots::Period::named(&text)),
        quota: section.number("quota").filter(|limit| *limit > 0),
        bin: section.number("bin").filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis),
        audit: AuditScope::named(section.text("audit").as_deref()),
        luns: section.luns.iter().filter_map(lun::settings).collect(),
        classic: classic::read(section),
        clients: section.clients.iter().map(rule).collect(),
    }
}
