//! Names that are longer than the host's: made, listed, read, moved and removed over each of SMB, AFP and NFS, seen by the
//! others, and there after a restart.

use std::path::Path;

use ::afp::client::ROOT;
use ::afp::wire::directory::Place;
use ::afp::wire::enumerate::{Enumerate, EnumerateForm};
use ::afp::wire::fork::AccessMode;
use ::afp::wire::{DirBitmap, FileBitmap, Path as AfpPath, command};
use ::smb::wire::create::{self, Disposition};
use ::smb::wire::query_directory::{self, Flags as ListFlags};
use ::smb::wire::{Command, Status};
use nfs::wire::v3::types::Status as NfsStatus;
use nfs::wire::v3::write::StableHow;
use vfs::names::long::{ATTRIBUTE, check, shortened};

use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Smb;

/// As Windows and macOS number the class FileNamesInformation, MS-FSCC 2.4.
const NAMES: u8 = 12;
/// Clients.
const SMB: usize = 0;
const AFP: usize = 1;
const NFS: usize = 2;
const ALL: [usize; 3] = [SMB, AFP, NFS];

struct Scene {
    smb: Smb,
    afp: Afp,
    nfs: Client,
    root: Vec<u8>,
}

fn name(character: char, ending: &str) -> String {
    String::from(character).repeat(100) + ending
}

/// What local programs see.
fn on_host(name: &str) -> String {
    String::from_utf8(shortened(name.as_bytes(), 0)).unwrap()
}

impl Scene {
    fn new(server: &Server) -> Self {
        let nfs = Client::mount(server.port);
        let root = nfs.root.clone();
        Self { smb: Smb::enter(server.smb_port), afp: Afp::enter(server.afp_port), nfs, root }
    }

    fn make(&mut self, by: usize, name: &str, content: &[u8]) {
        match by {
            SMB => {
                let file = self.smb.make(name, content);
                self.smb.close(file).unwrap();
            }
            AFP => {
                let fork = self.afp.make(name, content);
                self.afp.client.close(fork).unwrap();
            }
            _ => {
                let file = self.nfs.create(&self.root, name).unwrap();
                self.nfs.write(&file, 0, content, StableHow::FILE_SYNC).unwrap();
            }
        }
    }

    fn make_folder(&mut self, by: usize, name: &str) {
        match by {
            SMB => {
                let made = self.smb.open(name, |request| request.options = create::Options::DIRECTORY_FILE);
                self.smb.close(made.unwrap()).unwrap();
            }
            AFP => drop(self.afp.client.create_folder(self.afp.volume, ROOT, name).unwrap()),
            _ => drop(self.nfs.mkdir(&self.root, name).unwrap()),
        }
    }

    fn rename(&mut self, by: usize, from: &str, to: &str) {
        match by {
            SMB => self.smb.rename(from, to).unwrap(),
            AFP => self.afp.client.rename(self.afp.volume, ROOT, from, to).unwrap(),
            _ => self.nfs.rename(&self.root, from, to).unwrap(),
        }
    }

    fn remove(&mut self, by: usize, name: &str) {
        match by {
            SMB => self.smb.remove(name).unwrap(),
            AFP => self.afp.client.delete(self.afp.volume, ROOT, name).unwrap(),
            _ => self.nfs.remove(&self.root, name).unwrap(),
        }
    }

    /// Every client reads the file by its whole name.
    fn all_read(&mut self, name: &str, content: &[u8]) {
        let file = self.smb.open(name, |request| request.disposition = Disposition::OPEN).unwrap();
        assert_eq!(self.smb.content(file).unwrap(), content, "SMB");
        self.smb.close(file).unwrap();
        assert_eq!(self.afp.content(name, false).unwrap(), content, "AFP");
        let file = self.nfs.lookup(&self.root, name).unwrap();
        assert_eq!(self.nfs.content(&file).unwrap(), content, "NFS");
        let file = self.nfs.lookup(&self.root, &on_host(name)).unwrap();
        assert_eq!(self.nfs.content(&file).unwrap(), content, "NFS, as it is listed");
    }

    fn fork(&mut self, name: &str) -> Option<Vec<u8>> {
        let over_smb = self.smb.open(&format!("{name}:AFP_Resource"), |request| {
            request.disposition = Disposition::OPEN;
        });
        let over_smb = over_smb.ok().map(|file| {
            let content = self.smb.content(file).unwrap();
            self.smb.close(file).unwrap();
            content
        });
        let over_afp = self.afp.content(name, true).ok().filter(|fork| !fork.is_empty());
        assert_eq!(over_smb, over_afp);
        over_afp
    }

    /// What a listing of the root has: by whole names over SMB and AFP, by shortened ones over NFS.
    fn all_list(&mut self, names: &[&str], without: &str) {
        let folder = self.smb.open("", |request| {
            request.desired_access = 0x81;
            request.disposition = Disposition::OPEN;
            request.options = create::Options::DIRECTORY_FILE;
        });
        let request = query_directory::Request {
            information_class: NAMES,
            flags: ListFlags::RESTART_SCANS,
            file_index: 0,
            file: folder.unwrap(),
            output_buffer_length: 65_536,
            pattern: vec![u16::from(b'*')],
        };
        let over_smb = self.smb.call(Command::QUERY_DIRECTORY, |w| request.encode(w)).message;
        self.smb.close(request.file).unwrap();
        let place = Place { volume: self.afp.volume, folder: ROOT, path: AfpPath::utf8(b"") };
        let (files, folders) = (FileBitmap::UTF8_NAME, DirBitmap::UTF8_NAME);
        let ask = Enumerate { place, files, folders, count: 500, start: 1, max_reply: 1 << 16 };
        let listed = self.afp.client.call(command::ENUMERATE_EXT2, |w| ask.encode(EnumerateForm::Ext2, w)).unwrap();
        let over_afp = listed.well().unwrap_or_default();
        let over_nfs = self.nfs.names(&self.root).unwrap();
        let plus = self.nfs.names_plus(&self.root).unwrap();
        let utf16 = |name: &str| name.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let has = |bytes: &[u8], name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        for name in names {
            assert!(has(&over_smb, &utf16(name)), "SMB: {name}");
            assert!(has(&over_afp, name.as_bytes()), "AFP: {name}");
            assert!(over_nfs.contains(&on_host(name)) && plus.contains(&on_host(name)), "NFS: {name}");
        }
        assert!(!has(&over_smb, &utf16(without)) && !has(&over_afp, without.as_bytes()));
        assert!(!has(&over_smb, &utf16("~")) && !has(&over_afp, b"~"), "no shortened name");
        assert_eq!(over_nfs.len(), names.len() + 2);
    }
}

/// What is in the share, as local programs see it, in order. Every attribute is right.
fn local_names(share: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(share).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    for name in names.iter().filter(|name| !name.starts_with(".fourfold")) {
        let mut value = [0; 4096];
        let attribute = std::str::from_utf8(ATTRIBUTE).unwrap();
        let length = rustix::fs::getxattr(share.join(name), attribute, &mut value).ok();
        assert_eq!(check(name.as_bytes(), length.map(|length| &value[..length])), None, "{name}");
    }
    names
}

fn beside(name: &str) -> Vec<String> {
    vec![format!("._{}", on_host(name)), on_host(name)]
}

#[test]
fn each_protocol_makes_moves_and_removes_what_the_others_read() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let mut scene = Scene::new(&server);
    for by in ALL {
        let (one, two, dir) = (name('漢', ".txt"), name('字', ".txt"), name('夾', ""));
        scene.make(by, &one, b"content");
        scene.make_folder((by + 1) % 3, &dir);
        scene.all_read(&one, b"content");
        scene.all_list(&[&one, &dir], &two);
        // Each of the others moves it on.
        scene.rename((by + 1) % 3, &one, &two);
        scene.all_read(&two, b"content");
        scene.all_list(&[&two, &dir], &one);
        assert_eq!(scene.nfs.lookup(&scene.root, &one), Err(NfsStatus::NOENT));
        scene.rename((by + 2) % 3, &two, "short");
        assert_eq!(scene.afp.content("short", false).unwrap(), b"content");
        scene.rename(by, "short", &one);
        let mut local = [on_host(&one), on_host(&dir)];
        local.sort();
        assert_eq!(local_names(&share), local);
        let inside = format!("{dir}\\{one}");
        scene.smb.rename(&one, &inside).unwrap();
        let folder = scene.nfs.lookup(&scene.root, &dir).unwrap();
        let file = scene.nfs.lookup(&folder, &one).unwrap();
        assert_eq!(scene.nfs.content(&file).unwrap(), b"content");
        scene.smb.rename(&inside, &two).unwrap();
        scene.remove((by + 1) % 3, &two);
        match by {
            NFS => scene.smb.remove(&dir).unwrap(),
            _ => scene.afp.client.delete(scene.afp.volume, ROOT, &dir).unwrap(),
        }
        assert!(local_names(&share).is_empty());
    }
    assert_eq!(scene.smb.open(&"x".repeat(256), |_| ()), Err(Status::OBJECT_NAME_INVALID));
    assert_eq!(scene.nfs.create(&scene.root, &"漢".repeat(256)), Err(NfsStatus::NAMETOOLONG));
    assert!(scene.afp.client.create(scene.afp.volume, &"漢".repeat(256)).is_err());
    drop(server);
}

#[test]
fn a_resource_fork_goes_with_its_file_and_all_is_there_after_a_kill() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let mut scene = Scene::new(&server);
    let (one, two) = ("漢".repeat(255), name('龜', ".mov"));
    scene.make(SMB, &one, b"data");
    let (volume, access) = (scene.afp.volume, AccessMode::READ | AccessMode::WRITE);
    let fork = scene.afp.client.open_fork((volume, ROOT, &one), true, access).unwrap();
    scene.afp.client.write(fork, 0, b"resources").unwrap();
    scene.afp.client.flush(fork).unwrap();
    scene.afp.client.close(fork).unwrap();
    for (by, from, to) in [(NFS, &one, &two), (SMB, &two, &one), (AFP, &one, &two)] {
        assert_eq!(scene.fork(from), Some(b"resources".to_vec()));
        scene.all_list(&[from], to);
        assert!(scene.nfs.lookup(&scene.root, &format!("._{from}")).is_ok());
        scene.rename(by, from, to);
        assert_eq!(local_names(&share), beside(to));
    }
    server.kill();
    let server = Server::start_with_afp(top.path(), &share);
    let mut scene = Scene::new(&server);
    scene.all_list(&[&two], &one);
    scene.all_read(&two, b"data");
    assert_eq!(scene.fork(&two), Some(b"resources".to_vec()));
    // A local program gives the file a name, which is then that of all.
    std::fs::rename(share.join(on_host(&two)), share.join("clip.mov")).unwrap();
    assert_eq!(scene.nfs.lookup(&scene.root, &two), Err(NfsStatus::NOENT));
    assert_eq!(scene.afp.content("clip.mov", false).unwrap(), b"data");
    assert_eq!(scene.fork("clip.mov"), Some(b"resources".to_vec()), "it follows the file");
    scene.remove(NFS, "clip.mov");
    assert!(local_names(&share).iter().all(|name| name.starts_with(".fourfold")));
}
