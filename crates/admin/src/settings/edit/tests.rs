use std::path::PathBuf;

use super::*;
use crate::settings::{Demand, Source as From};

const FILE: &str = r#"# The studio's server.
[server]
nfs-port = 0  # any

[[share]]
name = "studio"      # all of it
path = "studio"
read-only = false    # for now

# Rules of the studio.
[[share.client]]
match = "10.0.0.0/8"

[[share]]
name = "studio/video"

[[share]]
name = "other"
path = "other"
"#;

struct Scene {
    folder: tempfile::TempDir,
    arguments: Arguments,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["studio/video/raw", "other"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("fourfold.toml"), FILE).unwrap();
        let mut arguments = Arguments::new(false, folder.path().into());
        arguments.state_home = Some(folder.path().join("state"));
        Self { folder, arguments }
    }

    fn edit(&self, change: impl FnOnce(&mut Edit) -> Result<()>) -> Result<Explanation> {
        let mut edit = Edit::open(&self.arguments)?;
        change(&mut edit)?;
        Ok(edit.save(&self.arguments)?.1)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.folder.path().join("fourfold.toml")).unwrap()
    }

    /// The value and the source of a property.
    fn property(&self, share: &str, key: &str) -> (Option<String>, String) {
        let (_, explained) = Settings::load_explained(&self.arguments).unwrap();
        let (_, properties) = explained.properties.into_iter().find(|(name, _)| name == share).unwrap();
        let property = properties.into_iter().find(|property| property.name == key).unwrap();
        let source = match property.source {
            From::Default => "default".into(),
            From::Preset(preset, _) => format!("preset {preset}"),
            From::Local(_) => "local".into(),
            From::Inherited(from, _) => format!("inherited from {from}"),
        };
        (property.value, source)
    }
}

fn refusal(result: Result<Explanation>) -> String {
    match result.unwrap_err() {
        EditError::Failed(text) => text,
        EditError::Refused(why) => why.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn a_change_keeps_comments_and_order() {
    let scene = Scene::new();
    scene.edit(|edit| edit.set("studio", "read-only", "on")).unwrap();
    assert_eq!(scene.text(), FILE.replace("read-only = false ", "read-only = true "));
    scene.edit(|edit| edit.set("studio", "read-only", "off")).unwrap();
    assert_eq!(scene.text(), FILE);
    scene.edit(|edit| edit.set("other", "users", "ada, grace")).unwrap();
    assert_eq!(scene.text(), format!("{FILE}users = [\"ada\", \"grace\"]\n"));
    scene.edit(|edit| edit.unset("other", "users").map(|was| assert!(was))).unwrap();
    assert_eq!(scene.text(), FILE);
}

#[test]
fn what_a_share_does_not_set_it_inherits() {
    let scene = Scene::new();
    let of_video = |key| scene.property("studio/video", key);
    assert_eq!(of_video("read-only"), (Some("false".into()), "inherited from studio".into()));
    assert_eq!(of_video("guests"), (Some("false".into()), "default".into()));
    scene.edit(|edit| edit.set("studio", "read-only", "true")).unwrap();
    assert_eq!(of_video("read-only"), (Some("true".into()), "inherited from studio".into()));
    scene.edit(|edit| edit.set("studio/video", "read-only", "false")).unwrap();
    assert_eq!(of_video("read-only"), (Some("false".into()), "local".into()));
    scene.edit(|edit| edit.add("studio/video/raw", None)).unwrap();
    let raw = scene.property("studio/video/raw", "read-only");
    assert_eq!(raw, (Some("false".into()), "inherited from studio/video".into()));
    scene.edit(|edit| edit.unset("studio/video", "read-only").map(drop)).unwrap();
    let raw = scene.property("studio/video/raw", "read-only");
    assert_eq!(raw, (Some("true".into()), "inherited from studio".into()));
    let (settings, _) = Settings::load_explained(&scene.arguments).unwrap();
    let raw = settings.shares.iter().find(|share| share.name == "studio/video/raw").unwrap();
    let folder = scene.folder.path().canonicalize().unwrap();
    assert_eq!(raw.path, folder.join("studio/video/raw"), "the folder follows from the name");
    assert_eq!(raw.flat_name(), "studio_video_raw");
    assert_eq!(raw.clients, settings.shares[0].clients, "the client rules are inherited");
    assert_ne!(raw.clients, settings.shares[2].clients);
}

#[test]
fn a_share_gets_another_name_with_those_below_it() {
    let scene = Scene::new();
    fs::rename(scene.folder.path().join("studio"), scene.folder.path().join("film")).unwrap();
    scene
        .edit(|edit| {
            edit.rename("studio", "film")?;
            edit.set("film", "path", "film")
        })
        .unwrap();
    let expected = FILE
        .replace("\"studio\"      #", "\"film\"      #")
        .replace("path = \"studio\"", "path = \"film\"")
        .replace("studio/video", "film/video");
    assert_eq!(scene.text(), expected);
    scene.edit(|edit| edit.remove("other")).unwrap();
    assert!(!scene.text().contains("other") && scene.text().contains("film/video"));
}

#[test]
fn a_wrong_change_is_refused_and_the_file_stays() {
    let scene = Scene::new();
    type Change = dyn Fn(&mut Edit) -> Result<()>;
    let cases: [(&str, &Change); 8] = [
        ("fourfold.toml has no share \"studo\"; did you mean \"studio\"?", &|edit| {
            edit.set("studo", "read-only", "on")
        }),
        ("there is no property `readonly`; did you mean `read-only`?", &|edit| {
            edit.set("studio", "readonly", "on")
        }),
        ("there is no property `public`; write `guests = true`", &|edit| edit.set("studio", "public", "on")),
        (
            "command line: read-only=maybe: error: `read-only` must be true or false, not \"maybe\"; write \
             `read-only = false`",
            &|edit| edit.set("studio", "read-only", "maybe"),
        ),
        (
            "settings: error: there is no share \"studio\", below which \"studio/video\" would be; add a \
             `[[share]]` with `name = \"studio\"`",
            &|edit| edit.remove("studio"),
        ),
        (
            "settings: error: the share \"studio_video\" is the same as \"studio/video\" at \
             fourfold.toml:15:1 to SMB and AFP; give one of them another name",
            &|edit| edit.rename("other", "studio_video"),
        ),
        ("a share cannot be without a name: `fourfold rename` gives it another one", &|edit| {
            edit.unset("studio", "name").map(drop)
        }),
        (
            "settings: error: there is no share \"lab\", below which \"lab/a\" would be; add a `[[share]]` \
             with `name = \"lab\"`",
            &|edit| edit.add("lab/a", None),
        ),
    ];
    for (expected, change) in cases {
        assert_eq!(refusal(scene.edit(change)), expected);
        assert_eq!(scene.text(), FILE);
    }
    let left = fs::read_dir(scene.folder.path()).unwrap().count();
    assert_eq!(left, 3, "no other file is left");
}

#[test]
fn a_file_that_another_program_changes_meanwhile_is_left_alone() {
    let scene = Scene::new();
    let mut edit = Edit::open(&scene.arguments).unwrap();
    edit.set("other", "guests", "yes").unwrap();
    let theirs = format!("{FILE}guests = false\n");
    fs::write(scene.folder.path().join("fourfold.toml"), &theirs).unwrap();
    let why = refusal(edit.save(&scene.arguments).map(|(_, explained)| explained));
    assert_eq!(why, "fourfold.toml has been changed meanwhile by another program: try again");
    assert_eq!(scene.text(), theirs);
}

#[test]
fn a_link_to_the_file_stays_and_so_does_its_mode() {
    let scene = Scene::new();
    let (real, link) = (scene.folder.path().join("real.toml"), scene.folder.path().join("fourfold.toml"));
    fs::rename(&link, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.toml", &link).unwrap();
    scene.edit(|edit| edit.set("other", "guests", "yes")).unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), PathBuf::from("real.toml"));
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
    assert!(scene.text().ends_with("guests = true\n"));
}

#[test]
fn a_setting_of_the_server_is_changed_and_comments_stay() {
    let scene = Scene::new();
    scene.edit(|edit| edit.set_server("cache-size", "64M")).unwrap();
    scene.edit(|edit| edit.set_server("nfs-port", "2050")).unwrap();
    let text = scene.text();
    assert_eq!(text, FILE.replace("nfs-port = 0  # any\n", "nfs-port = 2050  # any\ncache-size = \"64M\"\n"));
    assert!(scene.edit(|edit| edit.set_server("cache-size", "lots")).is_err());
    assert!(scene.edit(|edit| edit.set_server("cache-sise", "1M")).is_err());
    assert_eq!(scene.text(), text);
}

#[test]
fn comments_at_the_end_stay_where_they_are_when_a_share_is_added() {
    let scene = Scene::new();
    let packaged = "[server]\n#admin-port = 8443\n\n#[[share]]\n#name = \"Studio\"\n";
    fs::create_dir(scene.folder.path().join("films")).unwrap();
    fs::create_dir(scene.folder.path().join("plans")).unwrap();
    fs::write(scene.folder.path().join("fourfold.toml"), packaged).unwrap();
    scene.edit(|edit| edit.add("films", Some(Path::new("films")))).unwrap();
    let films = "\n[[share]]\nname = \"films\"\npath = \"films\"\n";
    assert_eq!(scene.text(), format!("{packaged}{films}"));
    let quota = "#quota = \"1T\" \n";
    fs::write(scene.folder.path().join("fourfold.toml"), format!("{packaged}{films}{quota}")).unwrap();
    scene.edit(|edit| edit.add("plans", Some(Path::new("plans")))).unwrap();
    let quota = quota.replace(" \n", "\n");
    assert_eq!(scene.text(), format!("{packaged}{films}{quota}{}", films.replace("films", "plans")));
}

#[test]
fn a_file_without_a_server_gets_one() {
    let scene = Scene::new();
    let shares = &FILE[FILE.find("[[share]]").unwrap()..];
    fs::write(scene.folder.path().join("fourfold.toml"), shares).unwrap();
    let (settings, _) = {
        let mut edit = Edit::open(&scene.arguments).unwrap();
        edit.set_server("cache-files", "500").unwrap();
        edit.save(&scene.arguments).unwrap()
    };
    assert_eq!(settings.server.cache_files, Some(500));
    assert!(scene.text().contains("[server]\ncache-files = 500\n"), "{}", scene.text());
}

/// What a change over the network demands.
fn demanded(scene: &Scene, change: impl FnOnce(&mut Edit) -> Result<()>) -> Result<(Demand, Vec<String>)> {
    let mut edit = Edit::open(&scene.arguments)?;
    change(&mut edit)?;
    let demanded = edit.demanded(&scene.arguments);
    if demanded.most == Demand::Password {
        edit.check_over_network(&scene.arguments)?;
    }
    Ok((demanded.most, demanded.settings))
}

#[test]
fn a_change_over_the_network_demands_what_its_settings_do() {
    let scene = Scene::new();
    let most = |change: &dyn Fn(&mut Edit) -> Result<()>| demanded(&scene, change).unwrap().0;
    assert_eq!(most(&|edit| edit.set_server("cache-size", "64 MiB")), Demand::Operator);
    assert_eq!(most(&|edit| edit.set("studio", "read-only", "true")), Demand::Operator);
    assert_eq!(most(&|edit| edit.set("studio", "read-only", "false")), Demand::Operator, "it is so already");
    assert_eq!(most(&|edit| edit.set("other", "guests", "true")), Demand::Password);
    assert_eq!(most(&|edit| edit.set("studio/video", "guests", "false")), Demand::Operator);
    assert_eq!(most(&|edit| edit.set_server("host-accounts", "off")), Demand::Operator);
    assert_eq!(most(&|edit| edit.set_server("alert-mail-to", "a@b.example")), Demand::Password);
    assert_eq!(most(&|edit| edit.remove("other")), Demand::Password);
    assert_eq!(most(&|edit| edit.rename("other", "others")), Demand::Password);
    let folder = scene.folder.path().join("studio/video/raw");
    assert_eq!(most(&|edit| edit.add("raw", Some(&folder))), Demand::Password, "a folder in a share");
    let (most, settings) = demanded(&scene, |edit| edit.set_server("share-roots", "/")).unwrap();
    assert_eq!((most, settings), (Demand::Host, vec!["server.share-roots".to_owned()]));
    let refused =
        |change: &dyn Fn(&mut Edit) -> Result<()>| demanded(&scene, change).unwrap_err().to_string();
    for system in ["/", "/etc", "/usr/share"] {
        let why = refused(&|edit| edit.add("system", Some(Path::new(system))));
        assert!(why.contains("system folder"), "{system}: {why}");
        let why = refused(&|edit| edit.set("other", "path", system));
        assert!(why.contains("system folder"), "{system}: {why}");
    }
    let user = refused(&|edit| edit.set_server("default-user", "daemon"));
    assert!(user.contains("below `host-min-uid`"), "{user}");
}

#[test]
fn what_a_change_demands_does_not_depend_on_what_the_host_has() {
    let scene = Scene::new();
    let demanded = |change: &dyn Fn(&mut Edit) -> Result<()>| {
        let mut edit = Edit::open(&scene.arguments).unwrap();
        change(&mut edit).unwrap();
        let ChangeDemand { most, settings } = edit.demanded(&scene.arguments);
        (most, settings.join(" "))
    };
    let path = |path: &str| demanded(&|edit| edit.set("other", "path", path));
    for folder in ["/etc", "/etc/no-such-folder", "/etc/passwd", "/home", "/no-such-folder"] {
        assert_eq!(path(folder), (Demand::Password, "share.path".to_owned()), "{folder}");
    }
    let user = |user: &str| demanded(&|edit| edit.set_server("default-user", user));
    assert_eq!(user("root"), (Demand::Password, "server.default-user".to_owned()));
    assert_eq!(user("no-such-user"), user("root"));
}

#[test]
fn rules_users_and_inherited_values_are_part_of_what_a_change_demands() {
    let scene = Scene::new();
    let most = |text: &str| {
        let change = |edit: &mut Edit| edit.replace_all(text);
        demanded(&scene, change)
            .map(|(most, settings)| (most, settings.join(" ")))
            .map_err(|error| error.to_string())
    };
    let (demand, settings) = most(&FILE.replace("10.0.0.0/8", "0.0.0.0/0")).unwrap();
    assert_eq!((demand, settings.as_str()), (Demand::Password, "share.client.match"));
    let root = FILE.replace("match = \"10.0.0.0/8\"", "match = \"10.0.0.0/8\"\nsquash = \"none\"");
    assert_eq!(most(&root).unwrap().1, "share.client.squash");
    assert_eq!(most(&format!("{FILE}[[user]]\nname = \"ada\"\nadmin = true\n")).unwrap().0, Demand::Password);
    for (line, what) in [
        ("[[user]]\nname = \"ada\"\nuid = 0", "`uid` of ada"),
        ("[[user]]\nname = \"ada\"\ngid = 42", "`gid` of ada"),
    ] {
        let why = most(&format!("{FILE}{line}\n")).unwrap_err();
        assert!(why.contains(what) && why.contains("user or group of the system"), "{why}");
    }
    let anonymous =
        most(&FILE.replace("match = \"10.0.0.0/8\"", "match = \"10.0.0.0/8\"\nanon-uid = 0")).unwrap_err();
    assert!(anonymous.contains("`anon-uid`"), "{anonymous}");
    let below = FILE.replace("name = \"studio/video\"", "name = \"studio/video\"\nusers = [\"ada\"]");
    assert_eq!(most(&below).unwrap().1, "share.users");
    assert_eq!(most(FILE).unwrap().0, Demand::Operator);
}

#[test]
fn a_secret_is_shown_to_nobody_and_writing_back_what_is_shown_keeps_it() {
    use std::os::unix::fs::MetadataExt;
    let scene = Scene::new();
    let mode = || fs::metadata(scene.folder.path().join("fourfold.toml")).unwrap().mode() & 0o777;
    fs::set_permissions(scene.folder.path().join("fourfold.toml"), fs::Permissions::from_mode(0o644))
        .unwrap();
    scene.edit(|edit| edit.set("other", "comment", "plans")).unwrap();
    assert_eq!(mode(), 0o644, "it has no secret");
    let secrets = [
        ("alert-webhook", "https://hooks.example/services/hunter2", "https://hooks.example/…"),
        ("alert-mail", "smtps://ada:hunter2@mail.example.com", "smtps://ada:…@mail.example.com"),
    ];
    scene
        .edit(|edit| {
            edit.set_server("alert-mail-from", "a@b.example")?;
            edit.set_server("alert-mail-to", "a@b.example")?;
            secrets.iter().try_for_each(|(key, value, _)| edit.set_server(key, value))?;
            edit.set("other", "afp-password", "hunter2")?;
            edit.set("other", "from", "smb://ada:hunter2@old/x")
        })
        .unwrap();
    assert_eq!(mode(), 0o600);
    let (settings, explained) = Settings::load_explained(&scene.arguments).unwrap();
    assert!(!format!("{settings:?} {explained:?}").contains("hunter2"));
    assert!(settings.has_secrets && settings.notes.iter().all(|note| !note.what.contains("others")));
    let before = scene.text();
    scene
        .edit(|edit| {
            secrets.iter().try_for_each(|(key, _, shown)| edit.set_server(key, shown))?;
            edit.set("other", "afp-password", "…")?;
            edit.set("other", "from", "smb://ada:…@old/x")
        })
        .unwrap();
    assert_eq!(scene.text(), before, "the secrets stay");
    let changed = scene.edit(|edit| edit.set("other", "from", "smb://ada:…@evil/x")).unwrap_err().to_string();
    assert!(changed.contains("write all of it"), "{changed}");
    for (key, wrong) in [
        ("alert-webhook", "ftp://x/hunter2"),
        ("alert-mail", "smtp//ada:hunter2@mail"),
        ("alert-mail", "ada:hunter2@mail"),
    ] {
        let error = scene.edit(|edit| edit.set_server(key, wrong)).unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    fs::set_permissions(scene.folder.path().join("fourfold.toml"), fs::Permissions::from_mode(0o640))
        .unwrap();
    let notes = Settings::load(&scene.arguments).unwrap().notes;
    assert!(notes.iter().any(|note| note.instead.contains("chmod 600")), "{notes:?}");
}
