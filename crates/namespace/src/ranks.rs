//! The ranks of the locks of the namespace.

lock::ranks! {
    Band::Notes, from 0;

    /// The links of the namespace, and the health of their targets.
    Namespace,
}
