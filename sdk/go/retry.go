package svc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryPolicy says how often a call is tried, and how it waits in between: a random time between nothing and
// Base·2^(try-1), at most Max, and no less than the service asks for. A zero field has its default.
type RetryPolicy struct {
	// Attempts counts tries, the first included.
	Attempts int
	// Base is the longest wait before the second try.
	Base time.Duration
	// Max is the longest wait before any try.
	Max time.Duration

	// within: no try begins later than this after the first; 0 for no bound.
	within time.Duration
}

const (
	// patience: a service that was there once may be away so long, for a restart or an upgrade, before a follower gives
	// up.
	patience  = 5 * time.Minute
	unbounded = math.MaxInt
)

// or fills zero fields.
func (p RetryPolicy) or(defaults RetryPolicy) RetryPolicy {
	if p.Attempts <= 0 {
		p.Attempts = defaults.Attempts
	}
	if p.Base <= 0 {
		p.Base = defaults.Base
	}
	if p.Max <= 0 {
		p.Max = defaults.Max
	}
	return p
}

func callerPolicy() RetryPolicy {
	return RetryPolicy{Attempts: 5, Base: 200 * time.Millisecond, Max: 10 * time.Second}
}

func exportPolicy() RetryPolicy {
	return RetryPolicy{Attempts: 8, Base: 500 * time.Millisecond, Max: 30 * time.Second}
}

// untilAnswered is for what must arrive: it ends by an answer, by its context, or after the time given; 0 for none.
func untilAnswered(within time.Duration) RetryPolicy {
	return RetryPolicy{Attempts: unbounded, Base: 200 * time.Millisecond, Max: 5 * time.Second, within: within}
}

// backoff is full jitter, so that many callers do not come back at once. chance is from 0 to 1, attempt from 1.
func backoff(policy RetryPolicy, attempt int, chance float64) time.Duration {
	step := float64(policy.Base) * math.Pow(2, float64(min(attempt-1, 30)))
	return time.Duration(chance * min(float64(policy.Max), step))
}

func jittered(policy RetryPolicy, attempt int) time.Duration {
	return backoff(policy, attempt, rand.Float64())
}

// isRetryable says whether a later try may change it: no answer, 429, and the 5xx that say "later".
func isRetryable(err error) bool {
	if lost, ok := as[*ConnectionError](err); ok {
		return !errors.Is(lost.Err, ErrClosed)
	}
	refused, ok := as[*ServiceError](err)
	return ok && refused.Retryable()
}

// askedWait is what the service asked to wait.
func askedWait(err error) time.Duration {
	if refused, ok := as[*ServiceError](err); ok {
		return refused.RetryAfter
	}
	return 0
}

// withRetries calls until it succeeds, fails for good, or the policy or the context ends it. The context ends the
// waiting between tries; what a call on its way makes of it is the call's own business. It returns the last error.
func withRetries[T any](ctx context.Context, policy RetryPolicy, call func() (T, error)) (T, error) {
	started := time.Now()
	for attempt := 1; ; attempt++ {
		value, err := call()
		if err == nil || attempt >= policy.Attempts || !isRetryable(err) || ctx.Err() != nil {
			return value, err
		}
		wait := max(askedWait(err), jittered(policy, attempt))
		if policy.within > 0 && time.Since(started)+wait > policy.within {
			return value, err
		}
		if !pause(ctx, wait) {
			return value, err
		}
	}
}

// pause waits, and says whether the context let it.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// retryAfter reads a Retry-After header: whole seconds, or a date. See RFC 9110, 10.2.3.
func retryAfter(header string, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(header)
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(math.MaxInt64/time.Second) {
			return math.MaxInt64, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
