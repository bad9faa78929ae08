use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_LIMIT_BYTES: usize = 64 * 1024;
const HEAD_LIMIT_LINES: usize = 128;
const PIECE_BYTES: usize = 64 * 1024;

pub(super) enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl Stream {
    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            #[cfg(feature = "tls")]
            Self::Tls(tls) => tls.get_ref().0,
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(tcp) => tcp.write_all(bytes).await,
            #[cfg(feature = "tls")]
            Self::Tls(tls) => {
                tls.write_all(bytes).await?;
                tls.flush().await
            }
        }
    }

    /// Reads what is there behind what was read before; 0 at the end of the connection.
    async fn fill(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        buffer.reserve(PIECE_BYTES);
        match self {
            Self::Plain(tcp) => tcp.read_buf(buffer).await,
            #[cfg(feature = "tls")]
            Self::Tls(tls) => tls.read_buf(buffer).await,
        }
    }
}

#[cfg(feature = "tls")]
pub(super) async fn tls_connector() -> io::Result<tokio_rustls::TlsConnector> {
    use std::sync::Arc;
    use tokio_rustls::rustls::{crypto::ring, ClientConfig, RootCertStore};

    let mut roots = RootCertStore::empty();
    // One that cannot be read is one that is not trusted.
    let found = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await.map_err(io::Error::other)?;
    roots.add_parsable_certificates(found.certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(tokio_rustls::TlsConnector::from(Arc::new(config)))
}

/// The head of an answer: what of it is of interest.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) request_id: Option<String>,
    pub(super) retry_after: Option<String>,
}

/// What is to come of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// So many bytes; 0: it is over.
    Bytes(u64),
    /// So many bytes of this chunk, and then more chunks. `is_first`: no line end stands before the next size.
    Chunk { bytes: u64, is_first: bool },
    /// All until the end of the connection.
    Everything,
}

/// One connection, with one exchange after the other. See RFC 9112.
pub(super) struct Connection {
    stream: Stream,
    /// Read, and not yet used.
    buffer: Vec<u8>,
    left: Left,
    is_kept_alive: bool,
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed without a complete answer")
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, buffer: Vec::new(), left: Left::Bytes(0), is_kept_alive: false }
    }

    /// Whether the other side has not closed it: an idle connection has nothing to read.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stream.tcp().try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the exchange is over, and another may follow.
    pub(super) fn may_be_kept(&self) -> bool {
        self.is_kept_alive && self.left == Left::Bytes(0) && self.buffer.is_empty()
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.send(bytes).await
    }

    pub(super) async fn read_head(&mut self, is_bodiless: bool) -> io::Result<Head> {
        loop {
            if let Some(head) = self.parse_head(is_bodiless)? {
                // 1xx come before the answer.
                if head.status >= 200 {
                    return Ok(head);
                }
                continue;
            }
            if self.buffer.len() > HEAD_LIMIT_BYTES {
                return Err(invalid("the head of the answer has no end"));
            }
            if self.stream.fill(&mut self.buffer).await? == 0 {
                return Err(cut());
            }
        }
    }

    fn parse_head(&mut self, is_bodiless: bool) -> io::Result<Option<Head>> {
        let mut lines = [httparse::EMPTY_HEADER; HEAD_LIMIT_LINES];
        let mut parsed = httparse::Response::new(&mut lines);
        let length = match parsed.parse(&self.buffer) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(invalid("the answer is no HTTP/1.1")),
        };
        let header = |name: &str| {
            let line = parsed.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name))?;
            Some(String::from_utf8_lossy(line.value).trim().to_owned())
        };
        let status = parsed.code.unwrap_or_default();
        let connection = header("connection").unwrap_or_default().to_ascii_lowercase();
        self.is_kept_alive = parsed.version == Some(1) && !connection.contains("close");
        let is_chunked =
            header("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        self.left = if is_bodiless || status < 200 || matches!(status, 204 | 304) {
            Left::Bytes(0)
        } else if is_chunked {
            Left::Chunk { bytes: 0, is_first: true }
        } else if let Some(length) = header("content-length") {
            Left::Bytes(length.parse().map_err(|_| invalid("the answer has a content-length that is no number"))?)
        } else {
            self.is_kept_alive = false;
            Left::Everything
        };
        let head = Head { status, request_id: header("x-request-id"), retry_after: header("retry-after") };
        self.buffer.drain(..length);
        Ok(Some(head))
    }

    /// The next bytes of the body; none at its end.
    pub(super) async fn read_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.left {
                Left::Bytes(0) => return Ok(None),
                Left::Chunk { bytes: 0, is_first } => self.next_chunk(is_first).await?,
                Left::Bytes(_) | Left::Chunk { .. } | Left::Everything if self.buffer.is_empty() => {
                    if self.stream.fill(&mut self.buffer).await? == 0 {
                        if self.left != Left::Everything {
                            return Err(cut());
                        }
                        self.left = Left::Bytes(0);
                    }
                }
                Left::Everything => return Ok(Some(std::mem::take(&mut self.buffer))),
                Left::Bytes(bytes) => {
                    let piece = self.take(bytes);
                    self.left = Left::Bytes(bytes - piece.len() as u64);
                    return Ok(Some(piece));
                }
                Left::Chunk { bytes, .. } => {
                    let piece = self.take(bytes);
                    self.left = Left::Chunk { bytes: bytes - piece.len() as u64, is_first: false };
                    return Ok(Some(piece));
                }
            }
        }
    }

    fn take(&mut self, most: u64) -> Vec<u8> {
        if self.buffer.len() as u64 <= most {
            return std::mem::take(&mut self.buffer);
        }
        // It is less than what is there.
        let rest = self.buffer.split_off(usize::try_from(most).unwrap_or(usize::MAX));
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Reads the size of the next chunk, and behind the last one the trailer.
    async fn next_chunk(&mut self, is_first: bool) -> io::Result<()> {
        if !is_first && !self.line().await?.is_empty() {
            return Err(invalid("a chunk of the answer is longer than its size"));
        }
        let mut line = self.line().await?;
        line.extend_from_slice(b"\r\n");
        let Ok(httparse::Status::Complete((_, bytes))) = httparse::parse_chunk_size(&line) else {
            return Err(invalid("a chunk of the answer has no size"));
        };
        if bytes > 0 {
            self.left = Left::Chunk { bytes, is_first: false };
            return Ok(());
        }
        while !self.line().await?.is_empty() {}
        self.left = Left::Bytes(0);
        Ok(())
    }

    async fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            if self.buffer.len() > HEAD_LIMIT_BYTES {
                return Err(invalid("a line of the answer has no end"));
            }
            if self.stream.fill(&mut self.buffer).await? == 0 {
                return Err(cut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A connection whose other side writes these pieces, and then hangs up.
    async fn answered_by(pieces: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            for piece in pieces {
                peer.write_all(piece.as_bytes()).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        });
        Connection::new(Stream::Plain(tcp))
    }

    async fn body_of(connection: &mut Connection) -> io::Result<String> {
        let mut body = Vec::new();
        while let Some(piece) = connection.read_piece().await? {
            body.extend_from_slice(&piece);
        }
        Ok(String::from_utf8(body).unwrap())
    }

    fn block_on(test: impl std::future::Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    #[test]
    fn a_body_of_known_length_leaves_a_connection_that_may_be_kept() {
        block_on(async {
            let mut connection = answered_by(&[
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20",
                "0 OK\r\ncontent-length: 5\r\nX-Request-Id: r-1\r\n\r\nhe",
                "llo",
            ])
            .await;
            let head = connection.read_head(false).await.unwrap();
            assert_eq!((head.status, head.request_id.as_deref()), (200, Some("r-1")));
            assert!(!connection.may_be_kept());
            assert_eq!(body_of(&mut connection).await.unwrap(), "hello");
            assert!(connection.may_be_kept());
        });
    }

    #[test]
    fn chunks_are_joined_wherever_they_are_cut() {
        block_on(async {
            let mut connection = answered_by(&[
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;note=1\r\nhel",
                "lo\r",
                "\n6\r\n world\r\n0\r\nsum: 1\r\n\r\n",
            ])
            .await;
            connection.read_head(false).await.unwrap();
            assert_eq!(body_of(&mut connection).await.unwrap(), "hello world");
            assert!(connection.may_be_kept());
        });
    }

    #[test]
    fn a_body_that_is_cut_is_an_error_and_one_without_a_length_ends_with_the_connection() {
        block_on(async {
            let mut connection = answered_by(&["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello"]).await;
            connection.read_head(false).await.unwrap();
            assert_eq!(body_of(&mut connection).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            let mut connection = answered_by(&["HTTP/1.1 200 OK\r\n\r\nhello"]).await;
            connection.read_head(false).await.unwrap();
            assert_eq!(body_of(&mut connection).await.unwrap(), "hello");
            assert!(!connection.may_be_kept());
        });
    }

    #[test]
    fn what_is_no_http_is_an_error() {
        block_on(async {
            for text in [&["SSH-2.0\r\n\r\n"], &["HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n"]] {
                assert!(answered_by(text).await.read_head(false).await.is_err(), "{text:?}");
            }
        });
    }
}
