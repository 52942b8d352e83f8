//! UDIF, the read-only disk images of macOS (`.dmg`): runs of sectors, each compressed by itself.
//!
//! A trailer of 512 bytes ("koly") at the end names a property list, which has a table ("mish") for each part of the disk.
//! libyal, "Mac OS disk image types", section "Compressed UDIF image format". All numbers are big-endian.

use std::sync::Arc;

use super::plist::{self, Value};
use crate::cache::Cache;
use crate::check::{Problem, Steps};
use crate::compression::Method;
use crate::part::{check_range, read_vec};
use crate::{Error, ReadAt, Result, decode};

const TRAILER: u64 = 512;
const SECTOR: u64 = 512;
/// The most bytes of a run that is compressed. hdiutil makes runs of at most 1 MiB.
const MAX_RUN: u64 = 16 << 20;
/// The most runs of an image: 2 TiB in runs of 256 KiB, 400 MB of memory.
const MAX_RUNS: usize = 1 << 23;
/// Bytes of decompressed runs that are kept.
const CACHE: usize = 16 << 20;
/// The type of a checksum that is a CRC-32.
const CRC32: u32 = 2;

/// The trailer.
pub(super) struct Trailer {
    data_offset: u64,
    data_length: u64,
    segments: u32,
    data_checksum: (u32, u32),
    list_offset: u64,
    list_length: u64,
    sectors: u64,
}

impl Trailer {
    /// The trailer, if the file ends with one.
    pub(super) fn find(file: &dyn ReadAt) -> Result<Option<Self>> {
        let Some(place) = file.length().checked_sub(TRAILER) else { return Ok(None) };
        let bytes = read_vec(file, place, TRAILER as usize)?;
        if !bytes.starts_with(b"koly") {
            return Ok(None);
        }
        decode("trailer of the disk image", place, &bytes, |r| {
            r.skip(24)?; // signature, version, size, flags, running offset
            let (data_offset, data_length) = (r.u64_be()?, r.u64_be()?);
            r.skip(16 + 4)?; // resource fork, number of this segment
            let segments = r.u32_be()?;
            r.skip(16)?; // UUID
            let (kind, _) = (r.u32_be()?, r.u32_be()?);
            let data_checksum = (kind, r.u32_be()?);
            r.skip(124)?; // rest of the checksum
            let (list_offset, list_length) = (r.u64_be()?, r.u64_be()?);
            r.skip(120 + 136 + 4)?; // reserved, checksum of checksums, variant
            let sectors = r.u64_be()?;
            let found =
                Self { data_offset, data_length, segments, data_checksum, list_offset, list_length, sectors };
            Ok(Some(found))
        })
    }
}

#[derive(Clone, Copy)]
enum Storage {
    Zeros,
    Raw,
    Compressed(Method),
}

/// Sectors of the disk that are stored together.
struct Run {
    start: u64,
    sectors: u64,
    storage: Storage,
    offset: u64,
    length: u64,
}

/// An open image.
pub(super) struct Udif {
    file: Arc<dyn ReadAt>,
    size: u64,
    /// In the order of the disk, none in another.
    runs: Vec<Run>,
    decompressed: Cache<usize, Arc<[u8]>>,
    data: (u64, u64),
    checksum: Option<u32>,
}

impl Udif {
    pub(super) fn open(file: Arc<dyn ReadAt>, trailer: &Trailer) -> Result<Self> {
        let place = file.length() - TRAILER;
        let damaged = |problem: &str| Error::damaged("trailer of the disk image", place, problem);
        if trailer.segments > 1 {
            return Err(Error::NotSupported("a disk image in several files".into()));
        }
        let size = trailer.sectors.checked_mul(SECTOR).ok_or_else(|| damaged("it has too many sectors"))?;
        let (kind, value) = trailer.data_checksum;
        let mut image = Self {
            file,
            size,
            runs: Vec::new(),
            decompressed: Cache::new(CACHE),
            data: (trailer.data_offset, trailer.data_length),
            checksum: (kind == CRC32).then_some(value),
        };
        if trailer.list_length == 0 {
            image.whole()?;
            return Ok(image);
        }
        if trailer.list_length > plist::MAX_LEN as u64 {
            return Err(damaged("its property list is too long"));
        }
        let list = read_vec(image.file.as_ref(), trailer.list_offset, trailer.list_length as usize)?;
        let list = plist::parse(&list);
        let tables = list.as_ref().and_then(|list| list.get("resource-fork")?.get("blkx"));
        let Some(Value::Array(tables)) = tables else {
            let problem = "it has no tables of blocks";
            return Err(Error::damaged("property list of the disk image", trailer.list_offset, problem));
        };
        for table in tables {
            let Some(Value::Data(table)) = table.get("Data") else { continue };
            image.add(table, trailer.list_offset)?;
        }
        image.sort()?;
        Ok(image)
    }

    /// An image without a list has its sectors as they are.
    fn whole(&mut self) -> Result<()> {
        let (offset, length) = self.data;
        let sectors = self.size / SECTOR;
        if length < self.size {
            return Err(Error::damaged("trailer of the disk image", offset, "it has more sectors than data"));
        }
        self.runs.push(Run { start: 0, sectors, storage: Storage::Raw, offset, length: self.size });
        Ok(())
    }

    /// Adds the runs of one table.
    fn add(&mut self, table: &[u8], place: u64) -> Result<()> {
        const NAME: &str = "table of blocks of the disk image";
        let (first, base, count) = decode(NAME, place, table, |r| {
            if r.array()? != *b"mish" {
                return Err(wire::Malformed("it has no signature"));
            }
            r.skip(4)?; // version
            let first = r.u64_be()?;
            r.skip(8)?; // sectors
            let base = r.u64_be()?;
            r.skip(4 + 4 + 24 + 136)?; // buffers, descriptors, reserved, checksum
            Ok((first, base, r.u32_be()?))
        })?;
        let mut entries = wire::Reader::new(table.get(204..).unwrap_or(&[]));
        for _ in 0..count {
            let entry = entries.take(40).map_err(|error| Error::damaged(NAME, place, error.0))?;
            let (kind, mut run) = decode(NAME, place, entry, |r| {
                let kind = r.u32_be()?;
                r.skip(4)?; // comment
                let (start, sectors) = (r.u64_be()?, r.u64_be()?);
                let (offset, length) = (r.u64_be()?, r.u64_be()?);
                Ok((kind, Run { start, sectors, storage: Storage::Zeros, offset, length }))
            })?;
            run.storage = match kind {
                0 | 2 => Storage::Zeros,
                1 => Storage::Raw,
                0x7FFF_FFFE => continue,
                0xFFFF_FFFF => break,
                other => Storage::Compressed(method(other)?),
            };
            let outside = || Error::damaged(NAME, place, "a run is outside of the disk or of the file");
            run.start = run.start.checked_add(first).ok_or_else(outside)?;
            run.offset = run
                .offset
                .checked_add(base)
                .and_then(|at| at.checked_add(self.data.0))
                .ok_or_else(outside)?;
            self.push(run).ok_or_else(outside)?;
        }
        Ok(())
    }

    /// Adds a run that lies within the disk and the file.
    fn push(&mut self, run: Run) -> Option<()> {
        let end = run.start.checked_add(run.sectors)?;
        let bytes = run.sectors.checked_mul(SECTOR)?;
        let is_stored =
            |length: u64| run.offset.checked_add(length).is_some_and(|end| end <= self.file.length());
        let is_sound = match run.storage {
            Storage::Zeros => true,
            Storage::Raw => run.length >= bytes && is_stored(bytes),
            Storage::Compressed(_) => bytes <= MAX_RUN && run.length <= MAX_RUN && is_stored(run.length),
        };
        if end > self.size / SECTOR || !is_sound || self.runs.len() >= MAX_RUNS {
            return None;
        }
        if run.sectors > 0 {
            self.runs.push(run);
        }
        Some(())
    }

    fn sort(&mut self) -> Result<()> {
        self.runs.sort_by_key(|run| run.start);
        match self.runs.windows(2).find(|pair| pair[0].start + pair[0].sectors > pair[1].start) {
            Some(pair) => {
                let problem = format!("sector {} is in two runs", pair[1].start);
                Err(Error::damaged("tables of blocks of the disk image", 0, problem))
            }
            None => Ok(()),
        }
    }

    /// The container and its compressions, for people.
    pub(super) fn format(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for run in &self.runs {
            if let Storage::Compressed(method) = run.storage
                && !names.contains(&method.name())
            {
                names.push(method.name());
            }
        }
        match names.is_empty() {
            true => "UDIF".into(),
            false => format!("UDIF ({})", names.join(", ")),
        }
    }

    /// The decompressed bytes of a run.
    fn run(&self, index: usize, method: Method) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.decompressed.get(&index) {
            return Ok(bytes);
        }
        let run = &self.runs[index];
        let stored = read_vec(self.file.as_ref(), run.offset, run.length as usize)?;
        let mut bytes = vec![0; (run.sectors * SECTOR) as usize];
        let structure = || format!("run of sector {} of the disk image", run.start);
        let count = method.decompress(&stored, &mut bytes);
        let count = count.map_err(|error| Error::damaged(structure(), run.offset, error.0))?;
        if count != bytes.len() {
            return Err(Error::damaged(
                structure(),
                run.offset,
                format!("it has {count} bytes decompressed"),
            ));
        }
        let bytes: Arc<[u8]> = bytes.into();
        self.decompressed.insert(index, bytes.clone(), bytes.len());
        Ok(bytes)
    }

    /// Compares the checksum of the data fork, and decompresses each run.
    pub(super) fn check(&self, steps: &mut Steps<'_>) -> Result<()> {
        const STEP: usize = 1 << 20;
        let (offset, length) = self.data;
        if steps.begin(0, "checksum of the disk image", length) {
            let (mut crc, mut done) = (flate2::Crc::new(), 0);
            while done < length && self.checksum.is_some() {
                let piece =
                    read_vec(self.file.as_ref(), offset + done, (length - done).min(STEP as u64) as usize)?;
                crc.update(&piece);
                done += piece.len() as u64;
                if !steps.at(done) {
                    return Ok(());
                }
            }
            if self.checksum.is_some_and(|checksum| checksum != crc.sum()) {
                let problem = "its CRC-32 is another one than the trailer says";
                steps.problem(Problem::new("data of the disk image", Some(offset), problem));
            }
        }
        if steps.begin(1, "runs of the disk image", self.runs.len() as u64) {
            for (index, run) in self.runs.iter().enumerate() {
                if let Storage::Compressed(method) = run.storage
                    && let Err(Error::Damaged { structure, place, problem }) = self.run(index, method)
                {
                    steps.problem(Problem::new(structure, Some(place), problem));
                }
                if !steps.at(index as u64 + 1) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn method(kind: u32) -> Result<Method> {
    Ok(match kind {
        0x8000_0004 => Method::Adc,
        0x8000_0005 => Method::Zlib,
        0x8000_0006 => Method::Bzip2,
        0x8000_0007 => Method::Lzfse,
        0x8000_0008 => Method::Xz,
        other => return Err(Error::NotSupported(format!("a disk image with runs of type {other:#x}"))),
    })
}

impl ReadAt for Udif {
    fn length(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        check_range("disk image", self.size, offset, buffer.len())?;
        let (mut at, mut left) = (offset, buffer);
        while !left.is_empty() {
            let sector = at / SECTOR;
            let next = self.runs.partition_point(|run| run.start <= sector);
            let run = next.checked_sub(1).map(|index| (index, &self.runs[index]));
            let run = run.filter(|(_, run)| sector < run.start + run.sectors);
            // What no run has reads as zeros.
            let end = match run {
                Some((_, run)) => (run.start + run.sectors) * SECTOR,
                None => self.runs.get(next).map_or(self.size, |run| run.start * SECTOR),
            };
            let count = left.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let (piece, rest) = left.split_at_mut(count);
            match run {
                Some((index, Run { storage: Storage::Compressed(method), start, .. })) => {
                    let bytes = self.run(index, *method)?;
                    let inside = (at - start * SECTOR) as usize;
                    piece.copy_from_slice(&bytes[inside..inside + count]);
                }
                Some((_, Run { storage: Storage::Raw, start, offset, .. })) => {
                    self.file.read_at(offset + (at - start * SECTOR), piece)?;
                }
                _ => piece.fill(0),
            }
            at += count as u64;
            left = rest;
        }
        Ok(())
    }
}
