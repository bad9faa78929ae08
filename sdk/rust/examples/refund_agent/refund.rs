//! The bodies of the refund agent's tasks. Workers in other languages serve the same definition.

use std::error::Error;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use svc::wire::{Object, SpanKind};
use svc::{Span, SpanBuilder, Step, StepError, Workflow};

use crate::bank::{Bank, BankError, Payment};
use crate::fake_model::{self, Judgement, MODEL};

const DEFINITION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/refund-agent/refund.json");

#[derive(Debug, Serialize, Deserialize)]
pub struct Ticket {
    pub id: String,
    pub text: String,
    pub amount: f64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Case {
    pub ticket: Ticket,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    amount: f64,
}

pub fn workflow() -> Result<Workflow, Box<dyn Error>> {
    let bank = Arc::new(Bank::default());
    let pay = move |step: Step, order: Order| pay(Arc::clone(&bank), step, order);
    let definition = std::fs::read_to_string(DEFINITION)?;
    Ok(Workflow::from_json(&definition)?.step("triage", triage).step("pay", pay).step("apologise", apologise))
}

fn model_span(step: &Step, name: &str, complaint: &str) -> SpanBuilder {
    step.span(name).kind(SpanKind::ModelGeneration).model(MODEL).provider("openai").input(complaint)
}

async fn triage(step: Step, case: Case) -> Result<Judgement, StepError> {
    let judgement = model_span(&step, "judge the complaint", &case.ticket.text)
        .run(async |span: Span| {
            let (judgement, tokens) = fake_model::judge(&case.ticket.text).await;
            span.output(&judgement).tokens(tokens.input, tokens.output);
            Ok::<_, std::convert::Infallible>(judgement)
        })
        .await?;
    step.patch_state(Object::from_iter([
        ("confidence".to_owned(), judgement.confidence.into()),
        ("reason".to_owned(), judgement.reason.as_str().into()),
    ]));
    Ok(judgement)
}

/// Paid once, however often it runs: the key is the same for every attempt.
async fn pay(bank: Arc<Bank>, step: Step, order: Order) -> Result<Payment, StepError> {
    let paid = step
        .span("call the bank")
        .kind(SpanKind::ToolCall)
        .entity_name("bank")
        .input(&order)
        .run(async |_: Span| bank.pay(order.amount, step.key()).await)
        .await;
    match paid {
        Err(down @ BankError::Down) => Err(StepError::retryable(down)),
        Ok(payment) => Ok(payment),
    }
}

async fn apologise(step: Step, case: Case) -> Result<Value, StepError> {
    model_span(&step, "write to the customer", &case.ticket.text)
        .run(async |span: Span| {
            let (text, tokens) = fake_model::apologise(&case.ticket.text).await;
            span.output(&text).tokens(tokens.input, tokens.output);
            Ok(json!({ "text": text }))
        })
        .await
        .map_err(|never: std::convert::Infallible| never.into())
}
