//! Ids, sampling and the `traceparent` header.

use crate::random;

const TWO_TO_56: f64 = 72_057_594_037_927_936.0;

/// The two ids of a `traceparent` header; nothing where it is malformed. See W3C Trace Context, "traceparent Header".
pub(crate) fn parse_traceparent(header: &str) -> Option<(&str, &str)> {
    let header = header.trim();
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut fields = header.split('-');
    let mut field = |length: usize| fields.next().filter(|text| text.len() == length && is_hex(text));
    let (version, trace_id, span_id, _flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
    let has_more = fields.next().is_some();
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    if version == "ff" || (version == "00" && has_more) || is_zero(trace_id) || is_zero(span_id) {
        return None;
    }
    Some((trace_id, span_id))
}

fn id_bits() -> u64 {
    loop {
        let bits = random::bits();
        if bits != 0 {
            return bits;
        }
    }
}

fn hex(bits: u64, text: &mut String) {
    for shift in (0..16).rev() {
        let digit = (bits >> (shift * 4)) & 0xf;
        text.push(char::from(b"0123456789abcdef"[usize::try_from(digit).unwrap_or_default()]));
    }
}

pub(crate) fn new_trace_id() -> String {
    let mut text = String::with_capacity(32);
    hex(random::bits(), &mut text);
    hex(id_bits(), &mut text);
    text
}

pub(crate) fn new_span_id() -> String {
    let mut text = String::with_capacity(16);
    hex(id_bits(), &mut text);
    text
}

/// The rule of the service, so that both keep the same traces: the low 56 bits of the id, as a fraction of 2^56.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(crate) fn is_sampled(trace_id: &str, fraction: f64) -> bool {
    if fraction >= 1.0 {
        return true;
    }
    let low = trace_id.get(18..).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
    low < (fraction * TWO_TO_56).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn traces_are_kept_as_the_vectors_say() {
        let table = vectors::table("sampling");
        let fractions: Vec<f64> = serde_json::from_value(table["fractions"].clone()).unwrap();
        for case in table["cases"].as_array().unwrap() {
            let trace_id = case["trace_id"].as_str().unwrap();
            let kept: Vec<bool> = fractions.iter().map(|fraction| is_sampled(trace_id, *fraction)).collect();
            assert_eq!(serde_json::to_value(kept).unwrap(), case["kept"], "{trace_id}");
        }
    }

    #[test]
    fn a_traceparent_is_read_as_the_vectors_say() {
        for case in vectors::cases("traceparent") {
            let found = parse_traceparent(case["header"].as_str().unwrap());
            assert_eq!(found.map(|(trace_id, _)| trace_id), case["trace_id"].as_str(), "{case}");
            assert_eq!(found.map(|(_, span_id)| span_id), case["span_id"].as_str(), "{case}");
        }
    }

    #[test]
    fn ids_are_lowercase_hex_and_differ() {
        let ids: std::collections::HashSet<String> = (0..10_000).map(|_| new_trace_id()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| parse_traceparent(&format!("00-{id}-{}-01", new_span_id())).is_some()));
    }
}
