#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::disk_images::fat);
