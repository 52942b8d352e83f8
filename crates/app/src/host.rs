//! The machine and the process: where the program runs, its privileges, its memory.

pub(crate) mod confinement;
pub(crate) mod health;
pub(crate) mod here;
pub(crate) mod host_names;
pub(crate) mod memory;
pub(crate) mod privileges;
