//! Copies over a network that loses, doubles and overtakes packets: the bytes are right, and each command is executed once.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::network::{FAIR, FOUL, Happened, LOCALTALK, Network, Random, Weather};
use crate::asp::{Client, ClientEvent, Command, QUANTUM, Reply, ServerEvent};

/// A server of one file for each session: `w` and an offset write, `r` and an offset read a quantum. It answers after some time.
struct Files {
    files: Vec<Vec<u8>>,
    /// The commands that were executed for each session, in order.
    executed: Vec<Vec<(u8, u32)>>,
    writes: Vec<Option<Command>>,
    answers: VecDeque<(Instant, Command, Vec<u8>)>,
    random: Random,
    slowest_micros: u64,
}

impl Files {
    fn new(sessions: usize, seed: u64, slowest_micros: u64) -> Self {
        Self {
            files: vec![Vec::new(); sessions],
            executed: vec![Vec::new(); sessions],
            writes: vec![None; sessions],
            answers: VecDeque::new(),
            random: Random(seed),
            slowest_micros,
        }
    }

    fn handle(&mut self, network: &mut Network, event: ServerEvent) {
        match event {
            ServerEvent::Command(command) if command.is_write => {
                let at = usize::from(command.block[1]);
                network.server.write_continue(command.token, QUANTUM, network.now).unwrap();
                assert!(self.writes[at].replace(command).is_none(), "one command of a session at a time");
            }
            ServerEvent::Command(command) => {
                let (at, offset) = (usize::from(command.block[1]), offset(&command.block));
                self.executed[at].push((b'r', offset as u32));
                let file = &self.files[at];
                let data = file[offset.min(file.len())..file.len().min(offset + QUANTUM)].to_vec();
                self.answer_later(network.now, command, data);
            }
            ServerEvent::WriteData { token, data } => {
                let at =
                    self.writes.iter().position(|write| write.as_ref().is_some_and(|w| w.token == token));
                let at = at.expect("data of a write");
                let command = self.writes[at].take().unwrap();
                let offset = offset(&command.block);
                self.executed[at].push((b'w', offset as u32));
                let file = &mut self.files[at];
                assert_eq!(file.len(), offset, "writes in order");
                file.extend(data);
                self.answer_later(network.now, command, Vec::new());
            }
            ServerEvent::Closed { .. } => panic!("a session ended"),
            _ => {}
        }
    }

    fn answer_later(&mut self, now: Instant, command: Command, data: Vec<u8>) {
        let at = now + Duration::from_micros(self.random.below(self.slowest_micros + 1));
        self.answers.push_back((at, command, data));
        self.answers.make_contiguous().sort_by_key(|(at, ..)| *at);
    }

    fn answer(&mut self, network: &mut Network) {
        while let Some((_, command, data)) = self.answers.pop_front_if(|(at, ..)| *at <= network.now) {
            network.server.reply(command.token, data.len() as i32, data, network.now).unwrap();
        }
    }

    fn next(&self) -> Option<Instant> {
        self.answers.front().map(|(at, ..)| *at)
    }
}

fn offset(block: &[u8]) -> usize {
    u32::from_be_bytes(block[2..6].try_into().unwrap()) as usize
}

fn block(kind: u8, session: usize, offset: usize) -> Vec<u8> {
    [&[kind, session as u8][..], &(offset as u32).to_be_bytes()].concat()
}

/// What a workstation copies: writes it, then reads it back.
struct CopyJob {
    original: Vec<u8>,
    written: usize,
    back: Vec<u8>,
}

impl CopyJob {
    fn is_done(&self) -> bool {
        self.back.len() == self.original.len()
    }

    /// Which part of it is done.
    fn part(&self) -> f64 {
        (self.written + self.back.len()) as f64 / (2 * self.original.len()) as f64
    }

    fn next(&mut self, index: usize, client: &mut Client, now: Instant) {
        if self.written < self.original.len() {
            let end = self.original.len().min(self.written + QUANTUM);
            let data = self.original[self.written..end].to_vec();
            client.write(&block(b'w', index, self.written), data, 0, now).unwrap();
        } else if !self.is_done() {
            client.command(&block(b'r', index, self.back.len()), QUANTUM, now).unwrap();
        }
    }

    fn take(&mut self, reply: Reply) {
        assert!(!reply.is_cut);
        if self.written < self.original.len() {
            assert!(reply.written > 0);
            self.written += reply.written;
        } else {
            assert_eq!(reply.result, reply.data.len() as i32);
            self.back.extend(reply.data);
        }
    }
}

/// How it went when several workstations copied.
struct CopyRun {
    /// What it took on the simulated network.
    time: Duration,
    /// Which part the slowest workstation had done when the first one was ready.
    slowest: f64,
}

/// Copies a file of so many bytes for each of the clients, there and back. Returns the time that it took on the simulated network.
fn copy(sizes: &[usize], seed: u64, weather: Weather, slowest_micros: u64) -> Duration {
    copy_beside(sizes, seed, weather, slowest_micros).time
}

/// The same, and how fair it was.
fn copy_beside(sizes: &[usize], seed: u64, weather: Weather, slowest_micros: u64) -> CopyRun {
    let mut network = Network::new(sizes.len(), seed, FAIR);
    let mut files = Files::new(sizes.len(), seed, slowest_micros);
    network.open_all(); // opening has limited tries, and would fail in the worst weather
    network.weather = weather;
    let bytes = |random: &mut Random, size: usize| (0..size).map(|_| random.next() as u8).collect();
    let new =
        |size: &usize| CopyJob { original: bytes(&mut network.random, *size), written: 0, back: Vec::new() };
    let mut copies: Vec<CopyJob> = sizes.iter().map(new).collect();
    let start = network.now;
    let begin = |(index, copy): (usize, &mut CopyJob)| copy.next(index, &mut network.clients[index], start);
    copies.iter_mut().enumerate().for_each(begin);
    let end = start + Duration::from_secs(3_600);
    let mut slowest = None;
    while !copies.iter().all(CopyJob::is_done) {
        let mut happened = Happened::default();
        let until = files.next().unwrap_or(end);
        network.step(until, &mut happened);
        assert!(network.now < end, "it takes an hour");
        happened.at_server.into_iter().for_each(|event| files.handle(&mut network, event));
        files.answer(&mut network);
        for (index, event) in happened.at_clients {
            let ClientEvent::Reply(reply) = event else { panic!("{event:?}") };
            copies[index].take(reply);
            copies[index].next(index, &mut network.clients[index], network.now);
            if copies[index].is_done() {
                slowest.get_or_insert_with(|| copies.iter().map(CopyJob::part).fold(1.0, f64::min));
            }
        }
    }
    for (index, copy) in copies.iter().enumerate() {
        assert!(copy.back == copy.original && files.files[index] == copy.original);
        let offsets = |kind| (0..copy.original.len()).step_by(QUANTUM).map(move |at| (kind, at as u32));
        let expected: Vec<_> = offsets(b'w').chain(offsets(b'r')).collect();
        assert_eq!(files.executed[index], expected, "each command once, in order");
    }
    CopyRun { time: network.now - start, slowest: slowest.expect("one was ready first") }
}

#[test]
fn twenty_megabytes_are_right_on_a_foul_network() {
    copy(&[20_000_000], 42, FOUL, 2_000);
}

#[test]
fn several_sessions_copy_at_once() {
    copy(&[300_000, 1, 577, 578, 579, 4_624, 4_625, 200_000], 7, FOUL, 30_000);
}

#[test]
fn each_seed_of_weather_is_survived() {
    let half = Weather { lost: 500, doubled: 300, ..FOUL };
    for seed in 0..40 {
        copy(&[10_000, 5_000], seed, half, 100_000);
    }
}

#[test]
fn a_fair_network_takes_its_round_trips_only() {
    let time = copy(&[462_400], 1, FAIR, 0);
    // 100 writes of two round trips, 100 reads of one, of 2 milliseconds each.
    assert_eq!(time.as_millis(), 600);
}

#[test]
fn lost_packets_cost_a_part_of_the_time_only() {
    let (fair, foul) = (copy(&[1_000_000], 3, FAIR, 0), copy(&[1_000_000], 3, FOUL, 0));
    // A packet takes up to six times as long, and of a third of all transactions one of eight packets is lost.
    assert!(foul < fair * 40, "{foul:?}, without losses {fair:?}");
}

/// The share of a LocalTalk's bits that are data of files, when each of the clients copies so many bytes there and back.
fn data_on_localtalk(sizes: &[usize]) -> f64 {
    let time = copy(sizes, 11, LOCALTALK, 3_000).as_secs_f64();
    let bits = sizes.iter().sum::<usize>() * 2 * 8;
    bits as f64 / (time * 230_400.0)
}

#[test]
fn one_copy_fills_a_localtalk_to_85_percent() {
    let share = data_on_localtalk(&[462_400]);
    assert!(share > 0.85, "{share}");
}

#[test]
fn four_copies_at_once_fill_a_localtalk_too() {
    let share = data_on_localtalk(&[231_200; 4]);
    assert!(share > 0.85, "{share}");
}

#[test]
fn four_sessions_have_fair_parts_of_a_localtalk() {
    for seed in 0..10 {
        let run = copy_beside(&[231_200; 4], seed, LOCALTALK, 3_000);
        assert!(run.slowest > 0.9, "seed {seed}: {}", run.slowest);
    }
}

#[test]
fn four_sessions_have_fair_parts_of_a_foul_localtalk() {
    for seed in 0..2 {
        let run = copy_beside(&[924_800; 4], seed, Weather { lost: 50, ..LOCALTALK }, 3_000);
        assert!(run.slowest > 0.8, "seed {seed}: {}", run.slowest);
    }
}

#[test]
fn four_sessions_have_fair_parts_of_a_foul_network() {
    for seed in 0..2 {
        let run = copy_beside(&[1_849_600; 4], seed, FOUL, 3_000);
        assert!(run.slowest > 0.7, "seed {seed}: {}", run.slowest);
    }
}

#[test]
fn four_sessions_have_fair_parts_of_a_fast_network() {
    for seed in 0..10 {
        let run = copy_beside(&[462_400; 4], seed, FAIR, 3_000);
        assert!(run.slowest > 0.9, "seed {seed}: {}", run.slowest);
    }
}
