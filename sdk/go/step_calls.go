package svc

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/sdk/go/wire"
)

// stepVerb names a call that the holder of a lease makes on it.
type stepVerb string

const (
	startedVerb   stepVerb = "started"
	heartbeatVerb stepVerb = "heartbeat"
	completeVerb  stepVerb = "complete"
	failVerb      stepVerb = "fail"
)

// See docs/worker-protocol.md, "Many calls in one".
const (
	batchItems = 1000
	claimLimit = 1000
	// largeReport goes by itself: nobody waits until it is through.
	largeReport    = 256 << 10
	stepBatchBytes = 1 << 20
	// batchesAtOnce: the service writes one batch while it reads the next.
	batchesAtOnce = 2
)

type stepCall struct {
	verb    stepVerb
	leaseID string
	body    []byte // A JSON object that is not empty.
	timeout time.Duration
	// freesSlot: it ends its lease, and a step may be claimed with it for the slot. Not so where a report before it was one.
	freesSlot bool
	// isEarly: the body began before it is answered, so its answer sets nothing going.
	isEarly bool
}

// pendingCall is a call that waits for its batch, or for its answer.
type pendingCall struct {
	stepCall
	ctx    context.Context
	answer chan stepAnswer // Takes one without waiting.

	// hasLeft and behind need the lock of stepCalls. behind travels in the same batch: the service takes it after this one.
	hasLeft  bool
	behind   *pendingCall
	isBehind bool
}

type stepAnswer struct {
	body json.RawMessage
	err  error
}

// stepCalls makes the calls of all leases of one worker. Those that come together travel together, and the steps that
// follow come back in the same answer. A service that does not know the batch gets each call by itself.
type stepCalls struct {
	transport *transport
	workerID  string
	runID     string
	// ctx ends when the worker cuts what is still on its way.
	ctx context.Context
	// claims says whether a report may claim what fills the slot that it frees.
	claims func() bool
	// onLeases takes what came, and onUnreadable each offer that cannot be read: it lapses, and comes again.
	onLeases     func([]wire.Lease)
	onUnreadable func(error)
	// motion is of the leases of the worker: a batch waits until they have said what they have to say.
	motion motion
	// bodies are those that began before their declaration left, until they have something to report.
	bodies motion
	// isOlder: the service does not know the batch.
	isOlder atomic.Bool

	mu      sync.Mutex
	queue   []*pendingCall
	senders int
}

// call makes one call, one try. The context breaks it off.
func (c *stepCalls) call(ctx context.Context, call stepCall) (json.RawMessage, error) {
	return c.await(c.submit(ctx, call))
}

func newPendingCall(ctx context.Context, call stepCall) *pendingCall {
	if call.timeout == 0 {
		call.timeout = defaultTimeout
	}
	return &pendingCall{stepCall: call, ctx: ctx, answer: make(chan stepAnswer, 1)}
}

// submit makes one call, one try, whose answer is to be awaited.
func (c *stepCalls) submit(ctx context.Context, call stepCall) *pendingCall {
	pending := newPendingCall(ctx, call)
	if c.isOlder.Load() || len(call.body) > largeReport {
		pending.hasLeft = true
		go c.answerAlone(pending)
		return pending
	}
	c.mu.Lock()
	c.queue = append(c.queue, pending)
	if c.senders < batchesAtOnce {
		c.senders++
		go c.send()
	}
	c.mu.Unlock()
	return pending
}

// submitBehind makes one call, one try, that travels with an earlier one of its lease. It returns nil where that has left.
func (c *stepCalls) submitBehind(earlier *pendingCall, call stepCall) *pendingCall {
	if len(call.body) > largeReport {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if earlier.hasLeft {
		return nil
	}
	earlier.behind = newPendingCall(earlier.ctx, call)
	earlier.behind.isBehind = true
	return earlier.behind
}

// await returns the answer, or the error of the context of the call, which breaks it off.
func (c *stepCalls) await(pending *pendingCall) (json.RawMessage, error) {
	ctx := pending.ctx
	select {
	case answer := <-pending.answer:
		return answer.body, answer.err
	case <-ctx.Done():
		c.mu.Lock()
		c.queue = slices.DeleteFunc(c.queue, func(other *pendingCall) bool { return other == pending })
		c.mu.Unlock()
		return nil, ctx.Err()
	}
}

func (c *stepCalls) answerAlone(pending *pendingCall) {
	body, err := c.alone(pending.ctx, pending.stepCall)
	pending.answer <- stepAnswer{body, err}
}

func (c *stepCalls) alone(ctx context.Context, call stepCall) (json.RawMessage, error) {
	path := "/v1/api/steps/" + url.PathEscape(call.leaseID) + "/" + string(call.verb)
	return c.transport.call(ctx, request{method: "POST", path: path, body: call.body, timeout: call.timeout})
}

// send sends batches until nothing waits. What can go on comes first, so that what is ready together travels together.
func (c *stepCalls) send() {
	for {
		c.motion.wait(motionLimit)
		c.bodies.wait(bodyLimit)
		c.mu.Lock()
		batch := c.take()
		if batch == nil {
			c.senders--
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.deliver(batch)
	}
}

// take needs the lock.
func (c *stepCalls) take() []*pendingCall {
	var batch []*pendingCall
	count, size := 0, 0
	for _, pending := range c.queue {
		size += len(pending.body)
		items := 1
		if pending.behind != nil {
			size += len(pending.behind.body)
			items = 2
		}
		if count > 0 && size > stepBatchBytes || len(batch)+items > batchItems {
			break
		}
		count++
		pending.hasLeft = true
		batch = append(batch, pending)
		if pending.behind != nil {
			batch = append(batch, pending.behind)
		}
	}
	c.queue = slices.Delete(c.queue, 0, count)
	return batch
}

type batchItem struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// batchAnswer is wire.StepBatchAnswer with the bodies of its items as text.
type batchAnswer struct {
	Started    []batchItem  `json:"started"`
	Heartbeats []batchItem  `json:"heartbeats"`
	Completes  []batchItem  `json:"completes"`
	Fails      []batchItem  `json:"fails"`
	Leases     []wire.Lease `json:"leases"`
}

// readOffers reads an answer and the leases in it, at once. Where one of them cannot be read, each is read by itself: it spoils
// no other.
func (c *stepCalls) readOffers(r request, text []byte, answer any, leases *[]wire.Lease) error {
	err := json.Unmarshal(text, answer)
	if err == nil {
		return nil
	}
	if _, isNoJSON := as[*json.SyntaxError](err); isNoJSON {
		return &ConnectionError{Call: r.String(), Err: errors.New("the answer cannot be read: " + err.Error())}
	}
	// What could be read of the answer was.
	each, err := readAs[struct {
		Leases []json.RawMessage `json:"leases"`
	}](r, text)
	if err != nil {
		return err
	}
	*leases = nil
	for _, one := range each.Leases {
		var lease wire.Lease
		if err := json.Unmarshal(one, &lease); err != nil {
			c.onUnreadable(err)
			continue
		}
		*leases = append(*leases, lease)
	}
	return nil
}

func (c *stepCalls) deliver(batch []*pendingCall) {
	r := request{method: "POST", path: "/v1/api/steps/batch", timeout: batch[0].timeout}
	for _, pending := range batch {
		r.timeout = min(r.timeout, pending.timeout)
	}
	body, err := c.batchBody(batch)
	var text []byte
	if err == nil {
		r.body = body
		text, err = c.transport.call(c.ctx, r)
	}
	if refused, ok := as[*ServiceError](err); ok && isOfBatch(refused) {
		if refused.Status == 404 {
			c.isOlder.Store(true)
		}
		for _, pending := range batch {
			if behind := pending.behind; behind != nil {
				go func() {
					c.answerAlone(pending)
					c.answerAlone(behind)
				}()
			} else if !pending.isBehind {
				go c.answerAlone(pending)
			}
		}
		return
	}
	var answer batchAnswer
	if err == nil {
		err = c.readOffers(r, text, &answer, &answer.Leases)
	}
	if err != nil {
		for _, pending := range batch {
			pending.answer <- stepAnswer{err: err}
		}
		return
	}
	c.motion.begin(1)
	defer c.motion.end()
	// First: whoever counts free slots next must see what fills them.
	c.onLeases(answer.Leases)
	lists := map[stepVerb][]batchItem{
		startedVerb: answer.Started, heartbeatVerb: answer.Heartbeats, completeVerb: answer.Completes, failVerb: answer.Fails,
	}
	for _, pending := range batch {
		items := lists[pending.verb]
		if pending.verb != heartbeatVerb && !pending.isEarly {
			c.motion.begin(1)
		}
		switch {
		case len(items) == 0 || items[0].Status == 0:
			err := errors.New("the answer to a batch lacks an item")
			pending.answer <- stepAnswer{err: &ConnectionError{Call: r.String(), Err: err}}
		case items[0].Status >= 200 && items[0].Status <= 299:
			pending.answer <- stepAnswer{body: items[0].Body}
		default:
			pending.answer <- stepAnswer{err: refusal(items[0].Status, items[0].Body, nil)}
		}
		if len(items) > 0 {
			lists[pending.verb] = items[1:]
		}
	}
}

// isOfBatch says whether a refusal is about the call that holds the others, so that each is to be made by itself: one that cannot be
// read spoils no other. A key or a limit holds for all of them.
func isOfBatch(refused *ServiceError) bool {
	switch refused.Status {
	case 401, 403:
		return false
	}
	return refused.Status >= 400 && refused.Status < 500 && !refused.Retryable()
}

func (c *stepCalls) batchBody(batch []*pendingCall) ([]byte, error) {
	all := wire.StepBatch{WorkerID: c.workerID}
	freed := int64(0)
	for _, pending := range batch {
		item := append([]byte(`{"lease_id":`), stringText(pending.leaseID)...)
		item = append(append(item, ','), pending.body[1:]...)
		switch pending.verb {
		case startedVerb:
			all.Started = append(all.Started, item)
		case heartbeatVerb:
			all.Heartbeats = append(all.Heartbeats, item)
		case completeVerb:
			all.Completes = append(all.Completes, item)
		case failVerb:
			all.Fails = append(all.Fails, item)
		}
		if pending.freesSlot {
			freed++
		}
	}
	if freed > 0 && c.claims() {
		all.Claim = &wire.StepBatchClaim{Max: min(freed, claimLimit), RunID: c.runID}
	}
	return encode(all)
}
