//! The models against the vectors of decoding.

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use crate::vectors;
use crate::wire::{JournalEntry, Lease, RunDetail};

fn again<T: DeserializeOwned + Serialize>(text: &str) -> Value {
    serde_json::to_value(serde_json::from_str::<T>(text).unwrap()).unwrap()
}

#[test]
fn models_read_and_write_what_the_vectors_say() {
    for case in vectors::cases("decoding") {
        let text = case["text"].as_str().unwrap();
        let written = match case["model"].as_str().unwrap() {
            "RunDetail" => again::<RunDetail>(text),
            "JournalEntry" => again::<JournalEntry>(text),
            "Lease" => again::<Lease>(text),
            other => panic!("no model {other} is tested here"),
        };
        for expect in case["expect"].as_array().unwrap() {
            let found = written.pointer(expect["path"].as_str().unwrap());
            let wanted: Option<Value> = expect["json"].as_str().map(|json| serde_json::from_str(json).unwrap());
            assert_eq!(found, wanted.as_ref(), "{expect} of {}", case["why"]);
        }
        for path in case["unknown"].as_array().into_iter().flatten() {
            assert_eq!(written.pointer(path.as_str().unwrap()), None, "{path} of {}", case["why"]);
        }
    }
}
