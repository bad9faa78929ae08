package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/sdk/go/wire"
)

func taking500(fakeCall) fakeAnswer {
	return ok(`{"accepted":500,"rejected":0,"duplicate":0,"errors":[]}`)
}

func TestAFullQueueDropsItsOldestAndCountsEachSignalOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer(WithMaxQueued(3, 0), WithBatch(100, time.Minute))
		for number := range 10 {
			_, span := tracer.Span(t.Context(), fmt.Sprint(number))
			span.End()
		}
		if err := tracer.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		names := spansIn(t, service.callsTo("POST /v1/ingest")[0])
		if !slices.Equal(names, []string{"7", "8", "9"}) {
			t.Errorf("sent %v", names)
		}
		if found := tracer.Counters(); found != (Counters{Sent: 3, Dropped: 7}) {
			t.Errorf("%+v", found)
		}
	})
}

func TestTheQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer(WithMaxQueued(0, 10_000), WithBatch(100, time.Minute))
		for range 5 {
			_, span := tracer.Span(t.Context(), "large", Input(strings.Repeat("x", 4000)))
			span.End()
		}
		_ = tracer.Close(t.Context())
		if found := tracer.Counters(); found != (Counters{Sent: 2, Dropped: 3}) {
			t.Errorf("%+v", found)
		}
	})
}

func TestASignalWaitsForOthersToTravelWithAndAFlushDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer(WithBatch(0, 10*time.Second))
		defer tracer.Close(t.Context())
		began := time.Now()
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		time.Sleep(9 * time.Second)
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		time.Sleep(2 * time.Second)
		batches := service.callsTo("POST /v1/ingest")
		if len(batches) != 1 || batches[0].at.Sub(began) != 10*time.Second {
			t.Fatalf("%d batches", len(batches))
		}
		flushed := time.Now()
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		if err := tracer.Flush(t.Context()); err != nil || time.Since(flushed) != 0 {
			t.Errorf("%v after %v", err, time.Since(flushed))
		}
	})
}

func TestAFlushEndsWithItsContextAndHasATimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			<-call.done
			return fakeAnswer{}
		})
		tracer := service.tracer()
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		began := time.Now()
		if err := tracer.Flush(context.WithoutCancel(t.Context())); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != DefaultCloseTimeout {
			t.Errorf("it took %v", took)
		}
		if err := tracer.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 signals") {
			t.Error(err)
		}
		if found := tracer.Counters(); found != (Counters{Failed: 1}) {
			t.Errorf("%+v", found)
		}
	})
}

// The bubble fails the test where a goroutine is left behind.
func TestNoGoroutineRunsWhileNothingIsQueuedNorAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer()
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		_ = tracer.Flush(t.Context())
		synctest.Wait()
		tracer.Counter(t.Context(), Metric{Name: "orders"}, 1)
		_ = tracer.Close(t.Context())
		tracer.Counter(t.Context(), Metric{Name: "late"}, 1)
		if found := tracer.Counters(); found != (Counters{Sent: 2, Dropped: 1}) {
			t.Errorf("%+v", found)
		}
	})
}

func TestSpansOfManyGoroutinesAreNeitherLostNorDoubled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer()
		ctx, outer := tracer.Span(t.Context(), "outer")
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for number := range 200 {
					_, span := tracer.Span(ctx, fmt.Sprint(worker, "-", number))
					outer.Attribute(fmt.Sprint(worker), number)
					span.Output(number).Event("e", nil).Usage(1, 2)
					_ = span.Fail(errors.New("no"))
					span.End()
				}
			})
		}
		all.Wait()
		outer.End()
		_ = tracer.Close(t.Context())
		seen := map[string]int{}
		for _, batch := range service.callsTo("POST /v1/ingest") {
			for _, name := range spansIn(t, batch) {
				seen[name]++
			}
		}
		if len(seen) != 1601 {
			t.Errorf("%d spans arrived", len(seen))
		}
		for name, times := range seen {
			if times != 1 {
				t.Errorf("%s arrived %d times", name, times)
			}
		}
	})
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no JSON of this") }
func (panicking) Error() string                { panic("no words of this") }

func TestAValueThatIsNotJSONBecomesWordsThatSaySo(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = cycle
	for name, value := range map[string]any{
		"a cycle": cycle, "no number": math.Inf(1), "a function": func() {}, "a panic": panicking{},
		"bad raw JSON": json.RawMessage(`{`),
	} {
		text, err := wire.Decode[string](valueText(value))
		if err != nil || !strings.HasPrefix(text, "(not JSON: ") {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text := string(valueText("a\xffb<&>\u2028")); !json.Valid([]byte(text)) || !strings.Contains(text, "<&>") {
		t.Errorf("bad text is %q", text)
	}
}

func TestASpanHasTheMembersOfTheWireAndNoOthers(t *testing.T) {
	tracer := NewInstrumentation(WithProject("shop"), WithEnabled(true), WithSample(1))
	_, span := tracer.Span(t.Context(), `a "name"`, Kind(ToolCall), Model("m"), Provider("p"), Entity("e"),
		Input(map[string]int{"n": 1}), Attributes(map[string]any{"a": 1}),
		Correlated(wire.CorrelationInput{UserID: "u-1", Tags: wire.List[string]{"t"}}))
	span.Attribute("a", 2).Attribute("b", "ü").Event("e1", nil).Event("e2", map[string]any{"x": true}).
		Output([]int{1}).SetUsage(wire.Usage{InputTokens: new(int64)}).Cost(wire.CostInput{TotalCost: 0.5})
	_ = span.Fail(panicking{})
	decoder := json.NewDecoder(strings.NewReader(string(span.appendTo(nil, time.Second))))
	decoder.DisallowUnknownFields()
	var read wire.SpanInput
	if err := decoder.Decode(&read); err != nil {
		t.Fatal(err)
	}
	if string(read.Attributes) != `{"a":2,"b":"ü"}` || len(read.Events) != 2 || string(read.Events[1].Attributes) != `{"x":true}` {
		t.Errorf("%s, %v", read.Attributes, read.Events)
	}
	if read.Error.Message != "svc.panicking" || read.Status != wire.SpanStatusError || read.Name != `a "name"` {
		t.Errorf("%+v", read)
	}
	if read.Correlation.Project != "shop" || read.Correlation.UserID != "u-1" || read.Cost.TotalCost != 0.5 {
		t.Errorf("%+v", read.Correlation)
	}
}

func TestAnErrorGoesThroughDoUnchangedAndAPanicGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer()
		fault := errors.New("the bank is closed")
		if err := tracer.Do(t.Context(), "fails", func(context.Context, *Span) error { return fault }); err != fault {
			t.Error(err)
		}
		func() {
			defer func() {
				if recover() != "a bug" {
					t.Error("the panic did not go on as it was")
				}
			}()
			_ = tracer.Do(t.Context(), "panics", func(context.Context, *Span) error { panic("a bug") })
		}()
		_ = tracer.Close(t.Context())
		body := service.callsTo("POST /v1/ingest")[0].body
		if strings.Count(body, `"status":"error"`) != 2 || !strings.Contains(body, "the work panicked") {
			t.Error(body)
		}
	})
}

func TestANilSpanTakesAllCalls(t *testing.T) {
	var span *Span
	span.Input(1).Output(1).Model("m").Provider("p").Entity("e").Usage(1, 1).Cost(wire.CostInput{}).
		Attribute("a", 1).Event("e", nil)
	if err := span.Fail(errors.ErrUnsupported); err != errors.ErrUnsupported {
		t.Error(err)
	}
	span.End()
	if span.TraceID()+span.SpanID()+span.Traceparent() != "" {
		t.Error("it has ids")
	}
}

func TestSpansOfAnotherServiceAreNoParents(t *testing.T) {
	one := NewInstrumentation(WithEndpoint("http://one.test"), WithEnabled(false))
	other := NewInstrumentation(WithEndpoint("http://one.test"), WithAPIKey("another"), WithEnabled(false))
	same := NewInstrumentation(WithEndpoint("http://one.test"), WithEnabled(false))
	ctx, span := one.Span(t.Context(), "outer")
	if _, inner := same.Span(ctx, "inner"); inner.TraceID() != span.TraceID() || inner.parentID != span.SpanID() {
		t.Error("spans of one service and one key do not nest")
	}
	if _, foreign := other.Span(ctx, "foreign"); foreign.TraceID() == span.TraceID() || other.Traceparent(ctx) != "" {
		t.Error("the trace of one key leaks to another")
	}
}

func TestSlogRecordsKeepTheirGroupsAndLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, taking500)
		tracer := service.tracer()
		logger := slog.New(NewLogHandler(tracer, slog.LevelDebug)).With("shop", "a").WithGroup("payment").With("n", 1)
		ctx, span := tracer.Span(t.Context(), "around")
		logger.DebugContext(ctx, "paid", "amount", 40, slog.Group("bank", "id", "b-1"), "error", errors.New("slow"))
		logger.Log(ctx, slog.LevelDebug-1, "too low")
		logger.Log(ctx, slog.LevelError+4, "fatal")
		span.End()
		_ = tracer.Close(t.Context())
		batch, err := wire.Decode[wire.IngestBatch]([]byte(service.callsTo("POST /v1/ingest")[0].body))
		if err != nil || len(batch.Logs) != 2 {
			t.Fatalf("%v, %+v", err, batch.Logs)
		}
		got, err := wire.Decode[map[string]any](batch.Logs[0].Attributes)
		if err != nil {
			t.Fatal(err)
		}
		want := "map[payment.amount:40 payment.bank.id:b-1 payment.error:slow payment.n:1 shop:a]"
		if fmt.Sprint(got) != want || batch.Logs[0].Severity != wire.SeverityDebug || batch.Logs[0].SpanID != span.SpanID() {
			t.Errorf("%v, %+v", got, batch.Logs[0])
		}
		if batch.Logs[1].Severity != wire.SeverityFatal {
			t.Errorf("%s", batch.Logs[1].Severity)
		}
	})
}

func TestNoVerbOfFmtShowsTheKey(t *testing.T) {
	const key = "sk-very-secret"
	client, err := NewClient(WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	tracer := NewInstrumentation(WithAPIKey(key))
	for _, value := range []any{
		client, *client, client.clientCore, *client.settings, client.code, *client.transport,
		tracer, *tracer.settings, *tracer.transport, WithAPIKey(key), NewWorker(client),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if strings.Contains(fmt.Sprintf(verb, value), key) {
				t.Errorf("%s of a %T shows it", verb, value)
			}
		}
	}
	if _, err := NewClient(WithAPIKey("bad\n" + key)); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("a key that no header can carry: %v", err)
	}
}

func TestAFullQueueOfTheDefaultBoundsFitsIntoItsMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newFakeService(t, func(call fakeCall) fakeAnswer {
			<-call.done
			return fakeAnswer{}
		})
		tracer := service.tracer()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		question := strings.Repeat("x", 4096)
		for range 20_000 {
			_, span := tracer.Span(t.Context(), "large", Input(question))
			span.End()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grew := int64(after.HeapAlloc) - int64(before.HeapAlloc); grew > 24<<20 {
			t.Errorf("a full queue holds %d bytes", grew)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = tracer.Close(ctx)
	})
}
