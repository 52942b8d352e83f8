//! Keeps two threads from changing one name and its sidecar at the same time.

use std::collections::HashSet;

use lock::{Condvar, Mutex};

use crate::FileId;
use crate::mac::layout;
use crate::names::one_form;
use crate::ranks;
use crate::state::Pins;

/// A folder and a name in it, in the form that all its forms share.
type Place = (FileId, Box<[u8]>);

/// Places (a folder and a name in it, whatever its form) where a file and its sidecar are
/// being changed together. Another thread waits only if it needs the same place, so a disk that
/// stalls on one file does not hold up requests for other files.
#[derive(Default)]
pub(crate) struct Busy {
    places: Mutex<HashSet<Place>, ranks::BusyNames>,
    done: Condvar,
}

/// Places being changed, until dropped.
pub(crate) struct Changing<'a> {
    busy: &'a Busy,
    places: Vec<Place>,
    /// What keeps other servers from the same changes.
    _pins: Pins,
}

impl Busy {
    /// Waits until none of these places is being changed, then claims all of them at once.
    pub(crate) fn change(&self, wanted: &[(FileId, &[u8])]) -> Changing<'_> {
        self.change_pinned(wanted, Pins::default())
    }

    /// The same among several servers: `pins` are kept as long.
    pub(crate) fn change_pinned(&self, wanted: &[(FileId, &[u8])], pins: Pins) -> Changing<'_> {
        let pair = |name: &[u8]| one_form(layout::sidecar_owner(name).unwrap_or(name)).as_ref().into();
        let wanted: Vec<Place> = wanted.iter().map(|&(folder, name)| (folder, pair(name))).collect();
        let mut places = self.places.lock();
        while wanted.iter().any(|place| places.contains(place)) {
            self.done.wait(&mut places);
        }
        places.extend(wanted.iter().cloned());
        Changing { busy: self, places: wanted, _pins: pins }
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let mut places = self.busy.places.lock();
        for place in &self.places {
            places.remove(place);
        }
        self.busy.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_file_and_its_sidecar_are_one_place_and_others_do_not_wait() {
        let busy = Arc::new(Busy::default());
        let first =
            busy.change(&[(FileId::new(0, 1), "ä".as_bytes()), (FileId::new(0, 1), "._ä".as_bytes())]);
        drop(busy.change(&[(FileId::new(0, 1), b"b"), (FileId::new(0, 2), "ä".as_bytes())]));
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = busy.clone();
        let waiting = std::thread::spawn(move || {
            let _claimed = other.change(&[(FileId::new(0, 1), "._a\u{308}".as_bytes())]);
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err());
        drop(first);
        receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        waiting.join().unwrap();
    }
}
