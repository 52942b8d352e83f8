mod copying;
mod dialogs;
mod hostile;
mod network;
mod sessions;
