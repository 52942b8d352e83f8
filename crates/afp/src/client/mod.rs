//! A client for session tests and measurements.
