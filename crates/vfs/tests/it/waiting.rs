//! Tests wait for a condition, not for a time.

mod blocking;

use blocking::{LIMIT, PAUSE};

pub(crate) use blocking::until;

/// As [`until`], while the other tasks of the test run.
pub(crate) async fn until_async(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.expect(what);
}
