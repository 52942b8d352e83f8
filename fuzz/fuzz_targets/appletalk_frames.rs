//! covers: appletalk/wire/elap, appletalk/wire/llap, appletalk/wire/aarp, appletalk/wire/ddp
#![cfg_attr(fuzzing, no_main)]

fourfold_fuzz::target!(fourfold_fuzz::appletalk::frames);
