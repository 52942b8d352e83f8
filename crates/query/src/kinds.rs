//! What people call a file, by the last part of its name or by its Mac type; and its uniform type identifiers.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $identifier:literal;)*) => {
        /// What people call a file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum FileKind {
            $($(#[$doc])* $variant,)*
        }

        impl FileKind {
            /// All of them. The place in this list is the number that an index keeps.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in our own language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The uniform type identifier of all files of this kind.
            #[must_use]
            pub fn identifier(self) -> &'static str {
                match self { $(Self::$variant => $identifier,)* }
            }
        }
    };
}

kinds! {
    /// Something that no other kind fits.
    Other = "other", "public.data";
    /// A folder that is shown as one.
    Folder = "folder", "public.folder";
    /// A symbolic link.
    Link = "link", "public.symlink";
    /// A folder of a Mac that is a program.
    Application = "application", "com.apple.application";
    /// Several files in one.
    Archive = "archive", "public.archive";
    /// Sound.
    Audio = "audio", "public.audio";
    /// Source text of a program.
    Code = "code", "public.source-code";
    /// A database.
    Database = "database", "public.database";
    /// Anything that people write: texts, PDF, tables, presentations.
    Document = "document", "public.content";
    /// A mail.
    Email = "email", "public.email-message";
    /// A typeface.
    Font = "font", "public.font";
    /// A picture.
    Image = "image", "public.image";
    /// A disk image.
    DiskImage = "diskimage", "public.disk-image";
    /// A page of PDF.
    Pdf = "pdf", "com.adobe.pdf";
    /// Slides.
    Presentation = "presentation", "public.presentation";
    /// A table.
    Spreadsheet = "spreadsheet", "public.spreadsheet";
    /// Plain or formatted text.
    Text = "text", "public.text";
    /// Moving pictures.
    Video = "video", "public.movie";
    /// A web page.
    Web = "web", "public.html";
    /// A program of another system than a Mac's.
    Program = "program", "public.executable";
}

impl FileKind {
    /// The kind with this name, in upper or lower case, in the singular or the plural.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let other = match name.as_str() {
            "app" | "apps" => Some(Self::Application),
            "picture" | "pictures" | "photo" | "photos" => Some(Self::Image),
            "movie" | "movies" => Some(Self::Video),
            "music" | "sound" | "sounds" | "song" | "songs" => Some(Self::Audio),
            "mail" | "mails" => Some(Self::Email),
            "table" | "tables" => Some(Self::Spreadsheet),
            "slides" => Some(Self::Presentation),
            "source" => Some(Self::Code),
            "dmg" => Some(Self::DiskImage),
            "directory" | "directories" => Some(Self::Folder),
            _ => None,
        };
        let singular = name.strip_suffix('s');
        let is_so = |kind: &Self| kind.name() == name || singular == Some(kind.name());
        other.or_else(|| Self::ALL.iter().copied().find(is_so))
    }

    /// The kind with this number in [`FileKind::ALL`].
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether a file of this kind is one of another kind, too: a PDF is a document.
    #[must_use]
    pub fn is_a(self, other: Self) -> bool {
        use FileKind::{Document, Pdf, Presentation, Spreadsheet, Text, Web};
        self == other || other == Document && matches!(self, Pdf | Presentation | Spreadsheet | Text | Web)
    }
}

/// Extensions, their kinds, and their uniform type identifiers, as Apple's "System-Declared Uniform Type Identifiers" names them;
/// empty where a file has that of its kind only.
const EXTENSIONS: &[(&str, FileKind, &str)] = &[
    ("7z", FileKind::Archive, "org.7-zip.7-zip-archive"),
    ("aac", FileKind::Audio, "public.aac-audio"),
    ("accdb", FileKind::Database, ""),
    ("ai", FileKind::Image, "com.adobe.illustrator.ai-image"),
    ("aif", FileKind::Audio, "public.aiff-audio"),
    ("aiff", FileKind::Audio, "public.aiff-audio"),
    ("app", FileKind::Application, "com.apple.application-bundle"),
    ("avi", FileKind::Video, "public.avi"),
    ("bash", FileKind::Code, "public.shell-script"),
    ("bat", FileKind::Code, ""),
    ("bmp", FileKind::Image, "com.microsoft.bmp"),
    ("bz2", FileKind::Archive, "public.bzip2-archive"),
    ("c", FileKind::Code, "public.c-source"),
    ("cc", FileKind::Code, "public.c-plus-plus-source"),
    ("cpp", FileKind::Code, "public.c-plus-plus-source"),
    ("cr2", FileKind::Image, "com.canon.cr2-raw-image"),
    ("cr3", FileKind::Image, "com.canon.cr3-raw-image"),
    ("cs", FileKind::Code, ""),
    ("css", FileKind::Code, "public.css"),
    ("csv", FileKind::Spreadsheet, "public.comma-separated-values-text"),
    ("deb", FileKind::Archive, "org.debian.deb-archive"),
    ("dmg", FileKind::DiskImage, "com.apple.disk-image-udif"),
    ("dng", FileKind::Image, "com.adobe.raw-image"),
    ("doc", FileKind::Text, "com.microsoft.word.doc"),
    ("docx", FileKind::Text, "org.openxmlformats.wordprocessingml.document"),
    ("dot", FileKind::Text, "com.microsoft.word.dot"),
    ("eml", FileKind::Email, "com.apple.mail.email"),
    ("emlx", FileKind::Email, "com.apple.mail.emlx"),
    ("eps", FileKind::Image, "com.adobe.encapsulated-postscript"),
    ("epub", FileKind::Document, "org.idpf.epub-container"),
    ("exe", FileKind::Program, "com.microsoft.windows-executable"),
    ("flac", FileKind::Audio, "org.xiph.flac"),
    ("gif", FileKind::Image, "com.compuserve.gif"),
    ("go", FileKind::Code, ""),
    ("gz", FileKind::Archive, "org.gnu.gnu-zip-archive"),
    ("h", FileKind::Code, "public.c-header"),
    ("heic", FileKind::Image, "public.heic"),
    ("heif", FileKind::Image, "public.heif"),
    ("htm", FileKind::Web, "public.html"),
    ("html", FileKind::Web, "public.html"),
    ("img", FileKind::DiskImage, "com.apple.disk-image"),
    ("indd", FileKind::Document, "com.adobe.indesign-document"),
    ("iso", FileKind::DiskImage, "public.iso-image"),
    ("java", FileKind::Code, "com.sun.java-source"),
    ("jpeg", FileKind::Image, "public.jpeg"),
    ("jpg", FileKind::Image, "public.jpeg"),
    ("js", FileKind::Code, "com.netscape.javascript-source"),
    ("json", FileKind::Code, "public.json"),
    ("key", FileKind::Presentation, "com.apple.iwork.keynote.key"),
    ("log", FileKind::Text, "com.apple.log"),
    ("m4a", FileKind::Audio, "com.apple.m4a-audio"),
    ("m4v", FileKind::Video, "com.apple.m4v-video"),
    ("markdown", FileKind::Text, "net.daringfireball.markdown"),
    ("md", FileKind::Text, "net.daringfireball.markdown"),
    ("mdb", FileKind::Database, ""),
    ("mid", FileKind::Audio, "public.midi-audio"),
    ("mkv", FileKind::Video, "org.matroska.mkv"),
    ("mov", FileKind::Video, "com.apple.quicktime-movie"),
    ("mp3", FileKind::Audio, "public.mp3"),
    ("mp4", FileKind::Video, "public.mpeg-4"),
    ("mpeg", FileKind::Video, "public.mpeg"),
    ("mpg", FileKind::Video, "public.mpeg"),
    ("msg", FileKind::Email, "com.microsoft.outlook16.msg"),
    ("nef", FileKind::Image, "com.nikon.raw-image"),
    ("numbers", FileKind::Spreadsheet, "com.apple.iwork.numbers.numbers"),
    ("odp", FileKind::Presentation, "org.oasis-open.opendocument.presentation"),
    ("ods", FileKind::Spreadsheet, "org.oasis-open.opendocument.spreadsheet"),
    ("odt", FileKind::Text, "org.oasis-open.opendocument.text"),
    ("ogg", FileKind::Audio, "org.xiph.ogg-audio"),
    ("otf", FileKind::Font, "public.opentype-font"),
    ("pages", FileKind::Text, "com.apple.iwork.pages.pages"),
    ("pdf", FileKind::Pdf, "com.adobe.pdf"),
    ("php", FileKind::Code, "public.php-script"),
    ("pkg", FileKind::Archive, "com.apple.installer-package-archive"),
    ("png", FileKind::Image, "public.png"),
    ("ppt", FileKind::Presentation, "com.microsoft.powerpoint.ppt"),
    ("pptx", FileKind::Presentation, "org.openxmlformats.presentationml.presentation"),
    ("ps", FileKind::Document, "com.adobe.postscript"),
    ("psd", FileKind::Image, "com.adobe.photoshop-image"),
    ("py", FileKind::Code, "public.python-script"),
    ("rar", FileKind::Archive, "com.rarlab.rar-archive"),
    ("raw", FileKind::Image, "public.camera-raw-image"),
    ("rb", FileKind::Code, "public.ruby-script"),
    ("rs", FileKind::Code, ""),
    ("rtf", FileKind::Text, "public.rtf"),
    ("rtfd", FileKind::Text, "com.apple.rtfd"),
    ("sh", FileKind::Code, "public.shell-script"),
    ("sit", FileKind::Archive, "com.allume.stuffit-archive"),
    ("sparsebundle", FileKind::DiskImage, "com.apple.disk-image-sparse"),
    ("sparseimage", FileKind::DiskImage, "com.apple.disk-image-sparse"),
    ("sql", FileKind::Code, "org.iso.sql"),
    ("sqlite", FileKind::Database, ""),
    ("svg", FileKind::Image, "public.svg-image"),
    ("swift", FileKind::Code, "public.swift-source"),
    ("tar", FileKind::Archive, "public.tar-archive"),
    ("tgz", FileKind::Archive, "org.gnu.gnu-zip-tar-archive"),
    ("tif", FileKind::Image, "public.tiff"),
    ("tiff", FileKind::Image, "public.tiff"),
    ("ttf", FileKind::Font, "public.truetype-ttf-font"),
    ("txt", FileKind::Text, "public.plain-text"),
    ("vcf", FileKind::Other, "public.vcard"),
    ("wav", FileKind::Audio, "com.microsoft.waveform-audio"),
    ("webm", FileKind::Video, "org.webmproject.webm"),
    ("webp", FileKind::Image, "org.webmproject.webp"),
    ("woff", FileKind::Font, "org.w3.woff"),
    ("woff2", FileKind::Font, "org.w3.woff2"),
    ("xls", FileKind::Spreadsheet, "com.microsoft.excel.xls"),
    ("xlsx", FileKind::Spreadsheet, "org.openxmlformats.spreadsheetml.sheet"),
    ("xml", FileKind::Code, "public.xml"),
    ("xz", FileKind::Archive, "org.tukaani.xz-archive"),
    ("yaml", FileKind::Code, "public.yaml"),
    ("yml", FileKind::Code, "public.yaml"),
    ("zip", FileKind::Archive, "public.zip-archive"),
    ("zst", FileKind::Archive, ""),
];

/// Kinds of files by their Mac types, for names without a known extension.
const MAC_TYPES: &[(&[u8; 4], FileKind)] = &[
    (b"TEXT", FileKind::Text),
    (b"ttro", FileKind::Text),
    (b"RTF ", FileKind::Text),
    (b"WDBN", FileKind::Text),
    (b"W8BN", FileKind::Text),
    (b"CWWP", FileKind::Text),
    (b"PDF ", FileKind::Pdf),
    (b"XLS8", FileKind::Spreadsheet),
    (b"XLS5", FileKind::Spreadsheet),
    (b"SLD8", FileKind::Presentation),
    (b"PICT", FileKind::Image),
    (b"JPEG", FileKind::Image),
    (b"GIFf", FileKind::Image),
    (b"TIFF", FileKind::Image),
    (b"PNGf", FileKind::Image),
    (b"EPSF", FileKind::Image),
    (b"8BPS", FileKind::Image),
    (b"MooV", FileKind::Video),
    (b"AIFF", FileKind::Audio),
    (b"Mp3 ", FileKind::Audio),
    (b"APPL", FileKind::Application),
    (b"SIT!", FileKind::Archive),
    (b"SITD", FileKind::Archive),
    (b"SIT5", FileKind::Archive),
    (b"dImg", FileKind::DiskImage),
    (b"FFIL", FileKind::Font),
    (b"tfil", FileKind::Font),
];

/// Folders that Macs show as one file, by the last part of their names.
const BUNDLES: &[&str] = &["app", "key", "numbers", "pages", "rtfd", "sparsebundle", "pkg"];

/// The longest last part of a name that counts as an extension, in bytes.
const MAX_EXTENSION: usize = 16;

/// The last part of a name, without the dot; `None` if there is none, as in `.profile`, `README` and `1. Chapter`.
#[must_use]
pub fn extension_of(name: &str) -> Option<&str> {
    let (before, extension) = name.rsplit_once('.')?;
    let is_plain = !extension.is_empty()
        && extension.len() <= MAX_EXTENSION
        && extension.chars().all(char::is_alphanumeric);
    (is_plain && !before.is_empty()).then_some(extension)
}

/// What people call an entry with this name. `type_code` is its Mac type; all zeros means none.
#[must_use]
pub fn kind_of(name: &str, entry: formats::Kind, type_code: [u8; 4]) -> FileKind {
    let extension = extension_of(name).map(str::to_ascii_lowercase);
    let known = extension.as_deref().and_then(row_of);
    match entry {
        formats::Kind::Folder => {
            let bundle = known.filter(|(extension, ..)| BUNDLES.contains(extension));
            bundle.map_or(FileKind::Folder, |(_, kind, _)| *kind)
        }
        formats::Kind::Link => FileKind::Link,
        formats::Kind::File => {
            let by_type = || MAC_TYPES.iter().find(|(code, _)| **code == type_code).map(|(_, kind)| *kind);
            known.map(|(_, kind, _)| *kind).or_else(by_type).unwrap_or(FileKind::Other)
        }
        _ => FileKind::Other,
    }
}

/// All known extensions in lower case, with the kind of the files that have them.
pub fn extensions() -> impl Iterator<Item = (&'static str, FileKind)> {
    EXTENSIONS.iter().map(|(extension, kind, _)| (*extension, *kind))
}

fn row_of(extension: &str) -> Option<&'static (&'static str, FileKind, &'static str)> {
    EXTENSIONS.binary_search_by(|(known, ..)| (*known).cmp(extension)).ok().map(|at| &EXTENSIONS[at])
}

/// The uniform type identifiers of a file: its own, and those that it conforms to.
#[must_use]
pub fn content_types(kind: FileKind, extension: Option<&str>) -> Vec<&'static str> {
    let lower = extension.map(str::to_ascii_lowercase);
    let row = lower.as_deref().and_then(row_of).filter(|(_, of, _)| *of == kind);
    let own = row.map_or("", |(_, _, identifier)| identifier);
    let base: &[&str] = match kind {
        FileKind::Folder => &["public.folder", "public.directory", "public.item"],
        FileKind::Link => &["public.symlink", "public.item"],
        FileKind::Application => &["com.apple.application", "com.apple.bundle", "public.item"],
        FileKind::Archive => &["public.archive", "public.data", "public.item"],
        FileKind::Audio => {
            &["public.audio", "public.audiovisual-content", "public.data", "public.content", "public.item"]
        }
        FileKind::Code => &[
            "public.source-code",
            "public.plain-text",
            "public.text",
            "public.data",
            "public.content",
            "public.item",
        ],
        FileKind::Document => &["public.composite-content", "public.data", "public.content", "public.item"],
        FileKind::Pdf => {
            &["com.adobe.pdf", "public.composite-content", "public.data", "public.content", "public.item"]
        }
        FileKind::Presentation => &[
            "public.presentation",
            "public.composite-content",
            "public.data",
            "public.content",
            "public.item",
        ],
        FileKind::Spreadsheet => &["public.spreadsheet", "public.data", "public.content", "public.item"],
        FileKind::Email => {
            &["public.email-message", "public.message", "public.data", "public.content", "public.item"]
        }
        FileKind::Image => &["public.image", "public.data", "public.content", "public.item"],
        FileKind::Text => &["public.text", "public.data", "public.content", "public.item"],
        FileKind::Video => {
            &["public.movie", "public.audiovisual-content", "public.data", "public.content", "public.item"]
        }
        FileKind::Web => &["public.html", "public.text", "public.data", "public.content", "public.item"],
        FileKind::DiskImage => &["public.disk-image", "public.archive", "public.data", "public.item"],
        FileKind::Font => &["public.font", "public.data", "public.content", "public.item"],
        FileKind::Database => &["public.database", "public.data", "public.item"],
        FileKind::Program => &["public.executable", "public.data", "public.item"],
        FileKind::Other => &["public.data", "public.item"],
    };
    let own = Some(own).filter(|own| !own.is_empty() && !base.contains(own));
    own.into_iter().chain(base.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extensions_are_in_order() {
        assert!(EXTENSIONS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_last_part_of_a_name_is_an_extension_if_it_looks_like_one() {
        for (name, expected) in [
            ("a.txt", Some("txt")),
            ("a.tar.gz", Some("gz")),
            (".profile", None),
            ("README", None),
            ("1. Chapter one", None),
            ("end.", None),
        ] {
            assert_eq!(extension_of(name), expected, "{name}");
        }
    }

    #[test]
    fn the_mac_type_counts_where_the_name_says_nothing() {
        let kind = |name, code: &[u8; 4]| kind_of(name, formats::Kind::File, *code);
        assert_eq!(kind("Letter", b"TEXT"), FileKind::Text);
        assert_eq!(kind("Letter.pdf", b"TEXT"), FileKind::Pdf);
        assert_eq!(kind("Letter", &[0; 4]), FileKind::Other);
        assert_eq!(kind_of("Mail.app", formats::Kind::Folder, [0; 4]), FileKind::Application);
        assert_eq!(kind_of("holiday.jpg", formats::Kind::Folder, [0; 4]), FileKind::Folder);
    }

    #[test]
    fn a_pdf_is_a_document_but_no_document_is_a_pdf() {
        assert!(FileKind::Pdf.is_a(FileKind::Document) && !FileKind::Document.is_a(FileKind::Pdf));
        assert_eq!(FileKind::of_name("Photos"), Some(FileKind::Image));
        assert_eq!(FileKind::of_name("documents"), Some(FileKind::Document));
    }
}
