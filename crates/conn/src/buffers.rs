//! Large buffers between uses, shared by all connections: a fresh one costs a page fault for every 4 KiB.

/// The longest buffer that is kept.
const LONGEST: usize = 2 << 20;
/// The most bytes that the kept buffers of one kind have together: an idle server must not hold much.
const MOST: usize = 12 << 20;

/// Those that messages are received in.
pub(crate) mod received {
    use bytes::BytesMut;
    use lock::{Mutex, rank};

    /// Most buffers kept.
    const COUNT: usize = 32;
    static FREE: Mutex<Vec<BytesMut>, rank::FreeBuffers> = Mutex::new(Vec::new());

    pub(crate) fn take() -> BytesMut {
        FREE.lock().pop().unwrap_or_default()
    }

    pub(crate) fn give_back(buffer: BytesMut) {
        let mut free = FREE.lock();
        let kept: usize = free.iter().map(BytesMut::capacity).sum();
        let fits = free.len() < COUNT && kept + buffer.capacity() <= super::MOST;
        if fits && (1..=super::LONGEST).contains(&buffer.capacity()) {
            free.push(buffer);
        }
    }
}

/// Those that replies are made in.
pub(crate) mod replies {
    use lock::{Mutex, rank};

    /// Smaller ones are the allocator's business.
    const SMALLEST: usize = 64 * 1024;

    static FREE: Mutex<Vec<Vec<u8>>, rank::FreeReplies> = Mutex::new(Vec::new());

    /// An empty buffer that has been large before, if one is free.
    pub(crate) fn take() -> Vec<u8> {
        let mut bytes = FREE.lock().pop().unwrap_or_default();
        bytes.clear();
        bytes
    }

    pub(crate) fn give_back(buffer: Vec<u8>) {
        if (SMALLEST..=super::LONGEST).contains(&buffer.capacity()) {
            let mut free = FREE.lock();
            let kept: usize = free.iter().map(Vec::capacity).sum(); // of a dozen at most
            if kept + buffer.capacity() <= super::MOST {
                free.push(buffer);
            }
        }
    }
}
