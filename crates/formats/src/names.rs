//! Names and their views.
//!
//! **The stored name** is what the host's folder holds, or what is kept beside it ([`long`]): 1 to 255 bytes, any byte but `/` and NUL, neither `.`
//! nor `..` ([`Name`]). It is also the POSIX view, unchanged. It is what the client that made the entry gave,
//! and need be neither composed nor UTF-8. Names from Macs are composed first, because Macs decompose what
//! was typed. Two normal forms of a name mean one entry, as does a name in which another server has stored private code points
//! for characters that Windows forbids ([`other_forms`]).
//!
//! **Views** are pure functions of the stored bytes, and going to a view and back always gives the same bytes, or another form of
//! the same name:
//!
//! | view | to | from | what differs |
//! |---|---|---|---|
//! | private-use UTF-16 | [`windows_view`] | [`from_windows_view`] | characters Windows forbids sit at U+F001–U+F029 |
//! | decomposed, colon-free | [`mac_view`] | [`from_mac_view`] | `/` stands where the disk has `:`; NFD as HFS+ does it |
//! | text | [`text_view`] | [`from_text_view`] | only what is no text |
//! | short MacRoman | [`short_view`] | [`from_short_view`], [`parse_mangled`] | at most 31 bytes, else `prefix#id.ext` |
//!
//! **Bytes that no view can hold as text** (not UTF-8, or code points a view uses for itself) are shown byte by byte,
//! byte 0x80–0xFF as U+EF80–U+EFFF, see [`octets`]. Each such byte comes back as that byte, so names made by old
//! UNIX programs can be opened, copied and renamed through every view.
//!
//! **Look-up** compares a [`FoldedKey`]: one table of simple case folding and one normalisation for all protocols.
//!
//! **Names too long for the host** (255 UTF-16 units may be 765 bytes) are shortened there, and kept whole beside, see [`long`].

pub mod cap;
mod characters;
mod fold;
mod fold_table;
mod forms;
mod hiding;
pub mod long;
mod mac_roman;
mod mac_view;
mod mangle;
mod name;
mod normalise;
pub mod octets;
pub mod own;
mod private_use;
pub mod report;
#[cfg(test)]
mod test_names;

pub use characters::{Characters, KeptCharacters};
pub use fold::{FoldedKey, Folding, folded_units, folds_alike};
pub use forms::{has_mixed_forms, has_other_forms, one_form, other_forms};
pub use hiding::{Hiding, is_like};
pub use mac_roman::{
    FILE_LIMIT, VOLUME_LIMIT, decode_mac_roman, encode_mac_roman, from_short_view, short_view,
};
pub use mac_view::{from_mac_view, mac_view, tagged_mac_view};
pub use mangle::parse_mangled;
pub use name::{Name, NameError};
pub use normalise::{to_hfs_nfd, to_nfc};
pub use octets::{from_text_view, text_view};
pub use private_use::{Map, detect_map, from_windows_view, plain_form, windows_view};
pub use report::{Trouble, report};
