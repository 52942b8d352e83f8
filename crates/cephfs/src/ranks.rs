//! The ranks of the locks of CephFS.

lock::ranks! {
    Band::Store, from 64;

    /// The file systems of Ceph that are mounted.
    CephMounts,
}
