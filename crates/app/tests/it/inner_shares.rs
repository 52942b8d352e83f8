//! The rules of a share bind clients that come to its folder through the share above: over SMB, NFS and AFP, in a plain folder.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ::afp::client::{Client, ClientLogin, ForkId, ROOT};
use ::afp::wire::ResultCode;
use ::afp::wire::fork::AccessMode;

const SERVER: &str = "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-clients = \"all\"\nnfs-port = 0\nsmb-port = 0\nafp-port = 0\n\
                      iscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\nafp-logins = [\"cleartext\"]\n";

struct Scene {
    folder: tempfile::TempDir,
}

struct Server {
    child: Child,
    ports: serde_json::Value,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    /// `studio` with a file, and `studio/video` in its folder, with `inner` among its settings.
    fn new(inner: &str) -> Self {
        let scene = Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        std::fs::create_dir_all(scene.at("video/raw")).unwrap();
        for folder in ["", "video", "video/raw"] {
            std::fs::set_permissions(scene.at(folder), PermissionsExt::from_mode(0o777)).unwrap();
        }
        for file in ["letter", "video/film", "video/raw/take", "video/scratch.tmp"] {
            std::fs::write(scene.at(file), file).unwrap();
            std::fs::set_permissions(scene.at(file), PermissionsExt::from_mode(0o666)).unwrap();
        }
        std::fs::set_permissions(scene.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let shares = "[[share]]\nname = \"studio\"\npath = \"studio\"\n\n[[share]]\nname = \"studio/video\"\n\
                      path = \"studio/video\"\n";
        let file = scene.folder.path().join("fourfold.toml");
        std::fs::write(file, format!("{SERVER}\n{shares}{inner}")).unwrap();
        scene
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("studio").join(path)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn serve(&self) -> Server {
        let serve = ["serve", "--user", "ada:secret", "--user", "bob:secret"];
        let mut child = self.command(&serve).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines.map_while(Result::ok).any(|line| line.starts_with("ready"));
        let mut server = Server { child, ports: serde_json::Value::Null };
        assert!(is_ready);
        server.ports = serde_json::from_str(&self.run(&["status", "--json"])).unwrap();
        server
    }
}

impl Server {
    fn port(&self, protocol: &str) -> u16 {
        let listeners = self.ports["listeners"].as_array().unwrap();
        let one =
            listeners.iter().find(|one| one["protocol"].as_str().unwrap().eq_ignore_ascii_case(protocol));
        one.unwrap()["address"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// What smbclient says of commands in the outer share; `None` where there is no smbclient.
    fn smb(&self, user: &str, commands: &str) -> Option<String> {
        let (port, user) = (self.port("smb").to_string(), format!("{user}%secret"));
        let words = ["-p", &port, "-U", &user, "//127.0.0.1/studio", "-c", commands];
        said("smbclient", &words)
    }

    /// What a program of libnfs says of a file of the outer share.
    fn nfs(&self, program: &str, path: &str) -> Option<String> {
        let port = self.port("nfs");
        said(program, &[&format!("nfs://127.0.0.1/studio{path}?nfsport={port}&mountport={port}&version=3")])
    }

    fn afp(&self, user: &str) -> Mac {
        let stream = TcpStream::connect(("127.0.0.1", self.port("afp"))).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut client = Client::open(stream).unwrap();
        client.log_in("AFP3.4", &ClientLogin::Cleartext { name: user, password: "secret" }).unwrap();
        let volume = client.open_volume("studio").unwrap();
        Mac { client, volume }
    }
}

fn said(program: &str, words: &[&str]) -> Option<String> {
    if !Path::new("/usr/bin").join(program).exists() {
        println!("skipped in part: no {program}");
        return None;
    }
    let output = Command::new("timeout").args(["20", program]).args(words).output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

/// An AFP session.
struct Mac {
    client: Client<TcpStream>,
    volume: u16,
}

impl Mac {
    /// The names of the path have a NUL between them.
    fn open(&mut self, path: &str, access: AccessMode) -> Result<ForkId, ResultCode> {
        let opened = self.client.open_fork((self.volume, ROOT, path), false, access);
        opened.map_err(|error| error.code().unwrap_or_else(|| panic!("{error:?}")))
    }

    fn read(&mut self, path: &str) -> Result<String, ResultCode> {
        let fork = self.open(path, AccessMode::READ)?;
        let bytes = self.client.read(fork, 0, 100).unwrap();
        self.client.close(fork).unwrap();
        Ok(String::from_utf8(bytes).unwrap())
    }
}

#[track_caller]
fn refused(said: Option<String>) {
    let Some(said) = said else { return };
    let is_refused = ["NT_STATUS_ACCESS_DENIED", "NFS3ERR_ACCES", "MNT3ERR_ACCES"];
    assert!(is_refused.iter().any(|status| said.contains(status)), "{said}");
}

#[track_caller]
fn granted(said: Option<String>, text: &str) {
    if let Some(said) = said {
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn who_may_not_enter_a_share_does_not_enter_its_folder_either() {
    let scene = Scene::new("users = [\"bob\"]\n");
    let server = scene.serve();
    for path in ["video\\film", "VIDEO\\film", "video\\raw\\take"] {
        refused(server.smb("ada", &format!("get {path} -")));
    }
    refused(server.smb("ada", "ls video\\*"));
    refused(server.smb("ada", "put /etc/hostname video\\new"));
    refused(server.smb("ada", "rename letter video\\letter"));
    granted(server.smb("ada", "get letter -"), "letter");
    granted(server.smb("bob", "get video\\film -"), "video/film");
    let (mut ada, mut bob) = (server.afp("ada"), server.afp("bob"));
    assert_eq!(ada.read("video\0film"), Err(ResultCode::ACCESS_DENIED));
    assert_eq!(ada.read("letter").unwrap(), "letter");
    assert_eq!(bob.read("video\0film").unwrap(), "video/film");
    // Over NFS there are no accounts.
    granted(server.nfs("nfs-cat", "/video/film"), "video/film");
    assert!(!scene.at("video/new").exists() && scene.at("letter").exists());
    // A change of the settings counts at once, in sessions that go on.
    scene.run(&["inherit", "users", "studio/video"]);
    assert_eq!(ada.read("video\0film").unwrap(), "video/film");
    granted(server.smb("ada", "get video\\film -"), "video/film");
}

#[test]
fn a_protocol_that_a_share_does_not_have_does_not_lead_to_its_folder() {
    let scene = Scene::new("");
    let server = scene.serve();
    let mut bob = server.afp("bob");
    let set = |text: &str| scene.run(&["set", text, "studio/video"]);
    granted(server.nfs("nfs-cat", "/video/film"), "video/film");
    set("nfs=off");
    refused(server.nfs("nfs-cat", "/video/film"));
    refused(server.nfs("nfs-cat", "/video/raw/take"));
    granted(server.nfs("nfs-cat", "/letter"), "letter");
    granted(server.smb("bob", "get video\\film -"), "video/film");
    set("smb=off");
    refused(server.smb("bob", "get video\\raw\\take -"));
    assert_eq!(bob.read("video\0raw\0take").unwrap(), "video/raw/take");
    set("afp=off");
    assert_eq!(bob.read("video\0raw\0take"), Err(ResultCode::ACCESS_DENIED));
    assert_eq!(bob.read("letter").unwrap(), "letter");
    for on in ["nfs=on", "smb=on", "afp=on"] {
        set(on);
    }
    granted(server.nfs("nfs-cat", "/video/film"), "video/film");
    granted(server.smb("bob", "get video\\film -"), "video/film");
    assert_eq!(bob.read("video\0film").unwrap(), "video/film");
}

#[test]
fn a_share_for_guests_does_not_lead_nfs_to_one_that_is_not() {
    let scene = Scene::new("guests = false\n");
    let file = scene.folder.path().join("fourfold.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("nfs-clients = \"all\"\n", "").replacen(
        "path = \"studio\"\n",
        "path = \"studio\"\nguests = true\n",
        1,
    );
    std::fs::write(&file, text).unwrap();
    let server = scene.serve();
    granted(server.nfs("nfs-cat", "/letter"), "letter");
    refused(server.nfs("nfs-cat", "/video/film"));
    scene.run(&["set", "guests=true", "studio/video"]);
    granted(server.nfs("nfs-cat", "/video/film"), "video/film");
}

#[test]
fn a_read_only_folder_and_hidden_names_are_so_in_the_share_above() {
    let scene = Scene::new("hide = [\"*.tmp\"]\n");
    let server = scene.serve();
    let mut bob = server.afp("bob");
    if let Some(listed) = server.smb("bob", "ls video\\*") {
        assert!(listed.contains("film") && !listed.contains("scratch"), "{listed}");
    }
    if let Some(listed) = server.nfs("nfs-ls", "/video") {
        assert!(listed.contains("film") && !listed.contains("scratch"), "{listed}");
    }
    let read_write = AccessMode::READ | AccessMode::WRITE;
    let fork = bob.open("video\0film", read_write).unwrap();
    bob.client.write(fork, 0, b"Video").unwrap();
    scene.run(&["set", "read-only=true", "studio/video"]);
    // Also through a fork that was opened before.
    assert!(bob.client.write(fork, 0, b"VIDEO").is_err());
    assert!(bob.open("video\0raw\0take", read_write).is_err());
    for command in
        ["put /etc/hostname video\\new", "mkdir video\\new", "rm video\\film", "rename letter video\\l"]
    {
        granted(server.smb("bob", command), "NT_STATUS");
    }
    assert_eq!(std::fs::read(scene.at("video/film")).unwrap(), b"Video/film");
    assert!(!scene.at("video/new").exists() && scene.at("letter").exists());
    granted(server.smb("bob", "mkdir beside; ls"), "beside");
    assert!(scene.at("beside").exists());
    scene.run(&["set", "read-only=false", "studio/video"]);
    bob.client.write(fork, 0, b"VIDEO").unwrap();
    // The folder of a share stays where it is.
    granted(server.smb("bob", "rename video film"), "NT_STATUS");
    assert!(scene.at("video/film").exists());
}
