//! Bodies that were compressed on their way: gzip, deflate, Brotli and Zstandard. They are only decoded: a
//! folded request is sent without an encoding, because it is short, and every server accepts that.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use brotli_decompressor::{Decompressor, DecompressorWriter};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// The length that a piece of an answer may have after decoding, in bytes.
const LONGEST_PIECE: usize = 16 << 20;
/// The buffer of a decoder, in bytes.
const BUFFER: usize = 1 << 16;

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// The encoding that the headers name. `None`: the encoding is unknown, or there are several.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let Some(name) = named.next() else { return Some(Self::Identity) };
        if named.next().is_some() {
            return None;
        }
        match name.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The whole body, as it is or decoded. An error if the decoded body is longer than `longest` bytes.
    pub fn decoded(self, body: &[u8], longest: u64) -> io::Result<Cow<'_, [u8]>> {
        let decoded = match self {
            Self::Identity => return Ok(Cow::Borrowed(body)),
            Self::Gzip => whole(MultiGzDecoder::new(body), longest),
            // By the standard it has the form of zlib; some senders leave that form out.
            Self::Deflate => {
                whole(ZlibDecoder::new(body), longest).or_else(|_| whole(DeflateDecoder::new(body), longest))
            }
            Self::Brotli => whole(Decompressor::new(body, BUFFER), longest),
            Self::Zstd => {
                let mut frames = body;
                let mut decoded = Vec::new();
                while !frames.is_empty() {
                    let frame = StreamingDecoder::new(&mut frames).map_err(io::Error::other)?;
                    decoded.append(&mut whole(frame, longest.saturating_sub(decoded.len() as u64))?);
                }
                Ok(decoded)
            }
        };
        decoded.map(Cow::Owned)
    }
}

fn whole(decoder: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::new();
    decoder.take(longest + 1).read_to_end(&mut decoded)?;
    match decoded.len() as u64 > longest {
        true => Err(io::Error::other("the decoded body is too long")),
        false => Ok(decoded),
    }
}

/// Decodes a body whose pieces come one after the other.
pub enum Decoder {
    Identity,
    Gzip(Box<write::MultiGzDecoder<Bounded>>),
    Deflate(Box<write::ZlibDecoder<Bounded>>),
    Brotli(Box<DecompressorWriter<Bounded>>),
    Zstd(Box<Frames>),
}

/// A decoder of Zstandard. It decodes each block as soon as the whole block has arrived.
pub struct Frames {
    decoder: FrameDecoder,
    waiting: Vec<u8>,
}

impl Decoder {
    pub fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Identity => Self::Identity,
            Encoding::Gzip => Self::Gzip(Box::new(write::MultiGzDecoder::new(Bounded::default()))),
            Encoding::Deflate => Self::Deflate(Box::new(write::ZlibDecoder::new(Bounded::default()))),
            Encoding::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(Bounded::default(), BUFFER))),
            Encoding::Zstd => Self::Zstd(Box::new(Frames { decoder: FrameDecoder::new(), waiting: Vec::new() })),
        }
    }

    /// Passes on what the next piece of the body adds.
    pub fn decode(&mut self, piece: &[u8], mut next: impl FnMut(&[u8])) -> io::Result<()> {
        let decoded = match self {
            Self::Identity => {
                next(piece);
                return Ok(());
            }
            Self::Gzip(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Deflate(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Brotli(decoder) => {
                decoder.write_all(piece)?;
                decoder.get_mut()
            }
            Self::Zstd(frames) => return frames.decode(piece, next),
        };
        next(&decoded.0);
        decoded.0.clear();
        Ok(())
    }
}

/// The decoded form of a piece of a body: a small piece can decode to a gigabyte.
#[derive(Default)]
pub struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, decoded: &[u8]) -> io::Result<usize> {
        if self.0.len() + decoded.len() > LONGEST_PIECE {
            return Err(io::Error::other("a piece of the body is too long when it is decoded"));
        }
        self.0.write(decoded)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Frames {
    /// The longest header of a frame: a shorter beginning cannot be read.
    const LONGEST_HEADER: usize = 18;

    fn decode(&mut self, piece: &[u8], mut next: impl FnMut(&[u8])) -> io::Result<()> {
        if self.decoder.is_finished() && self.waiting.is_empty() && self.decoder.bytes_read_from_source() > 0 {
            // An answer is one frame; what comes after it has no text.
            return Ok(());
        }
        self.waiting.extend_from_slice(piece);
        let has_begun = self.decoder.bytes_read_from_source() > 0;
        if !has_begun && self.waiting.len() < Self::LONGEST_HEADER {
            return Ok(());
        }
        let mut decoded = vec![0; BUFFER];
        loop {
            let (read, written) = self.decoder.decode_from_to(&self.waiting, &mut decoded).map_err(io::Error::other)?;
            self.waiting.drain(..read.min(self.waiting.len()));
            next(&decoded[..written]);
            // Without more bytes, the decoder can say endlessly that it has read some.
            if written == 0 && (read == 0 || self.waiting.is_empty() || self.decoder.is_finished()) {
                return Ok(());
            }
        }
    }
}
