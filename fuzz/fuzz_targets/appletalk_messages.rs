//! covers: appletalk/wire/aep, appletalk/wire/atp, appletalk/wire/nbp, appletalk/wire/rtmp, appletalk/wire/zip
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::appletalk::messages);
