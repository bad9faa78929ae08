package svc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc.dev/sdk/go/wire"
)

const payDefinition = `{"id":"refund","version":1,"steps":[{"id":"pay","kind":"task"},{"id":"ask","kind":"wait_event"}]}`

type order struct {
	Amount float64 `json:"amount"`
}

func noBody(context.Context, *Step, order) (any, error) { return nil, nil }

// offering is a service with one lease for each input, which then has no more work. It takes every report.
func offering(t *testing.T, inputs ...string) *fakeService {
	t.Helper()
	service := newFakeService(t, nil)
	claimed := false
	service.answer = func(call fakeCall) fakeAnswer {
		switch call.what {
		case "GET /healthz":
			return ok(`{"spec_version":"1.3"}`)
		case "POST /v1/api/workers/register":
			return ok(`{"worker_id":"w","lease_ttl_ms":30000,"heartbeat_ms":10000,"definitions":[]}`)
		case "POST /v1/api/steps/claim":
			if claimed {
				<-call.done
				return fakeAnswer{}
			}
			claimed = true
			var leases []string
			for at, input := range inputs {
				leases = append(leases, fmt.Sprintf(`{"lease_id":"l-%d","run_id":"r-1","definition_id":"refund",`+
					`"definition_version":1,"step_id":"pay","attempt":1,"delivery":"at_least_once","input":%s,"step_key":"k",`+
					`"trace_id":"5b8efff798038103d269b633813fc60c","span_id":"eee19b7ec3c1b174"}`, at, input))
			}
			return ok(`{"leases":[` + strings.Join(leases, ",") + `]}`)
		case "POST /v1/api/steps/batch":
			return answerBatch(t, call.body)
		}
		return ok(`{}`)
	}
	return service
}

// answerBatch takes every call of a batch.
func answerBatch(t *testing.T, body string) fakeAnswer {
	t.Helper()
	batch, err := wire.Decode[wire.StepBatch]([]byte(body))
	if err != nil {
		t.Error(err)
	}
	taken := func(items []wire.Object) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"status":200,"body":{"run_status":"running"}},`, len(items)), ",") + "]"
	}
	return ok(fmt.Sprintf(`{"started":%s,"heartbeats":%s,"completes":%s,"fails":%s,"leases":[]}`,
		taken(batch.Started), taken(batch.Heartbeats), taken(batch.Completes), taken(batch.Fails)))
}

// reportsTo are the completes and fails that reached the service, as JSON.
func reportsTo(t *testing.T, service *fakeService) []string {
	t.Helper()
	var reports []string
	for _, call := range service.callsTo("POST /v1/api/steps/batch") {
		batch, err := wire.Decode[wire.StepBatch]([]byte(call.body))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range append(batch.Completes, batch.Fails...) {
			reports = append(reports, string(item))
		}
	}
	return reports
}

// served runs a worker over one input until all is quiet, and gives its one report.
func served[In, Out any](t *testing.T, input string, body func(context.Context, *Step, In) (Out, error)) (report string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, input)
		client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- NewWorker(client, MustWorkflow([]byte(payDefinition), On("pay", body)), WithWorkerID("w")).Run(ctx)
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.Close()
		reports := reportsTo(t, service)
		if len(reports) != 1 {
			t.Fatalf("it reports %q", reports)
		}
		report = reports[0]
	})
	return report
}

func TestABodyGetsItsInputAsItsTypeAndItsOutputIsReported(t *testing.T) {
	report := served(t, `{"amount":40,"more":1}`, func(_ context.Context, step *Step, in order) (order, error) {
		if err := step.PatchState(map[string]any{"paid": true}); err != nil {
			t.Error(err)
		}
		if err := step.PatchState(struct {
			Sum int64 `json:"sum"`
		}{9007199254740993}); err != nil {
			t.Error(err)
		}
		if step.PatchState([]int{1}) == nil || step.Heartbeat(func() {}) == nil || step.Heartbeat(strings.Repeat("x", 64<<10)) == nil {
			t.Error("a patch that is no object, or details that are not JSON or too large, are taken")
		}
		return order{in.Amount * 2}, nil
	})
	want := `{"lease_id":"l-0","worker_id":"w","output":{"amount":80},"state_patch":{"paid":true,"sum":9007199254740993}}`
	if report != want {
		t.Error(report)
	}
}

func TestNumbersOfAnyInputKeepTheirDigits(t *testing.T) {
	report := served(t, `{"n":9007199254740993}`, func(_ context.Context, _ *Step, in any) (any, error) { return in, nil })
	if !strings.Contains(report, `"output":{"n":9007199254740993}`) {
		t.Error(report)
	}
}

func TestWhatABodyMeansByItsErrorIsReported(t *testing.T) {
	fault := errors.New("busy")
	second := 1500*time.Millisecond + time.Microsecond
	for want, err := range map[string]error{
		`"error":{"class":"fatal","message":"busy"}`:                                               fault,
		`"error":{"class":"retryable","message":"busy"}`:                                           Retryable(fault),
		`"error":{"class":"retryable","message":"pay: busy"}`:                                      fmt.Errorf("pay: %w", Retryable(fault)),
		`"error":{"class":"no_funds","code":"E17","message":"busy"}`:                               Fail("no_funds", fault, WithCode("E17")),
		`"error":{"class":"rate_limited","message":"busy"},"retry_after_ms":1501`:                  Fail("rate_limited", fault, RetryAfter(second)),
		`"error":{"class":"fatal","message":"the body ended its goroutine without a return"}`:      errGoexit,
		`"error":{"class":"fatal","message":"runtime error: index out of range [3] with length 0"`: errPanic,
	} {
		report := served(t, `{}`, func(context.Context, *Step, any) (any, error) {
			switch err {
			case errGoexit:
				runtime.Goexit()
			case errPanic:
				var none []int
				return none[len("abc")], nil
			}
			return nil, err
		})
		if !strings.Contains(report, want) {
			t.Errorf("%v: %s", err, report)
		}
	}
	if Retryable(nil) != nil || Fail("x", nil) != nil {
		t.Error("no error is a failure")
	}
	if !errors.Is(Retryable(fault), fault) {
		t.Error("a failure hides its fault")
	}
}

var (
	errGoexit = errors.New("goexit")
	errPanic  = errors.New("panic")
)

func TestAnInputThatIsNotWhatABodyTakesFailsTheStep(t *testing.T) {
	report := served(t, `{"amount":"forty"}`, noBody)
	if !strings.Contains(report, `"class":"fatal","code":"invalid_input"`) {
		t.Error(report)
	}
}

func TestAnOutputThatIsNotJSONFailsTheStep(t *testing.T) {
	report := served(t, `{}`, func(context.Context, *Step, any) (chan int, error) { return nil, nil })
	if !strings.Contains(report, `"code":"invalid_output"`) {
		t.Error(report)
	}
}

// The bubble fails the test where a goroutine is left behind: of claims, hearts, batches or export.
func TestAStopLetsBodiesFinishThenCancelsThemThenLeavesThemBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := offering(t, `"finishes"`, `"listens"`, `"is deaf"`)
		client := service.client(WithLogger(slog.New(slog.DiscardHandler)))
		var cause error
		workflow := MustWorkflow([]byte(payDefinition), On("pay", func(ctx context.Context, _ *Step, in string) (string, error) {
			switch in {
			case "finishes":
				time.Sleep(5 * time.Second)
			case "listens":
				<-ctx.Done()
				cause = context.Cause(ctx)
				return "", ctx.Err()
			default:
				time.Sleep(time.Hour)
			}
			return in, nil
		}))
		worker := NewWorker(client, workflow, WithGrace(10*time.Second, 2*time.Second))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- worker.Run(ctx) }()
		synctest.Wait()
		if worker.Active() != 3 {
			t.Errorf("%d are active", worker.Active())
		}
		stop()
		began := time.Now()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 12*time.Second || took > 14*time.Second {
			t.Errorf("the stop took %v", took)
		}
		client.Close()
		if !errors.Is(cause, Stopping) {
			t.Error(cause)
		}
		reports := strings.Join(reportsTo(t, service), "\n")
		if strings.Count(reports, "lease_id") != 2 || !strings.Contains(reports, `"output":"finishes"`) ||
			!strings.Contains(reports, `"class":"rate_limited","code":"worker_stopping"`) || !strings.Contains(reports, `"retry_after_ms":0`) {
			t.Error(reports)
		}
		time.Sleep(time.Hour) // The deaf one ends.
	})
}

func TestAWorkerSaysWhatIsWrongWithItsOptionsWithoutACall(t *testing.T) {
	service := newFakeService(t, func(fakeCall) fakeAnswer { return ok(`{}`) })
	client := service.client()
	defer client.Close()
	whole := MustWorkflow([]byte(payDefinition), On("pay", noBody))
	for name, worker := range map[string]*Worker{
		"a task without a body":  NewWorker(client, MustWorkflow([]byte(payDefinition))),
		"a workflow given twice": NewWorker(client, whole, whole),
		"no concurrency":         NewWorker(client, whole, WithConcurrency(0)),
		"too much concurrency":   NewWorker(client, whole, WithConcurrency(100_001)),
		"a bad setting":          NewWorker(service.client(WithSample(2)), whole),
	} {
		if _, refused := as[*ArgumentError](worker.Run(t.Context())); !refused {
			t.Errorf("%s is taken", name)
		}
	}
	if len(service.calls) > 0 {
		t.Errorf("%d calls", len(service.calls))
	}
}

func TestAWorkerRunsOnce(t *testing.T) {
	service := newFakeService(t, func(fakeCall) fakeAnswer { return problem(401, "unauthorized") })
	client := service.client()
	defer client.Close()
	worker := NewWorker(client, MustWorkflow([]byte(payDefinition), On("pay", noBody)))
	if refused, ok := as[*ServiceError](worker.Run(t.Context())); !ok || refused.Status != 401 {
		t.Error("a bad key does not end it")
	}
	if _, ok := as[*ArgumentError](worker.Run(t.Context())); !ok {
		t.Error("it runs a second time")
	}
}

func TestAWorkflowRefusesWhatIsNoDefinitionAndBindingsThatDoNotFit(t *testing.T) {
	for name, make := range map[string]func() (*Workflow, error){
		"no JSON":         func() (*Workflow, error) { return NewWorkflow([]byte(`{`)) },
		"no id":           func() (*Workflow, error) { return NewWorkflow([]byte(`{"version":1,"steps":[]}`)) },
		"more than one":   func() (*Workflow, error) { return NewWorkflow([]byte(payDefinition + payDefinition)) },
		"an unknown task": func() (*Workflow, error) { return NewWorkflow([]byte(payDefinition), On("paid", noBody)) },
		"a wait":          func() (*Workflow, error) { return NewWorkflow([]byte(payDefinition), On("ask", noBody)) },
		"a second binding": func() (*Workflow, error) {
			return NewWorkflow([]byte(payDefinition), On("pay", noBody), On("pay", noBody))
		},
	} {
		if _, refused := as[*ArgumentError](second(make())); !refused {
			t.Errorf("%s is taken", name)
		}
	}
	text, err := json.Marshal(MustWorkflow([]byte(payDefinition)))
	if err != nil || string(text) != payDefinition {
		t.Errorf("it is written as %s, %v", text, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestUsageIsTheSumOfSpansByModelAndUnknownIsNotZero(t *testing.T) {
	number := func(n int64) *int64 { return &n }
	usage := &attemptUsage{}
	usage.onModelSpan("a", &wire.Usage{InputTokens: number(1), InputDetails: &wire.UsageInputDetails{CacheRead: number(5)}})
	usage.onModelSpan("b", nil)
	usage.onModelSpan("a", &wire.Usage{
		InputTokens: number(2), OutputTokens: number(0),
		InputDetails:  &wire.UsageInputDetails{CacheRead: number(1), Text: number(3)},
		OutputDetails: &wire.UsageOutputDetails{Reasoning: number(7)},
	})
	text, err := encode(usage.reported(&Step{}))
	want := `[{"model":"a","input_tokens":3,"output_tokens":0,"input_details":{"cache_read":6,"text":3},"output_details":{"reasoning":7}}]`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestUsageByHandWinsAndAsksForASpanWhereThereIsNone(t *testing.T) {
	no := false
	step := &Step{}
	step.SetUsage(wire.ReportedUsage{Model: "a"}, wire.ReportedUsage{Model: "b", Record: &no})
	usage := &attemptUsage{}
	if text, _ := encode(usage.reported(step)); string(text) != `[{"model":"a","record":true},{"model":"b","record":false}]` {
		t.Errorf("%s", text)
	}
	usage.onModelSpan("c", nil)
	if text, _ := encode(usage.reported(step)); string(text) != `[{"model":"a"},{"model":"b","record":false}]` {
		t.Errorf("%s", text)
	}
	step.SetUsage()
	if got := usage.reported(step); len(got) != 0 {
		t.Errorf("no usage by hand is %v", got)
	}
}
