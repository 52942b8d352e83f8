//! One command and its context.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use conn::observe::RunningOperation;
use conn::{Allowance, InFlight};
use vfs::{Actor, Caller, Holder};
use wire::Reader;

use super::config::Version;
use super::transport::Transport;
use crate::server::files::fork::{ClientFork, EarlyForkWrite};
use crate::server::sessions::session::Session;
use crate::server::volumes::open_volume::OpenVolume;
use crate::wire::ResultCode;

/// A command of a session.
pub(super) struct Request {
    /// The sender's session.
    pub(super) session: Arc<Session>,
    /// How it came.
    pub(super) transport: Transport,
    /// The client's memory allowance.
    pub(super) memory: Arc<Allowance>,
    pub(super) in_flight: InFlight,
    /// Its number.
    pub(super) command: u8,
    /// The bytes after the number.
    pub(super) body: Bytes,
    /// The data of a DSI write.
    pub(super) data: Bytes,
    /// The part of them that is written already.
    pub(super) early: Option<EarlyForkWrite>,
    /// When it began, if it is observed.
    pub(super) begun: Option<RunningOperation>,
    /// The volume that it concerns, if it is observed.
    pub(super) concerns: OnceLock<Arc<OpenVolume>>,
    /// The identity that it acts with in its volume, once that is known.
    pub(super) acting: OnceLock<Caller>,
}

impl Request {
    /// A reader of the bytes after the command's number.
    pub(super) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.body)
    }

    /// The volume with this number, if the session has it open.
    pub(super) fn volume(&self, id: u16) -> Result<Arc<OpenVolume>, ResultCode> {
        let volume = self.session.volumes.find(id).ok_or(ResultCode::PARAM_ERROR)?;
        self.note(&volume);
        self.act_in(&volume)?;
        Ok(volume)
    }

    /// From now on the command acts as the volume says. In two volumes it can only act as the same user.
    fn act_in(&self, volume: &OpenVolume) -> Result<(), ResultCode> {
        let caller = volume.tree().acting(self.session.user.caller.clone());
        match *self.acting.get_or_init(|| caller.clone()) == caller {
            true => Ok(()),
            false => Err(ResultCode::ACCESS_DENIED),
        }
    }

    /// Notes which volume the command concerns.
    pub(super) fn note(&self, volume: &Arc<OpenVolume>) {
        if self.begun.is_some() {
            let _ = self.concerns.set(volume.clone()); // of two volumes the first one counts
        }
    }

    /// The open fork with this number. The rest of the command is about its file.
    pub(super) async fn fork(&self, number: u16) -> Result<Arc<ClientFork>, ResultCode> {
        let fork = self.session.forks.find(number)?;
        self.note(&fork.volume);
        self.act_in(&fork.volume)?;
        self.in_flight.about(&fork.file()).await;
        Ok(fork)
    }

    /// The identity that the command runs with.
    pub(super) fn caller(&self) -> &Caller {
        self.acting.get().unwrap_or(&self.session.user.caller)
    }

    /// The caller as the owner of locks and leases.
    pub(super) fn actor(&self) -> Actor {
        Actor { caller: self.caller().clone(), ..self.session.actor() }
    }

    /// The actor of a command that opens files, which are counted with others of the client.
    pub(super) fn opener(&self) -> Actor {
        let (user, connection) = (&self.session.user, self.session.connection());
        let holder = connection.map(|connection| {
            let address = connection.peer.address.ip();
            match user.name {
                Some(_) => Holder::user(address, user.caller.uid),
                None => Holder::guest(address),
            }
        });
        self.actor().held_by(holder)
    }

    /// The client's version of the protocol.
    pub(super) fn version(&self) -> Version {
        self.session.version
    }
}
