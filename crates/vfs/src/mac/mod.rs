//! Mac metadata and its on-disk layouts.
