//! The macro by which `rank.rs` declares all ranks in one list.

/// Makes the types of the ranks, and their table in the same order.
macro_rules! ranks {
    ($($(#[doc = $doc:literal])+ $name:ident $holder:ident,)+) => {
        #[allow(clippy::upper_case_acronyms, reason = "numbers of the ranks")]
        enum Number { $($name),+ }

        $(
            $(#[doc = $doc])+
            pub struct $name;

            impl Rank for $name {
                const NUMBER: usize = Number::$name as usize;
                const NAME: &'static str = stringify!($name);
                type Holder = $holder;
            }
        )+

        /// All ranks. While a thread holds one lock, it waits for locks further down only.
        pub const TABLE: &[Row] = &[$(Row { name: stringify!($name), doc: concat!($($doc),+) }),+];
    };
}

pub(super) use ranks;
