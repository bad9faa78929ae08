//! The refund agent of the repository's `examples/refund-agent`, in Rust, against the same definition.
//!
//! ```sh
//! cargo run --example refund_agent -- worker
//! cargo run --example refund_agent -- start 40 "It arrived broken."
//! cargo run --example refund_agent -- approve <ticket> yes
//! ```

mod bank;
mod fake_model;
mod refund;

use std::error::Error;
use std::time::SystemTime;

use svc::wire::RunCorrelation;
use svc::{Client, Worker};

use crate::refund::{Case, Ticket};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker"] => serve().await,
        ["start"] => start(250.0, "I do not like the colour any more.").await,
        ["start", amount] => start(amount.parse()?, "I do not like the colour any more.").await,
        ["start", amount, complaint] => start(amount.parse()?, complaint).await,
        ["approve", ticket, answer @ ("yes" | "no")] => approve(ticket, answer == "yes").await,
        _ => Err("usage: refund_agent worker | start [amount] [complaint] | approve <ticket> yes|no".into()),
    }
}

/// It says when it is registered, where, and what it serves; Ctrl-C stops it.
async fn serve() -> Result<(), Box<dyn Error>> {
    let worker = Worker::builder()
        .workflow(refund::workflow()?)
        .name("refund-agent")
        .service_name("refund-agent")
        .on_log(|severity, message| println!("{severity}: {message}"))
        .build()?;
    Ok(worker.run().await?)
}

/// Starts a refund and follows it.
async fn start(amount: f64, text: &str) -> Result<(), Box<dyn Error>> {
    let since = SystemTime::UNIX_EPOCH.elapsed()?.as_millis();
    let ticket = Ticket { id: format!("t-{since}"), text: text.to_owned(), amount };
    let id = ticket.id.clone();
    let client = Client::from_env()?;
    let customer = RunCorrelation { user_id: Some("customer-7".to_owned()), ..RunCorrelation::default() };
    let run = match client.start::<bank::Payment>("refund", &Case { ticket }).correlation(customer).await {
        Err(svc::Error::Service(refusal)) if refusal.code == "not_found" => {
            return Err(format!("{refusal}: a worker brings it, so start one first").into());
        }
        started => started?,
    };
    println!("run {}, trace {}, ticket {id}", run.id(), run.trace_id());
    let mut entries = run.watch();
    while let Some(entry) = entries.next().await {
        let entry = entry?;
        let step = entry.step_id.as_deref().unwrap_or("");
        println!("{:3} {:15} {step}", entry.seq, entry.kind.as_str());
        if entry.kind.as_str() == "run.waiting" && step == "ask" {
            println!("\n    It waits for a person. In another terminal:");
            println!("    cargo run --example refund_agent -- approve {id} yes\n");
        }
    }
    match run.wait().await {
        Ok(payment) => println!("paid: {} of {}", payment.payment, payment.amount),
        Err(failed @ svc::Error::RunFailed(_)) => println!("{failed}"),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The person's answer. A ticket is approved once: the id makes a second click count as the first.
async fn approve(ticket: &str, approved: bool) -> Result<(), Box<dyn Error>> {
    let published = Client::from_env()?
        .publish("approval", &format!("ticket/{ticket}"), &serde_json::json!({ "approved": approved }))
        .event_id(format!("approval-of-{ticket}"))
        .await?;
    println!(
        "{}",
        match published.outcome.as_str() {
            "delivered" => "the run goes on",
            "parked" => "kept until a run asks",
            "duplicate" => "answered before",
            other => other,
        }
    );
    Ok(())
}
