//! Changes, told to browsers and programs that listen (server-sent events).
//!
//! Each listener has a bounded queue. One that reads slowly misses events, and is told how many: it asks for the whole again.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use lock::Mutex;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::ranks;

/// Events that may wait for a listener.
const AHEAD: usize = 64;
/// The most listeners.
const MOST_LISTENERS: usize = 32;
/// The longest text of an event in bytes. A longer one is not sent.
const LONGEST_EVENT: usize = 4096;
/// How often a listener gets a sign of life, and whether it may listen is asked.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// A listener listens again after so many: in less than the longest life of a connection.
const MOST_BEATS: u32 = 110;

/// Tells listeners what changes. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Events {
    listeners: Arc<Mutex<Vec<Listener>, ranks::ApiListeners>>,
}

#[derive(Debug)]
struct Listener {
    queue: mpsc::Sender<Bytes>,
    missed: Arc<AtomicU64>,
}

impl Events {
    /// Tells an event to all listeners. `name` is one word; `data` is sent as JSON.
    pub fn tell(&self, name: &str, data: &impl Serialize) {
        if !self.has_listeners() {
            return;
        }
        let Ok(data) = serde_json::to_string(data) else { return };
        // JSON has no line breaks outside of strings, where they are escaped.
        let event = Bytes::from(format!("event: {name}\ndata: {data}\n\n"));
        self.listeners.lock().retain(|listener| {
            let sent = if event.len() > LONGEST_EVENT {
                Err(mpsc::error::TrySendError::Full(Bytes::new()))
            } else {
                listener.queue.try_send(event.clone())
            };
            match sent {
                Ok(()) => true,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    listener.missed.fetch_add(1, Ordering::Relaxed);
                    true
                }
                Err(mpsc::error::TrySendError::Closed(_)) => false,
            }
        });
    }

    /// Whether it is worth looking for changes.
    pub(crate) fn has_listeners(&self) -> bool {
        !self.listeners.lock().is_empty()
    }

    /// A body that goes on while `may_listen`. `None`: there are too many listeners.
    pub(crate) fn listen(&self, may_listen: impl Fn() -> bool + Send + Sync + 'static) -> Option<Body> {
        let (queue, events) = mpsc::channel(AHEAD);
        let missed = Arc::new(AtomicU64::new(0));
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !listener.queue.is_closed());
        if listeners.len() >= MOST_LISTENERS {
            return None;
        }
        listeners.push(Listener { queue, missed: missed.clone() });
        drop(listeners);
        Some(body(events, missed, may_listen))
    }
}

/// A body of these events, while `may_listen`.
pub(crate) fn body(
    events: mpsc::Receiver<Bytes>,
    missed: Arc<AtomicU64>,
    may_listen: impl Fn() -> bool + Send + Sync + 'static,
) -> Body {
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Body::new(EventStream { events, missed, heartbeat, beats: 0, may_listen: Box::new(may_listen) })
}

/// The events of one listener.
struct EventStream {
    events: mpsc::Receiver<Bytes>,
    missed: Arc<AtomicU64>,
    heartbeat: Interval,
    beats: u32,
    may_listen: Box<dyn Fn() -> bool + Send + Sync>,
}

impl hyper::body::Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes: Bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        if self.heartbeat.poll_tick(context).is_ready() {
            self.beats += 1;
            if self.beats > MOST_BEATS || !(self.may_listen)() {
                return Poll::Ready(None);
            }
            return frame(Bytes::from_static(b": still here\n\n"));
        }
        let missed = self.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            return frame(Bytes::from(format!("event: missed\ndata: {{\"count\":{missed}}}\n\n")));
        }
        match self.events.poll_recv(context) {
            Poll::Ready(Some(event)) => frame(event),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicBool;

    use hyper::body::Body as _;

    use super::*;

    /// The next part of a body, without the signs of life.
    async fn next(body: &mut Body) -> Option<String> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
            let text = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
            if !text.starts_with(':') {
                return Some(text);
            }
        }
    }

    #[tokio::test]
    async fn listeners_hear_what_changes_and_no_more() {
        let events = Events::default();
        events.tell("snapshots", &());
        let mut one = events.listen(|| true).unwrap();
        let mut other = events.listen(|| true).unwrap();
        events.tell("settings", &serde_json::json!({ "by": "a\nb" }));
        for body in [&mut one, &mut other] {
            assert_eq!(next(body).await.unwrap(), "event: settings\ndata: {\"by\":\"a\\nb\"}\n\n");
        }
        drop(one);
        events.tell("settings", &());
        assert_eq!(events.listeners.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_slow_listener_learns_how_much_it_has_missed() {
        let events = Events::default();
        let mut slow = events.listen(|| true).unwrap();
        for number in 0..AHEAD + 3 {
            events.tell("opens", &number);
        }
        events.tell("opens", &"x".repeat(LONGEST_EVENT));
        assert_eq!(next(&mut slow).await.unwrap(), "event: missed\ndata: {\"count\":4}\n\n");
        assert_eq!(next(&mut slow).await.unwrap(), "event: opens\ndata: 0\n\n");
    }

    #[tokio::test]
    async fn listeners_are_limited_and_end_when_they_may_no_longer_listen() {
        let events = Events::default();
        let may = Arc::new(AtomicBool::new(true));
        let asked = may.clone();
        let mut body = events.listen(move || asked.load(Ordering::Relaxed)).unwrap();
        let mut others: Vec<Body> = (1..MOST_LISTENERS).map(|_| events.listen(|| true).unwrap()).collect();
        assert!(events.listen(|| true).is_none());
        others.pop();
        assert!(events.listen(|| true).is_some());
        may.store(false, Ordering::Relaxed);
        assert_eq!(next(&mut body).await, None);
    }
}
