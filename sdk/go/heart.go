package svc

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// pulse is what a heartbeat found.
type pulse int

const (
	beatAgain  pulse = iota // The next one in time.
	beatSooner              // No answer.
	beatOver                // None shall follow.
)

// detailsDelay: details that change quickly travel together.
const detailsDelay = time.Second

// heart beats from its start until it is stopped, on a goroutine of its own. Most bodies end before the first beat, and say nothing
// meanwhile: it has its goroutine from then on.
type heart struct {
	every time.Duration
	// beat sends one heartbeat with the details that the body gave since the last one; nil for none.
	beat func(ctx context.Context, details json.RawMessage) pulse
	// wake holds a token when details have come.
	wake    chan struct{}
	flushes chan chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	started time.Time
	first   *time.Timer

	mu      sync.Mutex
	details json.RawMessage
	// isRunning: the goroutine is there, or was.
	isRunning, isStopped bool
}

func startHeart(ctx context.Context, every time.Duration, beat func(context.Context, json.RawMessage) pulse) *heart {
	ctx, cancel := context.WithCancel(ctx)
	h := &heart{
		every:   every,
		beat:    beat,
		wake:    make(chan struct{}, 1),
		flushes: make(chan chan struct{}),
		ctx:     ctx,
		cancel:  cancel,
		done:    make(chan struct{}),
		started: time.Now(),
	}
	h.first = time.AfterFunc(every, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ensure()
	})
	return h
}

// ensure needs the lock.
func (h *heart) ensure() {
	if h.isRunning || h.isStopped {
		return
	}
	h.isRunning = true
	go h.run(h.ctx)
}

func (h *heart) run(ctx context.Context) {
	defer close(h.done)
	last, gap := h.started, h.every
	timer := time.NewTimer(gap)
	defer timer.Stop()
	// Who waits until the details have arrived: one at most, the lease whose body has ended.
	var flushed chan struct{}
	for {
		wait := gap
		if h.hasDetails() {
			wait = min(wait, detailsDelay)
		}
		timer.Reset(time.Until(last.Add(wait)))
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			continue
		case flush := <-h.flushes:
			if !h.hasDetails() {
				close(flush)
				continue
			}
			flushed = flush
		case <-timer.C:
		}
		sent := h.take()
		last = time.Now()
		found := h.beat(ctx, sent)
		if found == beatSooner {
			h.keep(sent)
			gap = h.every / 4
		} else {
			gap = h.every
		}
		if found == beatOver {
			return
		}
		// Where nobody answered, the beats that follow repeat the details.
		if flushed != nil && !h.hasDetails() {
			close(flushed)
			flushed = nil
		}
	}
}

func (h *heart) hasDetails() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.details != nil
}

func (h *heart) take() json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.details
	h.details = nil
	return taken
}

// keep has details that did not arrive sent again, unless newer ones came meanwhile.
func (h *heart) keep(details json.RawMessage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.details == nil {
		h.details = details
	}
}

// tell gives details to the next beat, which comes within a second.
func (h *heart) tell(details json.RawMessage) {
	h.mu.Lock()
	h.details = details
	h.ensure()
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// flush returns when the details given so far have arrived, or no beat shall follow, or the time is over.
func (h *heart) flush(within time.Duration) {
	h.mu.Lock()
	isRunning := h.isRunning
	h.mu.Unlock()
	if !isRunning {
		return
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	flushed := make(chan struct{})
	select {
	case h.flushes <- flushed:
	case <-h.done:
		return
	case <-timer.C:
		return
	}
	select {
	case <-flushed:
	case <-h.done:
	case <-timer.C:
	}
}

// stop breaks off a beat that is on its way, and returns when it is over.
func (h *heart) stop() {
	h.first.Stop()
	h.mu.Lock()
	h.isStopped = true
	isRunning := h.isRunning
	h.mu.Unlock()
	h.cancel()
	if isRunning {
		<-h.done
	}
}
