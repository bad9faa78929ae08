package svc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	firstEntry = "id: 0\ndata: {\"seq\":0,\"kind\":\"run.started\"}\n\n"
	lastEntry  = "id: 1\ndata: {\"seq\":1,\"kind\":\"run.finished\"}\n\n"
)

// watched are the kinds that a watch gives, and its error.
func watched(ctx context.Context, client *Client) (kinds []wire.JournalKind, last error) {
	for entry, err := range client.Watch(ctx, "r-1") {
		if err != nil {
			return kinds, err
		}
		kinds = append(kinds, entry.Kind)
	}
	return kinds, nil
}

func TestAWatchGoesOnBehindItsLastEntryNoSoonerThanTheServiceAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []fakeAnswer{
			ok(firstEntry), ok(`{"run_id":"r-1","status":"running"}`), ok(`{"events":[],"next_after":0}`),
			{status: 429, body: `{}`, retryAfter: "60"}, ok(firstEntry + lastEntry),
		}
		service := newFakeService(t, nil)
		service.answer = func(fakeCall) fakeAnswer { return answers[len(service.calls)-1] }
		client := service.client()
		defer client.Close()
		kinds, err := watched(t.Context(), client)
		if err != nil || len(kinds) != 2 || kinds[1] != wire.JournalKindRunFinished {
			t.Fatalf("%v, %v", kinds, err)
		}
		calls := service.callsTo("GET /v1/api/runs/r-1/events")
		if waited := calls[3].at.Sub(calls[2].at); waited < time.Minute {
			t.Errorf("it came back after %v", waited)
		}
		if calls[0].header.Get("Last-Event-ID") != "" || calls[3].header.Get("Last-Event-ID") != "0" {
			t.Error("it does not resume from its last entry")
		}
	})
}

func TestAWatchBridgesFiveMinutesWithoutTheServiceAndNotMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, nil)
		service.answer = func(fakeCall) fakeAnswer {
			if len(service.calls) == 1 {
				return ok(firstEntry)
			}
			return fakeAnswer{}
		}
		client := service.client()
		defer client.Close()
		began := time.Now()
		kinds, err := watched(t.Context(), client)
		if _, lost := as[*ConnectionError](err); !lost || len(kinds) != 1 {
			t.Errorf("%v, %v", kinds, err)
		}
		if took := time.Since(began); took < patience || took > 2*patience {
			t.Errorf("it gave up after %v", took)
		}
	})
}

func TestAWatchOfAServiceThatWasNeverThereEndsWithItsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(fakeCall) fakeAnswer { return fakeAnswer{} })
		client := service.client()
		defer client.Close()
		if _, err := watched(t.Context(), client); err == nil || len(service.calls) != 5 {
			t.Errorf("%v after %d calls", err, len(service.calls))
		}
	})
}

func TestACallerMayLeaveAWatchAndAContextEndsItWithItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			if call.what != "GET /v1/api/runs/r-1/events" {
				<-call.done
			}
			return ok(firstEntry)
		})
		client := service.client()
		defer client.Close()
		for range client.Watch(t.Context(), "r-1") {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := watched(ctx, client); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestAWaitReadsTheRunWhereTheServiceHoldsNoRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []fakeAnswer{
			{status: 400, body: `{"code":"invalid_parameter","message":"unknown","field":"wait_ms"}`},
			ok(`{"run_id":"r-1","status":"running"}`), ok(`{"run_id":"r-1","status":"succeeded","output":{"paid":40}}`),
		}
		service := newFakeService(t, nil)
		service.answer = func(fakeCall) fakeAnswer { return answers[len(service.calls)-1] }
		client := service.client()
		defer client.Close()
		output, err := Attach[map[string]int](client, "r-1").Wait(t.Context())
		if err != nil || output["paid"] != 40 {
			t.Errorf("%v, %v", output, err)
		}
	})
}
