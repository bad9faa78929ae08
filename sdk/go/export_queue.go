package svc

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"svc.dev/sdk/go/wire"
)

type signalKind uint8

const (
	spanSignal signalKind = iota
	logSignal
	metricSignal
	scoreSignal
	feedbackSignal
	noteSignal
	signalKinds
)

func (k signalKind) member() string {
	return [signalKinds]string{"spans", "logs", "metrics", "scores", "feedback", "aspect_notes"}[k]
}

const (
	batchBytes = 4 << 20
	// hangUp is how long a close waits for a call that it has broken off.
	hangUp = time.Second
)

// Counters say what became of signals since the start. Each signal is counted once.
type Counters struct {
	// Sent: stored by the service, or recognised by it as sent before.
	Sent int64
	// Dropped: pushed out by newer ones while the queue was full; or larger than 4 MiB; or recorded after Close.
	Dropped int64
	// Refused by the service: a 4xx, or an error of its answer.
	Refused int64
	// Failed: given up after the last try, or at Close.
	Failed int64
	// Invalid: calls that gave something that is no signal, such as a score without a scale.
	Invalid int64
}

type queuedSignal struct {
	kind signalKind
	text []byte // JSON, in the block.
	in   *block
}

// exportQueue sends signals in the background, in batches, one batch at a time. Adding neither fails nor waits: a signal
// comes as text, and goes into a bounded queue that drops its oldest. While nothing is queued, no goroutine runs.
type exportQueue struct {
	transport *transport
	maxQueued int
	maxBytes  int
	batchSize int
	delay     time.Duration
	retry     RetryPolicy
	// before is called when a batch is about to go out.
	before func(context.Context)
	// givingUp ends when what is on its way is to be broken off.
	givingUp context.Context
	giveUp   context.CancelFunc
	// wake holds a token when the sender has something to look at.
	wake chan struct{}

	mu     sync.Mutex
	queue  ring
	texts  arena
	bytes  int
	closed bool
	// added counts signals that ever came into the queue. The first that still waits is number added - queue.count.
	added int64
	// underWay is the number of the first signal of the batch that is being sent; -1 for none.
	underWay int64
	// hurried counts flushes: while one waits, nothing waits for others to travel with.
	hurried int
	// sending is closed when the sender ends; nil while there is none.
	sending chan struct{}
	// settled is closed, and replaced, whenever a batch is settled.
	settled  chan struct{}
	counters Counters
}

func newExportQueue(t *transport, config *instrumentationConfig, before func(context.Context)) *exportQueue {
	givingUp, giveUp := context.WithCancel(context.Background())
	return &exportQueue{
		transport: t,
		maxQueued: max(1, config.maxQueued),
		maxBytes:  max(1, config.maxQueuedBytes),
		batchSize: max(1, config.batchSize),
		delay:     config.delay,
		retry:     config.retry.or(exportPolicy()),
		before:    before,
		givingUp:  givingUp,
		giveUp:    giveUp,
		wake:      make(chan struct{}, 1),
		underWay:  -1,
		settled:   make(chan struct{}),
	}
}

func (q *exportQueue) addInvalid() {
	q.mu.Lock()
	q.counters.Invalid++
	q.mu.Unlock()
}

// add copies the text.
func (q *exportQueue) add(kind signalKind, text []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(text) > min(batchBytes, q.maxBytes) {
		q.counters.Dropped++
		return
	}
	kept, in := q.texts.keep(text)
	q.queue.push(queuedSignal{kind, kept, in})
	q.bytes += len(text)
	q.added++
	for q.queue.count > q.maxQueued || q.bytes > q.maxBytes {
		oldest := q.queue.pop()
		q.bytes -= len(oldest.text)
		q.texts.release(oldest.in)
		q.counters.Dropped++
	}
	if q.sending == nil {
		q.sending = make(chan struct{})
		go q.send(q.sending)
	} else if q.queue.count == q.batchSize {
		q.wakeSender()
	}
}

func (q *exportQueue) wakeSender() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// send sends until the queue is empty.
func (q *exportQueue) send(done chan struct{}) {
	for {
		q.gather()
		q.mu.Lock()
		batch := q.take()
		if batch == nil {
			q.sending = nil
			q.mu.Unlock()
			close(done)
			return
		}
		q.mu.Unlock()
		// Written once: a batch is sent again under the same key, so that nothing is stored twice.
		body := batchText(batch, newKey())
		q.mu.Lock()
		for _, signal := range batch {
			q.texts.release(signal.in)
		}
		q.mu.Unlock()
		found := q.deliver(body, int64(len(batch)))
		q.mu.Lock()
		q.counters.Sent += found.Sent
		q.counters.Refused += found.Refused
		q.counters.Failed += found.Failed
		q.underWay = -1
		close(q.settled)
		q.settled = make(chan struct{})
		q.mu.Unlock()
	}
}

// gather waits for more signals to travel together, for the delay at most.
func (q *exportQueue) gather() {
	timer := time.NewTimer(q.delay)
	defer timer.Stop()
	for {
		q.mu.Lock()
		ready := q.closed || q.hurried > 0 || q.queue.count == 0 || q.queue.count >= q.batchSize
		q.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-q.wake:
		case <-timer.C:
			return
		}
	}
}

// take needs the lock. It returns nil when there is nothing to send.
func (q *exportQueue) take() []queuedSignal {
	if q.queue.count == 0 || q.givingUp.Err() != nil {
		return nil
	}
	q.underWay = q.added - int64(q.queue.count)
	var batch []queuedSignal
	size := 0
	for q.queue.count > 0 && len(batch) < q.batchSize {
		length := len(q.queue.first().text)
		if size += length; len(batch) > 0 && size > batchBytes {
			break
		}
		q.bytes -= length
		batch = append(batch, q.queue.pop())
	}
	return batch
}

// deliver sends a batch of so many signals, and says what became of them.
func (q *exportQueue) deliver(body []byte, count int64) Counters {
	q.before(q.givingUp)
	r := request{method: "POST", path: "/v1/ingest", body: body}
	text, err := withRetries(q.givingUp, q.retry, func() ([]byte, error) { return q.transport.call(q.givingUp, r) })
	if refused, ok := as[*ServiceError](err); ok && refused.Status < 500 && refused.Status != 429 {
		return Counters{Refused: count}
	}
	if err != nil {
		return Counters{Failed: count}
	}
	var reply wire.IngestReply
	// An answer that cannot be read says nothing against what was sent.
	_ = json.Unmarshal(text, &reply)
	refused := max(0, min(count, reply.Rejected))
	return Counters{Sent: count - refused, Refused: refused}
}

func batchText(batch []queuedSignal, key string) []byte {
	var sizes [signalKinds]int
	total := 256
	for _, signal := range batch {
		sizes[signal.kind]++
		total += len(signal.text) + 1
	}
	text := append(make([]byte, 0, total), `{"ingest_key":"`...)
	text = append(text, key...)
	text = append(text, '"')
	for kind := range signalKinds {
		if sizes[kind] == 0 {
			continue
		}
		text = append(text, `,"`...)
		text = append(text, kind.member()...)
		text = append(text, `":`...)
		separator := byte('[')
		for _, signal := range batch {
			if signal.kind == kind {
				text = append(text, separator)
				text = append(text, signal.text...)
				separator = ','
			}
		}
		text = append(text, ']')
	}
	return append(text, '}')
}

// flush sends what is queued now, and waits until all of it is settled.
func (q *exportQueue) flush(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	goal := q.added
	q.hurried++
	q.wakeSender()
	defer func() { q.hurried-- }()
	for !(q.added-int64(q.queue.count) >= goal && (q.underWay < 0 || q.underWay >= goal)) {
		settled := q.settled
		q.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
		}
		q.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// close sends what is queued until the context ends, then gives up the rest, which it counts and returns.
func (q *exportQueue) close(ctx context.Context) int64 {
	q.mu.Lock()
	before := q.counters.Failed
	q.closed = true
	sending := q.sending
	q.wakeSender()
	q.mu.Unlock()
	if sending != nil {
		select {
		case <-sending:
		case <-ctx.Done():
		}
		q.giveUp()
		select {
		case <-sending:
		case <-time.After(hangUp):
		}
	}
	q.giveUp()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.counters.Failed += int64(q.queue.count)
	q.queue, q.texts, q.bytes = ring{}, arena{}, 0
	close(q.settled)
	q.settled = make(chan struct{})
	return q.counters.Failed - before
}

func (q *exportQueue) count() Counters {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.counters
}

// ring is a queue that reuses its memory.
type ring struct {
	slots []queuedSignal
	head  int
	count int
}

func (r *ring) push(signal queuedSignal) {
	if r.count == len(r.slots) {
		larger := make([]queuedSignal, max(64, 2*r.count))
		copied := copy(larger, r.slots[r.head:])
		copy(larger[copied:], r.slots[:r.head])
		r.slots, r.head = larger, 0
	}
	r.slots[(r.head+r.count)%len(r.slots)] = signal
	r.count++
}

func (r *ring) first() queuedSignal { return r.slots[r.head] }

func (r *ring) pop() queuedSignal {
	signal := r.slots[r.head]
	r.slots[r.head] = queuedSignal{}
	r.head = (r.head + 1) % len(r.slots)
	r.count--
	return signal
}
