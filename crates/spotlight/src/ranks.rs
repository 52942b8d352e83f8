//! The ranks of the locks of searches.

lock::ranks! {
    Band::Sessions, from 256;

    /// What a search has found, and where it goes on.
    SpotlightSearch,
}
