//! What words of settings are in the tree.

use admin::{DenyModes, MacLayout};
use vfs::Denials;
use vfs::backend::host::ReadAhead;
use vfs::streams::Style;

pub(super) fn style(layout: MacLayout) -> Style {
    match layout {
        MacLayout::Netatalk => Style::NETATALK,
        MacLayout::Samba => Style::SAMBA,
        MacLayout::SambaStreams => Style::SAMBA_STREAMS,
    }
}

pub(super) fn denials(modes: DenyModes) -> Denials {
    match modes {
        DenyModes::Strict => Denials::Strict,
        DenyModes::SillyRename => Denials::SillyRename,
        DenyModes::DataOnly => Denials::DataOnly,
    }
}

pub(super) fn read_ahead(setting: admin::ReadAhead) -> ReadAhead {
    match setting {
        admin::ReadAhead::Normal => ReadAhead::Normal,
        admin::ReadAhead::Double => ReadAhead::Double,
        admin::ReadAhead::Off => ReadAhead::Off,
    }
}
