//! Stands for a model: it takes a moment, counts tokens, and does the same thing every time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The name under which the price book knows the model that this one plays.
pub const MODEL: &str = "gpt-4o-mini";

const FAULTS: [&str; 4] = ["broken", "damaged", "never arrived", "wrong"];

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Judgement {
    pub confidence: f64,
    pub reason: String,
}

/// What was read and written.
pub struct Tokens {
    pub input: i64,
    pub output: i64,
}

fn tokens_of(text: &str) -> i64 {
    i64::try_from(text.len().div_ceil(4)).unwrap_or(i64::MAX)
}

/// Reads a complaint the way a careful agent would.
pub async fn judge(complaint: &str) -> (Judgement, Tokens) {
    tokio::time::sleep(Duration::from_millis(300)).await;
    let complaint = complaint.to_lowercase();
    let (confidence, reason) = if FAULTS.iter().any(|fault| complaint.contains(fault)) {
        (0.93, "the customer names a fault that the terms cover")
    } else {
        (0.55, "the complaint names no fault that the terms cover")
    };
    let tokens = Tokens { input: 220 + tokens_of(&complaint), output: tokens_of(reason) };
    (Judgement { confidence, reason: reason.to_owned() }, tokens)
}

/// Writes the answer to a customer whose refund was refused.
pub async fn apologise(complaint: &str) -> (String, Tokens) {
    tokio::time::sleep(Duration::from_millis(300)).await;
    let text = "We are sorry. A colleague looked at your case, and we cannot refund it under our terms.";
    (text.to_owned(), Tokens { input: 180 + tokens_of(complaint), output: tokens_of(text) })
}
