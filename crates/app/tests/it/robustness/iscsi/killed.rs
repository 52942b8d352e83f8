//! `kill -9` under load: every answered write with FUA, or before an answered flush, survives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ::iscsi::client::{Data, Error, command_16};

use super::client::{Iscsi, enter, try_enter};
use crate::robustness::random::Random;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

const WRITERS: u64 = 3;
const KILLS: u32 = 20;
/// Each writer's part of the disk, in chunks of 8 blocks.
const CHUNKS: u64 = 512;
const CHUNK: usize = 4096;
/// Chunks between two flushes, all in flight at once.
const BATCH: u64 = 8;

/// The possible contents of a chunk: the promised ones, and all that were written since.
#[derive(Clone, Default)]
struct Chunk {
    promised: u32,
    written: Vec<u32>,
}

fn content(writer: u64, chunk: u64, mark: u32) -> Vec<u8> {
    let mut random = Random::new(writer << 48 | chunk << 32 | u64::from(mark));
    random.bytes(CHUNK)
}

/// A writer and the known state of its part.
struct Writer {
    number: u64,
    chunks: Vec<Chunk>,
    mark: u32,
}

impl Writer {
    fn lba(&self, chunk: u64) -> u64 {
        (self.number * CHUNKS + chunk) * (CHUNK as u64 / 512)
    }

    /// Writes until the connection breaks.
    fn work(&mut self, port: u16, done: &AtomicU32) {
        let Ok(mut client) = try_enter(port) else { return };
        let mut random = Random::new(u64::from(self.mark) + self.number);
        while self.batch(&mut client, &mut random).is_ok() {
            done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Some writes at once, each with FUA or followed by a flush of all.
    fn batch(&mut self, client: &mut Iscsi, random: &mut Random) -> Result<(), Error> {
        let force = random.below(2) == 0;
        let first = random.below((CHUNKS - BATCH) as usize) as u64;
        self.mark += 1;
        let (mark, flags) = (self.mark, if force { 0x08 } else { 0 });
        let mut tags = Vec::new();
        for chunk in first..first + BATCH {
            self.chunks[chunk as usize].written.push(mark);
            let data = content(self.number, chunk, mark);
            tags.push(client.begin(0, &command_16(0x8a, flags, self.lba(chunk), 8), Data::Out(&data))?);
        }
        for tag in tags {
            client.end(tag)?.well()?;
        }
        if !force {
            client.synchronize(0)?;
        }
        for chunk in &mut self.chunks[first as usize..(first + BATCH) as usize] {
            *chunk = Chunk { promised: mark, written: Vec::new() };
        }
        Ok(())
    }

    /// Every chunk has the promised contents, or those of a later write, completely or in part.
    fn verify(&mut self, client: &mut Iscsi) {
        for number in 0..CHUNKS {
            let read = client.read(0, self.lba(number), 8).unwrap();
            let chunk = &self.chunks[number as usize];
            let may: Vec<Vec<u8>> = [chunk.promised]
                .iter()
                .chain(&chunk.written)
                .map(|mark| if *mark == 0 { vec![0; CHUNK] } else { content(self.number, number, *mark) })
                .collect();
            for (block, bytes) in read.chunks(512).enumerate() {
                let at = block * 512;
                let is_one = may.iter().any(|whole| whole[at..at + 512] == *bytes);
                assert!(
                    is_one,
                    "writer {}, chunk {number}, block {block}: promised bytes differ",
                    self.number
                );
            }
            if chunk.written.is_empty() {
                assert!(read == may[0], "writer {}, chunk {number}: promised bytes differ", self.number);
            }
        }
    }
}

#[test]
fn twenty_kills_lose_nothing_that_was_flushed() {
    let (top, share) = folder();
    let mut server = Server::start_with_iscsi(top.path(), &share);
    let port = server.iscsi_port;
    let mut random = Random::new(0x5eed_0053);
    let chunks = vec![Chunk::default(); CHUNKS as usize];
    let mut writers: Vec<Writer> =
        (0..WRITERS).map(|number| Writer { number, chunks: chunks.clone(), mark: 0 }).collect();
    let mut batches = 0;
    for _ in 0..KILLS {
        let done = Arc::new(AtomicU32::new(0));
        let working: Vec<_> = writers
            .into_iter()
            .map(|mut writer| {
                let done = done.clone();
                std::thread::spawn(move || {
                    writer.work(port, &done);
                    writer
                })
            })
            .collect();
        let is_begun =
            || done.load(Ordering::Relaxed) >= 10 || working.iter().all(std::thread::JoinHandle::is_finished);
        until("nothing is written", is_begun);
        std::thread::sleep(Duration::from_millis(random.below(60) as u64)); // the moment of the kill
        server.kill();
        writers = working.into_iter().map(|thread| thread.join().unwrap()).collect();
        batches += done.load(Ordering::Relaxed);
        server = Server::start_with_iscsi_on(top.path(), &share, port);
        let mut client = enter(port);
        writers.iter_mut().for_each(|writer| writer.verify(&mut client));
    }
    println!("{KILLS} kills within {batches} batches: everything promised was there");
}
