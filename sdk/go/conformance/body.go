package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

// action is one line of a script, with one member.
type action map[string]json.RawMessage

type script struct {
	Script   []action   `json:"script"`
	Attempts [][]action `json:"attempts"`
}

// scriptedBody is the body of every step of the fixture: it does what its input says.
func (f *fixture) scriptedBody(ctx context.Context, step *svc.Step, input json.RawMessage) (any, error) {
	leaseID := step.Lease().LeaseID
	f.emit(object{
		"event": "body.started", "lease_id": leaseID, "run_id": step.RunID(), "step_id": step.ID(), "attempt": step.Attempt(),
	})
	defer f.emit(object{"event": "body.ended", "lease_id": leaseID})
	told := make(chan struct{})
	untell := context.AfterFunc(ctx, func() {
		defer close(told)
		var reason svc.Interrupt
		if errors.As(context.Cause(ctx), &reason) {
			f.emit(object{"event": "body.cancelled", "lease_id": leaseID, "reason": reason})
		}
	})
	defer func() {
		if !untell() {
			<-told
		}
	}()
	var given script
	// Any other input is returned as it is.
	if json.Unmarshal(input, &given) != nil || (given.Script == nil && given.Attempts == nil) {
		return input, nil
	}
	actions := given.Script
	if count := len(given.Attempts); count > 0 {
		actions = given.Attempts[min(int(step.Attempt()), count)-1]
	}
	for _, each := range actions {
		for verb, value := range each {
			output, ended, err := f.act(ctx, step, verb, value)
			if ended || err != nil {
				return output, err
			}
		}
	}
	return nil, nil
}

// read takes the value of an action as T.
func read[T any](value json.RawMessage) T {
	taken, err := wire.Decode[T](value)
	if err != nil {
		panic(err)
	}
	return taken
}

// act does one action. ended: the script ends with this output.
func (f *fixture) act(ctx context.Context, step *svc.Step, verb string, value json.RawMessage) (output any, ended bool, err error) {
	switch verb {
	case "return":
		return value, true, nil
	case "return_not_json":
		return func() {}, true, nil
	case "return_bytes":
		return strings.Repeat("x", read[int](value)), true, nil
	case "sleep_ms":
		err = until(ctx, time.After(after(read[float64](value))))
	case "await":
		err = until(ctx, f.gate(read[string](value)))
	case "deaf_ms":
		time.Sleep(after(read[float64](value)))
	case "block_ms":
		for end := time.Now().Add(after(read[float64](value))); time.Now().Before(end); {
		}
	case "emit":
		f.emit(object{"event": "body.emit", "lease_id": step.Lease().LeaseID, "value": value})
	case "emit_context":
		f.emit(contextOf(step))
	case "beat":
		err = step.Heartbeat(value)
	case "patch":
		err = step.PatchState(value)
	case "usage":
		if value[0] != '[' {
			value = json.RawMessage("[" + string(value) + "]")
		}
		step.SetUsage(read[[]wire.ReportedUsage](value)...)
	case "span":
		w := read[spanRequest](value)
		_, span := step.Span(ctx, w.Name, w.options()...)
		w.set(span)
		span.End()
	case "log":
		step.Log(ctx, read[logRequest](value).log())
	case "score":
		step.Score(ctx, read[scoreRequest](value).score())
	case "feedback":
		step.Feedback(ctx, read[feedbackRequest](value).feedback())
	case "throw":
		err = thrown(read[throwRequest](value))
	default:
		err = fmt.Errorf("no action %s", verb)
	}
	return nil, false, err
}

// until waits in the way that a cancel ends.
func until[T any](ctx context.Context, signal <-chan T) error {
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type throwRequest struct {
	As           string   `json:"as"`
	Message      string   `json:"message"`
	Class        string   `json:"class"`
	Code         string   `json:"code"`
	RetryAfterMS *float64 `json:"retry_after_ms"`
}

func thrown(w throwRequest) error {
	err := errors.New(w.Message)
	options := []svc.FailOption{svc.WithCode(w.Code)}
	if w.RetryAfterMS != nil {
		options = append(options, svc.RetryAfter(after(*w.RetryAfterMS)))
	}
	switch w.As {
	case "retryable":
		return svc.Retryable(err, options...)
	case "failure":
		return svc.Fail(w.Class, err, options...)
	case "panic":
		panic(w.Message)
	}
	return err
}

func contextOf(step *svc.Step) object {
	lease := step.Lease()
	context := object{
		"event": "body.context", "lease_id": lease.LeaseID, "run_id": step.RunID(), "project": lease.Project,
		"definition_id": lease.DefinitionID, "definition_version": lease.DefinitionVersion, "step_id": step.ID(),
		"visit": step.Visit(), "attempt": step.Attempt(), "step_key": step.Key(), "state": step.State(),
		"correlation": lease.Correlation, "traceparent": step.Traceparent(),
	}
	steps := object{}
	for id := range lease.Steps {
		steps[id] = object{"output": step.Prior(id)}
	}
	context["steps"] = steps
	if details := step.LastDetails(); details != nil {
		context["last_details"] = details
	}
	if deadline, ok := step.DeadlineAt(); ok {
		context["deadline_at"] = deadline
	}
	return context
}
