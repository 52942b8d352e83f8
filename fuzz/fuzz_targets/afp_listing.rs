//! covers: afp/wire/enumerate, afp/wire/id, afp/wire/search
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_listing::listing);
