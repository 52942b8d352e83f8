//! What a search asks of files, as values without I/O.
