mod bench;
mod blocking;
mod locks;
mod messages;
mod release;
mod shares;
