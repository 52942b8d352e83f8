//! Bytes to values and back, XDR (RFC 4506). No I/O, clock or session here.
