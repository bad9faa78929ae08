use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;

use super::step::Step;
use super::step_error::StepError;
use crate::error::Error;

/// What came of a body: its output as JSON, or why there is none.
pub(crate) enum Outcome {
    Output(Vec<u8>),
    Failed(StepError),
    /// The output is not JSON.
    NotJson(String),
    /// The runtime of the body ended before it.
    Abandoned,
}

type BodyFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;
pub(crate) type Body = Arc<dyn Fn(Step) -> BodyFuture + Send + Sync>;

/// A definition and the bodies of its tasks.
///
/// ```
/// use svc::{Step, StepError, Workflow};
///
/// #[derive(serde::Deserialize)]
/// struct Order { amount: f64 }
///
/// async fn pay(step: Step, order: Order) -> Result<String, StepError> {
///     Ok(format!("{} paid once, by its key {}", order.amount, step.key()))
/// }
///
/// let json = r#"{"id": "refund", "version": 1, "steps": [{"id": "pay", "kind": "task", "input": "${input}"}]}"#;
/// let refund = Workflow::from_json(json)?.step("pay", pay);
/// # Ok::<(), svc::Error>(())
/// ```
#[derive(Clone)]
pub struct Workflow {
    definition: Value,
    id: String,
    version: i64,
    tasks: Vec<String>,
    bodies: HashMap<String, Body>,
    faults: Vec<String>,
}

impl Workflow {
    /// Takes the definition as JSON text; the service says what is wrong with its content when it is registered.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on what is not JSON, or has no `id`, `version` and `steps`.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Self::new(serde_json::from_str(text).map_err(|cause| Error::not_json("the definition", &cause))?)
    }

    /// The same for a value.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] on what has no `id`, `version` and `steps`.
    pub fn new(definition: Value) -> Result<Self, Error> {
        let id = definition.get("id").and_then(Value::as_str);
        let version = definition.get("version").and_then(Value::as_i64);
        let steps = definition.get("steps").and_then(Value::as_array);
        let (Some(id), Some(version), Some(steps)) = (id, version, steps) else {
            return Err(Error::InvalidArgument(
                "a definition is an object with `id`, `version` and `steps`".to_owned(),
            ));
        };
        let tasks = steps.iter().filter(|step| step.get("kind").is_some_and(|kind| kind == "task"));
        let tasks = tasks.filter_map(|step| Some(step.get("id")?.as_str()?.to_owned())).collect();
        let id = id.to_owned();
        Ok(Self { definition, id, version, tasks, bodies: HashMap::new(), faults: Vec::new() })
    }

    /// Binds a body to a task. Its input is read as the type that the body takes, and what it returns is the output.
    ///
    /// A body may run more than once, unless the delivery of the step is `at_most_once`: hand [`Step::key`] to
    /// whatever it does to the world. `?` on any error fails the step as fatal; [`StepError`] has the other ways. A
    /// panic is fatal too. A task that is not there, or has a body already, is refused when the worker is built.
    #[must_use]
    pub fn step<F, Fut, In, Out>(mut self, step_id: &str, body: F) -> Self
    where
        F: Fn(Step, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, StepError>> + Send + 'static,
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
    {
        if !self.tasks.iter().any(|task| task == step_id) {
            self.faults.push(format!("{} has no task {step_id:?}", self.title()));
        }
        let body = Arc::new(body);
        let run = move |step: Step| -> BodyFuture {
            let body = Arc::clone(&body);
            Box::pin(async move {
                let given = step.lease().input.clone().unwrap_or_default();
                let input = match serde_json::from_value(given) {
                    Ok(input) => input,
                    Err(cause) => {
                        let message =
                            format!("the input of step {} is not what its body takes: {cause}", step.step_id());
                        return Outcome::Failed(StepError::fatal(message).code("invalid_input"));
                    }
                };
                let id = step.step_id().to_owned();
                match body(step, input).await.map(|output| serde_json::to_vec(&output)) {
                    Ok(Ok(output)) => Outcome::Output(output),
                    Ok(Err(cause)) => Outcome::NotJson(format!("the output of step {id} is not JSON: {cause}")),
                    Err(error) => Outcome::Failed(error),
                }
            })
        };
        if self.bodies.insert(step_id.to_owned(), Arc::new(run)).is_some() {
            self.faults.push(format!("step {step_id:?} of {} has two bodies", self.title()));
        }
        self
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    pub(crate) fn title(&self) -> String {
        format!("workflow {} version {}", self.id, self.version)
    }

    pub(crate) fn definition(&self) -> &Value {
        &self.definition
    }

    pub(crate) fn body_of(&self, step_id: &str) -> Option<Body> {
        self.bodies.get(step_id).cloned()
    }

    /// What keeps it from being served.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        let without: Vec<&str> =
            self.tasks.iter().filter(|task| !self.bodies.contains_key(*task)).map(String::as_str).collect();
        if !without.is_empty() {
            faults.push(format!("{} has no body for: {}", self.title(), without.join(", ")));
        }
        faults
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Workflow")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("tasks", &self.tasks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn echo(_: Step, input: Value) -> Result<Value, StepError> {
        Ok(input)
    }

    #[test]
    fn a_task_without_a_body_and_a_body_without_a_task_are_faults() {
        let json = r#"{"id": "w", "version": 1, "steps": [{"id": "a", "kind": "task"}, {"id": "b", "kind": "sleep"}]}"#;
        let workflow = Workflow::from_json(json).unwrap();
        assert_eq!(workflow.faults(), ["workflow w version 1 has no body for: a"]);
        let workflow = workflow.step("a", echo);
        assert_eq!(workflow.faults(), [""; 0]);
        let faults = workflow.step("a", echo).step("b", echo).faults();
        assert_eq!(
            faults,
            ["step \"a\" of workflow w version 1 has two bodies", "workflow w version 1 has no task \"b\""]
        );
    }

    #[test]
    fn a_definition_needs_its_three_members() {
        for text in ["", "[]", "{}", r#"{"id": "w", "version": "1", "steps": []}"#, r#"{"id": "w", "version": 1}"#] {
            assert!(matches!(Workflow::from_json(text), Err(Error::InvalidArgument(_))), "{text}");
        }
    }
}
