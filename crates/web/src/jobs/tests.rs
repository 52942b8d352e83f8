use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Far more than a thread takes to notice something.
const LONG: Duration = Duration::from_secs(20);

/// A job that ends when the sender says how.
fn waiting(key: &str) -> (NewJob, Sender<Result<Value, Vec<String>>>) {
    let (send, receive): (_, Receiver<Result<Value, Vec<String>>>) = channel();
    let work: Work = Box::new(move |handle| {
        loop {
            match receive.recv_timeout(Duration::from_millis(2)) {
                Ok(outcome) => return outcome,
                Err(_) if handle.progress(1, 4) => handle.doing("waiting"),
                Err(_) => return Err(vec!["it was cancelled".into()]),
            }
        }
    });
    (NewJob { kind: "names", what: format!("wait for {key}"), unit: "names", key: key.into(), work }, send)
}

fn until(jobs: &Jobs, id: u64, state: JobState) -> JobDetail {
    let until = Instant::now() + LONG;
    loop {
        let found = jobs.find(id, 0).unwrap();
        if found.job.state == state && (state != JobState::Running || found.job.done > 0) {
            return found;
        }
        assert!(Instant::now() < until, "{found:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_job_tells_its_progress_and_its_end() {
    let jobs = Jobs::default();
    let (job, end) = waiting("one");
    let id = jobs.start(job, "ada").unwrap().id;
    let now = until(&jobs, id, JobState::Running);
    assert_eq!((now.job.done, now.job.total, now.job.by.as_str()), (1, 4, "ada"));
    end.send(Ok(serde_json::json!({ "found": 3 }))).unwrap();
    let ended = until(&jobs, id, JobState::Done);
    assert_eq!(ended.result, Some(serde_json::json!({ "found": 3 })));
    assert_eq!(jobs.cancel(id), Some(false), "it has ended");
    assert_eq!(jobs.cancel(id + 1), None);
}

#[test]
fn a_failure_and_a_panic_are_told_and_a_cancelled_job_ends() {
    let jobs = Jobs::default();
    let (job, end) = waiting("one");
    let failed = jobs.start(job, "ada").unwrap().id;
    end.send(Err(vec!["the disk is full".into()])).unwrap();
    assert_eq!(until(&jobs, failed, JobState::Failed).lines, ["the disk is full"]);
    let (job, _end) = waiting("two");
    let cancelled = jobs.start(job, "ada").unwrap().id;
    assert_eq!(jobs.cancel(cancelled), Some(true));
    assert_eq!(until(&jobs, cancelled, JobState::Cancelled).lines, ["it was cancelled"]);
    let work: Work = Box::new(|_| panic!("a test of a panic"));
    let job = NewJob { kind: "names", what: "panic".into(), unit: "", key: "three".into(), work };
    let panicked = jobs.start(job, "ada").unwrap().id;
    assert!(until(&jobs, panicked, JobState::Failed).lines[0].contains("error of the program"));
}

#[test]
fn jobs_and_their_lines_are_limited_and_a_key_runs_once() {
    let jobs = Jobs::default();
    let mut ends = Vec::new();
    for key in 0..MOST_RUNNING {
        let (job, end) = waiting(&key.to_string());
        ends.push((jobs.start(job, "ada").unwrap().id, end));
        let again = jobs.start(waiting(&key.to_string()).0, "ada").unwrap_err();
        assert!(again[0].contains("runs already"), "{again:?}");
    }
    assert!(jobs.start(waiting("more").0, "ada").unwrap_err()[0].contains("4 jobs run"));
    assert!(jobs.is_busy());
    jobs.cancel_all();
    for (id, _) in &ends {
        until(&jobs, *id, JobState::Cancelled);
    }
    assert!(!jobs.is_busy());
    for number in 0..MOST_KEPT + 3 {
        let work: Work = Box::new(|handle| {
            (0..MOST_LINES + 2).for_each(|number| handle.say(&format!("{number} {}", "x".repeat(1000))));
            Ok(Value::Null)
        });
        let job = NewJob { kind: "names", what: String::new(), unit: "", key: number.to_string(), work };
        let id = jobs.start(job, "ada").unwrap().id;
        let ended = until(&jobs, id, JobState::Done);
        assert_eq!((ended.lines.len(), ended.last), (MOST_LINES, MOST_LINES as u64 + 2));
        assert!(ended.lines.iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(jobs.find(id, ended.last - 1).unwrap().lines.len(), 1);
    }
    assert_eq!(jobs.all().len(), MOST_KEPT);
    assert!(jobs.all().windows(2).all(|two| two[0].id > two[1].id));
}

#[test]
fn the_rest_takes_as_long_as_what_is_done() {
    assert_eq!(left(100, 400, Duration::from_secs(10)), Some(30));
    assert_eq!(left(500, 400, Duration::from_secs(10)), Some(0));
    assert_eq!(left(0, 400, Duration::from_secs(10)), None);
    assert_eq!(left(5, 0, Duration::from_secs(10)), None);
    assert_eq!(left(5, 10, Duration::from_secs(1)), None);
}
