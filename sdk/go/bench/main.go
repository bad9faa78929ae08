// Program bench measures what the library costs: `bench spans <url>`, or `bench runs` with a plan on standard input. See
// bench/sdk/README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
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
	warmUp   = 10_000
	recorded = 50_000
	offered  = 300_000
	// rate is in spans a second.
	rate = 100_000
)

func main() {
	var figures any
	err := errors.New("usage: bench spans <url> | bench runs")
	switch {
	case len(os.Args) == 3 && os.Args[1] == "spans":
		figures, err = map[string]any{"stalled": stalled(os.Args[2]), "record": cost(os.Args[2])}, nil
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

// cost is the time from the start of a span to behind its end, in microseconds, and the processor time of its thread.
func cost(url string) any {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tracer := svc.NewInstrumentation(svc.WithEndpoint(url))
	const question = "What is it all about?"
	for number := range warmUp {
		record(tracer, number, question)
	}
	taken := make([]time.Duration, recorded)
	before := processorTime(rusageThread)
	for number := range taken {
		began := time.Now()
		record(tracer, number, question)
		taken[number] = time.Since(began)
	}
	processor := processorTime(rusageThread) - before
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
	for number := 1; number <= offered; number++ {
		record(tracer, number, question)
		if number%1000 == 0 {
			most = max(most, residentMB())
			time.Sleep(time.Duration(number)*time.Second/rate - time.Since(began))
		}
	}
	took := time.Since(began)
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

// rusageThread is RUSAGE_THREAD of Linux.
const rusageThread = 1

func processorTime(whose int) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(whose, &usage); err != nil {
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

type plan struct {
	URL           string  `json:"url"`
	Definition    string  `json:"definition"`
	InFlight      int     `json:"inFlight"`
	WarmUpSeconds float64 `json:"warmUpSeconds"`
	Seconds       float64 `json:"seconds"`
}

// runs drives durable runs as a user of the library does: a worker and a client in one process, each run started and
// awaited by the client.
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
		bindings = append(bindings, svc.On(step.ID, func(context.Context, *svc.Step, any) (map[string]bool, error) {
			steps.Add(1)
			return map[string]bool{"ok": true}, nil
		}))
	}
	workflow, err := svc.NewWorkflow(found.Latest, bindings...)
	if err != nil {
		return nil, err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- svc.NewWorker(client, workflow, svc.WithConcurrency(p.InFlight)).Run(working) }()

	var isOver atomic.Bool
	faults := make([]error, p.InFlight)
	var drivers sync.WaitGroup
	for number := range p.InFlight {
		drivers.Go(func() {
			for !isOver.Load() && faults[number] == nil {
				faults[number] = drive(ctx, client, p.Definition, number)
			}
		})
	}
	time.Sleep(time.Duration(p.WarmUpSeconds * float64(time.Second)))
	fmt.Println("measuring")
	began, processor, before := time.Now(), processorTime(syscall.RUSAGE_SELF), steps.Load()
	time.Sleep(time.Duration(p.Seconds * float64(time.Second)))
	fmt.Println("measured")
	figures := map[string]any{
		"steps":   steps.Load() - before,
		"seconds": time.Since(began).Seconds(),
		"cpu_us":  microseconds(processorTime(syscall.RUSAGE_SELF) - processor),
	}
	isOver.Store(true)
	drivers.Wait()
	stop()
	return figures, errors.Join(append(faults, <-ended)...)
}

func drive(ctx context.Context, client *svc.Client, definition string, number int) error {
	run, err := client.StartRun(ctx, definition, map[string]int{"n": number}, svc.WaitFor(time.Minute))
	if err == nil && run.Status != wire.RunStatusSucceeded {
		err = fmt.Errorf("run %s is %s", run.RunID, run.Status)
	}
	return err
}
