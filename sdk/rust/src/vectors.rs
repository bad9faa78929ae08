//! The tables of `sdk/conformance/vectors`, for unit tests.

use std::time::Duration;

use serde_json::Value;

pub(crate) fn table(name: &str) -> Value {
    let path = format!("{}/../conformance/vectors/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn cases(name: &str) -> Vec<Value> {
    table(name)["cases"].as_array().unwrap().clone()
}

pub(crate) fn since_epoch(text: &str) -> Duration {
    Duration::from_nanos(u64::try_from(crate::timestamp::read(text).unwrap()).unwrap())
}
