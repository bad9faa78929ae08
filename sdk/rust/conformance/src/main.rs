//! Joins the conformance kit to this library, through its public interface alone. See sdk/conformance/README.md.

mod body;
mod client;
mod signals;
mod worker;
mod worlds;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use svc::CancellationToken;

use crate::worlds::Worlds;

const CAPABILITIES: &[&str] = &[
    "threads",
    "log_bridge",
    "blocking_bodies",
    "int64",
    "batch",
    #[cfg(feature = "otel")]
    "otel_bridge",
];

/// What a verb ends with, when it is no answer.
pub enum Fault {
    Library(svc::Error),
    Named(&'static str, String),
}

impl From<svc::Error> for Fault {
    fn from(error: svc::Error) -> Self {
        Self::Library(error)
    }
}

impl From<serde_json::Error> for Fault {
    /// A request that the types of the library refuse.
    fn from(error: serde_json::Error) -> Self {
        Self::Named("Unrepresentable", error.to_string())
    }
}

pub type Answer = Result<Value, Fault>;

pub fn unsupported(verb: &str) -> Fault {
    Fault::Named("Unsupported", format!("no verb {verb}"))
}

impl Fault {
    fn told(&self) -> Value {
        let error = match self {
            Self::Named(kind, message) => return json!({"type": kind, "message": message}),
            Self::Library(error) => error,
        };
        let mut told = json!({"message": error.to_string()});
        told["type"] = match error {
            svc::Error::Service(refusal) => {
                told["status"] = refusal.status.into();
                told["code"] = refusal.code.as_str().into();
                for (name, value) in [("field", &refusal.field), ("request_id", &refusal.request_id)] {
                    if let Some(value) = value {
                        told[name] = value.as_str().into();
                    }
                }
                if let Some(wait) = refusal.retry_after {
                    told["retry_after_ms"] = json!(u64::try_from(wait.as_millis()).unwrap());
                }
                "ServiceError"
            }
            svc::Error::RunFailed(run) => {
                told["run"] = json!(run);
                "RunFailed"
            }
            svc::Error::Connection(_) => "ConnectionError",
            svc::Error::IncompatibleServer { .. } => "IncompatibleServer",
            svc::Error::InvalidArgument(_) => "InvalidArgument",
            _ => "Unexpected",
        }
        .into();
        told
    }
}

pub fn emit(line: &Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("standard output is open");
}

/// A member of a request, where it is there.
pub fn get<T: DeserializeOwned>(with: &Value, name: &str) -> Result<Option<T>, Fault> {
    with.get(name).map(|value| Ok(T::deserialize(value)?)).transpose()
}

/// A member that must be there.
pub fn need<T: DeserializeOwned>(with: &Value, name: &str) -> Result<T, Fault> {
    Ok(T::deserialize(with.get(name).unwrap_or(&Value::Null))?)
}

async fn serve(worlds: &Arc<Worlds>, id: u64, verb: &str, with: &Value, stop: &CancellationToken) -> Answer {
    match verb {
        "hello" => Ok(json!({
            "language": "rust",
            "library": "svc-sdk",
            "version": env!("CARGO_PKG_VERSION"),
            "capabilities": CAPABILITIES,
        })),
        "configure" => worlds.configure(with),
        "worker.run" => worker::run(worlds, with).await,
        "worker.stop" => worker::stop(worlds, with).await,
        "release" => worlds.release(need(with, "name")?),
        "exit" => {
            worlds.close().await;
            std::process::exit(get(with, "code")?.unwrap_or(0));
        }
        _ => match verb.strip_prefix("client.") {
            Some(verb) => client::serve(&worlds.client()?, (id, stop), verb, with).await,
            None => signals::serve(&worlds.tracer(), verb, with).await,
        },
    }
}

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    let worlds = Arc::new(Worlds::default());
    let under_way: Arc<Mutex<HashMap<u64, CancellationToken>>> = Arc::default();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let request: Value = serde_json::from_str(&line).expect("a request is JSON");
        let id = request["id"].as_u64().expect("a request has an id");
        let verb = request["do"].as_str().expect("a request has a verb").to_owned();
        let with = request.get("with").cloned().unwrap_or_else(|| json!({}));
        if verb == "cancel_call" {
            let found = under_way.lock().unwrap().remove(&with["call"].as_u64().unwrap_or_default());
            found.inspect(CancellationToken::cancel);
            emit(&json!({"id": id, "ok": {}}));
            continue;
        }
        let (worlds, listed, stop) = (Arc::clone(&worlds), Arc::clone(&under_way), CancellationToken::new());
        under_way.lock().unwrap().insert(id, stop.clone());
        runtime.spawn(async move {
            let answer = tokio::select! {
                answer = serve(&worlds, id, &verb, &with, &stop) => answer,
                // Who drops the future of a call stops it. A watch ends by itself.
                () = stop.cancelled(), if verb != "client.watch" => {
                    Err(Fault::Named("Cancelled", "the caller stopped".to_owned()))
                }
            };
            listed.lock().unwrap().remove(&id);
            match answer {
                Ok(ok) => emit(&json!({"id": id, "ok": ok})),
                Err(fault) => emit(&json!({"id": id, "error": fault.told()})),
            }
        });
    }
    std::process::exit(0);
}
