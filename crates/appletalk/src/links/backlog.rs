//! Frames that wait until a link takes them.

use std::collections::VecDeque;

use rustix::io::Errno;

/// A queue of a limited length. A frame that finds it full is lost.
#[derive(Debug)]
pub(super) struct Backlog {
    waiting: VecDeque<Vec<u8>>,
    /// How many bytes of the first frame are sent.
    sent: usize,
    most: usize,
}

impl Backlog {
    pub(super) fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), sent: 0, most }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds a frame. `false`: the queue is full.
    pub(super) fn push(&mut self, frame: Vec<u8>) -> bool {
        let has_place = self.waiting.len() < self.most;
        if has_place {
            self.waiting.push_back(frame);
        }
        has_place
    }

    /// Sends what waits by `write`, which takes as many bytes as it answers. Returns the number of whole frames that
    /// were sent. A link that takes nothing now is no error. Any other error removes the first frame, so that one frame
    /// which cannot be sent does not hold up the others.
    pub(super) fn flush(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<usize, Errno>,
    ) -> (u64, Result<(), Errno>) {
        let mut frames = 0;
        while let Some(first) = self.waiting.front() {
            match write(&first[self.sent..]) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Ok(taken) if self.sent + taken < first.len() => self.sent += taken,
                Ok(_) => {
                    self.remove_first();
                    frames += 1;
                }
                Err(error) => {
                    self.remove_first();
                    return (frames, Err(error));
                }
            }
        }
        (frames, Ok(()))
    }

    fn remove_first(&mut self) {
        self.waiting.pop_front();
        self.sent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_backlog_takes_no_frame() {
        let mut backlog = Backlog::new(2);
        assert!(backlog.push(vec![1]) && backlog.push(vec![2]));
        assert!(!backlog.push(vec![3]));
    }

    #[test]
    fn frames_leave_whole_and_in_order() {
        let mut backlog = Backlog::new(8);
        for frame in [b"abc".to_vec(), b"de".to_vec()] {
            assert!(backlog.push(frame));
        }
        let (mut line, mut room) = (Vec::<u8>::new(), 4);
        let mut write = |bytes: &[u8]| {
            let taken = bytes.len().min(room).min(2);
            line.extend(&bytes[..taken]);
            room -= taken;
            if taken == 0 { Err(Errno::AGAIN) } else { Ok(taken) }
        };
        assert_eq!(backlog.flush(&mut write), (1, Ok(())));
        assert!(!backlog.is_empty());
        room = 4;
        let mut write = |bytes: &[u8]| {
            let taken = bytes.len().min(room);
            line.extend(&bytes[..taken]);
            Ok(taken)
        };
        assert_eq!(backlog.flush(&mut write), (1, Ok(())));
        assert_eq!(line, b"abcde");
    }

    #[test]
    fn a_frame_that_fails_does_not_hold_up_the_next() {
        let mut backlog = Backlog::new(8);
        assert!(backlog.push(vec![1]) && backlog.push(vec![2]));
        assert_eq!(backlog.flush(|_| Err(Errno::MSGSIZE)), (0, Err(Errno::MSGSIZE)));
        assert_eq!(backlog.flush(|bytes| Ok(bytes.len())), (1, Ok(())));
    }
}
