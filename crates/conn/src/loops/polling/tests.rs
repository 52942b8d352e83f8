//! Simulated clients: each sends its next request a while after the reply to the last one.

use super::*;

/// What the simulated loop works on each request, in µs.
const WORK_US: f64 = 10.0;

/// A loop, and a machine that takes a while to wake its thread.
struct Scene {
    learner: PollLearner,
    waking: f64,
    /// Sums, in µs.
    elapsed: f64,
    polled: f64,
    vain: f64,
}

impl Scene {
    fn new(setting: Polling) -> Self {
        Self { learner: PollLearner::new(setting), waking: 40.0, elapsed: 0.0, polled: 0.0, vain: 0.0 }
    }

    /// One request that comes so long after the last reply. Says whether the loop had to be woken for it.
    fn wait(&mut self, gap: f64) -> bool {
        let limit = micros(self.learner.limit(false));
        let (polled, slept) = match limit {
            0.0 => (0.0, Some(gap + self.waking)),
            limit if gap <= limit => (gap, None),
            limit => (limit, Some(gap - limit + self.waking)),
        };
        self.elapsed += WORK_US + polled + slept.unwrap_or_default();
        self.polled += polled;
        self.vain += if slept.is_some() { polled } else { 0.0 };
        self.note(polled, slept);
        slept.is_some()
    }

    fn note(&mut self, polled: f64, slept: Option<f64>) {
        let time = |us: f64| Duration::from_nanos((us * 1000.0) as u64);
        let (busy, polled, slept) = (time(WORK_US), time(polled), slept.map(time));
        self.learner.note(EndedWait { busy, polled, slept, ..EndedWait::default() });
    }

    /// Requests of one kind. Returns in how many of them the loop was woken.
    fn waits(&mut self, count: usize, gap: f64) -> usize {
        (0..count).filter(|_| self.wait(gap)).count()
    }

    fn without_sums(self) -> Self {
        Self { elapsed: 0.0, polled: 0.0, vain: 0.0, ..self }
    }
}

#[test]
fn a_client_that_answers_at_once_is_polled_for() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(500, 8.0);
    assert_eq!(scene.waits(1000, 8.0), 0);
    assert_eq!(scene.vain, 0.0);
}

#[test]
fn a_client_in_a_virtual_machine_that_needs_25_us_is_polled_for() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(500, 25.0);
    assert_eq!(scene.waits(1000, 25.0), 0);
}

#[test]
fn thought_of_50_us_between_requests_changes_nothing() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(10_000, 50.0);
    let mut scene = scene.without_sums();
    scene.waits(100_000, 50.0);
    assert!(scene.polled < scene.elapsed * 0.005, "{} of {}", scene.polled, scene.elapsed);
    assert!(scene.learner.counts().limit.is_zero());
}

#[test]
fn an_idle_loop_never_polls() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(10_000, 8.0);
    let mut scene = scene.without_sums();
    scene.waits(100, 1e6);
    assert!(scene.vain < 100.0 * 60.0, "{}", scene.vain);
    let mut scene = scene.without_sums();
    scene.waits(10_000, 1e6);
    assert_eq!(scene.polled, 0.0);
}

#[test]
fn a_pause_in_quick_requests_costs_one_poll() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(1000, 8.0);
    let mut scene = scene.without_sums();
    scene.wait(1e6);
    assert!(scene.vain <= micros(LONGEST));
    assert_eq!(scene.waits(100, 8.0), 0, "it polls on afterwards");
}

#[test]
fn polling_in_vain_keeps_its_budget() {
    // Gaps that change as soon as they are learned.
    let patterns: [&[(usize, f64)]; 4] = [
        &[(20, 8.0), (20, 70.0)],
        &[(9, 5.0), (1, 100.0)],
        &[(300, 8.0), (40, 61.0)],
        &[(8, 10.0), (2, 65.0), (8, 1.0), (1, 500.0)],
    ];
    for setting in [Polling::Auto, Polling::UpTo(Duration::from_micros(60))] {
        for pattern in patterns {
            let mut scene = Scene::new(setting);
            while scene.elapsed < 1e6 {
                for (count, gap) in pattern {
                    scene.waits(*count, *gap);
                }
            }
            let most = scene.elapsed * VAIN_PART + SAVED_US;
            assert!(scene.vain <= most, "{pattern:?}: {} of {}", scene.vain, scene.elapsed);
            assert_eq!(scene.learner.counts().vain_time.as_micros() as f64, scene.vain.floor());
        }
    }
}

#[test]
fn a_client_that_becomes_quick_is_polled_for_soon() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(100_000, 50.0);
    scene.waits(200, 8.0);
    assert_eq!(scene.waits(100, 8.0), 0);
}

#[test]
fn a_client_that_becomes_slow_is_slept_for_soon() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(100_000, 8.0);
    scene.waits(100, 200.0);
    let mut scene = scene.without_sums();
    scene.waits(1000, 200.0);
    assert!(scene.polled < scene.elapsed * 0.01, "{} of {}", scene.polled, scene.elapsed);
}

#[test]
fn where_waking_is_quick_only_shorter_gaps_are_polled_for() {
    let mut scene = Scene { waking: 6.0, ..Scene::new(Polling::Auto) };
    scene.waits(100_000, 12.0);
    let mut scene = scene.without_sums();
    scene.waits(10_000, 12.0);
    assert!(scene.polled < scene.elapsed * 0.02, "{} of {}", scene.polled, scene.elapsed);
    scene.waits(5000, 1.0);
    assert_eq!(scene.waits(100, 1.0), 0);
}

#[test]
fn other_threads_that_need_the_processor_end_polling() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(1000, 8.0);
    let mut polls = 0;
    for _ in 0..1000 {
        match scene.learner.limit(false).is_zero() {
            true => scene.note(0.0, Some(60.0)),
            false => {
                polls += 1;
                scene.note(3000.0, None); // another thread ran for 3 ms, and the event is there
            }
        }
    }
    assert!(polls < 50, "{polls}");
}

#[test]
fn gaps_inside_messages_do_not_count_as_gaps_between_requests() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(1000, 8.0);
    let limit = scene.learner.limit(false);
    for _ in 0..10_000 {
        let slept = Some(Duration::from_millis(1));
        scene.learner.note(EndedWait { slept, is_inside: true, ..EndedWait::default() });
    }
    assert_eq!(scene.learner.limit(false), limit);
    assert!(scene.learner.limit(true).is_zero());
}

#[test]
fn off_never_polls() {
    let mut scene = Scene::new(Polling::Off);
    assert_eq!(scene.waits(1000, 1.0), 1000);
    assert!(scene.learner.limit(true).is_zero());
    assert_eq!(scene.learner.counts(), WaitCounts { slept: 1000, ..WaitCounts::default() });
}

#[test]
fn a_limit_is_kept_and_polls_for_longer_gaps_than_auto() {
    let limit = Duration::from_micros(100);
    let mut scene = Scene::new(Polling::UpTo(limit));
    for round in 0..2000 {
        scene.wait(f64::from(round % 50) + 40.0);
        assert!(scene.learner.limit(false) <= limit);
    }
    assert_eq!(scene.waits(100, 70.0), 0);
}

#[test]
fn another_setting_begins_anew_and_keeps_the_counts() {
    let mut scene = Scene::new(Polling::Auto);
    scene.waits(1000, 8.0);
    let before = scene.learner.counts();
    scene.learner.set(Polling::Auto);
    assert_eq!(scene.learner.counts(), before, "the same setting changes nothing");
    scene.learner.set(Polling::Off);
    assert_eq!(scene.learner.counts(), WaitCounts { limit: Duration::ZERO, ..before });
    assert_eq!(scene.waits(10, 8.0), 10);
}
