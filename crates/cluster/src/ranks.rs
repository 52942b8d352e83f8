//! The ranks of the locks of the cluster.

lock::ranks! {
    Band::Cluster, from 0;

    /// What this server of a cluster has, asks for and hands over. Clients that are not connected may give way under it.
    ClusterNode,
    /// The connections to the other servers of a cluster.
    ClusterWays,
}

lock::ranks! {
    Band::Program, from 16;

    /// The sums of the quotas that the servers of a cluster count together.
    ClusterSums,
}

lock::ranks! {
    Band::Elsewhere, from 0;

    /// The numbers of file systems in a cluster.
    ClusterTrees,
    /// What the state of files wants of other servers.
    ClusterPort,
}
