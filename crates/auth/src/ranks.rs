//! The ranks of the locks of accounts.

lock::ranks! {
    Band::Accounts, from 0;

    /// The users of the domain, or of the host, that are known.
    DomainKnown,
    /// The ids that were given to domains.
    DomainIds,
    /// The login record of a session, for the log.
    LoginRecords,
    /// Failed logins, by address and name.
    LoginAttempts,
    /// How many lines about logins were logged.
    LoginLines,
    /// The lines of a log that is kept in memory.
    KeptLines,
    /// Secrets that wait for their first code, and accounts with wrong codes.
    SecondFactorsWaiting,
}

lock::ranks! {
    Band::Notes, from 80;

    /// The names of hosts that client rules ask for.
    HostNames,
}
