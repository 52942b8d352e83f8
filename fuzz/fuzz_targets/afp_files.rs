//! covers: afp/wire/bitmap, afp/wire/directory, afp/wire/file, afp/wire/set_parameters, afp/wire/strings, afp/wire/volume
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::afp_files::messages);
