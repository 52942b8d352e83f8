//! The data of files as bodies of requests and answers.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use hyper::body::{Body as _, Frame};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{PART, StoredFile};
use crate::admitted::Transfer;

/// Parts that wait for a slow client.
const AHEAD: usize = 1;

/// The part of a file that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: u64,
    pub(super) length: u64,
    /// It is not the whole file.
    pub(super) is_part: bool,
}

impl Range {
    /// The range that the headers ask for, RFC 9110 14.2, of a file with this tag and size. Several ranges at once, and other units
    /// than bytes, are answered with the whole file. `Err`: the file has no such part.
    pub(super) fn of(headers: &HeaderMap, tag: &str, size: u64) -> Result<Self, ()> {
        let whole = Self { from: 0, length: size, is_part: false };
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        if text(header::IF_RANGE).is_some_and(|known| known != tag) {
            return Ok(whole);
        }
        let Some(range) = text(header::RANGE).and_then(|range| range.strip_prefix("bytes=")) else {
            return Ok(whole);
        };
        let Some((first, last)) = range.split_once('-').filter(|_| !range.contains(',')) else {
            return Ok(whole);
        };
        let (from, end) = match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => (first, last.saturating_add(1).min(size)),
            (Ok(first), _) if last.is_empty() => (first, size),
            (_, Ok(last)) if first.is_empty() => (size.saturating_sub(last), size),
            _ => return Ok(whole),
        };
        if from >= end {
            return Err(());
        }
        Ok(Self { from, length: end - from, is_part: true })
    }
}

/// A file, or a part of it, on its way to a client.
pub(super) struct SentFile {
    pub(super) file: Arc<dyn StoredFile>,
    pub(super) from: u64,
    pub(super) length: u64,
    /// What counts it among the files that are sent.
    pub(super) keep: (OwnedSemaphorePermit, Option<Transfer>),
}

impl SentFile {
    /// Its data, while the session goes on. The body breaks off if the file cannot be read, or has become shorter.
    pub(super) fn body(self, goes_on: impl Fn() -> bool + Send + 'static) -> Body {
        let (parts, queue) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let Self { file, mut from, mut length, keep } = self;
            let _keep = keep;
            while length > 0 {
                let (file, wanted) = (file.clone(), usize::try_from(length).unwrap_or(PART).min(PART));
                let read = tokio::task::spawn_blocking(move || file.read(from, wanted)).await;
                let data = match read {
                    Ok(Ok(data)) if !data.is_empty() && goes_on() => data,
                    _ => {
                        let _ = parts.send(Err(io::Error::other("the file cannot be sent"))).await;
                        break; // the client learns it by the end of the connection
                    }
                };
                from += data.len() as u64;
                length -= (data.len() as u64).min(length);
                if parts.send(Ok(Bytes::from(data))).await.is_err() {
                    break; // the client has gone
                }
            }
        });
        Body::new(PartStream(queue))
    }
}

struct PartStream(mpsc::Receiver<io::Result<Bytes>>);

impl hyper::body::Body for PartStream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|part| part.map(|data| data.map(Frame::data)))
    }
}

/// The next data of a body; `None`: it has ended.
pub(super) async fn next_data(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            Ok(frame) => match frame.into_data() {
                Ok(data) => return Some(Ok(data)),
                Err(_) => continue, // trailers
            },
            Err(error) => return Some(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str, size: u64) -> Result<(u64, u64, bool), ()> {
        let headers = [(header::RANGE, text.parse().unwrap())].into_iter().collect();
        Range::of(&headers, "\"tag\"", size).map(|range| (range.from, range.length, range.is_part))
    }

    #[test]
    fn ranges_are_those_of_rfc_9110_14_1_2() {
        assert_eq!(range("bytes=0-499", 10_000), Ok((0, 500, true)));
        assert_eq!(range("bytes=9500-", 10_000), Ok((9500, 500, true)));
        assert_eq!(range("bytes=-500", 10_000), Ok((9500, 500, true)));
        assert_eq!(range("bytes=9500-20000", 10_000), Ok((9500, 500, true)));
        assert_eq!(range("bytes=-20000", 10_000), Ok((0, 10_000, true)));
        assert_eq!(range("bytes=10000-", 10_000), Err(()));
        assert_eq!(range("bytes=-0", 10_000), Err(()));
        for whole in ["bytes=0-0,5-6", "pages=1-2", "bytes=7-3", "bytes=x-", "bytes=-"] {
            assert_eq!(range(whole, 10_000), Ok((0, 10_000, false)), "{whole}");
        }
    }

    #[test]
    fn a_part_of_a_file_that_has_changed_is_the_whole_file() {
        let of = |tag: &str| {
            let pairs = [(header::RANGE, "bytes=5-"), (header::IF_RANGE, tag)];
            let headers = pairs.into_iter().map(|(name, text)| (name, text.parse().unwrap())).collect();
            Range::of(&headers, "\"now\"", 10).unwrap().is_part
        };
        assert!(of("\"now\"") && !of("\"before\""));
    }
}
