//! The roles that shares give: what is accepted, inherited and refused.

use admin::Settings;
use admin::settings::{Arguments, Edit, TeamFolder, Who};
use auth::Role;

/// Loads `text` in a folder that has the folders `a`, `a/b` and `a/b/c`.
fn load(text: &str, flags: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let flags = flags.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect();
    let arguments = Arguments { flags, ..Arguments::new(false, folder.path().into()) };
    Settings::load(&arguments).map_err(|all| all.iter().map(ToString::to_string).collect())
}

const SHARE: &str = "[[share]]\nname = \"A\"\npath = \"a\"\n";

fn of_a(lines: &str) -> Result<Settings, Vec<String>> {
    load(&format!("{SHARE}{lines}\n"), &[])
}

#[track_caller]
fn refused(lines: &str, expected: &[&str]) {
    assert_eq!(of_a(lines).expect_err("must be refused"), expected, "{lines}");
}

fn words(team: &TeamFolder, role: Role) -> Vec<String> {
    team.having(role).map(ToString::to_string).collect()
}

#[test]
fn each_list_gives_its_role_to_accounts_groups_and_all() {
    let text = "owners = [\"ada\"]\neditors = [\"grace\", \"@studio\"]\ncontributors = ['@LAB\\students']\n\
                readers = [\"everyone\"]\ndrop = [\"guests\"]";
    let settings = of_a(text).unwrap();
    let team = settings.shares[0].team.clone().unwrap();
    assert_eq!(words(&team, Role::Owner), ["ada"]);
    assert_eq!(words(&team, Role::Editor), ["grace", "@studio"]);
    assert_eq!(words(&team, Role::Contributor), ["@LAB\\students"]);
    assert_eq!(words(&team, Role::Reader), ["everyone"]);
    assert_eq!(words(&team, Role::Drop), ["guests"]);
    assert_eq!(team.entries[2].who, Who::Group("studio".into()));
    assert!(settings.shares[0].guests, "a guest has a role");
    let without = of_a("").unwrap();
    assert_eq!(without.shares[0].team, None);
    assert!(!of_a("editors = [\"everyone\"]").unwrap().shares[0].guests);
}

#[test]
fn users_groups_and_guests_are_not_mixed_with_roles() {
    refused(
        "users = [\"ada\"]\ngroups = [\"studio\"]\nguests = true\nreaders = [\"bob\"]",
        &[
            "fourfold.toml:4:1: error: `users` does not count in the share \"A\", which has roles (`readers`); write \
             `editors = [\"ada\"]` instead",
            "fourfold.toml:5:1: error: `groups` does not count in the share \"A\", which has roles (`readers`); write \
             `editors = [\"ada\", \"@studio\"]` instead",
            "fourfold.toml:6:1: error: `guests` does not count in the share \"A\", which has roles (`readers`); write \
             `readers = [\"bob\", \"guests\"]` instead",
        ],
    );
    assert!(of_a("users = []\nguests = false\nreaders = [\"bob\"]").is_ok());
}

#[test]
fn what_means_no_one_is_refused_with_what_to_write() {
    let kind = "`editors` must be a list of accounts, groups such as \"@studio\", \"everyone\" with an account, and \
                \"guests\" without";
    refused(
        "editors = [\"ada\", \"+studio\"]",
        &[&format!("fourfold.toml:4:19: error: {kind}, not \"+studio\"; write `\"@studio\"`")],
    );
    refused(
        "editors = [\"*\"]",
        &[&format!("fourfold.toml:4:12: error: {kind}, not \"*\"; write `\"everyone\"`")],
    );
    refused(
        "editors = [\"Guests\"]",
        &[&format!("fourfold.toml:4:12: error: {kind}, not \"Guests\"; write `\"guests\"`")],
    );
    refused(
        "editors = \"ada\"",
        &[&format!("fourfold.toml:4:1: error: {kind}, not \"ada\"; write `editors = [\"ada\"]`")],
    );
    refused(
        "editor = [\"ada\"]",
        &["fourfold.toml:4:1: error: [[share]] has no setting `editor`; write `editors`"],
    );
    for bad in ["\"@\"", "\"\"", "\" ada\"", "3"] {
        assert!(of_a(&format!("editors = [{bad}]")).is_err(), "{bad}");
    }
}

#[test]
fn contradictions_are_refused() {
    refused(
        "editors = []",
        &[
            "fourfold.toml:4:1: error: no one has a role in the share \"A\"; write `editors = [\"ada\"]`, with an account of yours",
        ],
    );
    refused(
        "owners = [\"guests\"]",
        &[
            "fourfold.toml:4:1: error: guests cannot be owners of a share; write `editors = [\"guests\"]`, or the names of accounts \
         as owners",
        ],
    );
    refused(
        "readers = [\"Ada\"]\ndrop = [\"ada\"]",
        &[
            "fourfold.toml:5:1: error: \"ada\" is in `readers`, and in `drop`, which sees no files; keep one of the two",
        ],
    );
    let homes = load("[[share]]\nname = \"H\"\npath = \"a/%U\"\neditors = [\"ada\"]\n", &[]).unwrap_err();
    assert!(homes[0].contains("each folder of \"H\" is one user's own"), "{homes:?}");
    let notes = of_a("owners = [\"ada\"]\neditors = [\"ADA\"]\nread-only = true").unwrap().notes;
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note.contains("\"ADA\" is in `owners` and in `editors`")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("all its roles may read at most")), "{notes:?}");
}

/// The shares `A` and `A/b`, with these lines.
fn below(a: &str, b: &str) -> Result<Settings, Vec<String>> {
    load(&format!("{SHARE}{a}\n[[share]]\nname = \"A/b\"\n{b}\n"), &[])
}

#[test]
fn a_share_below_inherits_all_five_lists_or_none() {
    let above = "owners = [\"ada\"]\nreaders = [\"everyone\"]";
    let inherited = below(above, "").unwrap();
    assert_eq!(inherited.shares[1].team, inherited.shares[0].team);
    let own = below(above, "editors = [\"bob\"]").unwrap().shares[1].team.clone().unwrap();
    assert_eq!((words(&own, Role::Editor), own.entries.len()), (vec!["bob".to_owned()], 1));
    let deeper = format!("{SHARE}{above}\n[[share]]\nname = \"A/b\"\n[[share]]\nname = \"A/b/c\"\n");
    let deeper = load(&deeper, &[]).unwrap();
    assert_eq!(deeper.shares[2].team, deeper.shares[0].team);
}

#[test]
fn a_share_with_roles_inherits_no_other_access() {
    let settings = below("users = [\"ada\"]\nguests = true", "editors = [\"bob\"]").unwrap();
    let inner = &settings.shares[1];
    assert!(inner.users.is_empty() && !inner.guests && inner.team.is_some());
    assert!(settings.shares[0].team.is_none() && settings.shares[0].guests);
    let mixed = below("editors = [\"bob\"]", "users = [\"ada\"]").unwrap_err();
    assert!(
        mixed.len() == 1 && mixed[0].contains("`users` does not count in the share \"A/b\""),
        "{mixed:?}"
    );
}

#[test]
fn the_flag_for_guests_opens_no_team_folder() {
    let text = format!("{SHARE}editors = [\"ada\"]\n");
    let settings = load(&text, &[("guest", "")]).unwrap();
    assert!(!settings.shares[0].guests);
    let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
    assert!(
        notes.iter().any(|note| note.contains("`--guest` does not count in the share \"A\"")),
        "{notes:?}"
    );
}

#[test]
fn names_of_roles_are_looked_for_and_groups_apart() {
    use admin::settings::MentionRole as Mentioned;
    let settings = of_a("editors = [\"ada\", \"@studio\", \"everyone\"]").unwrap();
    let roles: Vec<(&str, &Mentioned)> =
        settings.mentions.iter().map(|one| (one.name.as_str(), &one.role)).collect();
    assert_eq!(roles, [("ada", &Mentioned::User("A".into())), ("studio", &Mentioned::Group("A".into()))]);
}

#[test]
fn only_an_administrator_gives_roles_over_the_network() {
    for list in ["owners", "editors", "contributors", "readers", "drop"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("fourfold.toml"), SHARE).unwrap();
        let arguments = Arguments::new(false, folder.path().into());
        let mut edit = Edit::open(&arguments).unwrap();
        edit.set_list("A", list, &["ada".into(), "@two, words".into()]).unwrap();
        let demanded = edit.demanded(&arguments);
        assert_eq!(demanded.most, admin::settings::Demand::Password, "{list}");
        let (settings, _) = edit.save(&arguments).unwrap();
        let team = settings.shares[0].team.clone().unwrap();
        assert_eq!(team.entries[1].who, Who::Group("two, words".into()));
    }
}
