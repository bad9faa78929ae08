//! Stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug)]
pub enum BankError {
    Down,
}

impl fmt::Display for BankError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the bank does not answer")
    }
}

impl std::error::Error for BankError {}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payment {
    pub payment: String,
    pub amount: f64,
}

#[derive(Default)]
pub struct Bank {
    books: Mutex<(HashMap<String, Payment>, HashSet<String>)>,
}

impl Bank {
    /// The first try for a key fails, so that a retry can be seen; a repeated key pays nothing twice.
    pub async fn pay(&self, amount: f64, key: &str) -> Result<Payment, BankError> {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let (payments, refused_once) = &mut *books;
        if let Some(paid) = payments.get(key) {
            return Ok(paid.clone());
        }
        if refused_once.insert(key.to_owned()) {
            return Err(BankError::Down);
        }
        let payment = Payment { payment: format!("payment-{}", payments.len() + 1), amount };
        payments.insert(key.to_owned(), payment.clone());
        Ok(payment)
    }
}
