package svc

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/sdk/go/wire"
)

// working runs a worker beside what a test does, until that is over.
func working(t *testing.T, service *fakeService, body func(context.Context, *Step, any) (any, error), meanwhile func()) {
	t.Helper()
	client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- NewWorker(client, MustWorkflow([]byte(payDefinition), On("pay", body)), WithWorkerID("w")).Run(ctx)
	}()
	meanwhile()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	client.Close()
}

func batchesTo(t *testing.T, service *fakeService) []*wire.StepBatch {
	t.Helper()
	var batches []*wire.StepBatch
	for _, call := range service.callsTo("POST /v1/api/steps/batch") {
		batch, err := wire.Decode[wire.StepBatch]([]byte(call.body))
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, &batch)
	}
	return batches
}

// answersBatches has batches answered otherwise than offering does.
func answersBatches(service *fakeService, answer func(call fakeCall, otherwise func() fakeAnswer) fakeAnswer) {
	before := service.answer
	service.answer = func(call fakeCall) fakeAnswer {
		if call.what != "POST /v1/api/steps/batch" {
			return before(call)
		}
		return answer(call, func() fakeAnswer { return before(call) })
	}
}

func refusedStart(code string) fakeAnswer {
	return ok(`{"started":[{"status":409,"body":{"code":"` + code + `","message":"refused"}}],"heartbeats":[],"completes":[],"fails":[],"leases":[]}`)
}

func TestABodyThatEndsAtOnceIsDeclaredAndReportedInOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `1`)
		body := func(context.Context, *Step, any) (any, error) { return nil, nil }
		working(t, service, body, func() { time.Sleep(time.Second) })
		batches := batchesTo(t, service)
		if len(batches) != 1 || len(batches[0].Started) != 1 || len(batches[0].Completes) != 1 {
			t.Errorf("it sends %+v", batches)
		}
	})
}

func TestAReportWaitsForADeclarationThatHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `1`)
		answersBatches(service, func(_ fakeCall, otherwise func() fakeAnswer) fakeAnswer {
			time.Sleep(time.Second)
			return otherwise()
		})
		working(t, service, func(context.Context, *Step, any) (any, error) {
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		}, func() {
			time.Sleep(900 * time.Millisecond)
			if sent := len(batchesTo(t, service)); sent != 1 {
				t.Errorf("%d batches are sent before the declaration is answered", sent)
			}
			time.Sleep(10 * time.Second)
		})
		if batches := batchesTo(t, service); len(batches) != 2 || len(batches[0].Started) != 1 || len(batches[1].Completes) != 1 {
			t.Errorf("it sends %+v", batches)
		}
	})
}

func TestABodyWhoseDeclarationIsRefusedIsCancelledAndNothingIsReported(t *testing.T) {
	for code, reason := range map[string]Interrupt{"fenced": Fenced, "run_terminal": RunTerminal, "already_applied": Fenced} {
		synctest.Test(t, func(t *testing.T) {
			service := offering(t, `1`)
			answersBatches(service, func(fakeCall, func() fakeAnswer) fakeAnswer { return refusedStart(code) })
			var cause error
			working(t, service, func(ctx context.Context, _ *Step, _ any) (any, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return nil, nil
			}, func() { time.Sleep(time.Minute) })
			if !errors.Is(cause, reason) {
				t.Errorf("%s: it is cancelled with %v", code, cause)
			}
			if reports := reportsTo(t, service); len(reports) != 0 {
				t.Errorf("%s: it reports %q", code, reports)
			}
		})
	}
}

func TestABodyIsCancelledWhoseDeclarationIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `1`)
		answersBatches(service, func(fakeCall, func() fakeAnswer) fakeAnswer { return fakeAnswer{} })
		var began, cancelled time.Time
		working(t, service, func(ctx context.Context, _ *Step, _ any) (any, error) {
			began = time.Now()
			<-ctx.Done()
			cancelled = time.Now()
			return nil, nil
		}, func() { time.Sleep(5 * time.Minute) })
		if took := cancelled.Sub(began); took > 31*time.Second || took < 20*time.Second {
			t.Errorf("it is cancelled after %v, and the lease lives 30 s", took)
		}
		if reports := reportsTo(t, service); len(reports) != 0 {
			t.Errorf("it reports %q", reports)
		}
	})
}

func TestWhatWasLostTogetherIsSentAgainInItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `1`)
		losses := 2
		answersBatches(service, func(_ fakeCall, otherwise func() fakeAnswer) fakeAnswer {
			if losses--; losses >= 0 {
				return fakeAnswer{}
			}
			return otherwise()
		})
		body := func(context.Context, *Step, any) (any, error) { return nil, nil }
		working(t, service, body, func() { time.Sleep(time.Minute) })
		var sent []string
		for _, batch := range batchesTo(t, service) {
			sent = append(sent, strings.Repeat("started ", len(batch.Started))+strings.Repeat("complete ", len(batch.Completes)))
		}
		if got := strings.Join(sent, "| "); got != "started complete | started | started | complete " {
			t.Error(got)
		}
	})
}

func TestWithoutBatchesTheReportFollowsItsDeclaration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `1`)
		answersBatches(service, func(fakeCall, func() fakeAnswer) fakeAnswer { return problem(404, "not_found") })
		before := service.answer
		service.answer = func(call fakeCall) fakeAnswer {
			if strings.HasSuffix(call.what, "/started") {
				time.Sleep(time.Second)
				if sent := len(service.callsTo("POST /v1/api/steps/l-0/complete")); sent != 0 {
					t.Error("the report overtakes it")
				}
			}
			return before(call)
		}
		body := func(context.Context, *Step, any) (any, error) { return nil, nil }
		working(t, service, body, func() { time.Sleep(time.Minute) })
		if sent := len(service.callsTo("POST /v1/api/steps/l-0/complete")); sent != 1 {
			t.Errorf("it is reported %d times", sent)
		}
	})
}

func TestWhatMayNotBeginEarlyWaitsForItsDeclaration(t *testing.T) {
	for name, change := range map[string][2]string{
		"a second attempt":      {`"attempt":1`, `"attempt":2`},
		"one that may run once": {`at_least_once`, `at_most_once`},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := offering(t, `1`)
			answersBatches(service, func(_ fakeCall, otherwise func() fakeAnswer) fakeAnswer {
				time.Sleep(time.Second)
				return otherwise()
			})
			before := service.answer
			service.answer = func(call fakeCall) fakeAnswer {
				answer := before(call)
				answer.body = strings.Replace(answer.body, change[0], change[1], 1)
				return answer
			}
			offered := time.Now()
			working(t, service, func(context.Context, *Step, any) (any, error) {
				if time.Since(offered) < time.Second {
					t.Errorf("%s begins before its declaration is answered", name)
				}
				return nil, nil
			}, func() { time.Sleep(time.Minute) })
			if reports := reportsTo(t, service); len(reports) != 1 {
				t.Errorf("%s: it reports %q", name, reports)
			}
		})
	}
}

func TestADeclarationAndItsReportAreNeverInTwoBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, calls := gathering(t)
		calls.senders = batchesAtOnce // Nobody sends.
		large, err := json.Marshal(strings.Repeat("x", largeReport-100))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			first := calls.submit(t.Context(), stepCall{verb: startedVerb, leaseID: "l", body: []byte(`{"worker_id":"w"}`)})
			if calls.submitBehind(first, stepCall{verb: completeVerb, leaseID: "l", body: large}) == nil {
				t.Fatal("it has left")
			}
		}
		for _, want := range []int{8, 2, 0} {
			if batch := calls.take(); len(batch) != want {
				t.Errorf("a batch has %d items, and not %d", len(batch), want)
			}
		}
	})
}
