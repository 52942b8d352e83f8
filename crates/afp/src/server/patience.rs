//! Waiting for what other clients have in their caches.

use std::time::Duration;

use vfs::{Error, Result};

/// How often it is tried: for a little longer than a cache is waited for before it is taken away.
const TRIES: u32 = 360;
const BETWEEN: Duration = Duration::from_millis(100);

/// Does something that another client's cache may stand against, until that is given back.
pub(super) async fn patiently<T>(mut act: impl FnMut() -> Result<T>) -> Result<T> {
    for tried in 0..TRIES {
        match act() {
            // The first times soon: most give it back at once.
            Err(Error::LeaseRecall) => {
                tokio::time::sleep(BETWEEN.min(Duration::from_millis(1 << tried.min(7)))).await
            }
            other => return other,
        }
    }
    act()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_recall_is_waited_for_and_nothing_else_is() {
        let mut left = 20;
        let given_back = || {
            left -= 1;
            if left == 0 { Ok("well") } else { Err(Error::LeaseRecall) }
        };
        assert_eq!(patiently(given_back).await, Ok("well"));
        assert_eq!(patiently(|| Err::<(), _>(Error::AccessDenied)).await, Err(Error::AccessDenied));
        assert_eq!(patiently(|| Err::<(), _>(Error::LeaseRecall)).await, Err(Error::LeaseRecall));
    }
}
