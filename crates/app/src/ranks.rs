//! The ranks of the locks of the program.

lock::ranks! {
    Band::Program, from 0;

    /// Held while the console changes a setting: the changes that can be taken back.
    SettingChanges,
    /// Held while a webhook is made or removed.
    Webhooks,
    /// What is remembered of backups of Macs.
    BackupRecords,
    /// Held during a reload of the settings: one reload runs at a time.
    Reloading,
    /// The reservations of streams that are kept.
    StreamDesk,
    /// The indexes of the shares.
    SearchIndexes,
    /// The volumes of the shared folders.
    SharedVolumes,
    /// The accounts without a home that the log has named.
    HomelessAccounts,
}

lock::ranks! {
    Band::Program, from 32;

    /// The quotas of the shares.
    ShareQuotas,
    /// When the files of a share were counted.
    QuotaCounted,
    /// The snapshots of a share that are attached to its tree.
    ShownSnapshots,
    /// The logical units of the shares' LUNs.
    LunUnits,
    /// The settings in force.
    CurrentSettings,
    /// The last looks at the host's memory.
    MemoryLooks,
    /// The task that announces services.
    BonjourSpeaker,
    /// The task that announces the server to Windows.
    WsdSpeaker,
    /// The thread that speaks AppleTalk.
    AppleTalkThread,
    /// The disk images that are served.
    BrowsedShares,
    /// How the last order of a certificate ended.
    AcmeOrders,
}

lock::ranks! {
    Band::Api, from 16;

    /// The backups of Macs, as they were measured for the metrics.
    MeasuredBackups,
    /// Why a webhook sends nothing.
    WebhookError,
    /// How much space the shares have used.
    SpaceSamples,
}

lock::ranks! {
    Band::Notes, from 16;

    /// The links that are not in their places.
    LinkPlacements,
}

lock::ranks! {
    Band::Notes, from 48;

    /// The thread that writes the audit log.
    AuditThread,
    /// The shares that are audited.
    AuditRules,
    /// The slowest operations.
    SlowOperations,
    /// The alerts that are raised.
    RaisedAlerts,
    /// What the doctor has found.
    Diagnoses,
    /// The folders of the shares, for the doctor.
    ScannedFolders,
    /// The files that clients have read while the doctor notes that.
    ReadFilesOfClients,
}
