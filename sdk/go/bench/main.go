// Program bench measures what the library costs. See bench/sdk/README.md for its two verbs and what they print.
//
//	go run ./bench spans
//	echo '{"url":"http://127.0.0.1:4317","definition":"d","inFlight":50,"seconds":5}' | go run ./bench runs
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

const (
	recorded = 50_000
	offered  = 300_000
	// rate is in spans a second.
	rate = 100_000
)

func main() {
	var figures any
	err := errors.New("usage: bench spans|runs")
	switch {
	case len(os.Args) == 2 && os.Args[1] == "spans":
		figures, err = spans()
	case len(os.Args) == 2 && os.Args[1] == "runs":
		figures, err = runs()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(figures)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func record(tracer *svc.Instrumentation, number int, question string) {
	_, span := tracer.Span(context.Background(), "draft", svc.Kind(svc.ModelGeneration), svc.Model("gpt-4o-mini"),
		svc.Input(question), svc.Attributes(map[string]any{"n": number}))
	span.Output("42").Usage(12, 1).End()
}

// listening is a service that takes connections and what is sent, and never answers.
func listening() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, connection) }()
		}
	}()
	return "http://" + listener.Addr().String(), nil
}

func spans() (any, error) {
	url, err := listening()
	if err != nil {
		return nil, err
	}
	stalledFigures := stalled(url)
	return map[string]any{"stalled": stalledFigures, "record": cost(url)}, nil
}

// cost is the time from the start of a span to behind its end, in microseconds: of the wall clock, and of the process.
func cost(url string) any {
	tracer := svc.NewInstrumentation(svc.WithEndpoint(url))
	const question = "What is it all about?"
	for number := range 1000 {
		record(tracer, number, question)
	}
	taken := make([]time.Duration, recorded)
	before := processorTime()
	for number := range taken {
		began := time.Now()
		record(tracer, number, question)
		taken[number] = time.Since(began)
	}
	processor := processorTime() - before
	closeNow(tracer)
	slices.Sort(taken)
	return map[string]any{
		"median_us": microseconds(taken[len(taken)/2]),
		"p99_us":    microseconds(taken[len(taken)*99/100]),
		"cpu_us":    microseconds(processor / recorded),
	}
}

// stalled offers spans of 4 KiB to a service that never answers.
func stalled(url string) any {
	tracer := svc.NewInstrumentation(svc.WithEndpoint(url))
	record(tracer, -1, "first")
	time.Sleep(time.Second)
	question := strings.Repeat("x", 4096)
	before := residentMB()
	most, began := before, time.Now()
	for number := range offered {
		record(tracer, number, question)
		if number%10_000 == 0 {
			most = max(most, residentMB())
			time.Sleep(time.Duration(number)*time.Second/rate - time.Since(began))
		}
	}
	took := time.Since(began)
	most = max(most, residentMB())
	counters := tracer.Counters()
	closeNow(tracer)
	return map[string]any{
		"offered_per_s": int(offered / took.Seconds()),
		"dropped":       counters.Dropped,
		"grew_mb":       float64(int(10*(most-before))) / 10,
	}
}

func closeNow(tracer *svc.Instrumentation) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = tracer.Close(ctx) // Nothing of it can be delivered.
}

func microseconds(taken time.Duration) float64 { return float64(taken.Nanoseconds()/10) / 100 }

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// residentMB is that of the process, of Linux; elsewhere what the runtime has from the system.
func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err == nil && len(fields) > 1 {
		if pages, err := strconv.Atoi(fields[1]); err == nil {
			return float64(pages*os.Getpagesize()) / 1e6
		}
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return float64(memory.Sys) / 1e6
}

// plan is that of bench/runs-worker.ts.
type plan struct {
	URL        string  `json:"url"`
	Definition string  `json:"definition"`
	InFlight   int     `json:"inFlight"`
	Seconds    float64 `json:"seconds"`
}

// runs drives durable runs as a user of the library does: a worker and a client in one process, each run started and
// awaited by the client. The first fifth of the time is not measured.
func runs() (any, error) {
	var p plan
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return nil, err
	}
	client, err := svc.NewClient(svc.WithEndpoint(p.URL), svc.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx := context.Background()
	found, err := client.GetDefinition(ctx, p.Definition)
	if err != nil {
		return nil, err
	}
	definition, err := wire.Decode[struct {
		Steps []struct{ ID, Kind string }
	}](found.Latest)
	if err != nil {
		return nil, err
	}
	var steps atomic.Int64
	var bindings []svc.Binding
	for _, step := range definition.Steps {
		if step.Kind == "task" {
			bindings = append(bindings, svc.On(step.ID, func(context.Context, *svc.Step, any) (map[string]bool, error) {
				steps.Add(1)
				return map[string]bool{"ok": true}, nil
			}))
		}
	}
	workflow, err := svc.NewWorkflow(found.Latest, bindings...)
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- svc.NewWorker(client, workflow, svc.WithConcurrency(p.InFlight)).Run(working) }()

	m := measurement{began: time.Now(), length: time.Duration(p.Seconds * float64(time.Second)), steps: &steps}
	var drivers sync.WaitGroup
	for number := range p.InFlight {
		drivers.Go(func() { m.drive(ctx, client, p.Definition, number) })
	}
	drivers.Wait()
	figures := m.figures()
	stop()
	return figures, errors.Join(m.fault, <-ended)
}

type measurement struct {
	began  time.Time
	length time.Duration
	steps  *atomic.Int64

	mu         sync.Mutex
	fault      error
	runs       int
	measuredAt time.Time
	stepsAt    int64
	took       []time.Duration
}

func (m *measurement) drive(ctx context.Context, client *svc.Client, definition string, number int) {
	for time.Since(m.began) < m.length {
		began := time.Now()
		run, err := client.StartRun(ctx, definition, map[string]int{"n": number}, svc.WaitFor(30*time.Second))
		if err == nil && run.Status != wire.RunStatusSucceeded {
			err = fmt.Errorf("run %s is %s", run.RunID, run.Status)
		}
		m.mu.Lock()
		if err != nil {
			m.fault = err
			m.mu.Unlock()
			return
		}
		m.runs++
		if m.measuredAt.IsZero() {
			if time.Since(m.began) >= m.length/5 {
				m.measuredAt, m.stepsAt = time.Now(), m.steps.Load()
			}
		} else {
			m.took = append(m.took, time.Since(began))
		}
		m.mu.Unlock()
	}
}

func (m *measurement) figures() any {
	slices.Sort(m.took)
	quantile := func(part int) float64 {
		if len(m.took) == 0 {
			return 0
		}
		return microseconds(m.took[len(m.took)*part/100]) / 1000
	}
	return map[string]any{
		"stepsPerSecond": float64(m.steps.Load()-m.stepsAt) / time.Since(m.measuredAt).Seconds(),
		"runs":           m.runs,
		"runP50Ms":       quantile(50),
		"runP99Ms":       quantile(99),
	}
}
