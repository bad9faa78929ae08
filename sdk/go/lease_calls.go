package svc

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"svc.dev/sdk/go/wire"
)

type answerKind int

const (
	answerTaken answerKind = iota
	// answerRefused: for the state of the lease; its code says which of the four.
	answerRefused
	// answerRejected: for another reason; a bug, a key, a body that is too large.
	answerRejected
	answerMissing
	// answerUndeclared: nothing was reported, as the declaration was not taken.
	answerUndeclared
)

// leaseAnswer is what an answer means for a lease.
type leaseAnswer struct {
	kind answerKind
	code wire.ErrorCode
	err  *ServiceError
}

// tries says how long to try one call: until it is answered, until the policy ends it, or until the context ends, which is
// looked at between tries. A call on its way is let go on: it may be the one that lands.
type tries struct {
	ctx    context.Context
	policy RetryPolicy
}

// leaseCalls makes the four worker calls of one lease.
type leaseCalls struct {
	calls    *stepCalls
	lease    *wire.Lease
	onRunEnd func(runID string)
	// hasFreed: a report said that the slot is free. A second one must not have it claimed again.
	hasFreed    bool
	declaration declaration
}

func (c *leaseCalls) try(verb stepVerb, body []byte, until tries) leaseAnswer {
	call := c.call(verb, body)
	c.hasFreed = true
	return c.tryOn(c.calls.submit(c.calls.ctx, call), until)
}

// call is one that ends the lease.
func (c *leaseCalls) call(verb stepVerb, body []byte) stepCall {
	return stepCall{verb: verb, leaseID: c.lease.LeaseID, body: body, freesSlot: !c.hasFreed}
}

// tryOn awaits the answer to a call, and makes the same again where there is none.
func (c *leaseCalls) tryOn(first *pendingCall, until tries) leaseAnswer {
	call, isFirst := first, true
	text, err := withRetries(until.ctx, until.policy, func() (json.RawMessage, error) {
		if !isFirst {
			again := first.stepCall
			again.freesSlot = false
			call = c.calls.submit(first.ctx, again)
		}
		isFirst = false
		return c.calls.await(call)
	})
	return c.read(text, err)
}

func (c *leaseCalls) read(text json.RawMessage, err error) leaseAnswer {
	if err == nil {
		var said struct {
			RunStatus wire.RunStatus `json:"run_status"`
		}
		if json.Unmarshal(text, &said) == nil && isOver(said.RunStatus) {
			c.onRunEnd(c.lease.RunID)
		}
		return leaseAnswer{kind: answerTaken}
	}
	problem, ok := as[*ServiceError](err)
	// A fault of the service says nothing about the report; the step must not fail for it.
	if !ok || problem.Status >= 500 || problem.Retryable() {
		return leaseAnswer{kind: answerMissing}
	}
	code := wire.ErrorCode(problem.Code)
	if code == wire.ErrorCodeRunTerminal {
		c.onRunEnd(c.lease.RunID)
	}
	if problem.Status == 409 {
		switch code {
		case wire.ErrorCodeAlreadyApplied, wire.ErrorCodeFenced, wire.ErrorCodeRunTerminal, wire.ErrorCodeNotStarted:
			return leaseAnswer{kind: answerRefused, code: code}
		}
	}
	return leaseAnswer{kind: answerRejected, err: problem}
}

func (c *leaseCalls) complete(body []byte, until tries) leaseAnswer {
	return c.report(completeVerb, body, until)
}

func (c *leaseCalls) fail(failure wire.StepFailure, until tries) leaseAnswer {
	failure.WorkerID = c.calls.workerID
	body, err := encode(failure)
	if err != nil {
		// A usage that is not JSON, such as a cost that is no number, must not keep the failure from being told.
		failure.Usage = nil
		if body, err = encode(failure); err != nil {
			return leaseAnswer{kind: answerMissing}
		}
	}
	return c.report(failVerb, body, until)
}

// beat makes one try of a heartbeat, which the context breaks off.
func (c *leaseCalls) beat(ctx context.Context, details json.RawMessage, timeout time.Duration) leaseAnswer {
	body, err := encode(wire.BeatStepRequest{WorkerID: c.calls.workerID, Details: details})
	if err != nil {
		return leaseAnswer{kind: answerMissing}
	}
	return c.read(c.calls.call(ctx, stepCall{
		verb: heartbeatVerb, leaseID: c.lease.LeaseID, body: body, timeout: timeout,
	}))
}

// stepMessageLimit is in characters.
const stepMessageLimit = 8 << 10

// failureOf is what a body means by its error. The message travels.
func failureOf(err error) wire.StepFailure {
	failure := wire.StepFailure{Error: wire.StepErrorInput{Class: "fatal", Message: shortened(errorText(err), stepMessageLimit)}}
	said, ok := as[*StepError](err)
	if !ok {
		return failure
	}
	if said.Class != "" {
		failure.Error.Class = said.Class
	}
	failure.Error.Code = said.Code
	if said.RetryAfter != nil && *said.RetryAfter >= 0 && *said.RetryAfter < math.MaxInt64-time.Millisecond {
		wait := milliseconds(*said.RetryAfter)
		failure.RetryAfterMS = &wait
	}
	return failure
}

// givenBack is not the fault of the step: the class that spends no budget, here with no wait.
func givenBack() wire.StepFailure {
	return wire.StepFailure{
		Error: wire.StepErrorInput{
			Class: "rate_limited", Code: "worker_stopping", Message: "the worker stopped while the step ran",
		},
		RetryAfterMS: new(int64),
	}
}
