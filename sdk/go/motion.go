package svc

import (
	"sync"
	"time"
)

// motionLimit: nobody waits longer for leases in motion. A body that keeps all processors busy may hold them up.
const motionLimit = 5 * time.Millisecond

// bodyLimit: a declaration does not wait longer for what its body gives.
const bodyLimit = 500 * time.Microsecond

// motion counts the leases that an answer has set going, until each has come as far as it comes by itself: its body has begun,
// or its slot is free. What they ask for meanwhile travels together.
type motion struct {
	mu    sync.Mutex
	count int
	// still is closed when nothing moves; nil while nobody waits for that.
	still chan struct{}
	// round is how often those who waited gave up, and the count began anew.
	round int
}

// begin gives the round of the leases, for endOf.
func (m *motion) begin(leases int) (round int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count += leases
	return m.round
}

func (m *motion) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endOne()
}

// endOf ends what began in a round; nobody waits for that of an earlier one.
func (m *motion) endOf(round int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if round == m.round {
		m.endOne()
	}
}

// endOne needs the lock.
func (m *motion) endOne() {
	if m.count > 0 {
		if m.count--; m.count == 0 {
			m.tell()
		}
	}
}

// tell needs the lock.
func (m *motion) tell() {
	if m.still != nil {
		close(m.still)
		m.still = nil
	}
}

// wait returns when nothing moves, and at the latest after the limit.
func (m *motion) wait(limit time.Duration) {
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
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-still:
	case <-timer.C:
		// Those who wait next begin to count anew.
		m.mu.Lock()
		m.count = 0
		m.round++
		m.tell()
		m.mu.Unlock()
	}
}
