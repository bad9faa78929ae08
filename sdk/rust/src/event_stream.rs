use std::collections::VecDeque;

use crate::error::Error;

/// A line longer than this is no event of ours.
const LINE_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Reads server-sent events out of bytes, wherever they are cut. Gives the data of each; comments, the service's sign
/// of life, give nothing. See WHATWG HTML, 9.2.
#[derive(Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    /// A carriage return ended a line: the line feed that may follow it belongs to it.
    half_ended: bool,
    data: Option<String>,
    ready: VecDeque<String>,
}

impl EventReader {
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), Error> {
        for byte in piece {
            let follows = std::mem::replace(&mut self.half_ended, *byte == b'\r');
            match byte {
                b'\n' if follows => {}
                b'\n' | b'\r' => self.end_line(),
                other => self.line.push(*other),
            }
        }
        if self.line.len() > LINE_LIMIT_BYTES {
            return Err(Error::Connection("the stream holds a line without an end".to_owned()));
        }
        Ok(())
    }

    /// The data of the next event that is complete.
    pub(crate) fn next(&mut self) -> Option<String> {
        self.ready.pop_front()
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        if bytes.is_empty() {
            self.ready.extend(self.data.take());
            return;
        }
        let line = String::from_utf8_lossy(&bytes);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        if name == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = EventReader::default();
        for piece in pieces {
            reader.push(piece).unwrap();
        }
        std::iter::from_fn(|| reader.next()).collect()
    }

    #[test]
    fn lines_end_by_either_sign_and_by_both() {
        let text = ": hello\r\ndata: a\r\ndata:b\r\n\r\nid: 7\rdata: c\r\rdata: d\n\n";
        assert_eq!(read(&[text.as_bytes()]), ["a\nb", "c", "d"]);
    }

    #[test]
    fn it_is_the_same_wherever_the_bytes_are_cut() {
        let text = "data: für\r\n\r\ndata: 😀\n\n".as_bytes();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(read(&[head, tail]), ["für", "😀"], "cut at {at}");
        }
    }

    #[test]
    fn an_event_without_its_empty_line_is_none() {
        assert_eq!(read(&[b"data: a\n"]), Vec::<String>::new());
    }
}
