package svc

import (
	"errors"
	"fmt"
	"time"

	"svc.dev/sdk/go/wire"
)

// ServiceError says that the service answered, and refused. Branch on Code.
type ServiceError struct {
	// Status is that of the HTTP answer.
	Status int
	// Code is stable and machine-readable: "not_found", "input_invalid", "run_terminal".
	Code string
	// Message is for people.
	Message string
	// Field names the one parameter at fault, where there is one.
	Field string
	// RequestID is what the service's own log calls the request; empty where its answer had none.
	RequestID string
	// RetryAfter is what the service asks to wait before another try; 0 where it asked for nothing.
	RetryAfter time.Duration
}

func (e *ServiceError) Error() string {
	return fmt.Sprintf("svc: %s (%d %s)", e.Message, e.Status, e.Code)
}

// Retryable says whether a later try may help: 429, and the 5xx that say "later". Never another 4xx.
func (e *ServiceError) Retryable() bool {
	if e.Code == string(wire.ErrorCodeRunsDisabled) {
		return false
	}
	switch e.Status {
	case 429, 502, 503, 504:
		return true
	}
	return false
}

// ConnectionError says that there is no answer: the service was not reached, or the answer broke off, came too late, or
// cannot be read. What became of the call is unknown.
type ConnectionError struct {
	// Call names what was called: "POST /v1/api/runs".
	Call string
	// Err says why.
	Err error
}

func (e *ConnectionError) Error() string { return fmt.Sprintf("svc: %s: %v", e.Call, e.Err) }

// Unwrap gives the reason.
func (e *ConnectionError) Unwrap() error { return e.Err }

// ErrClosed is the reason of a [ConnectionError] where the client was closed.
var ErrClosed = errors.New("the client is closed")

// IncompatibleServerError says that the service implements another major version of the data model than this library.
type IncompatibleServerError struct {
	// Served is the spec_version of the service.
	Served string
	// Understood is the spec_version of this library.
	Understood string
}

func (e *IncompatibleServerError) Error() string {
	return fmt.Sprintf("svc: the service implements spec_version %s, this library understands %s: "+
		"use a release of the library for that major version", e.Served, e.Understood)
}

// ArgumentError says that the library refuses what it was given, before any call: a setting that cannot be used, an
// input that is not JSON.
type ArgumentError struct {
	// What names the argument.
	What string
	// Err says what is wrong with it.
	Err error
}

func (e *ArgumentError) Error() string { return fmt.Sprintf("svc: %s: %v", e.What, e.Err) }

// Unwrap gives the reason.
func (e *ArgumentError) Unwrap() error { return e.Err }

// RunFailedError says that a run that was waited for did not succeed.
type RunFailedError struct {
	// Run is the run as it ended; its Status is failed or cancelled.
	Run wire.RunDetail
}

func (e *RunFailedError) Error() string {
	how := "failed"
	if e.Run.Status == wire.RunStatusCancelled {
		how = "was cancelled"
	}
	why := ""
	if fault := e.Run.Error; fault != nil {
		class := fault.Class
		if fault.Code != "" {
			class += "/" + fault.Code
		}
		why = ": " + class + ": " + fault.Message
	}
	return fmt.Sprintf("svc: run %s %s%s", e.Run.RunID, how, why)
}

// StepError is what a body returns to say how its step failed; [Retryable] and [Fail] make one. A body may wrap it.
type StepError struct {
	// Class decides what becomes of the step: "retryable", "rate_limited", "fatal", or a name of yours for on_error.
	Class string
	// Code is free, for on_error to match; empty for none.
	Code string
	// RetryAfter is the least wait before the next try; nil asks for none. It is sent in milliseconds, rounded up.
	RetryAfter *time.Duration
	// Err is the fault itself. Its message goes into the journal.
	Err error
}

func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap gives the fault.
func (e *StepError) Unwrap() error { return e.Err }

// FailOption adds to what a body says of its failure.
type FailOption func(*StepError)

// WithCode gives a failure a code, for on_error to match.
func WithCode(code string) FailOption { return func(e *StepError) { e.Code = code } }

// RetryAfter asks for at least so long a wait before the next try.
func RetryAfter(wait time.Duration) FailOption {
	return func(e *StepError) { e.RetryAfter = &wait }
}

// Retryable makes a body's error one that is tried again, within the retry budget of its step. It is nil for a nil
// error.
func Retryable(err error, options ...FailOption) error { return Fail("retryable", err, options...) }

// Fail makes a body's error one of a class. "rate_limited" is tried again and spends no budget, "fatal" is not; any
// other is a name of yours, for on_error to match. A class that the service keeps for itself fails the step as fatal.
// It is nil for a nil error.
func Fail(class string, err error, options ...FailOption) error {
	if err == nil {
		return nil
	}
	failure := &StepError{Class: class, Err: err}
	if class == "" {
		failure.Class = "fatal"
	}
	for _, option := range options {
		option(failure)
	}
	return failure
}

// Interrupt says why the work of a body is of no more use. It is the cause of the body's context:
//
//	if errors.Is(context.Cause(ctx), svc.Fenced) { … }
type Interrupt string

const (
	// Fenced: another worker has the step, or another lease ended this one.
	Fenced Interrupt = "fenced"
	// RunTerminal: the run has ended, by a cancel above all.
	RunTerminal Interrupt = "run_terminal"
	// Stopping: this worker stops, and the time that it gives its bodies is over.
	Stopping Interrupt = "stopping"
)

func (i Interrupt) Error() string {
	switch i {
	case Fenced:
		return "svc: the step is no longer held by this worker"
	case RunTerminal:
		return "svc: the run has ended"
	default:
		return "svc: the worker is stopping"
	}
}

func as[E error](err error) (E, bool) {
	var found E
	ok := errors.As(err, &found)
	return found, ok
}
