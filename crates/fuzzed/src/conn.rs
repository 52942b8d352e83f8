//! What the kernel tells of connections.

use ::conn::diag::{KernelAnswer, answer};

/// A message of sock_diag. Only the answer to the question that was asked is taken.
pub fn diag(data: &[u8]) {
    let number = data.get(8..12).and_then(|part| part.try_into().ok()).map_or(0, u32::from_ne_bytes);
    let _ = answer(data, number);
    let other = answer(data, number.wrapping_add(1));
    assert!(data.len() < 12 || other == KernelAnswer::Other);
}
