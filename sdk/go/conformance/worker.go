package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"

	svc "svc.dev/sdk/go"
)

type servedWorker struct {
	stop  context.CancelFunc
	ended chan struct{}
}

type workerRequest struct {
	Definitions []json.RawMessage `json:"definitions"`
	Name        string            `json:"name"`
	WorkerID    string            `json:"worker_id"`
	Concurrency *int              `json:"concurrency"`
	Version     string            `json:"version"`
	RunID       string            `json:"run_id"`
	ClaimWaitMS *float64          `json:"claim_wait_ms"`
	GraceMS     float64           `json:"grace_ms"`
	SettleMS    float64           `json:"settle_ms"`
	Signals     bool              `json:"signals"`
}

func (w workerRequest) options(f *fixture) ([]svc.WorkerOption, error) {
	options := []svc.WorkerOption{
		svc.WithInstrumentation(f.tracer()), svc.WithGrace(after(w.GraceMS), after(w.SettleMS)),
		svc.WithWorkerID(w.WorkerID), svc.WithWorkerVersion(w.Version), svc.WithRun(w.RunID),
	}
	if w.Concurrency != nil {
		options = append(options, svc.WithConcurrency(*w.Concurrency))
	}
	if w.ClaimWaitMS != nil {
		options = append(options, svc.WithClaimWait(after(*w.ClaimWaitMS)))
	}
	for _, text := range w.Definitions {
		var definition struct {
			Steps []struct{ ID, Kind string }
		}
		if err := json.Unmarshal(text, &definition); err != nil {
			return nil, err
		}
		var bindings []svc.Binding
		for _, step := range definition.Steps {
			if step.Kind == "task" {
				bindings = append(bindings, svc.On(step.ID, f.scriptedBody))
			}
		}
		workflow, err := svc.NewWorkflow(text, bindings...)
		if err != nil {
			return nil, err
		}
		options = append(options, workflow)
	}
	return options, nil
}

type nameRequest struct {
	Name string `json:"name"`
}

func (f *fixture) workerVerbs() map[string]verb {
	return map[string]verb{
		"worker.run":  taking(f.runWorker),
		"worker.stop": taking(f.stopWorker),
		"release": taking(func(_ context.Context, w nameRequest) (any, error) {
			close(f.gate(w.Name))
			return object{}, nil
		}),
	}
}

func nameOf(name string) string {
	if name == "" {
		return "w"
	}
	return name
}

func (f *fixture) runWorker(_ context.Context, w workerRequest) (any, error) {
	client, err := f.client()
	if err != nil {
		return nil, err
	}
	options, err := w.options(f)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	if w.Signals {
		ctx, stop = signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	}
	defer stop()
	served := &servedWorker{stop: stop, ended: make(chan struct{})}
	defer close(served.ended)
	f.mu.Lock()
	f.workers[nameOf(w.Name)] = served
	f.mu.Unlock()
	return object{}, svc.NewWorker(client, options...).Run(ctx)
}

func (f *fixture) stopWorker(_ context.Context, w nameRequest) (any, error) {
	f.mu.Lock()
	served := f.workers[nameOf(w.Name)]
	f.mu.Unlock()
	if served == nil {
		return nil, fmt.Errorf("no worker %s", nameOf(w.Name))
	}
	served.stop()
	<-served.ended
	return object{}, nil
}

// gate is closed when the kit releases the name.
func (f *fixture) gate(name string) chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gates[name] == nil {
		f.gates[name] = make(chan struct{})
	}
	return f.gates[name]
}

// workerLog is a slog.Handler for what the library says of its workers.
type workerLog struct{ f *fixture }

func (workerLog) Enabled(context.Context, slog.Level) bool { return true }
func (l workerLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l workerLog) WithGroup(string) slog.Handler          { return l }
func (l workerLog) Handle(_ context.Context, record slog.Record) error {
	message := record.Message
	record.Attrs(func(attr slog.Attr) bool {
		message += " " + attr.String()
		return true
	})
	l.f.emit(object{"event": "worker.log", "level": strings.ToLower(record.Level.String()), "message": message})
	return nil
}
