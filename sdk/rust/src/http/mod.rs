//! HTTP/1.1 to one service. Heads are parsed by `httparse`; bodies are framed here. Lives on one machine.

mod connection;
mod endpoint;

use std::fmt::Write;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use tokio::time::{timeout_at, Instant};

use self::connection::{Connection, Head, Stream};
pub(crate) use self::endpoint::Endpoint;
use crate::error::{Error, ServiceError};
use crate::settings::Settings;

/// How long an answer may take, where the caller names no time.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An answer larger than this is refused: no read of the service is.
const ANSWER_LIMIT_BYTES: usize = 256 * 1024 * 1024;
const IDLE_CONNECTIONS: usize = 8;
/// One that idles for longer may be closed by the other side while a request is on its way.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Accept {
    Json,
    /// A stream of events, behind this one where one is named.
    Events {
        after: Option<i64>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// From the root of the service: `/v1/api/runs`.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    /// JSON that was written already.
    pub(crate) body: Option<Vec<u8>>,
    /// For the complete answer; of a stream, for its beginning.
    pub(crate) timeout: Option<Duration>,
    pub(crate) accept: Accept,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: None, timeout: None, accept: Accept::Json }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: impl Into<String>, body: Vec<u8>) -> Self {
        Self { body: Some(body), ..Self::new("POST", path) }
    }

    /// With a parameter, where it has a value.
    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.query.push((name.to_owned(), value.to_string()));
        }
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

/// Connections to one service, kept alive between calls.
pub(crate) struct Http {
    endpoint: Endpoint,
    /// The lines of a head that are the same in each request. Holds the key.
    head: String,
    idle: Mutex<Vec<(Connection, Instant)>>,
    #[cfg(feature = "tls")]
    tls: tokio::sync::OnceCell<tokio_rustls::TlsConnector>,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut head = format!(
            "host: {}\r\nuser-agent: svc-rust/{}\r\n",
            settings.endpoint.authority(),
            env!("CARGO_PKG_VERSION")
        );
        if let Some(key) = &settings.api_key {
            let _ = write!(head, "authorization: Bearer {key}\r\n");
        }
        Self {
            endpoint: settings.endpoint.clone(),
            head,
            idle: Mutex::default(),
            #[cfg(feature = "tls")]
            tls: tokio::sync::OnceCell::new(),
        }
    }

    /// One call, one try: the body of a 2xx answer.
    pub(crate) async fn call(&self, request: &Request) -> Result<Vec<u8>, Error> {
        let timeout = request.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let deadline = Instant::now() + timeout;
        timeout_at(deadline, self.exchange(request)).await.unwrap_or_else(|_| Err(too_late(request, timeout)))
    }

    /// The same, read as a model.
    pub(crate) async fn call_for<T: DeserializeOwned>(&self, request: &Request) -> Result<T, Error> {
        decode(&self.call(request).await?)
    }

    /// Opens a stream: its bytes, once it is known to be a 2xx answer.
    pub(crate) async fn stream(&self, request: &Request) -> Result<ByteStream, Error> {
        let timeout = request.timeout.unwrap_or(DEFAULT_TIMEOUT);
        let opening = async {
            let (head, mut connection) = self.begin(request).await?;
            if (200..300).contains(&head.status) {
                return Ok(ByteStream { connection });
            }
            let body = read_all(&mut connection).await.map_err(|cause| broken(request, &cause))?;
            Err(refusal(&head, &body))
        };
        timeout_at(Instant::now() + timeout, opening).await.unwrap_or_else(|_| Err(too_late(request, timeout)))
    }

    async fn exchange(&self, request: &Request) -> Result<Vec<u8>, Error> {
        let (head, mut connection) = self.begin(request).await?;
        let body = read_all(&mut connection).await.map_err(|cause| broken(request, &cause))?;
        if connection.may_be_kept() {
            self.keep(connection);
        }
        if (200..300).contains(&head.status) {
            Ok(body)
        } else {
            Err(refusal(&head, &body))
        }
    }

    async fn begin(&self, request: &Request) -> Result<(Head, Connection), Error> {
        let failed = |cause: std::io::Error| broken(request, &cause);
        let mut connection = match self.take_idle() {
            Some(connection) => connection,
            None => self.connect().await.map_err(failed)?,
        };
        connection.send(&self.bytes_of(request)).await.map_err(failed)?;
        let head = connection.read_head(request.method == "HEAD").await.map_err(failed)?;
        Ok((head, connection))
    }

    fn bytes_of(&self, request: &Request) -> Vec<u8> {
        let mut text = format!("{} {}{}", request.method, self.endpoint.prefix(), request.path);
        for (number, (name, value)) in request.query.iter().enumerate() {
            text.push(if number == 0 { '?' } else { '&' });
            text.push_str(&escape(name));
            text.push('=');
            text.push_str(&escape(value));
        }
        text.push_str(" HTTP/1.1\r\n");
        text.push_str(&self.head);
        match request.accept {
            Accept::Json => text.push_str("accept: application/json\r\n"),
            Accept::Events { after: None } => text.push_str("accept: text/event-stream\r\n"),
            Accept::Events { after: Some(after) } => {
                let _ = write!(text, "accept: text/event-stream\r\nlast-event-id: {after}\r\n");
            }
        }
        let body = request.body.as_deref().unwrap_or_default();
        if request.body.is_some() {
            text.push_str("content-type: application/json\r\n");
        }
        if request.body.is_some() || request.method != "GET" {
            let _ = write!(text, "content-length: {}\r\n", body.len());
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while let Some((connection, since)) = idle.pop() {
            if since.elapsed() < IDLE_TIME && connection.is_open() {
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if idle.len() < IDLE_CONNECTIONS {
            idle.push((connection, Instant::now()));
        }
    }

    async fn connect(&self) -> std::io::Result<Connection> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        timeout_at(deadline, self.dial()).await.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    async fn dial(&self) -> std::io::Result<Connection> {
        let tcp = tokio::net::TcpStream::connect((self.endpoint.host(), self.endpoint.port())).await?;
        tcp.set_nodelay(true)?;
        if !self.endpoint.is_secure() {
            return Ok(Connection::new(Stream::Plain(tcp)));
        }
        #[cfg(feature = "tls")]
        {
            let connector = self.tls.get_or_try_init(connection::tls_connector).await?;
            let name = tokio_rustls::rustls::pki_types::ServerName::try_from(self.endpoint.host().to_owned())
                .map_err(std::io::Error::other)?;
            Ok(Connection::new(Stream::Tls(Box::new(connector.connect(name, tcp).await?))))
        }
        #[cfg(not(feature = "tls"))]
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "https needs the feature `tls` of svc-sdk"))
    }
}

/// The body of an answer that goes on for as long as it likes.
pub(crate) struct ByteStream {
    connection: Connection,
}

impl ByteStream {
    /// The next bytes; none at the end. Fails when it breaks, or is silent for so long.
    pub(crate) async fn read(&mut self, idle: Duration) -> Result<Option<Vec<u8>>, Error> {
        match tokio::time::timeout(idle, self.connection.read_piece()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(cause)) => Err(Error::Connection(format!("the stream broke off: {cause}"))),
            Err(_) => Err(Error::Connection(format!("the stream was silent for {} ms", idle.as_millis()))),
        }
    }
}

async fn read_all(connection: &mut Connection) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(piece) = connection.read_piece().await? {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_LIMIT_BYTES {
            return Err(std::io::Error::other(format!("the answer is larger than {ANSWER_LIMIT_BYTES} bytes")));
        }
    }
    Ok(body)
}

fn refusal(head: &Head, body: &[u8]) -> Error {
    let mut refusal = ServiceError::read(head.status, body);
    refusal.request_id.clone_from(&head.request_id);
    refusal.retry_after = head.retry_after.as_deref().and_then(|header| retry_after(header, SystemTime::now()));
    refusal.into()
}

fn broken(request: &Request, cause: &std::io::Error) -> Error {
    Error::Connection(format!("{} {} got no answer: {cause}", request.method, request.path))
}

fn too_late(request: &Request, timeout: Duration) -> Error {
    Error::Connection(format!("{} {} got no answer within {} ms", request.method, request.path, timeout.as_millis()))
}

/// Reads an answer. One that is not what it should be is as good as none.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    // An answer without a body is null.
    let text = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(text)
        .or_else(|cause| without_lone_surrogates(text).map_or(Err(cause), |text| serde_json::from_slice(&text)))
        .map_err(|cause| Error::Connection(format!("the answer cannot be read: {cause}")))
}

/// JSON can say half of a surrogate pair, and a text of Rust cannot: it becomes U+FFFD. Nothing where there is none.
fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                mended.get_or_insert_with(|| text.to_vec())[at..at + 6].copy_from_slice(b"\\ufffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    mended
}

/// What a `Retry-After` header asks for; nothing where it says nothing. See RFC 9110, 10.2.3.
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let text = header.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Duration::from_secs);
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// A text as one segment of a path, or as a name or value of a query.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn retry_after_is_read_as_the_vectors_say() {
        for case in vectors::cases("retry-after") {
            let now = SystemTime::UNIX_EPOCH + vectors::since_epoch(case["now"].as_str().unwrap());
            let waits = case["header"].as_str().and_then(|header| retry_after(header, now));
            assert_eq!(waits.map(|wait| u64::try_from(wait.as_millis()).unwrap()), case["wait_ms"].as_u64(), "{case}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_is_read_as_the_replacement_character() {
        let read = |text: &str| decode::<String>(text.as_bytes());
        assert_eq!(read(r#""a\ud800b""#).unwrap(), "a\u{fffd}b");
        assert_eq!(read(r#""\udc00\ud83d\ude00\ud83d""#).unwrap(), "\u{fffd}😀\u{fffd}");
        assert_eq!(read(r#""\\ud800""#).unwrap(), "\\ud800");
        assert!(read(r#""\ud800"#).is_err());
    }

    #[test]
    fn an_id_of_any_text_is_one_segment_of_a_path() {
        assert_eq!(escape("a/b c?ü~"), "a%2Fb%20c%3F%C3%BC~");
    }

    #[test]
    fn a_request_holds_what_was_asked_for_and_no_more() {
        let settings = Settings::read(
            crate::settings::Overrides { endpoint: Some("http://[::1]:80/base/".to_owned()), ..Default::default() },
            |_| None,
        );
        let http = Http::new(&settings);
        let request =
            Request::get("/v1/api/runs").with("limit", Some(5)).with("cursor", None::<&str>).with("q", Some("a b"));
        let text = String::from_utf8(http.bytes_of(&request)).unwrap();
        assert!(text.starts_with("GET /base/v1/api/runs?limit=5&q=a%20b HTTP/1.1\r\nhost: [::1]:80\r\n"), "{text}");
        assert!(!text.contains("authorization") && !text.contains("content-length"), "{text}");
        assert!(text.ends_with("\r\n\r\n"));
    }
}
