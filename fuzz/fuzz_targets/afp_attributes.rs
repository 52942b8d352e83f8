//! covers: afp/wire/acl, afp/wire/attribute, afp/wire/padding, afp/wire/uuid
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_extras::attributes);
