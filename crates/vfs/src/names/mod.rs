//! Names and their views.
