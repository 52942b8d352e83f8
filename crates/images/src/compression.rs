//! The compressions of disk images and of compressed files. Each fills a buffer of the size that the image says.

mod adc;
mod bzip2;
mod lzfse;
mod lzvn;
mod xz;

use flate2::{Decompress, FlushDecompress, Status};
use wire::Malformed;

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Apple Data Compression.
    Adc,
    /// RFC 1950.
    Zlib,
    /// bzip2, one stream.
    Bzip2,
    /// LZFSE, with its blocks of LZVN.
    Lzfse,
    /// LZVN without a header.
    Lzvn,
    /// LZMA2 in the container of xz.
    Xz,
}

impl Method {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adc => "ADC",
            Self::Zlib => "zlib",
            Self::Bzip2 => "bzip2",
            Self::Lzfse => "LZFSE",
            Self::Lzvn => "LZVN",
            Self::Xz => "LZMA",
        }
    }

    /// Decompresses into `output`, and returns how many bytes there were. Input that has more is malformed.
    ///
    /// # Errors
    ///
    /// What does not follow the format.
    pub fn decompress(self, input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
        match self {
            Self::Adc => adc::decompress(input, output),
            Self::Zlib => zlib(input, output),
            Self::Bzip2 => bzip2::decompress(input, output),
            Self::Lzfse => lzfse::decompress(input, output),
            Self::Lzvn => lzvn::decompress(input, output).map(|(count, _)| count),
            Self::Xz => xz::decompress(input, output),
        }
    }
}

fn zlib(input: &[u8], output: &mut [u8]) -> Result<usize, Malformed> {
    let mut stream = Decompress::new(true);
    let status = stream.decompress(input, output, FlushDecompress::Finish);
    match status.map_err(|_| Malformed("its zlib stream is damaged"))? {
        Status::StreamEnd => Ok(stream.total_out() as usize),
        Status::Ok | Status::BufError => Err(Malformed("its zlib stream does not end where it should")),
    }
}

/// Bytes that were written, for copies from earlier ones.
struct Output<'a> {
    bytes: &'a mut [u8],
    written: usize,
}

impl<'a> Output<'a> {
    fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, written: 0 }
    }

    fn literals(&mut self, literals: &[u8]) -> Result<(), Malformed> {
        let place = self.bytes.get_mut(self.written..).and_then(|rest| rest.get_mut(..literals.len()));
        place.ok_or(Malformed("it has more bytes than the image says"))?.copy_from_slice(literals);
        self.written += literals.len();
        Ok(())
    }

    /// Copies `count` bytes from `distance` bytes before; they may overlap what is written.
    fn copy(&mut self, distance: usize, count: usize) -> Result<(), Malformed> {
        if distance == 0 || distance > self.written {
            return Err(Malformed("it repeats bytes that are before its beginning"));
        }
        if count > self.bytes.len() - self.written {
            return Err(Malformed("it has more bytes than the image says"));
        }
        for at in self.written..self.written + count {
            self.bytes[at] = self.bytes[at - distance];
        }
        self.written += count;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
