//! The ranks of the locks of connections.

lock::ranks! {
    Band::Connections, from 0;

    /// The watchdogs of all protocols.
    Watchdogs,
    /// The connections that the watchdog watches.
    BusyConnections,
    /// Connections that became busy since the watchdog's last check.
    ArrivedConnections,
    /// The reading side of a connection while its reader answers a message.
    ReadingSide,
    /// The connections of a protocol.
    Peers,
    /// The hosts that the log has named because of the version that they speak.
    RefusedVersions,
}

lock::ranks! {
    Band::Sending, from 0;

    /// The replies that wait for a client.
    Outbox,
    /// The requests that wait for memory.
    MemoryQueue,
    /// The memory allowances of clients.
    MemoryClients,
    /// The files whose access blocks a thread.
    StuckSubjects,
    /// Reply buffers that can be used again.
    FreeReplies,
    /// Receive buffers that can be used again.
    FreeBuffers,
    /// The poll that delays a loop.
    LoopDelay,
    /// What a loop has learned of the gaps between its events.
    LoopPolling,
    /// The task that waits for a socket.
    LoopWaker,
    /// The sockets of a loop.
    LoopSockets,
    /// The sockets that wait until a loop has nothing else to do.
    LoopIdlers,
    /// The tasks of a loop that are ready to run.
    LoopQueue,
    /// The future of a task, while no thread polls it.
    LoopTask,
}
