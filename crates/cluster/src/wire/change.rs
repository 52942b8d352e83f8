//! Changes of the tree.

use coherence::events::{Aspects, Change, ChangeKind, Name};
use coherence::state::ChangeNotice;
use formats::{HostKey, Kind};
use wire::{Malformed, Reader, Writer};

use super::{MessageField, get_bytes, put_bytes};

/// The longest name of an entry: 255 UTF-16 units in UTF-8.
const MAX_NAME: usize = 1_024;

impl MessageField for Kind {
    fn put(&self, w: &mut Writer) {
        w.u8(match self {
            Self::File => 1,
            Self::Folder => 2,
            Self::Link => 3,
            Self::Fifo => 4,
            Self::Socket => 5,
            Self::CharDevice => 6,
            Self::BlockDevice => 7,
        });
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::File,
            2 => Self::Folder,
            3 => Self::Link,
            4 => Self::Fifo,
            5 => Self::Socket,
            6 => Self::CharDevice,
            7 => Self::BlockDevice,
            _ => return Err(Malformed("an unknown kind of file")),
        })
    }
}

impl MessageField for Name {
    fn put(&self, w: &mut Writer) {
        put_bytes(w, self);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(get_bytes(r, MAX_NAME)?.into())
    }
}

impl MessageField for ChangeKind {
    fn put(&self, w: &mut Writer) {
        match self {
            Self::Created => w.u8(1),
            Self::Removed => w.u8(2),
            Self::Renamed { old_folder, old_name } => {
                (3u8, *old_folder).put(w);
                old_name.put(w);
            }
            Self::Modified(aspects) => (4u8, aspects.0).put(w),
        }
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(match r.u8()? {
            1 => Self::Created,
            2 => Self::Removed,
            3 => {
                let (old_folder, old_name) = MessageField::get(r)?;
                Self::Renamed { old_folder, old_name }
            }
            4 => {
                let aspects = Aspects::from_bits(MessageField::get(r)?);
                Self::Modified(aspects.ok_or(Malformed("an unknown aspect"))?)
            }
            _ => return Err(Malformed("an unknown change")),
        })
    }
}

impl MessageField for ChangeNotice {
    fn put(&self, w: &mut Writer) {
        let Change { folder, name, file, of, what, by } = &self.change;
        put_bytes(w, self.folder.as_bytes());
        folder.put(w);
        name.put(w);
        (*file, *by).put(w);
        of.put(w);
        what.put(w);
        self.is_going.put(w);
    }

    fn get(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let key = HostKey::new(get_bytes(r, HostKey::MAX)?).ok_or(Malformed("a key that is too long"))?;
        let (folder, name) = MessageField::get(r)?;
        let (file, by) = MessageField::get(r)?;
        let (of, what) = MessageField::get(r)?;
        let is_going = MessageField::get(r)?;
        Ok(Self { folder: key, change: Change { folder, name, file, of, what, by }, is_going })
    }
}
