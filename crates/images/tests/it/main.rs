//! The integration tests of `images`, in one program.

mod apfs;
