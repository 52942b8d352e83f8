//! The ranks of the locks of disk images.

lock::ranks! {
    Band::Store, from 700;

    /// What was read and decoded of an image. No other lock is taken under it, and nothing is read.
    ImageCache,
}
