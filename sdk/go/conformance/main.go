// Program conformance joins the conformance kit to this library, through its public interface alone. See
// sdk/conformance/README.md.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

type object = map[string]any

// verb does what one request asks for. What it returns is the answer's ok.
type verb func(ctx context.Context, with json.RawMessage) (any, error)

// taking is a verb whose input is read as In.
func taking[In any](do func(context.Context, In) (any, error)) verb {
	return func(ctx context.Context, with json.RawMessage) (any, error) {
		input, err := wire.Decode[In](with)
		if err != nil {
			return nil, &svc.ArgumentError{What: "the request", Err: err}
		}
		return do(ctx, input)
	}
}

type request struct {
	ID   int             `json:"id"`
	Do   string          `json:"do"`
	With json.RawMessage `json:"with"`
}

var errUnsupported = errors.New("the fixture does not know this verb")

// fixture holds the objects of one process.
type fixture struct {
	output sync.Mutex

	shared  []svc.Option
	tracing []svc.InstrumentationOption
	calling []svc.ClientOption
	tracer  func() *svc.Instrumentation
	client  func() (*svc.Client, error)

	verbs   map[string]verb
	signals map[string]verb

	mu       sync.Mutex
	underWay map[int]context.CancelFunc
	workers  map[string]*servedWorker
	gates    map[string]chan struct{}
}

func main() {
	f := &fixture{
		underWay: map[int]context.CancelFunc{},
		workers:  map[string]*servedWorker{},
		gates:    map[string]chan struct{}{},
	}
	f.tracer = sync.OnceValue(func() *svc.Instrumentation {
		options := f.tracing
		for _, option := range f.shared {
			options = append(options, option)
		}
		return svc.NewInstrumentation(options...)
	})
	f.client = sync.OnceValues(func() (*svc.Client, error) {
		options := append(f.calling, svc.WithLogger(slog.New(workerLog{f})))
		for _, option := range f.shared {
			options = append(options, option)
		}
		return svc.NewClient(options...)
	})
	f.signals = f.signalVerbs()
	f.verbs = map[string]verb{
		"hello":       f.hello,
		"configure":   taking(f.configure),
		"cancel_call": taking(f.cancelCall),
		"exit":        taking(f.exit),
	}
	for _, verbs := range []map[string]verb{f.signals, f.clientVerbs(), f.workerVerbs()} {
		for name, do := range verbs {
			f.verbs[name] = do
		}
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), callID{}, asked.ID))
		f.mu.Lock()
		f.underWay[asked.ID] = cancel
		f.mu.Unlock()
		if asked.Do == "configure" || asked.Do == "hello" {
			// They come before everything else.
			f.serve(ctx, asked)
		} else {
			go f.serve(ctx, asked)
		}
	}
}

// callID is the key of the id of the request in its context.
type callID struct{}

func (f *fixture) serve(ctx context.Context, asked request) {
	if asked.With == nil {
		asked.With = json.RawMessage("{}")
	}
	do := f.verbs[asked.Do]
	if do == nil {
		do = func(context.Context, json.RawMessage) (any, error) { return nil, errUnsupported }
	}
	ok, err := do(ctx, asked.With)
	f.mu.Lock()
	f.underWay[asked.ID]()
	delete(f.underWay, asked.ID)
	f.mu.Unlock()
	if err != nil {
		f.emit(object{"id": asked.ID, "error": errorOf(err)})
		return
	}
	if ok == nil {
		ok = object{}
	}
	f.emit(object{"id": asked.ID, "ok": ok})
}

func (f *fixture) emit(line object) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	f.output.Lock()
	defer f.output.Unlock()
	_, _ = os.Stdout.Write(text.Bytes())
}

// errorOf names an error of the library as the kit does.
func errorOf(err error) object {
	told := object{"type": "Unexpected", "message": err.Error()}
	var refused *svc.ServiceError
	var failed *svc.RunFailedError
	var incompatible *svc.IncompatibleServerError
	var argument *svc.ArgumentError
	var lost *svc.ConnectionError
	switch {
	case errors.As(err, &refused):
		told["type"], told["status"], told["code"] = "ServiceError", refused.Status, refused.Code
		if refused.Field != "" {
			told["field"] = refused.Field
		}
		if refused.RequestID != "" {
			told["request_id"] = refused.RequestID
		}
		if refused.RetryAfter > 0 {
			told["retry_after_ms"] = refused.RetryAfter.Milliseconds()
		}
	case errors.As(err, &failed):
		told["type"], told["run"] = "RunFailed", failed.Run
	case errors.As(err, &incompatible):
		told["type"] = "IncompatibleServer"
	case errors.As(err, &argument):
		told["type"] = "InvalidArgument"
	case errors.As(err, &lost):
		told["type"] = "ConnectionError"
	case errors.Is(err, context.Canceled):
		told["type"] = "Cancelled"
	case errors.Is(err, errUnsupported):
		told["type"] = "Unsupported"
	}
	return told
}

func (f *fixture) hello(context.Context, json.RawMessage) (any, error) {
	return object{
		"language":     "go",
		"library":      "svc.dev/sdk/go",
		"version":      svc.LibraryVersion,
		"capabilities": []string{"threads", "log_bridge", "blocking_bodies", "int64", "batch"},
	}, nil
}

func after(milliseconds float64) time.Duration {
	return time.Duration(milliseconds * float64(time.Millisecond))
}

type configuration struct {
	Endpoint       *string  `json:"endpoint"`
	APIKey         *string  `json:"api_key"`
	Project        *string  `json:"project"`
	Environment    *string  `json:"environment"`
	ServiceName    *string  `json:"service_name"`
	ServiceVersion *string  `json:"service_version"`
	Sample         *float64 `json:"sample"`
	Enabled        *bool    `json:"enabled"`
	MaxQueued      int      `json:"max_queued"`
	MaxQueuedBytes int      `json:"max_queued_bytes"`
	BatchSize      int      `json:"batch_size"`
	DelayMS        float64  `json:"delay_ms"`
	TimeoutMS      float64  `json:"timeout_ms"`
	StreamIdleMS   float64  `json:"stream_idle_ms"`
	Retry          *struct {
		Attempts int     `json:"attempts"`
		BaseMS   float64 `json:"base_ms"`
		MaxMS    float64 `json:"max_ms"`
	} `json:"retry"`
}

// given adds an option where the kit gives a value.
func given[T any](f *fixture, value *T, option func(T) svc.Option) {
	if value != nil {
		f.shared = append(f.shared, option(*value))
	}
}

func (f *fixture) configure(_ context.Context, c configuration) (any, error) {
	given(f, c.Endpoint, svc.WithEndpoint)
	given(f, c.APIKey, svc.WithAPIKey)
	given(f, c.Project, svc.WithProject)
	given(f, c.Environment, svc.WithEnvironment)
	given(f, c.ServiceName, svc.WithServiceName)
	given(f, c.ServiceVersion, svc.WithServiceVersion)
	given(f, c.Sample, svc.WithSample)
	given(f, c.Enabled, svc.WithEnabled)
	f.tracing = append(f.tracing,
		svc.WithMaxQueued(c.MaxQueued, c.MaxQueuedBytes), svc.WithBatch(c.BatchSize, after(c.DelayMS)))
	if c.TimeoutMS > 0 {
		f.calling = append(f.calling, svc.WithTimeout(after(c.TimeoutMS)))
	}
	if c.StreamIdleMS > 0 {
		f.calling = append(f.calling, svc.WithStreamIdle(after(c.StreamIdleMS)))
	}
	if c.Retry != nil {
		retry := svc.WithRetry(svc.RetryPolicy{
			Attempts: c.Retry.Attempts, Base: after(c.Retry.BaseMS), Max: after(c.Retry.MaxMS),
		})
		f.tracing, f.calling = append(f.tracing, retry), append(f.calling, retry)
	}
	return object{"problems": append([]string{}, f.tracer().Problems()...)}, nil
}

func (f *fixture) cancelCall(_ context.Context, with struct {
	Call int `json:"call"`
}) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.underWay[with.Call]; cancel != nil {
		cancel()
	}
	return object{}, nil
}

// exit does what a careful program does at its end.
func (f *fixture) exit(_ context.Context, with struct {
	Code int `json:"code"`
}) (any, error) {
	f.mu.Lock()
	workers := f.workers
	f.mu.Unlock()
	for _, worker := range workers {
		worker.stop()
		<-worker.ended
	}
	if client, err := f.client(); err == nil {
		client.Close()
	}
	if err := f.tracer().Close(context.Background()); err != nil {
		slog.Warn(err.Error())
	}
	os.Exit(with.Code)
	return nil, nil
}
