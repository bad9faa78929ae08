// Package svc is the Go library of the agent service: it instruments agents, starts and follows durable runs, and
// serves their steps. It needs the standard library alone.
//
//   - [Instrumentation] records spans, logs, metrics, scores, feedback and aspect notes, and sends them in the
//     background. It never fails, and never makes the code wait that it watches.
//   - [Client] starts, follows and steers runs.
//   - [Worker] claims steps and runs their bodies.
//
// Settings come from SVC_ENDPOINT, SVC_API_KEY, SVC_PROJECT, SVC_ENVIRONMENT, SVC_SERVICE_NAME, SVC_SERVICE_VERSION,
// SVC_SAMPLE and SVC_ENABLED. What code says wins.
//
// Errors of calls are [*ServiceError] where the service refuses, [*ConnectionError] where it does not answer,
// [*IncompatibleServerError] where it is of another major version, and [*ArgumentError] where the library itself refuses
// what it was given. A call whose context ends returns an error that wraps the error of the context.
//
// The JSON of the service is in package wire, as structs.
package svc
