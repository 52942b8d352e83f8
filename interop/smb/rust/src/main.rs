//! The crate `smb`: what a person does with a share.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use smb::connection::EncryptionMode;
use smb::{Client, ClientConfig, ConnectionConfig, CreateDisposition, CreateOptions, Dialect, Directory};
use smb::{FileAccessMask, FileAttributes, FileCreateArgs, FileDispositionInformation};
use smb::{FileNamesInformation, FileRenameInformation, GetLen, ReadAt, Resource, UncPath, WriteAt};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// STATUS_LOGON_FAILURE.
const LOGON_FAILURE: &str = "0xc000006d";
const LENGTH: usize = 3 << 20;
/// What one READ or WRITE moves: 2.0.2 allows no more.
const PIECE: usize = 64 << 10;

/// Where the server is and who logs in.
struct Place {
    port: u16,
    share: String,
    folder: PathBuf,
    user: String,
    password: String,
}

/// A share that is connected to.
struct Mount {
    client: Client,
    root: UncPath,
}

impl Place {
    fn of(arguments: Vec<String>) -> Result<Self> {
        let pairs = arguments.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        let mut all: BTreeMap<String, String> = pairs.collect();
        let mut take = |name: &str| all.remove(name).ok_or_else(|| format!("{name} is missing"));
        Ok(Self {
            port: take("--port")?.parse()?,
            share: take("--share")?,
            folder: take("--folder")?.into(),
            user: take("--user")?,
            password: take("--password")?,
        })
    }

    fn mount(&self, share: &str, more: ConnectionConfig) -> Result<Mount> {
        self.mount_as(&self.user, &self.password, share, more)
    }

    fn mount_as(&self, user: &str, password: &str, share: &str, more: ConnectionConfig) -> Result<Mount> {
        let connection = ConnectionConfig { port: Some(self.port), ..more };
        let client = Client::new(ClientConfig { connection, dfs: false, ..ClientConfig::default() });
        let root = UncPath::new("127.0.0.1")?.with_share(share)?;
        client.share_connect(&root, user, password.to_owned())?;
        Ok(Mount { client, root })
    }
}

impl Mount {
    fn open(&self, name: &str, args: &FileCreateArgs) -> Result<Resource> {
        Ok(self.client.create_file(&self.root.clone().with_path(name), args)?)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let args = FileCreateArgs::make_overwrite(FileAttributes::new(), CreateOptions::new());
        let file = self.open(name, &args)?.unwrap_file();
        let mut at = 0;
        while at < content.len() {
            at += file.write_at(&content[at..content.len().min(at + PIECE)], at as u64)?;
        }
        Ok(file.close()?)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let args = FileCreateArgs::make_open_existing(FileAccessMask::new().with_generic_read(true));
        let file = self.open(name, &args)?.unwrap_file();
        let mut content = vec![0; file.get_len()? as usize];
        let (mut at, length) = (0, content.len());
        while at < length {
            at += file.read_at(&mut content[at..length.min(at + PIECE)], at as u64)?;
        }
        file.close()?;
        Ok(content)
    }

    fn make_folder(&self, name: &str) -> Result<Directory> {
        let options = CreateOptions::new().with_directory_file(true);
        let args = FileCreateArgs::make_create_new(FileAttributes::new().with_directory(true), options);
        Ok(self.open(name, &args)?.unwrap_dir())
    }

    /// Opened for DELETE; a symbolic link itself, not its target.
    fn for_removal(&self, name: &str) -> Result<Resource> {
        self.open(
            name,
            &FileCreateArgs {
                disposition: CreateDisposition::Open,
                options: CreateOptions::new().with_open_reparse_point(true),
                desired_access: FileAccessMask::new().with_delete(true).with_file_read_attributes(true),
                ..FileCreateArgs::default()
            },
        )
    }

    fn remove(&self, name: &str) -> Result<()> {
        let resource = self.for_removal(name)?;
        let delete = FileDispositionInformation::default();
        match resource {
            Resource::Directory(folder) => {
                folder.set_info(delete)?;
                Ok(folder.close()?)
            }
            resource => {
                let file = resource.unwrap_file();
                file.set_info(delete)?;
                Ok(file.close()?)
            }
        }
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let file = self.for_removal(from)?.unwrap_file();
        let to =
            FileRenameInformation { replace_if_exists: true.into(), root_directory: 0, file_name: to.into() };
        file.set_info(to)?;
        Ok(file.close()?)
    }
}

/// The session is over when it is dropped, and the next check begins anew.
fn check(name: &str, test: impl FnOnce() -> Result<()>) {
    match test() {
        Ok(()) => println!("pass {name}"),
        Err(error) => println!("fail {name}: {}", error.to_string().replace('\n', " ")),
    }
}

fn is<T: PartialEq + std::fmt::Debug>(got: T, wanted: T) -> Result<()> {
    if got == wanted { Ok(()) } else { Err(format!("is {got:?}, not {wanted:?}").into()) }
}

fn there_and_back(mount: &Mount) -> Result<()> {
    let wanted: Vec<u8> = (0..LENGTH).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect();
    mount.write("rust file", &wanted)?;
    is(mount.read("rust file")? == wanted, true)?;
    mount.remove("rust file")
}

fn folders(place: &Place, mount: &Mount) -> Result<()> {
    let folder = Arc::new(mount.make_folder("rust")?);
    for name in ["one", "two"] {
        mount.write(&format!(r"rust\{name}"), b"12345")?;
    }
    let found = Directory::query::<FileNamesInformation>(&folder, "*")?;
    let names: std::result::Result<Vec<String>, _> =
        found.map(|entry| entry.map(|entry| entry.file_name.to_string())).collect();
    is(names?, [".", "..", "one", "two"].map(str::to_owned).to_vec())?;
    folder.close()?;
    for name in [r"rust\one", r"rust\two", "rust"] {
        mount.remove(name)?;
    }
    is(place.folder.join("rust").exists(), false)
}

fn renames(place: &Place, mount: &Mount) -> Result<()> {
    mount.write("rust before", b"before")?;
    mount.write("rust after", b"longer than before")?;
    mount.rename("rust before", "rust after")?;
    is(fs::read(place.folder.join("rust after"))?, b"before".to_vec())?;
    mount.write("rust after", b"over")?;
    is(fs::read(place.folder.join("rust after"))?, b"over".to_vec())?;
    mount.remove("rust after")
}

fn names(place: &Place, mount: &Mount) -> Result<()> {
    for name in ["r".repeat(255).as_str(), "größe 日本語 🗄"] {
        mount.write(name, b"x")?;
        is(place.folder.join(name).exists(), true)?;
        mount.remove(name)?;
        is(place.folder.join(name).exists(), false)?;
    }
    Ok(())
}

fn symbolic_link(place: &Place, mount: &Mount) -> Result<()> {
    let (target, link) = (place.folder.join("rust target"), place.folder.join("rust link"));
    fs::write(&target, "kept")?;
    std::os::unix::fs::symlink("rust target", &link)?;
    mount.remove("rust link")?;
    is((link.is_symlink(), target.exists()), (false, true))
}

fn logins(place: &Place) {
    check("a wrong password", || {
        let refused = place.mount_as(&place.user, "wrong", &place.share, ConnectionConfig::default());
        let error = format!("{:?}", refused.err().ok_or("it may enter")?);
        let status = u32::from_str_radix(LOGON_FAILURE.trim_start_matches("0x"), 16)?;
        is(error.contains(&status.to_string()) || error.to_lowercase().contains("logonfailure"), true)
    });
}

fn main() -> Result<()> {
    let place = Place::of(std::env::args().skip(1).collect())?;
    logins(&place);
    let dialects = [Dialect::Smb0202, Dialect::Smb021, Dialect::Smb030, Dialect::Smb0302, Dialect::Smb0311];
    for dialect in dialects {
        // It begins with SMB1, and signs as the server does.
        let only = ConnectionConfig {
            min_dialect: Some(dialect),
            max_dialect: Some(dialect),
            ..ConnectionConfig::default()
        };
        check(&format!("{dialect:?}, 3 MB there and back"), || {
            there_and_back(&place.mount(&place.share, only)?)
        });
    }
    let sealed =
        ConnectionConfig { encryption_mode: EncryptionMode::Required, ..ConnectionConfig::default() };
    check("encrypted, 3 MB there and back", || there_and_back(&place.mount("sealed", sealed)?));
    let plain = || place.mount(&place.share, ConnectionConfig::default());
    check("folders", || folders(&place, &plain()?));
    check("renames and overwrites", || renames(&place, &plain()?));
    check("long and non-ASCII names", || names(&place, &plain()?));
    check("deletes a symbolic link, not its target", || symbolic_link(&place, &plain()?));
    Ok(())
}
