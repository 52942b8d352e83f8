//! Names in `.streams`, where Samba's `streams_depot` keeps the streams of a share's files: a folder for each file, named by
//! the file's device and inode, in one of 65,536 folders; in it a file for each stream.

use super::samba::STREAM_SUFFIX;

/// The depot, in the share's own folder.
pub const DEPOT: &[u8] = b".streams";
/// The attribute that Samba sets to `1` when it makes a file's folder: so the streams of a file that is gone are not those
/// of a new file with its inode.
pub const MARKER: &[u8] = b"user.SAMBA_STREAMS";
/// Its value.
pub const MARKED: &[u8] = b"1";
/// The longest name of a file, on any host.
const LONGEST_FILE: usize = 255;

/// The folder of a file: three names, one in the other. `device` is the kernel's number: 12 bits and 20 bits.
pub fn place(device: u32, inode: u64) -> [Vec<u8>; 3] {
    let (major, minor) = (u64::from(device >> 20), u64::from(device & 0xf_ffff));
    // As C programs see it.
    let device = (minor & 0xff) | major << 8 | (minor & !0xff) << 12;
    let id = [device.to_le_bytes(), inode.to_le_bytes()].concat();
    let hash = hash(&id);
    let name: String = id.iter().map(|byte| format!("{byte:02X}")).collect();
    let part = |byte: u32| format!("{:02X}", byte & 0xff).into_bytes();
    [part(hash), part(hash >> 8), name.into_bytes()]
}

/// The sum with which Samba spreads the folders of files.
fn hash(id: &[u8]) -> u32 {
    let start = 0x238F_13AF_u32.wrapping_mul(id.len() as u32);
    let terms = id.iter().enumerate().map(|(at, byte)| u32::from(*byte) << (at * 5 % 24));
    let sum = terms.fold(start, u32::wrapping_add);
    sum.wrapping_mul(1_103_515_243).wrapping_add(12_345)
}

/// The file of a stream; `None` if no file has such a name.
pub fn file_of(stream: &[u8]) -> Option<Vec<u8>> {
    let file = [b":", stream, STREAM_SUFFIX].concat();
    (!stream.is_empty() && !stream.contains(&b'/') && file.len() <= LONGEST_FILE).then_some(file)
}

/// The stream in a file of this name.
pub fn stream_of(file: &[u8]) -> Option<&[u8]> {
    let stream = file.strip_prefix(b":")?;
    Some(stream.strip_suffix(STREAM_SUFFIX).unwrap_or(stream)).filter(|stream| !stream.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folders that smbd 4.17.12 made on a device 254:0.
    #[test]
    fn folders_are_those_of_samba() {
        for (inode, name) in [(9_988_480, "8069980000000000"), (9_994_260, "1480980000000000")] {
            let expected =
                ["E9", "F5", &format!("00FE000000000000{name}")].map(|name| name.as_bytes().to_vec());
            assert_eq!(place(254 << 20, inode), expected);
        }
    }

    #[test]
    fn streams_and_files_are_one_to_one() {
        let file = b":com.apple.metadata:_kMDItemUserTags:$DATA";
        assert_eq!(stream_of(file), Some(&b"com.apple.metadata:_kMDItemUserTags"[..]));
        assert_eq!(file_of(b"com.apple.metadata:_kMDItemUserTags").as_deref(), Some(&file[..]));
        assert_eq!((stream_of(b"plain"), stream_of(b":"), stream_of(b"::$DATA")), (None, None, None));
        assert_eq!((file_of(b"a/b"), file_of(b""), file_of(&[b'x'; 250])), (None, None, None));
    }
}
