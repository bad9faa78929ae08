package svc

import (
	"sync"
	"time"
)

// motionLimit: nobody waits longer for leases in motion. A body that keeps all processors busy may hold them up.
const motionLimit = 5 * time.Millisecond

// motion counts the leases that an answer has set going, until each has come as far as it comes by itself: its body has begun,
// or its slot is free. What they ask for meanwhile travels together.
type motion struct {
	mu    sync.Mutex
	count int
	// still is closed when nothing moves; nil while nobody waits for that.
	still chan struct{}
}

func (m *motion) begin(leases int) {
	m.mu.Lock()
	m.count += leases
	m.mu.Unlock()
}

func (m *motion) end() {
	m.mu.Lock()
	if m.count > 0 {
		if m.count--; m.count == 0 {
			m.tell()
		}
	}
	m.mu.Unlock()
}

// tell needs the lock.
func (m *motion) tell() {
	if m.still != nil {
		close(m.still)
		m.still = nil
	}
}

// wait returns when nothing moves, and at the latest after motionLimit.
func (m *motion) wait() {
	m.mu.Lock()
	if m.count == 0 {
		m.mu.Unlock()
		return
	}
	if m.still == nil {
		m.still = make(chan struct{})
	}
	still := m.still
	m.mu.Unlock()
	timer := time.NewTimer(motionLimit)
	defer timer.Stop()
	select {
	case <-still:
	case <-timer.C:
		// Those who wait next begin to count anew.
		m.mu.Lock()
		m.count = 0
		m.tell()
		m.mu.Unlock()
	}
}
