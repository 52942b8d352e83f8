mod bench;
mod blocking;
mod locks;
mod messages;
mod recalls;
mod release;
mod shares;
