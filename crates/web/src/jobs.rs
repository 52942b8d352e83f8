//! Long jobs: they go on after the request that has started them, tell their progress, and can be cancelled.
//!
//! What a job does is [`crate::Manage::job`]'s; the table of jobs, their threads and their history are here.

pub(crate) mod requests;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lock::Mutex;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::Events;
use crate::ranks;

pub use self::requests::{BenchRequest, BenchmarkStatus, ConversionStatus, JobRequest};

/// Jobs that run at the same time.
const MOST_RUNNING: usize = 4;
/// Jobs that are remembered, with those that run.
const MOST_KEPT: usize = 50;
/// Lines that are kept of a job: the newest.
const MOST_LINES: usize = 500;
/// Characters of a line, or of a job's description.
const LONGEST_LINE: usize = 500;
/// The longest result of a job in bytes, as JSON.
const LONGEST_RESULT: usize = 1 << 20;
/// The stack of a job's thread in bytes: a tree of files may be deep. Only what is used of it is memory.
const STACK: usize = 8 << 20;
/// How often listeners are told of a job's progress.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// The time that is left is told after so long.
const ESTIMATE_AFTER: Duration = Duration::from_secs(2);

/// How a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It runs.
    Running,
    /// It has done all.
    Done,
    /// It has ended early; its lines say why.
    Failed,
    /// It has ended because it was cancelled.
    Cancelled,
}

/// A job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JobStatus {
    /// Its number since the server started.
    pub id: u64,
    /// `names`, `names-undo`, `adopt`, `convert`, `convert-undo`, `scrub`, `restore`, `clone-lun`, `replicate`, `bench`, or for rights
    /// `set-rights`, `reset-rights`, `undo-rights`, `check-rights`.
    pub kind: &'static str,
    /// What it does, in words.
    pub what: String,
    /// The account or the token that started it.
    pub by: String,
    /// How it is.
    pub state: JobState,
    /// Seconds since 1970.
    pub started: u64,
    /// Seconds for which it has run.
    pub seconds: u64,
    /// What it is doing now; empty: that is not known.
    pub doing: String,
    /// How much is done, in the unit of the job,
    pub done: u64,
    /// and how much there is; 0: that is not known.
    pub total: u64,
    /// `bytes`, `files`, `names` or `runs`.
    pub unit: &'static str,
    /// Seconds that the rest will take, if it goes on as fast.
    pub seconds_left: Option<u64>,
    /// It was told to end.
    pub cancelling: bool,
}

/// A job with what it has said.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobDetail {
    /// How it is.
    pub job: JobStatus,
    /// Its lines: the newest 500, or those after the number that was asked for.
    pub lines: Vec<String>,
    /// The number of its last line.
    pub last: u64,
    /// What it has found; its form depends on the kind.
    pub result: Option<Value>,
}

/// What a job does. It ends soon after its handle says that it is cancelled. The lines of an error say why, and what to do.
pub type Work = Box<dyn FnOnce(&JobHandle) -> Result<Value, Vec<String>> + Send>;

/// A job that can be started.
pub struct NewJob {
    /// As in [`JobStatus`].
    pub kind: &'static str,
    /// As in [`JobStatus`].
    pub what: String,
    /// As in [`JobStatus`].
    pub unit: &'static str,
    /// Jobs with the same key do not run at the same time.
    pub key: String,
    /// What it does.
    pub work: Work,
}

impl std::fmt::Debug for NewJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewJob({}: {})", self.kind, self.what)
    }
}

/// All jobs of a server. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Jobs {
    table: Arc<Mutex<JobTable, ranks::ApiJobs>>,
    events: Events,
}

#[derive(Debug, Default)]
struct JobTable {
    last: u64,
    jobs: VecDeque<Job>,
}

#[derive(Debug)]
struct Job {
    status: JobStatus,
    key: String,
    begun: Instant,
    ended: Option<Duration>,
    told: Instant,
    cancelled: Arc<AtomicBool>,
    lines: VecDeque<String>,
    last_line: u64,
    result: Option<Value>,
}

impl Job {
    fn status(&self) -> JobStatus {
        let ran = self.ended.unwrap_or_else(|| self.begun.elapsed());
        let mut status = self.status.clone();
        status.seconds = ran.as_secs();
        status.cancelling = status.state == JobState::Running && self.cancelled.load(Ordering::Relaxed);
        status.seconds_left = match status.state {
            JobState::Running => left(status.done, status.total, ran),
            _ => None,
        };
        status
    }

    fn say(&mut self, line: &str) {
        if self.lines.len() >= MOST_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(shortened(line));
        self.last_line += 1;
    }

    fn is_running(&self) -> bool {
        self.status.state == JobState::Running
    }
}

/// The seconds until the end, if the rest goes as fast as what is done.
fn left(done: u64, total: u64, ran: Duration) -> Option<u64> {
    if done == 0 || total == 0 || ran < ESTIMATE_AFTER {
        return None;
    }
    let rest = total.saturating_sub(done) as f64 / done as f64;
    Some((ran.as_secs_f64() * rest).min(1e9) as u64)
}

fn shortened(line: &str) -> String {
    line.chars().take(LONGEST_LINE).collect()
}

/// What a job uses to tell how far it is.
#[derive(Debug)]
pub struct JobHandle {
    jobs: Jobs,
    id: u64,
    cancelled: Arc<AtomicBool>,
}

impl JobHandle {
    /// The number of the job.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Tells how much is done, in the unit of the job; a `total` of 0 is not known. False: the job is to end.
    pub fn progress(&self, done: u64, total: u64) -> bool {
        self.jobs.change(self.id, |job| (job.status.done, job.status.total) = (done, total));
        !self.is_cancelled()
    }

    /// Tells what the job is doing.
    pub fn doing(&self, what: &str) {
        self.jobs.change(self.id, |job| job.status.doing = shortened(what));
    }

    /// Keeps a line.
    pub fn say(&self, line: &str) {
        self.jobs.change(self.id, |job| job.say(line));
    }

    /// Whether the job is to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Jobs {
    /// No jobs yet. Listeners to these events are told of them.
    #[must_use]
    pub fn new(events: Events) -> Self {
        Self { table: Arc::default(), events }
    }

    /// Starts a job on a thread of its own.
    ///
    /// # Errors
    /// Too many run, or one with the same key; the lines say which.
    pub fn start(&self, new: NewJob, by: &str) -> Result<JobStatus, Vec<String>> {
        let NewJob { kind, what, unit, key, work } = new;
        let cancelled = Arc::new(AtomicBool::new(false));
        let status = {
            let mut table = self.table.lock();
            table.make_room(&key)?;
            table.last += 1;
            let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let status = JobStatus {
                id: table.last,
                kind,
                what: shortened(&what),
                by: shortened(by),
                state: JobState::Running,
                started,
                seconds: 0,
                doing: String::new(),
                done: 0,
                total: 0,
                unit,
                seconds_left: None,
                cancelling: false,
            };
            let now = Instant::now();
            table.jobs.push_back(Job {
                status: status.clone(),
                key,
                begun: now,
                ended: None,
                told: now,
                cancelled: cancelled.clone(),
                lines: VecDeque::new(),
                last_line: 0,
                result: None,
            });
            status
        };
        tracing::info!(job = status.id, %by, "started: {}", status.what);
        self.events.tell("jobs", &status);
        let handle = JobHandle { jobs: self.clone(), id: status.id, cancelled };
        // Some work waits for tasks, as requests do.
        let runtime = tokio::runtime::Handle::try_current().ok();
        let run = move || {
            let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
            let done = catch_unwind(AssertUnwindSafe(|| work(&handle)));
            let failed =
                |_| Err(vec!["the job ended by an error of the program; the server's log has more".into()]);
            handle.jobs.end(handle.id, done.unwrap_or_else(failed));
        };
        if let Err(error) =
            std::thread::Builder::new().name(format!("job {}", status.id)).stack_size(STACK).spawn(run)
        {
            self.end(status.id, Err(vec![format!("no thread can be started: {error}")]));
        }
        Ok(status)
    }

    fn end(&self, id: u64, done: Result<Value, Vec<String>>) {
        self.change(id, |job| {
            job.ended = Some(job.begun.elapsed());
            job.status.doing.clear();
            job.status.state = match (&done, job.cancelled.load(Ordering::Relaxed)) {
                (Ok(_), _) => JobState::Done,
                (Err(_), true) => JobState::Cancelled,
                (Err(_), false) => JobState::Failed,
            };
            match done {
                Ok(result) if result.to_string().len() > LONGEST_RESULT => {
                    job.say("the result is too long to be kept")
                }
                Ok(result) => job.result = (!result.is_null()).then_some(result),
                Err(lines) => lines.iter().for_each(|line| job.say(line)),
            }
            let (status, why) = (&job.status, job.lines.back().cloned().unwrap_or_default());
            match status.state {
                JobState::Failed => tracing::warn!(job = id, "failed: {}: {why}", status.what),
                JobState::Cancelled => tracing::info!(job = id, "cancelled: {}", status.what),
                _ => tracing::info!(job = id, "done: {}", status.what),
            }
        });
    }

    /// Changes a job, and tells listeners at the end, or if it is a while since they were told.
    fn change(&self, id: u64, change: impl FnOnce(&mut Job)) {
        let told = {
            let mut table = self.table.lock();
            let Some(job) = table.jobs.iter_mut().find(|job| job.status.id == id) else { return };
            change(job);
            if job.is_running() && job.told.elapsed() < TELL_EVERY {
                return;
            }
            job.told = Instant::now();
            job.status()
        };
        self.events.tell("jobs", &told);
    }

    /// All jobs that are remembered, the newest first.
    #[must_use]
    pub fn all(&self) -> Vec<JobStatus> {
        self.table.lock().jobs.iter().rev().map(Job::status).collect()
    }

    /// A job, with its lines after a number.
    #[must_use]
    pub fn find(&self, id: u64, after: u64) -> Option<JobDetail> {
        let table = self.table.lock();
        let job = table.jobs.iter().find(|job| job.status.id == id)?;
        let wanted = job.last_line.saturating_sub(after).min(job.lines.len() as u64) as usize;
        Some(JobDetail {
            job: job.status(),
            lines: job.lines.iter().skip(job.lines.len() - wanted).cloned().collect(),
            last: job.last_line,
            result: job.result.clone(),
        })
    }

    /// Tells a job to end. `None`: there is no such job; false: it has ended already.
    #[must_use]
    pub fn cancel(&self, id: u64) -> Option<bool> {
        let table = self.table.lock();
        let job = table.jobs.iter().find(|job| job.status.id == id)?;
        job.cancelled.store(true, Ordering::Relaxed);
        Some(job.is_running())
    }

    /// Tells all jobs to end.
    pub(crate) fn cancel_all(&self) {
        self.table.lock().jobs.iter().for_each(|job| job.cancelled.store(true, Ordering::Relaxed));
    }

    /// Whether a job runs.
    pub(crate) fn is_busy(&self) -> bool {
        self.table.lock().jobs.iter().any(Job::is_running)
    }
}

impl JobTable {
    /// Forgets the oldest job that has ended, if the table is full.
    fn make_room(&mut self, key: &str) -> Result<(), Vec<String>> {
        let running: Vec<&Job> = self.jobs.iter().filter(|job| job.is_running()).collect();
        if let Some(job) = running.iter().find(|job| job.key == key) {
            let (id, what) = (job.status.id, &job.status.what);
            return Err(vec![format!("job {id} runs already: {what}; wait for its end, or cancel it")]);
        }
        if running.len() >= MOST_RUNNING {
            return Err(vec![format!(
                "{MOST_RUNNING} jobs run already; wait for the end of one, or cancel one"
            )]);
        }
        while self.jobs.len() >= MOST_KEPT {
            let Some(ended) = self.jobs.iter().position(|job| !job.is_running()) else { break };
            self.jobs.remove(ended);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
