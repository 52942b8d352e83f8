//! What can be asked about files.

/// Of which type the values of an attribute are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Unicode text.
    Text,
    /// A number, such as a size in bytes.
    Number,
    /// A moment: whole seconds since 1970-01-01 00:00 UTC.
    Date,
}

macro_rules! attributes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident;)*) => {
        /// Something that a file has a value of, or several values, or none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Attribute {
            $($(#[$doc])* $variant,)*
        }

        impl Attribute {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in our own language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The type of its values.
            #[must_use]
            pub fn kind(self) -> ValueKind {
                match self { $(Self::$variant => ValueKind::$kind,)* }
            }
        }
    };
}

attributes! {
    /// Any text that people wrote: name, tags, comment, origin, and what the contents say. [`Attribute::is_in_any`].
    Any = "any", Text;
    /// The name in its folder, as people read it.
    Name = "name", Text;
    /// What people call such a file: a name of [`crate::FileKind`].
    Kind = "kind", Text;
    /// The last part of the name, without the dot.
    Extension = "ext", Text;
    /// The uniform type identifier, and those that it conforms to, such as `com.adobe.pdf` and `public.data`.
    ContentType = "contenttype", Text;
    /// The Mac type: four characters.
    TypeCode = "type", Text;
    /// The Mac creator: four characters.
    CreatorCode = "creator", Text;
    /// Bytes of the data fork. Folders have none.
    Size = "size", Number;
    /// When the contents were last changed.
    Modified = "modified", Date;
    /// When it was made.
    Created = "created", Date;
    /// When it came into its folder.
    Added = "added", Date;
    /// When it was last read, as far as the host keeps that.
    Used = "used", Date;
    /// A tag of the Finder, without its colour.
    Tag = "tag", Text;
    /// The number of the label's colour, 1 to 7.
    Label = "label", Number;
    /// The Finder's comment.
    Comment = "comment", Text;
    /// The name of the owner.
    Owner = "owner", Text;
    /// The URLs that it was fetched from.
    Origin = "from", Text;
    /// The words of the contents.
    Text = "text", Text;
    /// The title in the contents.
    Title = "title", Text;
    /// Authors, artists, senders.
    Author = "author", Text;
    /// The recipients of a mail.
    Recipient = "to", Text;
    /// Keywords in the contents.
    Keyword = "keyword", Text;
    /// The album of a song.
    Album = "album", Text;
    /// The genre of a song.
    Genre = "genre", Text;
    /// The composer of a song.
    Composer = "composer", Text;
    /// The maker or model of the camera, or the program that made the file.
    Device = "device", Text;
    /// When a picture was taken, a mail was sent, a document was first written.
    Taken = "taken", Date;
    /// Seconds of sound or video.
    Duration = "duration", Number;
    /// Width in pixels.
    Width = "width", Number;
    /// Height in pixels.
    Height = "height", Number;
    /// Pages of a document.
    Pages = "pages", Number;
}

/// Other words for attributes in our own language.
const OTHER_NAMES: &[(&str, Attribute)] = &[
    ("extension", Attribute::Extension),
    ("date", Attribute::Modified),
    ("changed", Attribute::Modified),
    ("tags", Attribute::Tag),
    ("content", Attribute::Text),
    ("contents", Attribute::Text),
    ("artist", Attribute::Author),
    ("sender", Attribute::Author),
    ("recipient", Attribute::Recipient),
    ("camera", Attribute::Device),
    ("length", Attribute::Duration),
    ("uti", Attribute::ContentType),
    ("origin", Attribute::Origin),
];

impl Attribute {
    /// The attribute that our own language calls so, in upper or lower case.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let is_so = |known: &str| known.eq_ignore_ascii_case(name);
        let other = || OTHER_NAMES.iter().find(|(known, _)| is_so(known)).map(|(_, attribute)| *attribute);
        Self::ALL.iter().copied().find(|attribute| is_so(attribute.name())).or_else(other)
    }

    /// All names that [`Attribute::of_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|attribute| attribute.name()).chain(OTHER_NAMES.iter().map(|(name, _)| *name))
    }

    /// Whether a comparison of [`Attribute::Any`] is about it.
    #[must_use]
    pub fn is_in_any(self) -> bool {
        match self {
            Self::Name | Self::Tag | Self::Comment | Self::Origin => true,
            other => other.kind() == ValueKind::Text && other.is_of_contents(),
        }
    }

    /// Whether its values are found by reading the contents of the file, which an asker has to be allowed to do.
    #[must_use]
    pub fn is_of_contents(self) -> bool {
        matches!(
            self,
            Self::Text
                | Self::Title
                | Self::Author
                | Self::Recipient
                | Self::Keyword
                | Self::Album
                | Self::Genre
                | Self::Composer
                | Self::Device
                | Self::Taken
                | Self::Duration
                | Self::Width
                | Self::Height
                | Self::Pages
        )
    }
}
