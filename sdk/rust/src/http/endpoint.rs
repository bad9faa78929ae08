use std::fmt::Write;

/// An http or https URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    secure: bool,
    host: String,
    port: Option<u16>,
    prefix: String,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self { secure: false, host: "127.0.0.1".to_owned(), port: Some(4317), prefix: String::new() }
    }
}

impl Endpoint {
    /// Nothing where the text is no such URL.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.bytes().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, after)
            }
            None => authority.find(':').map_or((authority, ""), |at| authority.split_at(at)),
        };
        let port = match port {
            "" | ":" => None,
            text => Some(text.strip_prefix(':')?.parse().ok().filter(|port| *port != 0)?),
        };
        if host.is_empty() || !host.is_ascii() {
            return None;
        }
        let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
        let mut prefix = String::new();
        for byte in path.trim_end_matches('/').bytes() {
            if byte.is_ascii_graphic() {
                prefix.push(char::from(byte));
            } else {
                let _ = write!(prefix, "%{byte:02X}");
            }
        }
        Some(Self { secure, host: host.to_owned(), port, prefix })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(if self.secure { 443 } else { 80 })
    }

    /// What stands before the path of each call.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Host and port as a URL and a `host` header have them.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        self.port.map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    /// As a log may show it: without a password.
    pub(crate) fn shown(&self) -> String {
        format!("{}://{}{}", if self.secure { "https" } else { "http" }, self.authority(), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::DEFAULT_ENDPOINT;

    fn shown(text: &str) -> Option<String> {
        Endpoint::parse(text).map(|endpoint| endpoint.shown())
    }

    #[test]
    fn a_url_is_taken_apart() {
        assert_eq!(Endpoint::parse(DEFAULT_ENDPOINT), Some(Endpoint::default()));
        let endpoint = Endpoint::parse("https://me:secret@svc.test/a/b/").unwrap();
        assert_eq!((endpoint.host(), endpoint.port(), endpoint.prefix()), ("svc.test", 443, "/a/b"));
        assert_eq!(shown("HTTP://[::1]:4317").as_deref(), Some("http://[::1]:4317"));
        assert_eq!(shown("http://svc.test:65535").as_deref(), Some("http://svc.test:65535"));
    }

    #[test]
    fn what_is_no_http_url_is_none() {
        for text in [
            "",
            "svc.test",
            "ftp://svc.test",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:65536",
            "http://a b",
            "http://[::g]",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert!(!format!("{:?}", Endpoint::parse("http://me:secret@h").unwrap()).contains("secret"));
    }
}
