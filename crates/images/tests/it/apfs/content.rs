//! The content of a volume, and its records in the catalogue.

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization as _;
use wire::Writer;

/// Which names are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Folded,
    Normalized,
    Exact,
}

pub(crate) const FOLDER: u16 = 4;
pub(crate) const FILE: u16 = 8;
pub(crate) const LINK: u16 = 10;

/// A run of a stream, in bytes; without a block it is a hole.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) at: u64,
    pub(crate) length: u64,
    pub(crate) block: Option<u64>,
}

#[derive(Clone, Default)]
pub(crate) struct Stream {
    pub(crate) id: u64,
    pub(crate) size: u64,
    pub(crate) runs: Vec<Run>,
}

#[derive(Clone)]
pub(crate) enum Value {
    Embedded(Vec<u8>),
    Stream(Stream),
}

#[derive(Clone)]
pub(crate) struct File {
    pub(crate) kind: u16,
    pub(crate) mode: u16,
    pub(crate) bsd_flags: u32,
    pub(crate) internal_flags: u64,
    /// Parent, name, and id of the sibling if there are several.
    pub(crate) names: Vec<(u64, String, u64)>,
    pub(crate) stream: Option<Stream>,
    pub(crate) attributes: BTreeMap<String, Value>,
}

/// The files of a volume at some time, by their inode numbers.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) names: Names,
    pub(crate) files: BTreeMap<u64, File>,
    pub(crate) is_encrypted: bool,
    /// Whether extents are in a tree of their own, and everything has a hash.
    pub(crate) is_sealed: bool,
}

/// 2024-02-01 12:00 UTC, in nanoseconds.
pub(crate) const TIME: u64 = 1_706_788_800_000_000_000;

type Record = (Vec<u8>, Vec<u8>);
/// Oid, type, number, name: the order of keys.
type Order = (u64, u8, u64, Vec<u8>);

fn key(oid: u64, kind: u8) -> Writer {
    let mut w = Writer::new();
    w.u64_le(oid | u64::from(kind) << 60);
    w
}

fn named(w: &mut Writer, name: &str) {
    w.u16_le(name.len() as u16 + 1);
    w.put(name.as_bytes());
    w.u8(0);
}

/// Extended fields: type, flags, value.
fn fields(w: &mut Writer, all: &[(u8, u8, Vec<u8>)]) {
    w.u16_le(all.len() as u16);
    w.u16_le(all.iter().map(|field| field.2.len().next_multiple_of(8)).sum::<usize>() as u16);
    for (kind, flags, value) in all {
        w.u8(*kind);
        w.u8(*flags);
        w.u16_le(value.len() as u16);
    }
    for (_, _, value) in all {
        w.put(value);
        w.zeros(value.len().next_multiple_of(8) - value.len());
    }
}

fn stream_fields(stream: &Stream, is_encrypted: bool) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64_le(stream.size);
    w.u64_le(stream.runs.iter().map(|run| run.length).sum());
    w.u64_le(if is_encrypted { 4 } else { 0 }); // CRYPTO_SW_ID
    w.zeros(16);
    w.into_bytes()
}

impl Content {
    /// The hash of a name in the upper 22 bits.
    pub(crate) fn hash(&self, name: &str) -> u32 {
        let form: String = match self.names {
            Names::Folded => name.nfd().collect::<String>().to_lowercase(),
            Names::Normalized => name.nfd().collect(),
            Names::Exact => return 0,
        };
        let mut sum = u32::MAX;
        for byte in form.chars().flat_map(|c| u32::from(c).to_le_bytes()) {
            sum ^= u32::from(byte);
            for _ in 0..8 {
                sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
            }
        }
        (sum & 0x003f_ffff) << 10
    }

    /// How many entries a folder has.
    fn children(&self, folder: u64) -> u32 {
        self.files.values().flat_map(|file| &file.names).filter(|name| name.0 == folder).count() as u32
    }

    /// How many files, folders, links there are, as the superblock counts them.
    pub(crate) fn count(&self, kind: u16) -> u64 {
        self.files.iter().filter(|(id, file)| **id >= 16 && file.kind == kind).count() as u64
    }

    /// How many streams have each run of blocks: block, and blocks.
    pub(crate) fn references(&self) -> BTreeMap<(u64, u64), (u32, u64)> {
        let mut all = BTreeMap::new();
        for (id, file) in &self.files {
            let of_attributes = file.attributes.values().filter_map(|value| match value {
                Value::Stream(stream) => Some(stream),
                Value::Embedded(_) => None,
            });
            for run in file.stream.iter().chain(of_attributes).flat_map(|stream| &stream.runs) {
                if let Some(block) = run.block {
                    all.entry((block, run.length / 4096)).or_insert((0, *id)).0 += 1;
                }
            }
        }
        all
    }

    /// The records, in the order of their keys.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut all: BTreeMap<Order, Record> = BTreeMap::new();
        for (&id, file) in &self.files {
            all.insert((id, 3, 0, Vec::new()), (key(id, 3).into_bytes(), self.inode(id, file)));
            for (name, value) in &file.attributes {
                self.attribute(&mut all, id, name, value);
            }
            if let Some(stream) = &file.stream {
                all.insert(
                    (stream.id, 6, 0, Vec::new()),
                    (key(stream.id, 6).into_bytes(), 1_u32.to_le_bytes().to_vec()),
                );
                self.runs(&mut all, stream);
            }
            for (parent, name, sibling) in &file.names {
                self.entry(&mut all, id, file, (*parent, name, *sibling));
            }
        }
        all.into_values().collect()
    }

    fn inode(&self, id: u64, file: &File) -> Vec<u8> {
        let mut w = Writer::new();
        let (parent, name, _) = &file.names[0];
        w.u64_le(*parent);
        w.u64_le(file.stream.as_ref().map_or(id, |stream| stream.id));
        (0..4).for_each(|_| w.u64_le(TIME));
        let sparse: Option<u64> = file
            .stream
            .as_ref()
            .map(|stream| stream.runs.iter().filter(|run| run.block.is_none()).map(|run| run.length).sum());
        let sparse = sparse.filter(|&bytes| bytes > 0);
        let has_fork = file.attributes.contains_key("com.apple.ResourceFork");
        let mut flags = file.internal_flags | if has_fork { 0x4000 } else { 0x8000 };
        flags |= u64::from(file.attributes.contains_key("com.apple.FinderInfo")) << 8;
        flags |= u64::from(sparse.is_some()) << 9;
        w.u64_le(flags);
        w.u32_le(if file.kind == FOLDER { self.children(id) } else { file.names.len() as u32 });
        w.u32_le(0); // protection class
        w.u32_le(1); // generation of writes
        w.u32_le(file.bsd_flags);
        w.u32_le(501);
        w.u32_le(20);
        w.u16_le(file.kind << 12 | file.mode);
        w.zeros(10);
        let mut name = name.clone().into_bytes();
        name.push(0);
        let mut extended = vec![(4, 2, name)];
        if let Some(stream) = &file.stream {
            extended.push((8, 0x20, stream_fields(stream, self.is_encrypted)));
        }
        extended.extend(sparse.map(|bytes| (13, 0x28, bytes.to_le_bytes().to_vec())));
        fields(&mut w, &extended);
        w.into_bytes()
    }

    fn attribute(&self, all: &mut BTreeMap<Order, Record>, id: u64, name: &str, value: &Value) {
        let mut k = key(id, 4);
        named(&mut k, name);
        let mut w = Writer::new();
        let owned = if name == "com.apple.fs.symlink" { 4 } else { 0 };
        match value {
            Value::Embedded(bytes) => {
                w.u16_le(2 | owned);
                w.u16_le(bytes.len() as u16);
                w.put(bytes);
            }
            Value::Stream(stream) => {
                w.u16_le(1 | owned);
                w.u16_le(48);
                w.u64_le(stream.id);
                w.put(&stream_fields(stream, self.is_encrypted));
                self.runs(all, stream);
            }
        }
        all.insert((id, 4, 0, name.as_bytes().to_vec()), (k.into_bytes(), w.into_bytes()));
    }

    /// The extents of a sealed volume: streams, and where they are.
    pub(crate) fn file_extents(&self) -> Vec<Record> {
        let mut all = BTreeMap::new();
        for file in self.files.values() {
            let of_attributes = file.attributes.values().filter_map(|value| match value {
                Value::Stream(stream) => Some(stream),
                Value::Embedded(_) => None,
            });
            for stream in file.stream.iter().chain(of_attributes) {
                for run in &stream.runs {
                    let key = [stream.id.to_le_bytes(), run.at.to_le_bytes()].concat();
                    let value = [run.length.to_le_bytes(), run.block.unwrap_or(0).to_le_bytes()].concat();
                    all.insert((stream.id, run.at), (key, value));
                }
            }
        }
        all.into_values().collect()
    }

    fn runs(&self, all: &mut BTreeMap<Order, Record>, stream: &Stream) {
        for run in stream.runs.iter().filter(|_| !self.is_sealed) {
            let mut k = key(stream.id, 8);
            k.u64_le(run.at);
            let mut w = Writer::new();
            w.u64_le(run.length);
            w.u64_le(run.block.unwrap_or(0));
            // The tweak of what is encrypted is the block where it was first.
            w.u64_le(run.block.filter(|_| self.is_encrypted).unwrap_or(0));
            all.insert((stream.id, 8, run.at, Vec::new()), (k.into_bytes(), w.into_bytes()));
        }
    }

    fn entry(&self, all: &mut BTreeMap<Order, Record>, id: u64, file: &File, link: (u64, &str, u64)) {
        let (parent, name, sibling) = link;
        let mut k = key(parent, 9);
        let hash = self.hash(name);
        if self.names == Names::Exact {
            named(&mut k, name);
        } else {
            k.u32_le(hash | (name.len() as u32 + 1));
            k.put(name.as_bytes());
            k.u8(0);
        }
        let mut w = Writer::new();
        w.u64_le(id);
        w.u64_le(TIME);
        w.u16_le(file.kind);
        if sibling != 0 {
            fields(&mut w, &[(1, 0, sibling.to_le_bytes().to_vec())]);
        }
        all.insert((parent, 9, hash.into(), name.as_bytes().to_vec()), (k.into_bytes(), w.into_bytes()));
        if sibling != 0 {
            let mut k = key(id, 5);
            k.u64_le(sibling);
            let mut w = Writer::new();
            w.u64_le(parent);
            named(&mut w, name);
            all.insert((id, 5, sibling, Vec::new()), (k.into_bytes(), w.into_bytes()));
            all.insert(
                (sibling, 12, 0, Vec::new()),
                (key(sibling, 12).into_bytes(), id.to_le_bytes().to_vec()),
            );
        }
    }
}
