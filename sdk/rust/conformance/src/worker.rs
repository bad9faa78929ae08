//! The verbs of workers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{json, Value};
use svc::{Worker, Workflow};

use crate::worlds::{with_settings, Worlds};
use crate::{body, emit, get, need, Answer, Fault};

fn name_of(with: &Value) -> Result<String, Fault> {
    Ok(get(with, "name")?.unwrap_or_else(|| "w".to_owned()))
}

pub async fn run(worlds: &Arc<Worlds>, with: &Value) -> Answer {
    let code = worlds.code();
    let mut builder = Worker::builder().instrumentation(&worlds.tracer()).on_log(|severity, message| {
        emit(&json!({"event": "worker.log", "level": severity, "message": message}));
    });
    with_settings!(builder, code, endpoint, api_key, project);
    with_settings!(builder, with, worker_id, version, run_id);
    for definition in need::<Vec<Value>>(with, "definitions")? {
        let mut workflow = Workflow::new(definition.clone())?;
        for step in definition["steps"].as_array().into_iter().flatten().filter(|step| step["kind"] == "task") {
            let worlds = Arc::clone(worlds);
            let run = move |step, input| body::scripted(Arc::clone(&worlds), step, input);
            workflow = workflow.step(&need::<String>(step, "id")?, run);
        }
        builder = builder.workflow(workflow);
    }
    if let Some(bodies) = get(with, "concurrency")? {
        builder = builder.concurrency(bodies);
    }
    if let Some(wait) = get(with, "claim_wait_ms")? {
        builder = builder.claim_wait(Duration::from_millis(wait));
    }
    if let Some(grace) = get(with, "grace_ms")? {
        builder = builder.grace(Duration::from_millis(grace));
    }
    if let Some(settle) = get(with, "settle_ms")? {
        builder = builder.settle(Duration::from_millis(settle));
    }
    let worker = builder.build()?;
    worlds.workers.lock().unwrap().insert(name_of(with)?, worker.handle());
    if get(with, "signals")?.unwrap_or(false) {
        worker.run().await?;
    } else {
        worker.run_until(std::future::pending::<()>()).await?;
    }
    Ok(json!({}))
}

pub async fn stop(worlds: &Worlds, with: &Value) -> Answer {
    let worker = worlds.workers.lock().unwrap().get(&name_of(with)?).cloned();
    let worker = worker.ok_or_else(|| Fault::Named("InvalidArgument", "no such worker".to_owned()))?;
    worker.stop();
    worker.stopped().await;
    Ok(json!({}))
}
