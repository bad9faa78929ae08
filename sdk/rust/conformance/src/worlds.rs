//! The objects of one process.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use serde_json::{json, Value};
use svc::{Client, Instrumentation, RetryPolicy, WorkerHandle};
use tracing_subscriber::layer::SubscriberExt;

use crate::{get, Answer, Fault};

#[derive(Default)]
pub struct Worlds {
    code: Mutex<Value>,
    tracer: OnceLock<Instrumentation>,
    client: Mutex<Option<Client>>,
    pub workers: Mutex<HashMap<String, WorkerHandle>>,
    released: Mutex<HashSet<String>>,
}

/// Gives a builder the texts that are there, by the names that they have in both.
macro_rules! with_settings {
    ($builder:ident, $code:ident, $($name:ident),+) => {
        $(if let Some(text) = $crate::get::<String>(&$code, stringify!($name))? {
            $builder = $builder.$name(text);
        })+
    };
}
pub(crate) use with_settings;

fn millis(with: &Value, name: &str) -> Result<Option<Duration>, Fault> {
    Ok(get(with, name)?.map(Duration::from_millis))
}

fn retry(code: &Value) -> Result<Option<RetryPolicy>, Fault> {
    let Some(retry) = code.get("retry") else { return Ok(None) };
    Ok(Some(RetryPolicy {
        attempts: get(retry, "attempts")?,
        base: millis(retry, "base_ms")?.unwrap_or_default(),
        max: millis(retry, "max_ms")?.unwrap_or_default(),
        within: None,
    }))
}

impl Worlds {
    pub fn code(&self) -> Value {
        self.code.lock().unwrap().clone()
    }

    pub fn configure(&self, with: &Value) -> Answer {
        *self.code.lock().unwrap() = with.clone();
        self.make_tracer()?;
        Ok(json!({"problems": self.tracer().problems()}))
    }

    fn make_tracer(&self) -> Result<(), Fault> {
        let code = self.code();
        let mut builder = Instrumentation::builder();
        with_settings!(builder, code, endpoint, api_key, project, environment, service_name, service_version);
        if let Some(fraction) = get(&code, "sample")? {
            builder = builder.sample(fraction);
        }
        if let Some(enabled) = get(&code, "enabled")? {
            builder = builder.enabled(enabled);
        }
        if let Some(signals) = get(&code, "max_queued")? {
            builder = builder.max_queued(signals);
        }
        if let Some(bytes) = get(&code, "max_queued_bytes")? {
            builder = builder.max_queued_bytes(bytes);
        }
        if let Some(signals) = get(&code, "batch_size")? {
            builder = builder.batch_size(signals);
        }
        if let Some(delay) = millis(&code, "delay_ms")? {
            builder = builder.delay(delay);
        }
        if let Some(retry) = retry(&code)? {
            builder = builder.retry(retry);
        }
        #[cfg(feature = "otel")]
        {
            builder = builder.bridge(svc::otel::Bridge);
        }
        let tracer = builder.build();
        let logs = tracing_subscriber::registry().with(svc::tracing::LogLayer::new(&tracer));
        tracing::subscriber::set_global_default(logs).expect("one subscriber");
        let _ = self.tracer.set(tracer);
        Ok(())
    }

    pub fn tracer(&self) -> Instrumentation {
        if self.tracer.get().is_none() {
            let _ = self.make_tracer();
        }
        self.tracer.get().expect("it was made").clone()
    }

    pub fn client(&self) -> Result<Client, Fault> {
        let mut made = self.client.lock().unwrap();
        if let Some(client) = &*made {
            return Ok(client.clone());
        }
        let code = self.code();
        let mut builder = Client::builder();
        with_settings!(builder, code, endpoint, api_key, project);
        if let Some(timeout) = millis(&code, "timeout_ms")? {
            builder = builder.timeout(timeout);
        }
        if let Some(idle) = millis(&code, "stream_idle_ms")? {
            builder = builder.stream_idle(idle);
        }
        if let Some(retry) = retry(&code)? {
            builder = builder.retry(retry);
        }
        let client = builder.build()?;
        *made = Some(client.clone());
        Ok(client)
    }

    pub fn release(&self, name: String) -> Answer {
        self.released.lock().unwrap().insert(name);
        Ok(json!({}))
    }

    pub fn is_released(&self, name: &str) -> bool {
        self.released.lock().unwrap().contains(name)
    }

    pub async fn close(&self) {
        let workers: Vec<WorkerHandle> = self.workers.lock().unwrap().values().cloned().collect();
        for worker in workers {
            worker.stop();
            worker.stopped().await;
        }
        if let Some(client) = &*self.client.lock().unwrap() {
            client.close();
        }
        self.tracer().close(svc::CLOSE_TIME).await;
    }
}
