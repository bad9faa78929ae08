package svc

import (
	"context"
	"strings"
	"time"

	"svc.dev/sdk/go/wire"
)

// claimSlack: a claim that is not answered so long after its wait is over, is lost.
const claimSlack = 15 * time.Second

// claimSteps registers, and claims until the context ends, the one run does, or the service refuses the worker itself.
func (w *Worker) claimSteps(ctx context.Context) error {
	if err := w.register(ctx); err != nil {
		return err
	}
	failures := 0
	for {
		free := w.free(ctx)
		if ctx.Err() != nil {
			return nil
		}
		leases, err := w.claim(ctx, free)
		if err == nil {
			failures = 0
			w.calls.motion.begin(1)
			w.serveAll(leases)
			w.calls.motion.end()
			if len(leases) > 0 || w.config.run == "" {
				continue
			}
			var ended bool
			if ended, err = w.hasEnded(ctx); ended {
				return nil
			}
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if !w.isForgotten(err) && !isRetryable(err) {
			return err
		}
		failures++
		if failures == warnAfterFailures {
			w.logger.Warn("the service does not answer claims", "error", err)
		}
		if !pause(ctx, max(askedWait(err), jittered(untilAnswered(0), failures))) {
			return nil
		}
		// A service that was away may be another one, with an older file.
		if err := w.register(ctx); err != nil {
			return err
		}
	}
}

// isForgotten: the service does not know this worker. With one run to serve, it may be the run that is not there.
func (w *Worker) isForgotten(err error) bool {
	problem, ok := as[*ServiceError](err)
	return ok && problem.Status == 404 && (w.config.run == "" || problem.Field == "worker_id")
}

func (w *Worker) register(ctx context.Context) error {
	if err := w.spec.ensure(ctx); err != nil {
		return err
	}
	concurrency := int64(w.config.concurrency)
	self := wire.WorkerInput{
		WorkerID:    w.config.id,
		Name:        w.config.name,
		Version:     w.config.version,
		Project:     w.client.project,
		Concurrency: &concurrency,
	}
	var served []string
	for _, workflow := range w.config.workflows {
		self.Definitions = append(self.Definitions, workflow.definition)
		served = append(served, workflow.String())
	}
	body, err := encode(self)
	if err != nil {
		return &ArgumentError{What: "the worker", Err: err}
	}
	r := request{method: "POST", path: "/v1/api/workers/register", body: body}
	registration, err := withRetries(ctx, untilAnswered(0), func() (*wire.Registration, error) {
		text, err := w.transport.call(ctx, r)
		if err != nil {
			return nil, err
		}
		return readAs[wire.Registration](r, text)
	})
	if err != nil {
		return err
	}
	w.logger.Info("the worker is registered", "worker", w.config.id, "endpoint", w.client.settings.shownEndpoint(),
		"project", w.client.project, "serves", strings.Join(served, ", "), "concurrency", w.config.concurrency)
	w.host.Store(&leaseHost{
		calls:     w.calls,
		heartbeat: time.Duration(max(1, registration.HeartbeatMS)) * time.Millisecond,
		leaseTTL:  time.Duration(max(1, registration.LeaseTTLMS)) * time.Millisecond,
		tracer:    w.tracer,
		logger:    w.logger,
		values:    w.values,
		force:     w.force,
		settle:    w.config.settle,
		onRunEnd: func(runID string) {
			if runID == w.config.run {
				w.stop()
			}
		},
	})
	return nil
}

// claim asks for steps. Hanging up gives back what was on its way.
func (w *Worker) claim(ctx context.Context, free int) ([]wire.Lease, error) {
	body, err := encode(wire.Claim{
		WorkerID: w.config.id,
		Max:      int64(min(claimLimit, free)),
		WaitMS:   milliseconds(w.config.claimWait),
		RunID:    w.config.run,
	})
	if err != nil {
		return nil, err
	}
	r := request{method: "POST", path: "/v1/api/steps/claim", body: body, timeout: w.config.claimWait + claimSlack}
	text, err := w.transport.call(ctx, r)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Leases []wire.Lease `json:"leases"`
	}
	err = w.calls.readOffers(r, text, &answer, &answer.Leases)
	return answer.Leases, err
}

// hasEnded says whether the one run is over. A claim on a run that has ended is answered as one that found nothing. A
// key that may serve steps need not be one that may read runs: then the worker goes on until it is stopped.
func (w *Worker) hasEnded(ctx context.Context) (bool, error) {
	r := request{method: "GET", path: runPath(w.config.run)}
	text, err := w.transport.call(ctx, r)
	if problem, ok := as[*ServiceError](err); ok && (problem.Status == 401 || problem.Status == 403) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	run, err := readAs[wire.Run](r, text)
	if err != nil {
		return false, err
	}
	return isOver(run.Status), nil
}
