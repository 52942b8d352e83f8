//! Facts and text of contents, by their format. The first bytes decide, and the name only where they do not.

mod archives;
mod bytes;
mod dates;
mod images;
mod mail;
mod media;
mod office;
mod pdf;
mod text;
mod xml;
mod zip;

use std::io::{Error, ErrorKind};

use crate::extracted::Extracted;
use crate::source::Source;

/// How many bytes at the beginning decide on the format.
const HEAD: usize = 4096;

/// Why nothing more was found.
#[derive(Debug)]
pub enum Problem {
    /// The bytes cannot be had.
    Read(Error),
    /// The contents are damaged, or use what is not supported.
    Damaged(&'static str),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if error.kind() == ErrorKind::UnexpectedEof {
            return Self::Damaged("it ends too early");
        }
        Self::Read(error)
    }
}

impl From<wire::Malformed> for Problem {
    fn from(malformed: wire::Malformed) -> Self {
        Self::Damaged(malformed.0)
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Archive(archives::Archive),
    Audio(media::Audio),
    Html,
    Image(images::Picture),
    Mail,
    MailOfApple,
    Markdown,
    Movie,
    Office,
    Pdf,
    Plain,
    Rtf,
    /// Nothing is known of it.
    Other,
}

/// Endings of names whose contents are text.
const OF_TEXT: &[&str] = &[
    "asm",
    "bas",
    "bat",
    "bib",
    "c",
    "cc",
    "cfg",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "diff",
    "go",
    "h",
    "hpp",
    "ics",
    "ini",
    "java",
    "js",
    "json",
    "kt",
    "lang",
    "log",
    "lua",
    "m",
    "mk",
    "mm",
    "pas",
    "patch",
    "php",
    "pl",
    "plist",
    "po",
    "properties",
    "py",
    "rb",
    "readme",
    "rs",
    "rst",
    "rtx",
    "s",
    "scss",
    "sh",
    "sql",
    "srt",
    "strings",
    "swift",
    "tab",
    "tcl",
    "tex",
    "text",
    "toml",
    "ts",
    "tsv",
    "txt",
    "vcf",
    "vtt",
    "xml",
    "yaml",
    "yml",
];
/// Endings of names whose contents are another format with facts or text.
const OF_OTHERS: &[&str] = &[
    "aac", "aif", "aifc", "aiff", "avif", "docm", "docx", "dotx", "eml", "emlx", "epub", "flac", "gif",
    "heic", "heif", "htm", "html", "jar", "jpe", "jpeg", "jpg", "m4a", "m4b", "m4v", "markdown", "md", "mov",
    "mp3", "mp4", "odg", "odp", "ods", "odt", "otp", "ots", "ott", "pdf", "png", "potx", "ppsx", "pptm",
    "pptx", "qt", "rtf", "tar", "tgz", "tif", "tiff", "wav", "wave", "webp", "xhtml", "xlsm", "xlsx", "xltx",
    "zip",
];

/// Whether the contents of a file of this name can have facts or text, so that reading them is worth a process.
#[must_use]
pub fn is_of_interest(name: &str) -> bool {
    match ending(name) {
        Some(ending) => OF_TEXT.contains(&&*ending) || OF_OTHERS.contains(&&*ending),
        // Notes and READMEs have no ending, nor have many files of old Macs.
        None => true,
    }
}

fn ending(name: &str) -> Option<String> {
    let (before, ending) = name.rsplit_once('.')?;
    (!before.is_empty() && !ending.is_empty()).then(|| ending.to_ascii_lowercase())
}

/// Facts and text of a file of this name. A problem leaves what was found before it.
pub fn extract(name: &str, source: &mut dyn Source) -> (Extracted, Option<Problem>) {
    let mut found = Extracted::default();
    let problem = by_format(name, source, &mut found).err();
    found.is_cut |= problem.is_some();
    (found, problem)
}

fn by_format(name: &str, source: &mut dyn Source, found: &mut Extracted) -> Result<()> {
    let head = source.bytes_at(0, HEAD)?;
    match format_of(&head, name) {
        Format::Archive(archive) => archives::extract(archive, source, found),
        Format::Audio(audio) => media::audio(audio, source, found),
        Format::Html => text::html::extract(source, found),
        Format::Image(picture) => images::extract(picture, source, found),
        Format::Mail => mail::extract(source, found),
        Format::MailOfApple => mail::extract_of_apple(source, found),
        Format::Markdown => text::markdown(source, found),
        Format::Movie => media::movie(source, found),
        Format::Office => office::extract(source, found),
        Format::Pdf => pdf::extract(source, found),
        Format::Plain => text::plain(source, found),
        Format::Rtf => text::rtf::extract(source, found),
        Format::Other => Ok(()),
    }
}

fn format_of(head: &[u8], name: &str) -> Format {
    let ending = ending(name);
    let ending = ending.as_deref();
    if let Some(format) = by_head(head, ending) {
        return format;
    }
    match ending {
        Some("htm" | "html" | "xhtml") => Format::Html,
        Some("md" | "markdown") => Format::Markdown,
        Some("eml") => Format::Mail,
        Some("emlx") => Format::MailOfApple,
        Some("mp3") => Format::Audio(media::Audio::Mpeg),
        Some(ending) if OF_TEXT.contains(&ending) => Format::Plain,
        None if text::is_text(head) => Format::Plain,
        _ => Format::Other,
    }
}

/// The format that the first bytes show.
fn by_head(head: &[u8], ending: Option<&str>) -> Option<Format> {
    use images::Picture;
    let is_at = |place: usize, magic: &[u8]| head.get(place..).is_some_and(|rest| rest.starts_with(magic));
    Some(match head {
        [b'%', b'P', b'D', b'F', b'-', ..] => Format::Pdf,
        [b'{', b'\\', b'r', b't', b'f', ..] => Format::Rtf,
        [b'P', b'K', 3 | 5, 4 | 6, ..] => match ending {
            Some("zip" | "jar") => Format::Archive(archives::Archive::Zip),
            _ => Format::Office,
        },
        [0x1f, 0x8b, 8, ..] if matches!(ending, Some("tgz" | "gz")) => {
            Format::Archive(archives::Archive::CompressedTar)
        }
        _ if is_at(257, b"ustar") => Format::Archive(archives::Archive::Tar),
        [0xff, 0xd8, 0xff, ..] => Format::Image(Picture::Jpeg),
        [0x89, b'P', b'N', b'G', ..] => Format::Image(Picture::Png),
        [b'G', b'I', b'F', b'8', ..] => Format::Image(Picture::Gif),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Format::Image(Picture::Tiff),
        [b'R', b'I', b'F', b'F', ..] if is_at(8, b"WEBP") => Format::Image(Picture::Webp),
        [b'R', b'I', b'F', b'F', ..] if is_at(8, b"WAVE") => Format::Audio(media::Audio::Wave),
        [b'F', b'O', b'R', b'M', ..] if is_at(8, b"AIF") => Format::Audio(media::Audio::Aiff),
        [b'f', b'L', b'a', b'C', ..] => Format::Audio(media::Audio::Flac),
        [b'I', b'D', b'3', ..] => Format::Audio(media::Audio::Mpeg),
        _ if is_at(4, b"ftyp") => match head.get(8..12) {
            Some(b"heic" | b"heix" | b"mif1" | b"msf1" | b"avif" | b"heim") => Format::Image(Picture::Heif),
            _ => Format::Movie,
        },
        _ if is_at(4, b"moov") || is_at(4, b"mdat") || is_at(4, b"wide") => Format::Movie,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
