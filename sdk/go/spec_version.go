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

// specCheck asks the service once for its spec_version. Without an answer it is asked again the next time.
type specCheck struct {
	transport *transport
	mu        sync.Mutex
	known     bool
	fault     error
}

// ensure returns an IncompatibleServerError where the service has another major version. No answer is no fault.
func (s *specCheck) ensure(ctx context.Context) error {
	s.mu.Lock()
	known, fault := s.known, s.fault
	s.mu.Unlock()
	if known {
		return fault
	}
	text, err := s.transport.call(ctx, request{method: "GET", path: "/healthz", timeout: specTimeout})
	if err != nil {
		return ctx.Err()
	}
	var health wire.Health
	if json.Unmarshal(text, &health) != nil {
		return nil
	}
	if health.SpecVersion != "" && major(health.SpecVersion) != major(wire.SpecVersion) {
		fault = &IncompatibleServerError{Served: health.SpecVersion, Understood: wire.SpecVersion}
	}
	s.mu.Lock()
	s.known, s.fault = true, fault
	s.mu.Unlock()
	return fault
}

func major(version string) string {
	number, _, _ := strings.Cut(version, ".")
	return number
}
