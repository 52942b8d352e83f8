//! The ranks of the locks of a mount.

lock::ranks! {
    Band::Copies, from 32;

    /// A session of a mount, during a call to the server.
    MountSession,
    /// The files and folders that programs have open in a mount.
    MountFiles,
    /// The numbers that the kernel has for paths in a mount.
    MountNodes,
}
