package svc

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/sdk/go/wire"
)

// gathering is a stepCalls against a service that takes every call.
func gathering(t *testing.T) (*fakeService, *stepCalls) {
	t.Helper()
	service := newFakeService(t, func(call fakeCall) fakeAnswer { return answerBatch(t, call.body) })
	client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
	t.Cleanup(client.Close)
	return service, &stepCalls{
		transport: client.transport,
		workerID:  "w",
		ctx:       t.Context(),
		claims:    func() bool { return false },
		onLeases:  func([]wire.Lease) {},
	}
}

func report(t *testing.T, calls *stepCalls, lease int) *pendingCall {
	t.Helper()
	return calls.submit(t.Context(), stepCall{
		verb: completeVerb, leaseID: fmt.Sprint("l-", lease), body: []byte(`{"worker_id":"w"}`),
	})
}

func TestReportsOfLeasesInMotionTravelTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, calls := gathering(t)
		calls.motion.begin(2)
		first := report(t, calls, 0)
		calls.motion.end()
		synctest.Wait()
		if sent := len(service.callsTo("POST")); sent != 0 {
			t.Fatalf("%d calls are made while a body is about to begin", sent)
		}
		second := report(t, calls, 1)
		calls.motion.end()
		for _, pending := range []*pendingCall{first, second} {
			if _, err := calls.await(pending); err != nil {
				t.Error(err)
			}
			// The answer set its lease going, which has come to its end.
			calls.motion.end()
		}
		if sent := len(service.callsTo("POST")); sent != 1 {
			t.Errorf("%d calls are made, and not one", sent)
		}
	})
}

func TestAReportDoesNotWaitLongForABodyThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, calls := gathering(t)
		calls.motion.begin(1)
		for range 2 {
			began := time.Now()
			if _, err := calls.await(report(t, calls, 0)); err != nil {
				t.Error(err)
			}
			if waited := time.Since(began); waited > motionLimit {
				t.Errorf("a report waits for %v", waited)
			}
			calls.motion.end()
		}
	})
}

func TestAllStepsThatCameTogetherAreDeclaredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, "1", "2", "3", "4", "5", "6", "7", "8")
		client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		body := func(context.Context, *Step, int) (any, error) { return nil, nil }
		go func() {
			ended <- NewWorker(client, MustWorkflow([]byte(payDefinition), On("pay", body))).Run(ctx)
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.Close()
		first, err := wire.Decode[wire.StepBatch]([]byte(service.callsTo("POST /v1/api/steps/batch")[0].body))
		if err != nil || len(first.Started) != 8 {
			t.Errorf("the first batch declares %d steps, and not 8 (%v)", len(first.Started), err)
		}
		if reports := len(reportsTo(t, service)); reports != 8 {
			t.Errorf("%d steps are reported, and not 8", reports)
		}
	})
}

func TestCallersThatStartTogetherAskForTheVersionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			if call.what == "GET /healthz" {
				time.Sleep(time.Second)
				return ok(`{"spec_version":"1.3"}`)
			}
			return ok(`{"run_id":"r-1","status":"queued"}`)
		})
		client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
		impatient, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := client.StartRun(impatient, "refund", nil); err == nil {
				t.Error("a caller that goes away starts a run")
			}
		})
		for range 8 {
			callers.Go(func() {
				if _, err := client.StartRun(t.Context(), "refund", nil); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		client.Close()
		if asked := len(service.callsTo("GET /healthz")); asked != 1 {
			t.Errorf("the version is asked for %d times", asked)
		}
	})
}
