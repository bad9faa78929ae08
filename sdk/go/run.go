package svc

import (
	"context"
	"errors"
	"iter"

	"svc.dev/sdk/go/wire"
)

// Run is a handle of a run whose output is read as Out.
type Run[Out any] struct {
	client *Client
	id     string
	start  wire.Run
}

// Start starts a run of a definition, and gives a handle of it. See [Client.StartRun].
//
//	run, err := svc.Start[Receipt](ctx, client, "refund", Order{Amount: 40}, svc.IdempotencyKey("order-17"))
func Start[Out any](ctx context.Context, client *Client, definitionID string, input any, options ...StartOption) (*Run[Out], error) {
	started, err := client.StartRun(ctx, definitionID, input, options...)
	if err != nil {
		return nil, err
	}
	return &Run[Out]{client: client, id: started.RunID, start: *started}, nil
}

// Attach gives a handle of a run that was started elsewhere. Nothing is called.
func Attach[Out any](client *Client, runID string) *Run[Out] {
	return &Run[Out]{client: client, id: runID}
}

// ID is the run's id.
func (r *Run[Out]) ID() string { return r.id }

// Started is the run as the service answered its start; zero for a handle of [Attach].
func (r *Run[Out]) Started() wire.Run { return r.start }

// Get reads the run as it is now.
func (r *Run[Out]) Get(ctx context.Context) (*wire.RunDetail, error) {
	return r.client.GetRun(ctx, r.id)
}

// Wait waits for the end of the run, and reads its output. See [Client.Wait]. An output that is not what Out takes is an
// [*ArgumentError]. Into an any, numbers are read as json.Number, which keeps every digit.
func (r *Run[Out]) Wait(ctx context.Context) (Out, error) {
	var none Out
	ended, err := r.client.Wait(ctx, r.id)
	if err != nil || ended.Output == nil {
		return none, err
	}
	output, err := wire.Decode[Out](ended.Output)
	if err != nil {
		return none, &ArgumentError{What: "the output of run " + r.id, Err: errors.New(err.Error())}
	}
	return output, nil
}

// Watch follows the journal of the run. See [Client.Watch].
func (r *Run[Out]) Watch(ctx context.Context) iter.Seq2[wire.JournalEntry, error] {
	return r.client.Watch(ctx, r.id)
}

// Signal gives an event to the run's own open wait. See [Client.Signal].
func (r *Run[Out]) Signal(ctx context.Context, event string, payload any, options ...EventOption) (*wire.EventOutcome, error) {
	return r.client.Signal(ctx, r.id, event, payload, options...)
}

// Cancel ends the run and its children. See [Client.Cancel].
func (r *Run[Out]) Cancel(ctx context.Context, reason string) (*wire.Run, error) {
	return r.client.Cancel(ctx, r.id, reason)
}

// Pause pauses the run and its children. See [Client.Pause].
func (r *Run[Out]) Pause(ctx context.Context, reason string) (*wire.Run, error) {
	return r.client.Pause(ctx, r.id, reason)
}

// Resume resumes the paused run. See [Client.Resume].
func (r *Run[Out]) Resume(ctx context.Context, reason string) (*wire.Run, error) {
	return r.client.Resume(ctx, r.id, reason)
}

// Restart takes up the ended run as a new run. See [Client.Restart].
func (r *Run[Out]) Restart(ctx context.Context, restart wire.RestartRun) (*Run[Out], error) {
	started, err := r.client.Restart(ctx, r.id, restart)
	if err != nil {
		return nil, err
	}
	return &Run[Out]{client: r.client, id: started.RunID, start: *started}, nil
}
