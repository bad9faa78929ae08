use serde::Serialize;

/// Writes one JSON object, member by member. What cannot be written fails the complete object.
pub(crate) struct ObjectWriter {
    text: Vec<u8>,
    failed: bool,
}

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        let mut text = Vec::with_capacity(512);
        text.push(b'{');
        Self { text, failed: false }
    }

    fn name(&mut self, name: &str) {
        if self.text.len() > 1 {
            self.text.push(b',');
        }
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    /// A name without anything to escape, and a value.
    pub(crate) fn member(&mut self, name: &str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        self.failed |= serde_json::to_writer(&mut self.text, value).is_err();
    }

    pub(crate) fn optional(&mut self, name: &str, value: Option<&(impl Serialize + ?Sized)>) {
        if let Some(value) = value {
            self.member(name, value);
        }
    }

    /// A value that was written already.
    pub(crate) fn written(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.name(name);
            self.text.extend_from_slice(value);
        }
    }

    pub(crate) fn finish(mut self) -> Option<Vec<u8>> {
        self.text.push(b'}');
        (!self.failed).then_some(self.text)
    }
}
