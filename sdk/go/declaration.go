package svc

import (
	"context"
	"time"

	"svc.dev/sdk/go/wire"
)

// declaration tells the service that the body of a lease begins. It belongs to the goroutine of its lease.
type declaration struct {
	// call is the first try; nil where the body does not begin.
	call *pendingCall
	// isEarly: the body begins while it is on its way, so that what the body gives may travel with it.
	isEarly bool
	// isAwaited: its batch waits for what the body gives. round is of that wait.
	isAwaited bool
	round     int
	// until: it is not repeated later. A late one is refused as fenced; one that is never answered must not be repeated without end.
	until time.Time
	// repeated takes the answer to repeats, which stop breaks off; nil where the first try is enough.
	repeated chan leaseAnswer
	stop     context.CancelFunc
	// answer is what came of it; nil while that is open.
	answer *leaseAnswer
}

// isOpen: the body may have begun, and it is not known yet whether it may.
func (d *declaration) isOpen() bool { return d.isEarly && d.answer == nil }

// isRefused: a body that had begun is of no use.
func (d *declaration) isRefused() bool {
	return d.isEarly && d.answer != nil && d.answer.kind != answerTaken
}

// first takes the answer to the first try; nil where nobody asks for it.
func (d *declaration) first() <-chan stepAnswer {
	if d.isOpen() && d.repeated == nil {
		return d.call.answer
	}
	return nil
}

// give lets the batch go that waits for what the body gives.
func (c *leaseCalls) give() {
	if d := &c.declaration; d.isAwaited {
		d.isAwaited = false
		c.calls.bodies.endOf(d.round)
	}
}

// end breaks off what still goes on of the declaration.
func (c *leaseCalls) end() {
	c.give()
	if c.declaration.stop != nil {
		c.declaration.stop()
	}
}

// declare sends the first declaration that the body begins. Nobody waits for it here, so those of all leases that came
// together travel together. ctx ends the repeats.
func (c *leaseCalls) declare(ctx context.Context, within time.Duration) {
	d := &c.declaration
	// In an earlier attempt the body may have ended its process before that declared it.
	d.isEarly = c.lease.Delivery == wire.DeliveryAtLeastOnce && c.lease.Attempt == 1 && ctx.Err() == nil
	if d.isEarly {
		d.isAwaited, d.round = true, c.calls.bodies.begin(1)
		c.calls.motion.begin(1)
	}
	d.until = time.Now().Add(within)
	d.call = c.calls.submit(c.calls.ctx, stepCall{
		verb:    startedVerb,
		leaseID: c.lease.LeaseID,
		body:    append(append([]byte(`{"worker_id":`), stringText(c.calls.workerID)...), '}'),
		timeout: min(defaultTimeout, within),
		isEarly: d.isEarly,
	})
}

func (d *declaration) tries(ctx context.Context) tries {
	return tries{ctx, untilAnswered(max(time.Millisecond, time.Until(d.until)))}
}

// declared awaits the answer to the declaration. ctx is looked at between tries.
func (c *leaseCalls) declared(ctx context.Context) leaseAnswer {
	d := &c.declaration
	if d.answer == nil {
		var answer leaseAnswer
		if d.repeated != nil {
			answer = <-d.repeated
		} else {
			answer = c.tryOn(d.call, d.tries(ctx))
		}
		d.answer = &answer
	}
	return *d.answer
}

// heard takes the answer to the first try while the body runs. Where there is none, others repeat it meanwhile.
func (c *leaseCalls) heard(ctx context.Context, said stepAnswer) {
	d := &c.declaration
	if answer := c.read(said.body, said.err); answer.kind != answerMissing {
		d.answer = &answer
		return
	}
	ctx, d.stop = context.WithCancel(ctx)
	call := &pendingCall{stepCall: d.call.stepCall, ctx: ctx, answer: make(chan stepAnswer, 1)}
	call.answer <- said
	repeated, until := make(chan leaseAnswer, 1), d.tries(ctx)
	d.repeated = repeated
	go func() { repeated <- c.tryOn(call, until) }()
}

// report says what the body came to, never before its declaration: behind one that waits for its batch, in the same; else once that is
// answered. Where that is refused, nothing is reported.
func (c *leaseCalls) report(verb stepVerb, body []byte, until tries) leaseAnswer {
	d := &c.declaration
	if d.isOpen() {
		call := c.call(verb, body)
		pending := c.calls.submitBehind(d.call, call)
		c.give()
		if pending != nil {
			c.hasFreed = true
			answer := c.read(c.calls.await(pending))
			if answer.kind != answerMissing && (answer.kind != answerRefused || answer.code != wire.ErrorCodeNotStarted) {
				return answer
			}
			// Both may be lost: again in their order. Whether it was applied, its own answer says.
			c.declared(until.ctx)
			return c.try(verb, body, until)
		}
		c.declared(until.ctx)
	}
	if d.isRefused() {
		return leaseAnswer{kind: answerUndeclared}
	}
	return c.try(verb, body, until)
}

// undeclared interrupts a body that had begun, where its declaration was not taken.
func (l *servedLease) undeclared() {
	switch answer := l.calls.declaration.answer; {
	case l.host.force.Err() != nil:
		l.interrupt(Stopping)
	case answer.kind == answerRefused && answer.code == wire.ErrorCodeRunTerminal:
		l.interrupt(RunTerminal)
	default:
		l.interrupt(Fenced)
	}
	l.settle(*l.calls.declaration.answer)
}

// await waits for the end of the body, and meanwhile for its declaration; not for a body that does not listen, once the worker must stop.
func (l *servedLease) await(ended <-chan bodyEnd) (bodyEnd, bool) {
	d := &l.calls.declaration
	force := l.host.force.Done()
	var settled <-chan time.Time
	for {
		select {
		case end := <-ended:
			return end, true
		case said := <-d.first():
			l.calls.heard(l.host.force, said)
		case answer := <-d.repeated:
			d.answer, d.repeated = &answer, nil
		case <-force:
			force = nil
			timer := time.NewTimer(l.host.settle)
			defer timer.Stop()
			settled = timer.C
			continue
		case <-settled:
			return bodyEnd{}, false
		}
		if d.isRefused() {
			l.undeclared()
		}
	}
}
