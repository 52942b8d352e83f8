//! `fourfold fork`: files with forks, to and from the forms in which other systems carry them.

mod stored;

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use vfs::mac::layout::{is_sidecar_name, sidecar_name, sidecar_owner};
use vfs::mac::portable::{Format, Portable};

use crate::cli::{ForkCommand, Pack, PortableForm, Unpack};
use crate::shares::overlap;
use crate::terminal::out;

/// The most bytes of one file, with its forks: a file is handled whole, in memory.
const MOST_BYTES: u64 = 1 << 30;
/// Folders in each other.
const DEEPEST: usize = 200;

/// What was done with one file.
#[derive(Debug, Serialize)]
struct ForkOutcome {
    from: PathBuf,
    to: Option<PathBuf>,
    form: Option<&'static str>,
    /// What the form cannot hold.
    lost: Vec<&'static str>,
    error: Option<String>,
}

pub(crate) fn run(command: &ForkCommand) -> anyhow::Result<ExitCode> {
    let (into, json, paths) = match command {
        ForkCommand::Pack(Pack { into, json, paths, .. })
        | ForkCommand::Unpack(Unpack { into, json, paths }) => (into, *json, paths),
    };
    ensure!(
        into.is_dir(),
        "{} is not a folder; make it first, or name another one with --into",
        into.display()
    );
    let mut done = Vec::new();
    for path in paths {
        let name = path.file_name().with_context(|| format!("{} has no name", path.display()))?;
        ensure!(
            !overlap::is_found_in(into, path),
            "{} is in {}: what is made there would be read again; name another folder with --into",
            into.display(),
            path.display()
        );
        each(path, &into.join(name), 0, &mut |from, to| {
            let one = match command {
                ForkCommand::Pack(pack) => self::pack(pack, from, to),
                ForkCommand::Unpack(_) => unpack(from, to, from != path),
            };
            done.extend(one);
        });
    }
    let failed = done.iter().any(|one| one.error.is_some());
    match json {
        true => out::json(&serde_json::json!({ "files": done }))?,
        false => tell(&done)?,
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn tell(done: &[ForkOutcome]) -> anyhow::Result<()> {
    let plain = done.iter().filter(|one| one.to.is_none() && one.error.is_none()).count();
    if plain > 0 {
        out::done(format_args!("{plain} files of no such form were passed over"))?;
    }
    for one in done {
        match (&one.error, &one.to) {
            (Some(error), _) => out::error_line(format_args!("{}: {error}", one.from.display())),
            (None, Some(to)) => {
                let form = one.form.unwrap_or_default();
                let lost = if one.lost.is_empty() {
                    String::new()
                } else {
                    format!("; without {}", one.lost.join(", "))
                };
                out::done(format_args!("{} -> {} ({form}{lost})", one.from.display(), to.display()))?;
            }
            (None, None) => {}
        }
    }
    Ok(())
}

/// Does something with a file, or with each file below a folder and its place below `to`.
fn each(from: &Path, to: &Path, depth: usize, act: &mut dyn FnMut(&Path, &Path)) {
    let entries =
        fs::symlink_metadata(from).ok().filter(fs::Metadata::is_dir).and_then(|_| fs::read_dir(from).ok());
    let Some(entries) = entries.filter(|_| depth < DEEPEST) else { return act(from, to) };
    let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let hidden = vfs::is_own_name(name.as_bytes());
        let is_link = from.join(&name).is_symlink();
        if !hidden && !is_link {
            each(&from.join(&name), &to.join(&name), depth + 1, act);
        }
    }
}

fn done(from: &Path, result: anyhow::Result<(PathBuf, Format, Vec<&'static str>)>) -> Option<ForkOutcome> {
    let from = from.to_path_buf();
    Some(match result {
        Ok((to, format, lost)) => {
            ForkOutcome { from, to: Some(to), form: Some(name_of(format)), lost, error: None }
        }
        Err(error) => {
            ForkOutcome { from, to: None, form: None, lost: Vec::new(), error: Some(format!("{error:#}")) }
        }
    })
}

/// Packs one file. `None`: it is the sidecar of another one.
fn pack(pack: &Pack, from: &Path, to: &Path) -> Option<ForkOutcome> {
    let name = from.file_name().unwrap_or_default().as_bytes();
    let owner = sidecar_owner(name).map(|owner| from.with_file_name(std::ffi::OsStr::from_bytes(owner)));
    if owner.is_some_and(|owner| owner.exists()) {
        return None;
    }
    let format = match pack.form {
        PortableForm::AppleSingle => Format::AppleSingle,
        PortableForm::AppleDouble => Format::AppleDouble,
        PortableForm::MacBinary => Format::MacBinary,
        PortableForm::BinHex => Format::BinHex,
    };
    done(from, pack_one(from, to, format, pack.lossy))
}

fn pack_one(
    from: &Path,
    to: &Path,
    format: Format,
    is_lossy: bool,
) -> anyhow::Result<(PathBuf, Format, Vec<&'static str>)> {
    let file = stored::read(from, MOST_BYTES)?;
    let lost = file.lost(format);
    if !lost.is_empty() && !is_lossy {
        let all = lost.join(", ");
        bail!("{} cannot hold {all}; use --form applesingle, or --lossy to leave that out", name_of(format));
    }
    let header = file.encode(format)?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    match format {
        Format::AppleDouble => {
            new_file(to, &file.data)?;
            let beside = OsString::from_vec(sidecar_name(to.file_name().unwrap_or_default().as_bytes()));
            new_file(&to.with_file_name(beside), &header)?;
            Ok((to.into(), format, lost))
        }
        _ => {
            let extension = match format {
                Format::MacBinary => ".bin",
                Format::BinHex => ".hqx",
                _ => ".as",
            };
            let mut packed = to.as_os_str().to_owned();
            packed.push(extension);
            new_file(Path::new(&packed), &header)?;
            Ok((packed.into(), format, lost))
        }
    }
}

/// Unpacks one file. `None`: it is the sidecar of another one. In a folder, files of no portable form are passed over.
fn unpack(from: &Path, to: &Path, is_in_folder: bool) -> Option<ForkOutcome> {
    if is_in_folder && is_plain(from) {
        let name = from.file_name().unwrap_or_default().as_bytes();
        let beside = from.with_file_name(OsString::from_vec(sidecar_name(name)));
        let is_owner = fs::read(beside).is_ok_and(|header| Portable::decode(&header, 0).is_ok());
        let is_sidecar = sidecar_owner(name).is_some();
        if !is_owner && !is_sidecar {
            return Some(ForkOutcome {
                from: from.into(),
                to: None,
                form: None,
                lost: Vec::new(),
                error: None,
            });
        }
    }
    let result = || {
        let length = fs::metadata(from)?.len();
        ensure!(length <= MOST_BYTES, "it has {length} bytes; at most {MOST_BYTES} are unpacked");
        let bytes = fs::read(from)?;
        let beside = OsString::from_vec(sidecar_name(from.file_name().unwrap_or_default().as_bytes()));
        let (format, mut file) = match fs::read(from.with_file_name(beside)) {
            Ok(header) if Portable::decode(&header, 0).is_ok() => {
                let (format, file) = Portable::decode(&header, 0)?;
                (format, Portable { data: bytes, ..file })
            }
            _ => Portable::decode(&bytes, MOST_BYTES as usize)?,
        };
        let name = place(&file, from, format);
        file.name = String::new();
        let to = to.with_file_name(name);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        ensure!(
            !to.exists() && !to.is_symlink(),
            "{} exists; move it away, or unpack elsewhere",
            to.display()
        );
        stored::write(&to, &file)?;
        Ok((to, format, Vec::new()))
    };
    let name = from.file_name().unwrap_or_default().as_bytes();
    let owner = sidecar_owner(name).map(|owner| from.with_file_name(std::ffi::OsStr::from_bytes(owner)));
    if is_sidecar_name(name) && owner.is_some_and(|owner| owner.exists()) {
        return None;
    }
    done(from, result())
}

/// Whether the beginning of a file is of no portable form.
fn is_plain(from: &Path) -> bool {
    /// Text may come before BinHex.
    const BEGINNING: u64 = 1 << 20;
    let mut beginning = Vec::new();
    let read = fs::File::open(from).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    let length = fs::metadata(from).map_or(0, |about| about.len());
    read.is_ok() && !Portable::is_recognized(&beginning, length)
}

/// The name of an unpacked file: its own, else that of the packed one without its ending.
fn place(file: &Portable, from: &Path, format: Format) -> OsString {
    let is_good = |name: &str| {
        !name.is_empty() && !matches!(name, "." | "..") && !name.contains('\0') && name.len() <= 255
    };
    // Macs use `/` in names, and `:` between folders.
    let own = file.name.replace('/', ":");
    let packed = from.file_name().unwrap_or_default().to_owned();
    let endings: &[&str] = match format {
        Format::AppleSingle => &[".as"],
        Format::MacBinary => &[".bin", ".macbin"],
        Format::BinHex => &[".hqx"],
        Format::AppleDouble => return packed,
    };
    if is_good(&own) {
        return own.into();
    }
    let bytes = packed.as_bytes();
    let stem = endings
        .iter()
        .find_map(|ending| bytes.strip_suffix(ending.as_bytes()).filter(|stem| !stem.is_empty()));
    match stem {
        Some(stem) => OsString::from_vec(stem.to_vec()),
        None => OsString::from_vec([bytes, b".unpacked"].concat()),
    }
}

/// Makes a file that is not there yet.
fn new_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let what = || format!("{} cannot be made", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(what)?;
    file.write_all(content).with_context(what)
}

fn name_of(format: Format) -> &'static str {
    match format {
        Format::AppleSingle => "AppleSingle",
        Format::AppleDouble => "AppleDouble",
        Format::MacBinary => "MacBinary",
        Format::BinHex => "BinHex",
    }
}
