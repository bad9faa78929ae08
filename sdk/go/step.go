package svc

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"svc.dev/sdk/go/wire"
)

// detailsLimit is in bytes of JSON. See docs/worker-protocol.md, "Heartbeat".
const detailsLimit = 64 << 10

// Step is what the body of a step works with. Safe for concurrent use.
type Step struct {
	lease  wire.Lease
	tracer *Instrumentation
	tell   func(json.RawMessage)

	mu       sync.Mutex
	patch    map[string]json.RawMessage
	usage    []wire.ReportedUsage
	usageSet bool
}

// Lease is the lease as the service gave it.
func (s *Step) Lease() wire.Lease { return s.lease }

// RunID is the id of the run.
func (s *Step) RunID() string { return s.lease.RunID }

// ID is the id of the step in its definition.
func (s *Step) ID() string { return s.lease.StepID }

// Visit counts entries into this step, this one included.
func (s *Step) Visit() int64 { return s.lease.Visit }

// Attempt counts attempts of this visit, this one included.
func (s *Step) Attempt() int64 { return s.lease.Attempt }

// Key is the same for every attempt of this visit. Hand it on as the idempotency key of whatever the step does to the
// world, and a second attempt does it no second time.
func (s *Step) Key() string { return s.lease.StepKey }

// State is the state of the run, as it was when the step was leased. wire.Decode reads it as a type of yours.
func (s *Step) State() wire.Object { return s.lease.State }

// Prior is the output of a step before this one, as JSON; nil where it has none. wire.Decode reads it as a type of yours.
func (s *Step) Prior(stepID string) json.RawMessage { return s.lease.Steps[stepID].Output }

// LastDetails are the details of the last [Step.Heartbeat] of the attempt before this one, as JSON; nil without.
func (s *Step) LastDetails() json.RawMessage { return s.lease.LastDetails }

// DeadlineAt is when the run ends by itself, by the clock of the service; false where its definition does not limit it.
func (s *Step) DeadlineAt() (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s.lease.DeadlineAt)
	return at, err == nil
}

// Heartbeat leaves a mark for the next attempt, which finds it as [Step.LastDetails]. It is sent within a second. An
// [*ArgumentError]: it is not JSON, or more than 64 KiB of it.
func (s *Step) Heartbeat(details any) error {
	text, err := encode(details)
	if err == nil && len(text) > detailsLimit {
		err = fmt.Errorf("%d bytes of JSON are more than %d", len(text), detailsLimit)
	}
	if err != nil {
		return &ArgumentError{What: "the details of a heartbeat", Err: err}
	}
	s.tell(text)
	return nil
}

// PatchState merges into the state of the run when the step completes: the top-level keys of the patch, a JSON object,
// replace those of the state. An [*ArgumentError]: it is none.
func (s *Step) PatchState(patch any) error {
	object, err := encodeObject(patch)
	if err != nil {
		return &ArgumentError{What: "the patch of the state", Err: err}
	}
	members, err := wire.Decode[map[string]json.RawMessage](object)
	if err != nil {
		return &ArgumentError{What: "the patch of the state", Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.patch == nil {
		s.patch = map[string]json.RawMessage{}
	}
	for name, value := range members {
		s.patch[name] = value
	}
	return nil
}

// SetUsage reports the usage of the step, an entry a model. Without this call it is the sum of what the spans of the
// body carry; with it, this alone. Where the body has recorded no model span, the service makes one of each entry, so
// that the trace holds tokens and money too; a false Record in an entry says that another library has recorded it.
func (s *Step) SetUsage(usage ...wire.ReportedUsage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage, s.usageSet = append([]wire.ReportedUsage(nil), usage...), true
}

// Span starts a span of the step; ctx is that of the body. Spans of an [Instrumentation] of your own nest just so.
func (s *Step) Span(ctx context.Context, name string, options ...SpanOption) (context.Context, *Span) {
	return s.tracer.Span(ctx, name, options...)
}

// Log records a log line on the span around the call: that of the step, or one of the body.
func (s *Step) Log(ctx context.Context, log Log) {
	if log.Logger == "" {
		log.Logger = s.lease.DefinitionID
	}
	s.tracer.Log(ctx, log)
}

// Score records an evaluation of the run's trace.
func (s *Step) Score(ctx context.Context, score Score) { s.tracer.Score(ctx, score) }

// Feedback records a judgement of the run's trace.
func (s *Step) Feedback(ctx context.Context, feedback Feedback) { s.tracer.Feedback(ctx, feedback) }

// Traceparent is the step's span as a traceparent header, for calls to services that trace.
func (s *Step) Traceparent() string { return traceparentOf(s.lease.TraceID, s.lease.SpanID, true) }

// patched is the patch as JSON; nil for none.
func (s *Step) patched() (wire.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.patch) == 0 {
		return nil, nil
	}
	text, err := encode(s.patch)
	return wire.Object(text), err
}
