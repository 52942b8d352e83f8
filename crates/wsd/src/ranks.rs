//! The ranks of the locks of WS-Discovery.

lock::ranks! {
    Band::Program, from 64;

    /// How often each client of WS-Discovery was answered.
    WsdClients,
}
