package svc

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"svc.dev/sdk/go/wire"
)

const specTimeout = 5 * time.Second

// specCheck asks the service once for its spec_version. Without an answer it is asked again the next time. Those who ask
// together share one call.
type specCheck struct {
	transport *transport
	mu        sync.Mutex
	asking    chan struct{} // Closed at the end of the call under way; nil while there is none.
	known     bool
	fault     error
}

// ensure returns an IncompatibleServerError where the service has another major version. No answer is no fault.
func (s *specCheck) ensure(ctx context.Context) error {
	s.mu.Lock()
	if s.known {
		defer s.mu.Unlock()
		return s.fault
	}
	if s.asking == nil {
		s.asking = make(chan struct{})
		go s.ask(s.asking)
	}
	asking := s.asking
	s.mu.Unlock()
	select {
	case <-asking:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// ask belongs to no caller: one that goes away does not take the answer from the others.
func (s *specCheck) ask(asked chan<- struct{}) {
	var health wire.Health
	text, err := s.transport.call(context.Background(), request{method: "GET", path: "/healthz", timeout: specTimeout})
	if err == nil {
		err = json.Unmarshal(text, &health)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = nil
	close(asked)
	if err != nil {
		return
	}
	s.known = true
	if health.SpecVersion != "" && major(health.SpecVersion) != major(wire.SpecVersion) {
		s.fault = &IncompatibleServerError{Served: health.SpecVersion, Understood: wire.SpecVersion}
	}
}

func major(version string) string {
	number, _, _ := strings.Cut(version, ".")
	return number
}
