//! What a Mac stores in a file and beside it.

/// A file or folder, and its streams as SMB names them.
#[derive(Clone)]
pub struct LayoutItem {
    pub name: String,
    pub data: Data,
    pub streams: Vec<(String, Vec<u8>)>,
}

/// What an item has besides streams.
#[derive(Clone)]
pub enum Data {
    File(Vec<u8>),
    Folder,
    /// What is there. A file that is written anew loses its streams: MS-FSA 2.1.5.1.2.1.
    Kept,
}

/// How a Mac sends a colon, by Services for Macintosh: it cannot be in a name.
pub const COLON: &str = "\u{f022}";

/// An extended attribute of a Mac as the name of a stream.
pub fn stream_of(attribute: &str) -> String {
    attribute.replace(':', COLON)
}

/// Finder info as a stream: signature, version, no backup, the 32 bytes.
pub fn finder_info(bytes: &[u8]) -> Vec<u8> {
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    info.extend(bytes);
    info.resize(60, 0);
    info
}

/// How much a file has: what fits into the attributes of ext4, or as much as XFS takes in one attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Little,
    Much,
}

impl Amount {
    pub fn older(self, name: &str) -> LayoutItem {
        match self {
            Self::Little => item(name, b"TEXTttxt", 7, "Holiday", b"plain".to_vec()),
            Self::Much => item(name, b"TEXTttxt", 60_000, "Holiday", vec![b'p'; 50_000]),
        }
    }

    pub fn newer(self, name: &str) -> LayoutItem {
        match self {
            Self::Little => item(name, b"JPEGogle", 200, "Work", b"plain, and longer".to_vec()),
            Self::Much => item(name, b"JPEGogle", 20_000, "Work", vec![b'q'; 60_000]),
        }
    }

    /// What is beside a folder: it has no resource fork.
    pub fn folder(self, name: &str) -> LayoutItem {
        let mut item = Self::Little.older(name);
        item.streams.retain(|(name, _)| name != "AFP_Resource");
        LayoutItem { data: Data::Folder, ..item }
    }
}

fn item(name: &str, kind: &[u8; 8], bytes: u32, tag: &str, plain: Vec<u8>) -> LayoutItem {
    // Inside Macintosh: More Macintosh Toolbox 1-121: data, and a map of 30 bytes.
    let mut resource = Vec::new();
    for number in [256, 256 + bytes, bytes, 30] {
        resource.extend(number.to_be_bytes());
    }
    resource.resize(256 + bytes as usize + 30, b'r');
    let streams = vec![
        ("AFP_AfpInfo".into(), finder_info(kind)),
        ("AFP_Resource".into(), resource),
        (stream_of("com.apple.metadata:_kMDItemUserTags"), tags(tag)),
        ("plain".into(), plain),
    ];
    LayoutItem { name: name.into(), data: Data::File(b"data".to_vec()), streams }
}

/// A binary property list with one text in an array: what macOS stores for one tag.
fn tags(tag: &str) -> Vec<u8> {
    let text = tag.as_bytes();
    property_list(&[&[0xA1, 1], &[&[0x50 | text.len() as u8], text].concat()])
}

/// One with a text of up to 14 characters.
pub fn text_list(text: &str) -> Vec<u8> {
    property_list(&[&[&[0x50 | text.len() as u8], text.as_bytes()].concat()])
}

/// The objects, their places, and a trailer: sizes of places and of references, number of objects, the first one, the table.
fn property_list(objects: &[&[u8]]) -> Vec<u8> {
    let (mut list, mut places) = (b"bplist00".to_vec(), Vec::new());
    for object in objects {
        places.push(list.len() as u8);
        list.extend(*object);
    }
    let table = list.len() as u64;
    list.extend(places);
    list.extend([0, 0, 0, 0, 0, 0, 1, 1]);
    [objects.len() as u64, 0, table].iter().for_each(|number| list.extend(number.to_be_bytes()));
    list
}
