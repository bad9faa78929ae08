//! The verbs of the client: one a line, where the library has one a line.

use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use svc::wire::{BulkInput, ChangedSchedule, RestartRun, RunCorrelation, RunFilter, ScheduleInput};
use svc::{CancellationToken, Client, Page};

use crate::{emit, get, need, unsupported, Answer, Fault};

/// Members of a request as a model of the library.
fn model<T: DeserializeOwned>(with: &Value) -> Result<T, Fault> {
    Ok(T::deserialize(with)?)
}

fn told(answer: impl serde::Serialize) -> Answer {
    Ok(serde_json::to_value(answer)?)
}

async fn start(client: &Client, with: &Value) -> Answer {
    let mut start = client.start::<Value>(&need::<String>(with, "definition_id")?, &with["input"]);
    if let Some(version) = get(with, "version")? {
        start = start.version(version);
    }
    if let Some(project) = get::<String>(with, "project")? {
        start = start.project(project);
    }
    if let Some(key) = get::<String>(with, "idempotency_key")? {
        start = start.idempotency_key(key);
    }
    if let Some(correlation) = get::<RunCorrelation>(with, "correlation")? {
        start = start.correlation(correlation);
    }
    if let Some(wait) = get(with, "wait_ms")? {
        start = start.wait_for_end(std::time::Duration::from_millis(wait));
    }
    if let Some(time) = get::<String>(with, "start_at")? {
        start = start.start_at(time);
    }
    if let Some(priority) = get(with, "priority")? {
        start = start.priority(priority);
    }
    told(start.await?.as_started())
}

async fn watch(client: &Client, (call, stop): (u64, &CancellationToken), with: &Value) -> Answer {
    let limit = get(with, "limit")?.unwrap_or(usize::MAX);
    let mut entries = client.watch_after(&need::<String>(with, "run_id")?, get(with, "after")?.unwrap_or(-1));
    let mut seqs = Vec::new();
    while seqs.len() < limit {
        let next = tokio::select! {
            () = stop.cancelled() => None,
            next = entries.next() => next,
        };
        let Some(entry) = next else { break };
        let entry = entry?;
        emit(&json!({"event": "watch.entry", "call": call, "seq": entry.seq, "kind": entry.kind}));
        seqs.push(entry.seq);
    }
    Ok(json!({"seqs": seqs}))
}

async fn deliver(client: &Client, with: &Value, key: Option<&str>) -> Answer {
    let event: String = need(with, "event")?;
    let mut deliver = match key {
        Some(key) => client.publish(&event, key, &with["payload"]),
        None => client.signal(&need::<String>(with, "run_id")?, &event, &with["payload"]),
    };
    if let Some(id) = get::<String>(with, "event_id")? {
        deliver = deliver.event_id(id);
    }
    if let Some(project) = get::<String>(with, "project")? {
        deliver = deliver.project(project);
    }
    told(deliver.await?)
}

fn query(with: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    with["query"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

pub async fn serve(client: &Client, call: (u64, &CancellationToken), verb: &str, with: &Value) -> Answer {
    let text = |name: &str| need::<String>(with, name);
    let reason = get::<String>(with, "reason")?;
    let reason = reason.as_deref();
    let page = Page { limit: get(with, "limit")?, cursor: get(with, "cursor")? };
    match verb {
        "start" => start(client, with).await,
        "wait" => Ok(json!({"output": client.wait::<Value>(&text("run_id")?).await?})),
        "watch" => watch(client, call, with).await,
        "get" => told(client.get_run(&text("run_id")?).await?),
        "journal" => told(client.journal(&text("run_id")?, get(with, "after")?, page.limit).await?),
        "cause" => told(client.step_cause(&text("run_id")?, &text("step_id")?).await?),
        "list" => told(client.list_runs(&model::<RunFilter>(with)?, &page).await?),
        "signal" => deliver(client, with, None).await,
        "publish" => deliver(client, with, Some(&text("key")?)).await,
        "cancel" => told(client.cancel(&text("run_id")?, reason).await?),
        "pause" => told(client.pause(&text("run_id")?, reason).await?),
        "resume" => told(client.resume(&text("run_id")?, reason).await?),
        "restart" => told(client.restart::<Value>(&text("run_id")?, model::<RestartRun>(with)?).await?.as_started()),
        "store_definitions" => {
            Ok(json!({"definitions": client.store_definitions(&need::<Vec<Value>>(with, "definitions")?).await?}))
        }
        "check_definitions" => {
            Ok(json!({"definitions": client.check_definitions(&need::<Vec<Value>>(with, "definitions")?).await?}))
        }
        "pause_definition" => told(client.pause_definition(&text("id")?, reason).await?),
        "resume_definition" => told(client.resume_definition(&text("id")?, reason).await?),
        "create_schedule" => {
            let mut schedule = with["schedule"].clone();
            schedule["id"] = with["id"].clone();
            told(client.create_schedule(model::<ScheduleInput>(&schedule)?).await?)
        }
        "replace_schedule" => {
            told(client.replace_schedule(&text("id")?, &model::<ChangedSchedule>(&with["schedule"])?).await?)
        }
        "get_schedule" => told(client.get_schedule(&text("id")?).await?),
        "pause_schedule" => told(client.pause_schedule(&text("id")?).await?),
        "resume_schedule" => told(client.resume_schedule(&text("id")?).await?),
        "trigger_schedule" => told(client.trigger_schedule(&text("id")?).await?),
        "delete_schedule" => {
            client.delete_schedule(&text("id")?).await?;
            Ok(json!({}))
        }
        "list_schedules" => told(client.list_schedules(&page).await?),
        "count_bulk" => told(client.count_bulk(model::<BulkInput>(with)?).await?),
        "start_bulk" => told(client.start_bulk(model::<BulkInput>(with)?).await?),
        "get_bulk" => told(client.get_bulk(&text("bulk_id")?).await?),
        "stop_bulk" => told(client.stop_bulk(&text("bulk_id")?).await?),
        "list_workers" => told(client.list_workers(&page).await?),
        "read" => {
            let query = query(with);
            let query: Vec<_> = query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            Ok(client.read(&text("path")?, &query).await?)
        }
        "close" => {
            client.close();
            Ok(json!({}))
        }
        _ => Err(unsupported(verb)),
    }
}
