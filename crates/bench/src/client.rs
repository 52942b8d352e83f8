//! A client: a thread with a session and a folder of its own. It waits for orders, measures, and removes
//! what it made, also after a failure, with a new session if the old one is over.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Instant;

use conn::PieceWaitCounts;

use crate::meter::{Meter, MeterReading};
use crate::pattern::{BytePattern, Random};
use crate::plan::{Cell, Plan};
use crate::workload::{CreatedEntry, Worker};
use crate::{Error, Result, machine};
use client::Connector;

/// Orders to a client.
pub(crate) struct StartOrder {
    pub(crate) at: Instant,
    pub(crate) deadline: Instant,
}

/// What a client says.
pub(crate) enum ClientMessage {
    Ready(String),
    Done(Box<ClientMeasurement>),
    Failed(Error),
    /// What it could not remove. The last that it says.
    Left(Vec<String>),
}

/// What a client measured.
pub(crate) struct ClientMeasurement {
    pub(crate) ended: Instant,
    pub(crate) measured: MeterReading,
    pub(crate) cpu: f64,
    pub(crate) wire: u64,
    pub(crate) pieces: PieceWaitCounts,
}

/// A client's thread.
pub(crate) struct Client<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) pattern: &'a BytePattern,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) cell: Cell,
    pub(crate) connector: &'a Connector,
    pub(crate) client: usize,
    /// The server is on this machine.
    pub(crate) is_beside_server: bool,
    pub(crate) folder: String,
}

impl Client<'_> {
    pub(crate) fn work(&self, say: &Sender<ClientMessage>, ordered: &Receiver<StartOrder>) {
        if self.cell.clients == 1 && self.is_beside_server {
            machine::stay_on_one_processor();
        }
        // The coordinator listens until all clients are gone: a send does not fail.
        let mut worker = match self.worker() {
            Ok(worker) => worker,
            Err(error) => {
                let _ = say.send(ClientMessage::Failed(error));
                return;
            }
        };
        match self.prepare(&mut worker) {
            Ok(agreed) => drop(say.send(ClientMessage::Ready(agreed))),
            Err(error) => {
                abandon(&mut worker, &error);
                drop(say.send(ClientMessage::Failed(error)));
            }
        }
        let prepared = worker.made.len();
        for go in ordered {
            let measured = self.measure(&mut worker, &go);
            let is_over = measured.is_err();
            if let Err(error) = &measured {
                abandon(&mut worker, error);
            }
            let cleaned = if is_over { Ok(()) } else { clean_to(&mut worker, prepared) };
            let _ = say.send(match (measured, cleaned) {
                (Ok(done), Ok(())) => ClientMessage::Done(Box::new(done)),
                (Err(error), _) | (_, Err(error)) => ClientMessage::Failed(error),
            });
            if is_over {
                break;
            }
        }
        let _ = say.send(ClientMessage::Left(self.clean(worker)));
    }

    fn worker(&self) -> Result<Worker<'_>> {
        let plan = self.plan;
        Ok(Worker {
            session: self.connector.connect(self.client)?,
            folder: self.folder.clone(),
            client: self.client,
            clients: self.cell.clients,
            scale: plan.scale,
            depth: plan.depth,
            durability: self.cell.durability,
            pattern: self.pattern,
            random: Random::new(plan.seed ^ self.client as u64),
            bytes: 0,
            images: &plan.images,
            made: Vec::new(),
        })
    }

    fn prepare(&self, worker: &mut Worker<'_>) -> Result<String> {
        if let Some(lacking) = self.cell.workload.lacks(worker.session.abilities()) {
            return Err(Error::Unsupported(lacking));
        }
        if worker.session.abilities().files {
            worker.session.make_folder(&self.folder)?;
            worker.made.push(CreatedEntry::Folder(self.folder.clone()));
        }
        self.cell.workload.prepare(worker)?;
        Ok(worker.session.agreed())
    }

    fn measure(&self, worker: &mut Worker<'_>, go: &StartOrder) -> Result<ClientMeasurement> {
        worker.random = Random::new(self.plan.seed ^ worker.client as u64);
        if let Some(wait) = go.at.checked_duration_since(Instant::now()) {
            thread::sleep(wait);
        }
        let (cpu, before) = (machine::thread_cpu(), worker.session.traffic());
        let mut meter = Meter::new(go.deadline, self.stop);
        self.cell.workload.run(worker, &mut meter)?;
        let ended = Instant::now();
        let cpu = machine::thread_cpu() - cpu;
        let after = worker.session.traffic();
        let wire = after.sent + after.received - before.sent - before.received;
        let pieces = after.pieces.since(&before.pieces);
        Ok(ClientMeasurement { ended, measured: meter.end(), cpu, wire, pieces })
    }

    /// Removes what the client made. Returns what is left.
    fn clean(&self, mut worker: Worker<'_>) -> Vec<String> {
        if worker.clean().is_err() {
            // The session may be over, or have transfers in flight.
            if let Ok(session) = self.connector.connect(self.client) {
                worker.session = session;
                let _ = worker.clean();
            }
        }
        let name = |made: CreatedEntry| match made {
            CreatedEntry::Folder(path) | CreatedEntry::File(path) => path,
        };
        worker.made.into_iter().map(name).collect()
    }
}

/// Closes all files after a failure, if the session lives.
fn abandon(worker: &mut Worker<'_>, error: &Error) {
    if !error.ends_session() {
        worker.session.abandon();
    }
}

/// Removes what was made after the preparation.
fn clean_to(worker: &mut Worker<'_>, prepared: usize) -> Result<()> {
    let kept: Vec<CreatedEntry> = worker.made.drain(..prepared).collect();
    let cleaned = worker.clean();
    worker.made.splice(0..0, kept);
    cleaned
}
