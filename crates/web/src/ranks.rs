//! The ranks of the locks of the API.

lock::ranks! {
    Band::Api, from 0;

    /// The tokens of the API.
    ApiTokens,
    /// The sessions of the console.
    ApiLogins,
    /// The jobs that were started by the API.
    ApiJobs,
    /// The listeners to changes.
    ApiListeners,
    /// The slowest operations that the API has told.
    ApiSlowest,
    /// The certificate of the API.
    ApiCertificate,
}

lock::ranks! {
    Band::Api, from 32;

    /// The throughput of the last day.
    ThroughputHistory,
}

lock::ranks! {
    Band::Notes, from 64;

    /// The addresses of the API's connections.
    ApiConnections,
    /// The threads that count operations.
    CountingThreads,
    /// The operations that a thread has counted.
    CountedOperations,
}

lock::ranks! {
    Band::Notes, from 96;

    /// The newest lines of the log, which is written while others may be held.
    KeptLog,
}
