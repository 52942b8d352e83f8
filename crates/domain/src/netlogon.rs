//! Passwords of users of the domain, which a domain controller verifies over a secure channel (NTLM pass-through, MS-APDS 3.1.5).
//!
//! ```text
//! protocol ─► by_response, by_password ─► queue ─► thread "netlogon" ─► channel ─► domain controller
//!                 │ no controller: refused at once                │
//!                 └───────────◄──────────── health ◄──────────────┘ opened again every 10 s while it is away
//! ```
//!
//! One thread has the one channel, because its messages are numbered. It waits for the network; event loops wait for nothing but
//! its answer.

mod association;
mod channel;
mod keys;
mod refused;
mod response;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use auth::{Domain, DomainLogon, LoggedOn, LoggingOn, LogonRefused, MemberNames, NtlmResponse};
use tokio::sync::{oneshot, watch};

use self::channel::Channel;
use self::response::Fresh;
use crate::wire::netlogon::Validation;
use crate::{Error, Machine};

/// The most logins that wait for the thread.
const MOST_WAITING: usize = 64;
/// The longest response of a client that is sent on. Those of Windows have some hundred bytes.
const LONGEST_RESPONSE: usize = 2_048;
/// The longest name that is sent on, in bytes. Those of Active Directory have at most 256 letters.
const LONGEST_NAME: usize = 1_024;
/// How long a login waits for the controller. What waits longer is refused.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a controller that is away is tried again.
const TRY_EVERY: Duration = Duration::from_secs(10);

/// Whether passwords can be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The channel has not been opened yet.
    Starting,
    /// By this controller.
    Works(String),
    /// The reason.
    Away(String),
}

/// Asks a domain controller about logins. Its thread ends with it.
pub struct Logons {
    jobs: SyncSender<LogonJob>,
    names: MemberNames,
    health: watch::Receiver<Health>,
}

/// A login to be verified, and where the result goes.
struct LogonJob {
    response: NtlmResponse,
    since: Instant,
    done: oneshot::Sender<Result<LoggedOn, LogonRefused>>,
}

impl Logons {
    /// Opens a channel with the account of the state folder, in a thread of its own. Users that log in are known to `domain`.
    ///
    /// # Errors
    /// The server has not joined the domain, or the host has no thread left.
    pub fn new(state: &Path, domain: Arc<Domain>) -> Result<Self, Error> {
        let machine = Machine::read(state)?;
        if machine.domain != domain.options().name {
            return Err(Error::NotJoined);
        }
        let (jobs, received) = sync_channel(MOST_WAITING);
        let (health_now, health) = watch::channel(Health::Starting);
        let mut work = Work { state: state.into(), domain, channel: None, health: health_now };
        let thread = std::thread::Builder::new().name("netlogon".into()).spawn(move || work.run(&received));
        thread.map_err(|error| Error::Broken { host: "this machine".into(), why: error.to_string() })?;
        Ok(Self { jobs, names: names(&machine), health })
    }

    /// Whether it asks with this account.
    #[must_use]
    pub fn is_of(&self, machine: &Machine) -> bool {
        self.names == names(machine)
    }

    /// Whether passwords can be verified now.
    #[must_use]
    pub fn health(&self) -> Health {
        self.health.borrow().clone()
    }

    fn ask(&self, response: NtlmResponse) -> LoggingOn {
        let refuse = |why| -> LoggingOn { Box::pin(std::future::ready(Err(why))) };
        if let Health::Away(why) = &*self.health.borrow() {
            return refuse(LogonRefused::NoController(why.clone()));
        }
        let NtlmResponse { user, domain, workstation, nt, lm, .. } = &response;
        let is_long = [user, domain, workstation].iter().any(|name| name.len() > LONGEST_NAME)
            || [nt, lm].iter().any(|bytes| bytes.len() > LONGEST_RESPONSE);
        if is_long {
            return refuse(LogonRefused::Other("the response of the client is too long".into()));
        }
        let (done, result) = oneshot::channel();
        if self.jobs.try_send(LogonJob { response, since: Instant::now(), done }).is_err() {
            return refuse(LogonRefused::Busy);
        }
        Box::pin(async move {
            match tokio::time::timeout(TIMEOUT, result).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(LogonRefused::NoController("the server is stopping".into())),
                Err(_) => Err(LogonRefused::NoController(format!("no answer within {TIMEOUT:?}"))),
            }
        })
    }
}

impl DomainLogon for Logons {
    fn names(&self) -> MemberNames {
        self.names.clone()
    }

    fn by_response(&self, response: NtlmResponse) -> LoggingOn {
        self.ask(response)
    }

    fn by_password(&self, user: &str, password: &str) -> LoggingOn {
        let (mut challenge, mut of_client) = ([0; 8], [0; 8]);
        if getrandom::fill(&mut challenge).and_then(|()| getrandom::fill(&mut of_client)).is_err() {
            let why = LogonRefused::Other("the system gives no random numbers".into());
            return Box::pin(std::future::ready(Err(why)));
        }
        let fresh = Fresh { challenge, of_client, now: SystemTime::now() };
        self.ask(response::make(user, password, &self.names, &fresh))
    }
}

/// Opens a channel and closes it.
///
/// # Errors
/// Why there is no channel.
pub fn check(state: &Path) -> Result<String, String> {
    let machine = Machine::read(state).map_err(|error| error.to_string())?;
    Channel::open(&machine).map(|channel| channel.address.to_string())
}

fn names(machine: &Machine) -> MemberNames {
    MemberNames {
        computer: channel::computer(machine).to_owned(),
        host: machine.host.clone(),
        short: machine.short.clone(),
        domain: machine.domain.clone(),
    }
}

/// What the thread has.
struct Work {
    state: PathBuf,
    domain: Arc<Domain>,
    channel: Option<Channel>,
    health: watch::Sender<Health>,
}

impl Work {
    /// Runs until the sender of jobs is dropped.
    fn run(&mut self, jobs: &Receiver<LogonJob>) {
        _ = self.open();
        loop {
            match jobs.recv_timeout(TRY_EVERY) {
                Ok(job) => self.take(job),
                Err(RecvTimeoutError::Timeout) if self.channel.is_none() => _ = self.open(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn take(&mut self, job: LogonJob) {
        let is_late = job.since.elapsed() >= TIMEOUT;
        if job.done.is_closed() || is_late {
            return; // the client has gone, or was refused
        }
        let away = match &*self.health.borrow() {
            Health::Away(why) => Some(why.clone()), // since the job was sent
            _ => None,
        };
        let result = match away {
            Some(why) => Err(LogonRefused::NoController(why)),
            None => self.verify(&job),
        };
        _ = job.done.send(result);
    }

    fn verify(&mut self, job: &LogonJob) -> Result<LoggedOn, LogonRefused> {
        loop {
            let is_new = self.channel.is_none();
            let channel = match &mut self.channel {
                Some(channel) => channel,
                None => self.open().map_err(LogonRefused::NoController)?,
            };
            let why = match channel.logon(&job.response) {
                Ok(Ok(found)) => return self.enter(found),
                Ok(Err(status)) => return Err(refused::of(status)),
                Err(failure) => failure.to_string(),
            };
            let address = channel.address;
            self.channel = None;
            if is_new {
                return Err(LogonRefused::NoController(self.away(format!("{address}: {why}"))));
            }
            tracing::debug!(controller = %address, why, "the channel to the domain controller is opened again");
        }
    }

    fn enter(&self, found: Validation) -> Result<LoggedOn, LogonRefused> {
        let Validation { user, session_key: base_key } = found;
        let is_own =
            Machine::read(&self.state).is_ok_and(|machine| machine.short.eq_ignore_ascii_case(&user.domain));
        let realm = if is_own { self.domain.realm() } else { String::new() };
        let account = self.domain.enter(&realm, user);
        account
            .map(|account| LoggedOn { account, base_key })
            .map_err(|why| LogonRefused::Other(format!("it cannot be a user of this server: {why}")))
    }

    fn open(&mut self) -> Result<&mut Channel, String> {
        let opened = Machine::read(&self.state).map_err(|error| error.to_string());
        match opened.and_then(|machine| Channel::open(&machine)) {
            Ok(channel) => {
                self.tell(Health::Works(channel.address.to_string()));
                Ok(self.channel.insert(channel))
            }
            Err(why) => Err(self.away(why)),
        }
    }

    fn away(&self, why: String) -> String {
        self.tell(Health::Away(why.clone()));
        why
    }

    /// Logs a change, once.
    fn tell(&self, now: Health) {
        let before = self.health.send_replace(now.clone());
        match (before, now) {
            (Health::Works(before), Health::Works(now)) if before == now => {}
            (Health::Away(_), Health::Away(_)) => {}
            (_, Health::Works(controller)) => {
                tracing::info!(controller, "a domain controller verifies passwords of the domain's users")
            }
            (_, Health::Away(why)) => {
                tracing::warn!(
                    why,
                    "no domain controller verifies passwords of the domain's users: logins without Kerberos are refused"
                );
            }
            (_, Health::Starting) => {}
        }
    }
}
