package svc

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

func TestACallIsTriedAgainOn429AndThe5xxThatSayLaterAndNeverOnAnother(t *testing.T) {
	for status, tries := range map[int]int{400: 1, 401: 1, 404: 1, 409: 1, 422: 1, 429: 5, 500: 1, 501: 1, 502: 5, 503: 5, 504: 5} {
		synctest.Test(t, func(t *testing.T) {
			service := newFakeService(t, func(fakeCall) fakeAnswer { return problem(status, "refused") })
			client := service.client()
			defer client.Close()
			_, err := client.GetRun(t.Context(), "r-1")
			if refused, ok := as[*ServiceError](err); !ok || refused.Status != status {
				t.Errorf("%d: %v", status, err)
			}
			if got := len(service.calls); got != tries {
				t.Errorf("%d: %d tries, not %d", status, got, tries)
			}
		})
	}
}

func TestAServiceWithoutRunsIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(fakeCall) fakeAnswer { return problem(503, "runs_disabled") })
		client := service.client()
		defer client.Close()
		if _, err := client.GetRun(t.Context(), "r-1"); err == nil || len(service.calls) != 1 {
			t.Errorf("%v after %d calls", err, len(service.calls))
		}
	})
}

func TestAWaitIsNoShorterThanTheServiceAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []fakeAnswer{{status: 429, body: `{}`, retryAfter: "90"}, ok(`{"run_id":"r-1"}`)}
		service := newFakeService(t, nil)
		service.answer = func(fakeCall) fakeAnswer { return answers[len(service.calls)-1] }
		client := service.client()
		defer client.Close()
		began := time.Now()
		if _, err := client.GetRun(t.Context(), "r-1"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 90*time.Second || took > 91*time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

func TestNoTryBeginsBehindTheTimeOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, tries := time.Now(), 0
		_, err := withRetries(t.Context(), untilAnswered(30*time.Second), func() (int, error) {
			tries++
			return 0, &ConnectionError{Err: io.EOF}
		})
		if err == nil || tries < 5 || time.Since(began) > 30*time.Second {
			t.Errorf("%v after %d tries, %v", err, tries, time.Since(began))
		}
	})
}

func TestTheEndOfTheContextEndsTheWaitingWithTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		last := &ServiceError{Status: 503, RetryAfter: time.Hour}
		_, err := withRetries(ctx, untilAnswered(0), func() (int, error) { return 0, last })
		if !errors.Is(err, last) {
			t.Error(err)
		}
	})
}

func TestACallerThatStopsGetsTheErrorOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			<-call.done
			return fakeAnswer{}
		})
		client := service.client()
		defer client.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := client.Wait(ctx, "r-1"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Wait(late, "r-1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestAnAnswerThatIsLateIsAConnectionErrorThatNamesTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			<-call.done
			return fakeAnswer{}
		})
		client := service.client(WithTimeout(2*time.Second), WithRetry(RetryPolicy{Attempts: 1}))
		defer client.Close()
		_, err := client.GetRun(t.Context(), "r-1")
		lost, ok := as[*ConnectionError](err)
		if !ok || lost.Error() != "svc: GET /v1/api/runs/r-1: no answer within 2s" {
			t.Error(err)
		}
	})
}

func TestACallOfAClosedClientIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(fakeCall) fakeAnswer { return ok(`{}`) })
		client := service.client()
		client.Close()
		began := time.Now()
		if _, err := client.GetRun(t.Context(), "r-1"); !errors.Is(err, ErrClosed) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
