//! A small writer of HFS+ volumes, made from TN1150 for tests: what no program on Linux can write. Apple's `fsck_hfs` judged
//! what it makes (see `tests/data/MANIFEST.md`).

use std::collections::BTreeMap;

pub(crate) const BLOCK: usize = 4096;
const NODE: usize = 4096;
/// 2020-01-01, in seconds since 1904.
pub(crate) const DATE: u32 = 3_660_681_600;
pub(crate) const ROOT: u32 = 2;

/// A volume that is being written.
pub(crate) struct Writer {
    blocks: Vec<u8>,
    total: usize,
    used: Vec<bool>,
    next_block: usize,
    next_id: u32,
    /// Records by folder and folded name; thread records have the empty name.
    catalogue: BTreeMap<(u32, Vec<u16>), KeyAndRecord>,
    attributes: BTreeMap<(u32, Vec<u16>, u32), KeyAndRecord>,
    extents: BTreeMap<(u32, u8, u32), Vec<u8>>,
    valences: BTreeMap<u32, u32>,
    /// The names of files and folders that have several.
    links: BTreeMap<u32, Vec<u32>>,
    pub(crate) case_sensitive: bool,
    /// Attributes of the volume: it was unmounted.
    pub(crate) flags: u32,
    pub(crate) journal_info_block: u32,
    files: u32,
    folders: u32,
}

/// A key and what it leads to.
type KeyAndRecord = (Vec<u8>, Vec<u8>);

/// Where something is: blocks that follow each other.
type Extents = Vec<(u32, u32)>;

/// What a record of a file has beside its forks.
#[derive(Clone, Copy)]
pub(crate) struct Details {
    pub(crate) flags: u16,
    pub(crate) owner_flags: u8,
    pub(crate) mode: u16,
    pub(crate) special: u32,
    pub(crate) finder_info: [u8; 16],
}

impl Default for Details {
    fn default() -> Self {
        Self { flags: 2, owner_flags: 0, mode: 0o100_644, special: 1, finder_info: [0; 16] }
    }
}

pub(crate) fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

fn string(units: &[u16]) -> Vec<u8> {
    let mut bytes = (units.len() as u16).to_be_bytes().to_vec();
    units.iter().for_each(|unit| bytes.extend(unit.to_be_bytes()));
    bytes
}

/// Folds names in ASCII; a zero is behind everything.
fn folded(units: &[u16], case_sensitive: bool) -> Vec<u16> {
    let fold = |unit: &u16| match *unit {
        0 => 0xFFFF,
        unit @ 0x41..=0x5A => unit + 0x20,
        unit => unit,
    };
    if case_sensitive { units.to_vec() } else { units.iter().map(fold).collect() }
}

fn catalogue_key(parent: u32, name: &[u16]) -> Vec<u8> {
    [parent.to_be_bytes().to_vec(), string(name)].concat()
}

fn fork(size: u64, extents: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = size.to_be_bytes().to_vec();
    bytes.extend((BLOCK as u32).to_be_bytes());
    bytes.extend(extents.iter().map(|extent| extent.1).sum::<u32>().to_be_bytes());
    bytes.extend(eight(extents));
    bytes
}

fn eight(extents: &[(u32, u32)]) -> Vec<u8> {
    let padded = extents.iter().copied().chain(std::iter::repeat((0, 0))).take(8);
    padded.flat_map(|(start, count)| [start.to_be_bytes(), count.to_be_bytes()].concat()).collect()
}

impl Writer {
    /// An empty volume of so many blocks, whose top folder has this name.
    pub(crate) fn new(total: usize, name: &str) -> Self {
        let mut used = vec![false; total];
        used[0] = true;
        used[total - 1] = true;
        let mut writer = Self {
            blocks: vec![0; total * BLOCK],
            total,
            used,
            next_block: 1,
            next_id: 16,
            catalogue: BTreeMap::new(),
            attributes: BTreeMap::new(),
            extents: BTreeMap::new(),
            valences: BTreeMap::new(),
            links: BTreeMap::new(),
            case_sensitive: false,
            flags: 1 << 8,
            journal_info_block: 0,
            files: 0,
            folders: 0,
        };
        writer.add_folder(1, &utf16(name), ROOT, 0, 0);
        writer
    }

    pub(crate) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn record(&mut self, parent: u32, name: &[u16], record: Vec<u8>) {
        let key = (parent, folded(name, self.case_sensitive));
        assert!(
            self.catalogue.insert(key, (catalogue_key(parent, name), record)).is_none(),
            "a name is taken"
        );
    }

    fn thread(&mut self, id: u32, kind: u16, parent: u32, name: &[u16]) {
        let thread = [&kind.to_be_bytes()[..], &[0, 0], &parent.to_be_bytes(), &string(name)].concat();
        self.record(id, &[], thread);
    }

    fn add_folder(&mut self, parent: u32, name: &[u16], id: u32, flags: u16, special: u32) {
        let mut record = [1u16.to_be_bytes(), flags.to_be_bytes()].concat();
        record.extend(0u32.to_be_bytes()); // the valence is set when the volume is built
        record.extend(id.to_be_bytes());
        record.extend([DATE, DATE, DATE, DATE, 0].into_iter().flat_map(u32::to_be_bytes));
        record.extend([501u32, 20].into_iter().flat_map(u32::to_be_bytes));
        record.extend([0, 0]);
        record.extend(0o40_755u16.to_be_bytes());
        record.extend(special.to_be_bytes());
        record.resize(88, 0);
        self.record(parent, name, record);
        self.thread(id, 3, parent, name);
        *self.valences.entry(parent).or_default() += 1;
        if id != ROOT {
            self.folders += 1;
        }
    }

    /// Adds a folder.
    pub(crate) fn folder(&mut self, parent: u32, name: &str) -> u32 {
        let id = self.new_id();
        self.add_folder(parent, &utf16(name), id, 0, 0);
        id
    }

    /// Adds a folder with several names, of which `links` are added by [`Writer::folder_link`].
    pub(crate) fn folder_inode(&mut self, inodes: u32, links: u32) -> u32 {
        let id = self.new_id();
        self.add_folder(inodes, &utf16(&format!("dir_{id}")), id, 0x20, links);
        id
    }

    /// Adds a name of a folder.
    pub(crate) fn folder_link(&mut self, parent: u32, name: &str, folder: u32) -> u32 {
        let mut finder_info = [0; 16];
        finder_info[..8].copy_from_slice(b"fdrpMACS");
        finder_info[8..10].copy_from_slice(&0x8000u16.to_be_bytes()); // an alias
        let details = Details { flags: 0x22, mode: 0o100_755, owner_flags: 2, special: folder, finder_info };
        let link = self.file_with(parent, name, (0, &[]), (0, &[]), details);
        self.links.entry(details.special).or_default().push(link);
        self.set_flag(parent, 0x40); // the folders above, which are in the top folder here
        link
    }

    /// Adds the folder of folders with several names, which macOS makes immutable and sticky.
    pub(crate) fn folder_inodes(&mut self) -> u32 {
        let id = self.folder(ROOT, ".HFS+ Private Directory Data\r");
        for (_, record) in self.catalogue.values_mut() {
            if record[1] == 1 && record[8..12] == id.to_be_bytes() {
                record[41] = 2;
                record[42..44].copy_from_slice(&0o41_755u16.to_be_bytes());
            }
        }
        id
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, parent: u32, name: &str, data: &[u8]) -> u32 {
        self.file_of(parent, name, data, &[], Details::default())
    }

    /// Adds a file with both forks.
    pub(crate) fn file_of(
        &mut self,
        parent: u32,
        name: &str,
        data: &[u8],
        resource: &[u8],
        details: Details,
    ) -> u32 {
        let (of_data, of_resource) = (self.store(data), self.store(resource));
        let forks = ((data.len() as u64, &of_data[..]), (resource.len() as u64, &of_resource[..]));
        self.file_with(parent, name, forks.0, forks.1, details)
    }

    /// Adds a file with several names, of which `links` are added by [`Writer::file_link`].
    pub(crate) fn file_inode(&mut self, inodes: u32, data: &[u8], links: u32) -> u32 {
        let name = format!("iNode{}", self.next_id);
        let details = Details { flags: 0x22, special: links, ..Details::default() };
        self.file_of(inodes, &name, data, &[], details)
    }

    /// Adds a name of a file.
    pub(crate) fn file_link(&mut self, parent: u32, name: &str, inode: u32) -> u32 {
        let mut finder_info = [0; 16];
        finder_info[..8].copy_from_slice(b"hlnkhfs+");
        let details =
            Details { flags: 0x22, special: inode, mode: 0o100_444, finder_info, ..Details::default() };
        let link = self.file_with(parent, name, (0, &[]), (0, &[]), details);
        self.links.entry(details.special).or_default().push(link);
        link
    }

    /// Adds a file whose data is in so many extents.
    pub(crate) fn file_in_pieces(&mut self, parent: u32, name: &str, data: &[u8], pieces: usize) -> u32 {
        let blocks = data.len().div_ceil(BLOCK);
        let each = blocks.div_ceil(pieces);
        let mut extents = Vec::new();
        for piece in data.chunks(each * BLOCK) {
            extents.extend(self.store(piece));
            self.next_block += 1; // a gap
        }
        let id = self.file_with(parent, name, (data.len() as u64, &extents), (0, &[]), Details::default());
        let mut first: u32 = extents.iter().take(8).map(|extent| extent.1).sum();
        for further in extents.get(8..).unwrap_or(&[]).chunks(8) {
            self.extents.insert((id, 0, first), eight(further));
            first += further.iter().map(|extent| extent.1).sum::<u32>();
        }
        id
    }

    /// Adds a record of a file whose forks are stored.
    pub(crate) fn file_with(
        &mut self,
        parent: u32,
        name: &str,
        data: (u64, &[(u32, u32)]),
        resource: (u64, &[(u32, u32)]),
        details: Details,
    ) -> u32 {
        let id = self.new_id();
        let mut record = [2u16.to_be_bytes(), details.flags.to_be_bytes()].concat();
        record.extend(0u32.to_be_bytes());
        record.extend(id.to_be_bytes());
        record.extend([DATE, DATE + 60, DATE + 120, DATE + 180, 0].into_iter().flat_map(u32::to_be_bytes));
        record.extend([501u32, 20].into_iter().flat_map(u32::to_be_bytes));
        record.extend([0, details.owner_flags]);
        record.extend(details.mode.to_be_bytes());
        record.extend(details.special.to_be_bytes());
        record.extend(details.finder_info);
        record.resize(88, 0);
        record.extend(fork(data.0, data.1));
        record.extend(fork(resource.0, resource.1));
        assert_eq!(record.len(), 248);
        let name = utf16(name);
        self.record(parent, &name, record);
        self.thread(id, 4, parent, &name);
        *self.valences.entry(parent).or_default() += 1;
        self.files += 1;
        id
    }

    /// Adds a small attribute.
    pub(crate) fn attribute(&mut self, id: u32, name: &str, value: &[u8]) {
        let mut record = 0x10u32.to_be_bytes().to_vec();
        record.extend([0; 8]);
        record.extend((value.len() as u32).to_be_bytes());
        record.extend(value);
        record.resize(record.len().next_multiple_of(2), 0);
        self.attribute_record(id, name, 0, record);
    }

    /// Adds an attribute that has blocks of its own, in so many extents.
    pub(crate) fn large_attribute(&mut self, id: u32, name: &str, value: &[u8], pieces: usize) {
        let each = value.len().div_ceil(BLOCK).div_ceil(pieces);
        let mut extents = Vec::new();
        for piece in value.chunks(each * BLOCK) {
            extents.extend(self.store(piece));
            self.next_block += 1;
        }
        let mut record = [0x20u32.to_be_bytes(), [0; 4]].concat();
        record.extend(value.len().to_be_bytes());
        record.extend(0u32.to_be_bytes());
        record.extend(extents.iter().map(|extent| extent.1).sum::<u32>().to_be_bytes());
        record.extend(eight(&extents));
        self.attribute_record(id, name, 0, record);
        let mut first: u32 = extents.iter().take(8).map(|extent| extent.1).sum();
        for further in extents.get(8..).unwrap_or(&[]).chunks(8) {
            let record = [0x30u32.to_be_bytes().to_vec(), vec![0; 4], eight(further)].concat();
            self.attribute_record(id, name, first, record);
            first += further.iter().map(|extent| extent.1).sum::<u32>();
        }
    }

    fn attribute_record(&mut self, id: u32, name: &str, block: u32, record: Vec<u8>) {
        let units = utf16(name);
        let key = [&[0, 0][..], &id.to_be_bytes(), &block.to_be_bytes(), &string(&units)].concat();
        self.attributes.insert((id, units, block), (key, record));
        self.set_flag(id, 4);
    }

    /// Sets a flag of the record of a file or folder.
    fn set_flag(&mut self, id: u32, flag: u8) {
        let is_item = |record: &[u8]| record[1] < 3 && record[8..12] == id.to_be_bytes();
        for (_, record) in self.catalogue.values_mut().filter(|(_, record)| is_item(record)) {
            record[3] |= flag;
        }
    }

    /// The names of an inode are a chain: each has the one before and the one behind instead of its owners, and the inode has
    /// the first one.
    fn chain_links(&mut self) {
        for (inode, links) in std::mem::take(&mut self.links) {
            let chain: Vec<u32> = [vec![0], links.clone(), vec![0]].concat();
            for three in chain.windows(3) {
                self.set_numbers(three[1], 32, &[three[0], three[2]]);
            }
            if self
                .catalogue
                .values()
                .any(|(_, record)| record[1] == 2 && record[8..12] == inode.to_be_bytes())
            {
                self.set_numbers(inode, 4, &links[..1]);
            } else {
                self.attribute(inode, "com.apple.system.hfs.firstlink", format!("{}\0", links[0]).as_bytes());
            }
        }
    }

    /// Sets numbers in the record of a file or folder.
    fn set_numbers(&mut self, id: u32, at: usize, numbers: &[u32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        for (_, record) in self.catalogue.values_mut() {
            if record[1] < 3 && record[8..12] == id.to_be_bytes() {
                record[at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
    }

    /// Stores bytes in free blocks that follow each other.
    pub(crate) fn store(&mut self, bytes: &[u8]) -> Extents {
        if bytes.is_empty() {
            return Vec::new();
        }
        let count = bytes.len().div_ceil(BLOCK);
        let start = self.next_block;
        self.next_block += count;
        assert!(self.next_block < self.total, "the volume is full");
        self.used[start..start + count].fill(true);
        self.blocks[start * BLOCK..start * BLOCK + bytes.len()].copy_from_slice(bytes);
        vec![(start as u32, count as u32)]
    }

    /// Replaces stored bytes.
    pub(crate) fn overwrite(&mut self, place: usize, bytes: &[u8]) {
        self.blocks[place..place + bytes.len()].copy_from_slice(bytes);
    }

    /// The whole volume.
    pub(crate) fn build(mut self) -> Vec<u8> {
        self.chain_links();
        for (folder, valence) in std::mem::take(&mut self.valences) {
            let is_folder = |record: &[u8]| record[..2] == [0, 1] && record[8..12] == folder.to_be_bytes();
            for (_, record) in self.catalogue.values_mut().filter(|(_, record)| is_folder(record)) {
                record[4..8].copy_from_slice(&valence.to_be_bytes());
            }
        }
        let catalogue: Vec<_> = std::mem::take(&mut self.catalogue).into_values().collect();
        let attributes: Vec<_> = std::mem::take(&mut self.attributes).into_values().collect();
        let extents = std::mem::take(&mut self.extents).into_iter();
        let extents: Vec<_> = extents
            .map(|((file, fork, block), record)| {
                let key = [&[fork, 0][..], &file.to_be_bytes(), &block.to_be_bytes()].concat();
                (key, record)
            })
            .collect();
        let comparison = if self.case_sensitive { 0xBC } else { 0xCF };
        let trees = [
            tree(&extents, 10, false, 0),
            tree(&catalogue, 516, true, comparison),
            tree(&attributes, 266, true, 0xBC),
        ];
        let trees = trees.map(|tree| (tree.len() as u64, self.store(&tree)));
        let bitmap_len = self.total.div_ceil(8);
        let bitmap_at = self.store(&vec![1; bitmap_len]);
        let mut bitmap = vec![0u8; bitmap_len];
        for (block, _) in self.used.iter().enumerate().filter(|(_, used)| **used) {
            bitmap[block / 8] |= 0x80 >> (block % 8);
        }
        let at = bitmap_at[0].0 as usize * BLOCK;
        self.overwrite(at, &bitmap);
        let header = self.header(bitmap_len as u64, &bitmap_at, &trees);
        self.overwrite(1024, &header);
        let copy = self.total * BLOCK - 1024;
        self.overwrite(copy, &header);
        self.blocks
    }

    fn header(&self, bitmap_len: u64, bitmap: &Extents, trees: &[(u64, Extents); 3]) -> Vec<u8> {
        let version: u16 = if self.case_sensitive { 5 } else { 4 };
        let signature = if self.case_sensitive { b"HX" } else { b"H+" };
        let free = self.used.iter().filter(|used| !**used).count() as u32;
        let mut header =
            [&signature[..], &version.to_be_bytes(), &self.flags.to_be_bytes(), b"10.0"].concat();
        header.extend(self.journal_info_block.to_be_bytes());
        header.extend([DATE, DATE, 0, DATE].into_iter().flat_map(u32::to_be_bytes));
        let numbers = [
            self.files,
            self.folders,
            BLOCK as u32,
            self.total as u32,
            free,
            1,
            65536,
            65536,
            self.next_id,
            1,
        ];
        header.extend(numbers.into_iter().flat_map(u32::to_be_bytes));
        header.extend(1u64.to_be_bytes());
        header.extend([0; 32]);
        header.extend(fork(bitmap_len.next_multiple_of(BLOCK as u64), bitmap));
        for (size, extents) in trees {
            header.extend(fork(*size, extents));
        }
        header.extend(fork(0, &[]));
        assert_eq!(header.len(), 512);
        header
    }
}

/// A node with these records.
fn node(kind: i8, height: u8, links: (u32, u32), records: &[Vec<u8>]) -> Vec<u8> {
    let mut node = [links.1.to_be_bytes(), links.0.to_be_bytes()].concat();
    node.extend([kind as u8, height]);
    node.extend((records.len() as u16).to_be_bytes());
    node.extend([0, 0]);
    let mut offsets = Vec::new();
    for record in records {
        offsets.push(node.len() as u16);
        node.extend(record);
    }
    offsets.push(node.len() as u16);
    node.resize(NODE, 0);
    for (index, offset) in offsets.iter().enumerate() {
        let at = NODE - 2 * (index + 1);
        node[at..at + 2].copy_from_slice(&offset.to_be_bytes());
    }
    node
}

/// A whole tree of records in their order.
fn tree(records: &[(Vec<u8>, Vec<u8>)], max_key: u16, variable: bool, comparison: u8) -> Vec<u8> {
    let with_key = |key: &[u8], data: &[u8]| [&(key.len() as u16).to_be_bytes(), key, data].concat();
    let mut level: Vec<(Vec<u8>, Vec<u8>)> = records.to_vec();
    let (mut nodes, mut next, mut height) = (Vec::new(), 1u32, 0u8);
    let mut ends = (0, 0);
    while !level.is_empty() && (height == 0 || level.len() > 1) {
        height += 1;
        let mut groups: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new()];
        let mut room = NODE - 16;
        for (key, data) in level {
            let size = with_key(&key, &data).len() + 2;
            if size > room {
                groups.push(Vec::new());
                room = NODE - 16;
            }
            room -= size;
            groups.last_mut().unwrap().push((key, data));
        }
        let count = groups.len() as u32;
        let kind = if height == 1 { -1 } else { 0 };
        level = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let number = next + index as u32;
            let before = if index == 0 { 0 } else { number - 1 };
            let after = if index as u32 + 1 == count { 0 } else { number + 1 };
            let records: Vec<Vec<u8>> = group.iter().map(|(key, data)| with_key(key, data)).collect();
            nodes.extend(node(kind, height, (before, after), &records));
            level.push((group[0].0.clone(), number.to_be_bytes().to_vec()));
        }
        if height == 1 {
            ends = (next, next + count - 1);
        }
        next += count;
    }
    let root = if height == 0 { 0 } else { next - 1 };
    let total = (next + 3).next_multiple_of(4);
    let mut header = u16::from(height).to_be_bytes().to_vec();
    header.extend(root.to_be_bytes());
    header.extend((records.len() as u32).to_be_bytes());
    header.extend([ends.0, ends.1].into_iter().flat_map(u32::to_be_bytes));
    header.extend([NODE as u16, max_key].into_iter().flat_map(u16::to_be_bytes));
    header.extend([total, total - next].into_iter().flat_map(u32::to_be_bytes));
    header.extend([0, 0]);
    header.extend((NODE as u32).to_be_bytes());
    header.extend([0, comparison]);
    header.extend((if variable { 6u32 } else { 2 }).to_be_bytes());
    header.resize(106, 0);
    let mut map = vec![0u8; NODE - 256];
    (0..next as usize).for_each(|bit| map[bit / 8] |= 0x80 >> (bit % 8));
    let mut bytes = node(1, 0, (0, 0), &[header, vec![0; 128], map]);
    bytes.extend(nodes);
    bytes.resize(total as usize * NODE, 0);
    bytes
}
