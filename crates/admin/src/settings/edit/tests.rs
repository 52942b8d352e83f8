use std::path::PathBuf;

use super::*;
use crate::settings::Source as From;

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
