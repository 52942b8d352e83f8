//! The ranks of the locks of a migration.

lock::ranks! {
    Band::Copies, from 0;

    /// The files that wait for a worker of a migration.
    MigrationJobs,
    /// What the workers of a migration note together: the report, the journal, the rate.
    Migration,
}
