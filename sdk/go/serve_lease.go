package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc.dev/sdk/go/wire"
)

// leaseHost is what leases need of their worker.
type leaseHost struct {
	calls     *stepCalls
	heartbeat time.Duration
	leaseTTL  time.Duration
	tracer    *Instrumentation
	logger    *slog.Logger
	// values is the context of Run without its end: bodies go on while a worker drains.
	values context.Context
	// force ends when bodies must: the time that a stopping worker gives them is over.
	force context.Context
	// settle is how long a body may take to end after that.
	settle time.Duration
	// onRunEnd is called when an answer says that the run of a lease has ended.
	onRunEnd func(runID string)
}

// servedLease is one lease, from its offer to its end: it is declared started, kept alive while the body runs, and its
// end reported, as the protocol asks on each of the four refusals. See docs/worker-protocol.md.
type servedLease struct {
	host  *leaseHost
	lease wire.Lease
	// body is nil where this worker does not hold the definition, the version or the step.
	body  stepBody
	calls leaseCalls
	// interrupted ends, with an Interrupt as its cause, when the work is of no more use.
	interrupted context.Context
	interrupt   context.CancelCauseFunc
}

func newServedLease(host *leaseHost, lease wire.Lease, body stepBody) *servedLease {
	l := &servedLease{host: host, lease: lease, body: body}
	l.calls = leaseCalls{calls: host.calls, lease: &l.lease, onRunEnd: host.onRunEnd}
	l.interrupted, l.interrupt = context.WithCancelCause(host.values)
	return l
}

// logger names the lease in what it logs. Most leases log nothing.
func (l *servedLease) logger() *slog.Logger {
	return l.host.logger.With("definition", l.lease.DefinitionID, "version", l.lease.DefinitionVersion,
		"step", l.lease.StepID, "run", l.lease.RunID)
}

// reason is why the lease was interrupted; empty while it is not.
func (l *servedLease) reason() Interrupt {
	reason, _ := as[Interrupt](context.Cause(l.interrupted))
	return reason
}

// declare sends the first declaration that the body begins, where there is one.
func (l *servedLease) declare() {
	if l.body != nil {
		l.calls.declare(l.host.force, l.host.leaseTTL)
	}
}

// serve lives the lease, whose declaration is on its way.
func (l *servedLease) serve() {
	defer l.interrupt(nil)
	defer l.calls.end()
	if l.body == nil {
		l.refuseUnheld()
		return
	}
	// A worker that stops lets a last report go out, but does not wait for its answer without end.
	lastly := tries{l.host.calls.ctx, untilAnswered(l.host.settle)}
	if !l.calls.declaration.isEarly {
		started := l.calls.declared(l.host.force)
		// Without its word that the body may run, the body does not run: its own earlier report is no such word either.
		if started.kind != answerTaken {
			l.settle(started)
			return
		}
		// The time of bodies was over before this one began: it must not.
		if l.host.force.Err() != nil {
			l.settle(l.calls.fail(givenBack(), lastly))
			return
		}
	}
	defer context.AfterFunc(l.host.force, func() { l.interrupt(Stopping) })()
	beats := startHeart(l.host.calls.ctx, l.host.heartbeat, l.beat)
	defer beats.stop()
	l.run(beats, lastly)
}

// run runs the body, and reports what came of it.
func (l *servedLease) run(beats *heart, lastly tries) {
	usage := &attemptUsage{}
	step := &Step{lease: l.lease, tracer: l.host.tracer, tell: beats.tell}
	ended := make(chan bodyEnd, 1)
	go func() {
		l.host.calls.motion.end()
		end := bodyEnd{err: errors.New("the body ended its goroutine without a return")}
		defer func() { ended <- end }()
		end = l.runBody(step, usage)
	}()
	end, ok := l.await(ended)
	if !ok {
		l.logger().Warn("a body did not end in time; the service gives its step to another worker")
		return
	}
	reason := l.reason()
	if reason == Fenced || reason == RunTerminal {
		return
	}
	until := tries{l.interrupted, untilAnswered(0)}
	if reason == Stopping {
		until = lastly
	}
	reported := usage.reported(step)
	if end.err != nil {
		// The mark for the next attempt goes first: after the report nobody takes it.
		within := l.host.leaseTTL
		if reason == Stopping {
			within = l.host.settle
		}
		beats.flush(within)
		failure := failureOf(end.err)
		if _, meant := as[*StepError](end.err); reason == Stopping && !meant {
			failure = givenBack()
		}
		failure.Usage = reported
		l.reportFailure(failure, until)
		return
	}
	report, err := l.reportOf(end.output, step, reported)
	if err != nil {
		l.reportFailure(wire.StepFailure{
			Error: wire.StepErrorInput{
				Class: "fatal", Code: "invalid_output",
				Message: shortened(fmt.Sprintf("the output of step %s is not JSON: %v", l.lease.StepID, err), stepMessageLimit),
			},
			Usage: reported,
		}, until)
		return
	}
	answer := l.calls.complete(report, until)
	if answer.kind == answerRejected {
		l.reportFailure(wire.StepFailure{
			Error: wire.StepErrorInput{
				Class: "fatal", Code: answer.err.Code,
				Message: fmt.Sprintf("the service refused the output of step %s: %s", l.lease.StepID, answer.err.Message),
			},
			Usage: reported,
		}, until)
		return
	}
	l.settle(answer)
}

type bodyEnd struct {
	output any
	err    error
}

// runBody returns what the body returned. A panic is an error; its stack goes nowhere.
func (l *servedLease) runBody(step *Step, usage *attemptUsage) (end bodyEnd) {
	correlation := wire.CorrelationInput(l.lease.Correlation)
	correlation.Project, correlation.RunID = l.lease.Project, l.lease.RunID
	ctx, cancel := context.WithCancel(l.host.tracer.under(l.interrupted, &spanContext{
		traceID:         l.lease.TraceID,
		spanID:          l.lease.SpanID,
		correlation:     correlation,
		correlationText: correlationText(correlation),
		onModelSpan:     usage.onModelSpan,
	}))
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			if err, ok := fault.(error); ok {
				end = bodyEnd{err: errors.New(errorText(err))}
			} else {
				end = bodyEnd{err: fmt.Errorf("%v", fault)}
			}
		}
	}()
	output, err := l.body(ctx, step)
	return bodyEnd{output, err}
}

func (l *servedLease) reportOf(output any, step *Step, usage []wire.ReportedUsage) ([]byte, error) {
	text, err := encode(output)
	if err != nil {
		return nil, err
	}
	patch, err := step.patched()
	if err != nil {
		return nil, err
	}
	return encode(wire.StepResult{
		WorkerID: l.host.calls.workerID, Output: text, StatePatch: patch, Usage: usage,
	})
}

func (l *servedLease) beat(ctx context.Context, details json.RawMessage) pulse {
	// Given up in time for another one, over another connection, before the lease is over.
	answer := l.calls.beat(ctx, details, min(defaultTimeout, max(l.host.heartbeat, l.host.leaseTTL/3)))
	switch {
	case answer.kind == answerMissing:
		return beatSooner
	case answer.kind != answerRefused || answer.code == wire.ErrorCodeNotStarted:
		return beatAgain
	case answer.code == wire.ErrorCodeFenced:
		l.interrupt(Fenced)
	case answer.code == wire.ErrorCodeRunTerminal:
		l.interrupt(RunTerminal)
	}
	return beatOver
}

func (l *servedLease) refuseUnheld() {
	l.logger().Warn("this worker does not hold a step that it was offered; another may serve it")
	l.settle(l.calls.fail(wire.StepFailure{Error: wire.StepErrorInput{
		Class: "unservable",
		Message: fmt.Sprintf("worker %s does not hold %s version %d, step %s",
			l.host.calls.workerID, l.lease.DefinitionID, l.lease.DefinitionVersion, l.lease.StepID),
	}}, tries{l.host.force, untilAnswered(0)}))
}

func (l *servedLease) reportFailure(failure wire.StepFailure, until tries) {
	answer := l.calls.fail(failure, until)
	if answer.kind == answerRejected {
		// A class that the service keeps for itself, a wait over its bound: the step fails, and says why.
		message := fmt.Sprintf("%s (reported as fatal: %s)", failure.Error.Message, answer.err.Message)
		answer = l.calls.fail(wire.StepFailure{Error: wire.StepErrorInput{
			Class: "fatal", Code: "invalid_failure", Message: shortened(message, stepMessageLimit),
		}}, until)
	}
	l.settle(answer)
}

// settle says what must be said of the last answer of a lease. That our own earlier report landed is a success; that
// the lease is another's, or its run over, is no fault of ours; without an answer the service finds out by itself.
func (l *servedLease) settle(answer leaseAnswer) {
	switch {
	case answer.kind == answerRejected:
		l.logger().Error("the service refused a call of a step", "code", answer.err.Code, "message", answer.err.Message)
	case answer.kind == answerRefused && answer.code == wire.ErrorCodeNotStarted:
		l.logger().Error("the service never saw a step started: a bug in this library, please report it")
	}
}
