package svc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	defaultConcurrency = 10
	// concurrencyLimit is what a worker may say of itself. See spec/openapi.yaml, NewWorker.
	concurrencyLimit  = 100_000
	defaultClaimWait  = 20 * time.Second
	defaultGrace      = 30 * time.Second
	defaultSettle     = 5 * time.Second
	warnAfterFailures = 3
)

type workerConfig struct {
	workflows              []*Workflow
	concurrency            int
	id, name, version, run string
	claimWait              time.Duration
	grace                  time.Duration
	settle                 time.Duration
	tracer                 *Instrumentation
}

// WorkerOption is an option of [NewWorker]: a [*Workflow], or one of those below.
type WorkerOption interface{ applyToWorker(*workerConfig) }

type workerOption func(*workerConfig)

func (o workerOption) applyToWorker(config *workerConfig) { o(config) }

// WithConcurrency says how many bodies may run at once, each on a goroutine of its own; the default is 10.
func WithConcurrency(bodies int) WorkerOption {
	return workerOption(func(c *workerConfig) { c.concurrency = bodies })
}

// WithWorkerID names the worker to the service, uniquely among workers; by default it is made of host, process and a
// random part.
func WithWorkerID(id string) WorkerOption { return workerOption(func(c *workerConfig) { c.id = id }) }

// WithWorkerName names the program to people.
func WithWorkerName(name string) WorkerOption {
	return workerOption(func(c *workerConfig) { c.name = name })
}

// WithWorkerVersion names the release of the program to people.
func WithWorkerVersion(version string) WorkerOption {
	return workerOption(func(c *workerConfig) { c.version = version })
}

// WithRun serves one run alone, and ends the worker with it.
func WithRun(runID string) WorkerOption { return workerOption(func(c *workerConfig) { c.run = runID }) }

// WithClaimWait says how long one claim may wait for work; the default is 20 s. It is sent in milliseconds.
func WithClaimWait(wait time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.claimWait = wait })
}

// WithGrace says how long bodies may go on after a stop, 30 s by default, and how long one may take to end once it is
// cancelled because that is over, 5 s by default.
func WithGrace(grace, settle time.Duration) WorkerOption {
	return workerOption(func(c *workerConfig) { c.grace, c.settle = grace, settle })
}

// WithInstrumentation records the spans of bodies with an instrumentation of the caller, who closes it. By default the
// worker has one of its own, with the settings of its client.
func WithInstrumentation(tracer *Instrumentation) WorkerOption {
	return workerOption(func(c *workerConfig) { c.tracer = tracer })
}

// Worker registers its workflows, claims steps, runs their bodies, and reports what came of them. It takes no more steps
// than it has free slots.
//
//	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
//	defer stop()
//	err := svc.NewWorker(client, svc.MustWorkflow(definition, svc.On("pay", pay))).Run(ctx)
type Worker struct {
	client *Client
	config workerConfig
	logger *slog.Logger
	ran    atomic.Bool

	transport *transport
	spec      *specCheck
	calls     *stepCalls
	tracer    *Instrumentation
	// force ends when bodies must; its time comes after a stop.
	force   context.Context
	values  context.Context
	stop    context.CancelFunc
	bodies  map[workflowKey]*Workflow
	host    atomic.Pointer[leaseHost]
	mu      sync.Mutex
	active  int
	changed chan struct{} // Closed, and replaced, whenever active has changed.
}

type workflowKey struct {
	id      string
	version int64
}

// NewWorker makes a worker with the settings of a client; it has connections of its own. Nothing is called, and no
// goroutine is started: what is wrong with its options, [Worker.Run] says. Several versions of one workflow may stand
// side by side through a deploy.
func NewWorker(client *Client, options ...WorkerOption) *Worker {
	config := workerConfig{
		concurrency: defaultConcurrency,
		claimWait:   defaultClaimWait,
		grace:       defaultGrace,
		settle:      defaultSettle,
	}
	for _, option := range options {
		option.applyToWorker(&config)
	}
	if config.id == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "go"
		}
		config.id = fmt.Sprintf("%s-%d-%s", host, os.Getpid(), newKey()[:8])
	}
	return &Worker{client: client, config: config, logger: client.settings.logger, changed: make(chan struct{})}
}

// ID names the worker to the service.
func (w *Worker) ID() string { return w.config.id }

// Active is how many steps it holds now.
func (w *Worker) Active() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active
}

// Run serves until its context ends, or the one run of [WithRun] does. Then it claims nothing more, lets bodies finish
// for its grace, cancels them, gives the rest back, and returns nil. A worker runs once.
//
// It returns an [*ArgumentError] on options or settings that cannot be used, a [*ServiceError] when the service refuses
// the worker itself (a bad key, a bad definition, a definition_conflict), and an [*IncompatibleServerError]. While the
// service is away it goes on trying.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.prepare(); err != nil {
		return err
	}
	w.values = context.WithoutCancel(ctx)
	claiming, stop := context.WithCancel(ctx)
	defer stop()
	force, forceNow := context.WithCancel(w.values)
	defer forceNow()
	reaching, cut := context.WithCancel(w.values)
	defer cut()
	w.stop, w.force = stop, force
	w.transport = newTransport(w.client.settings, w.config.concurrency+4)
	defer w.transport.close()
	w.spec = &specCheck{transport: w.transport}
	w.calls = &stepCalls{
		transport: w.transport,
		workerID:  w.config.id,
		runID:     w.config.run,
		ctx:       reaching,
		claims:    func() bool { return claiming.Err() == nil },
		onLeases:  w.serveAll,

		onUnreadable: w.unreadable,
	}
	w.tracer = w.config.tracer
	if w.tracer == nil {
		options := []InstrumentationOption{Option(func(g *given) { *g = w.client.code })}
		if w.client.project != "" {
			options = append(options, WithProject(w.client.project))
		}
		w.tracer = NewInstrumentation(options...)
	}

	err := w.claimSteps(claiming)
	// While it stops, a claim that was broken off is no fault.
	if claiming.Err() != nil {
		err = nil
	}
	stop()
	if !w.waitUntilIdle(w.config.grace) {
		forceNow()
		// Twice: once for the bodies, once for the reports of those that did end.
		w.waitUntilIdle(2 * w.config.settle)
	}
	cut()
	w.waitUntilIdle(hangUp)
	if w.config.tracer == nil {
		_ = w.tracer.Close(w.values)
	} else {
		_ = w.tracer.Flush(w.values)
	}
	return err
}

// prepare says what is wrong with the options.
func (w *Worker) prepare() error {
	if w.ran.Swap(true) {
		return &ArgumentError{What: "the worker", Err: errors.New("it runs once: make another")}
	}
	if problems := w.client.settings.problems; len(problems) > 0 {
		return &ArgumentError{What: "settings", Err: errors.New(strings.Join(problems, "; "))}
	}
	if count := w.config.concurrency; count < 1 || count > concurrencyLimit {
		return &ArgumentError{What: "concurrency", Err: fmt.Errorf("%d is not between 1 and %d", count, concurrencyLimit)}
	}
	w.bodies = map[workflowKey]*Workflow{}
	for _, workflow := range w.config.workflows {
		key := workflowKey{workflow.id, workflow.version}
		if w.bodies[key] != nil {
			return &ArgumentError{What: workflow.String(), Err: errors.New("it is given twice")}
		}
		if err := workflow.check(); err != nil {
			return err
		}
		w.bodies[key] = workflow
	}
	return nil
}

// --- Leases

func (w *Worker) count(change int) {
	w.mu.Lock()
	w.active += change
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
}

// serveAll serves what came, also of a worker that was stopped meanwhile: the leases are its own, and their bodies have
// the time of bodies then.
func (w *Worker) serveAll(leases []wire.Lease) {
	for _, lease := range leases {
		if lease.LeaseID == "" {
			w.unreadable(errors.New("it has no lease_id"))
			continue
		}
		var body stepBody
		if workflow := w.bodies[workflowKey{lease.DefinitionID, lease.DefinitionVersion}]; workflow != nil {
			body = workflow.bodies[lease.StepID]
		}
		served := newServedLease(w.host.Load(), lease, body)
		w.count(1)
		served.declare()
		go func() {
			defer w.calls.motion.end()
			defer w.count(-1)
			served.serve()
		}()
	}
}

func (w *Worker) unreadable(err error) {
	w.logger.Error("an offer of a step cannot be read", "error", err)
}

func (w *Worker) waitUntilIdle(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		w.mu.Lock()
		active, changed := w.active, w.changed
		w.mu.Unlock()
		if active == 0 {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// free waits for free slots, and says how many there are; 0 when the worker stops.
func (w *Worker) free(ctx context.Context) int {
	for {
		// Slots that are freed together are filled by one claim.
		w.calls.motion.wait(motionLimit)
		w.mu.Lock()
		free, changed := w.config.concurrency-w.active, w.changed
		w.mu.Unlock()
		if free > 0 {
			return free
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0
		}
	}
}
