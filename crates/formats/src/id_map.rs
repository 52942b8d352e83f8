//! Tables by ids that this server or its host has chosen.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// A table whose keys are ids of files, streams, opens or sessions. Its hash costs a tenth of the standard one, which a request
/// would compute ten times and more. It has a random seed, but does not withstand somebody who chooses keys: tables by names or by
/// what clients send have the standard hash.
pub type IdMap<K, V> = HashMap<K, V, RandomState>;
