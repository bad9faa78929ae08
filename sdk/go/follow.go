package svc

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	// endWait is how long one call asks the service to wait for the end of a run; it may answer sooner.
	endWait = 20 * time.Second
	// held: a call that is answered sooner was not held, and the next one waits a moment.
	held = time.Second
)

// Watch follows the journal of a run from its beginning: every entry once, in order, across broken connections and
// restarts of the service. It ends with the run. An error ends it too, and comes with a zero entry; it is the error of
// the context when that ended.
func (c *Client) Watch(ctx context.Context, runID string) iter.Seq2[wire.JournalEntry, error] {
	return c.WatchAfter(ctx, runID, -1)
}

// WatchAfter is [Client.Watch] from behind the sequence number after: the Seq of the last entry that was seen.
func (c *Client) WatchAfter(ctx context.Context, runID string, after int64) iter.Seq2[wire.JournalEntry, error] {
	return func(yield func(wire.JournalEntry, error) bool) {
		w := watch{client: c, runID: runID, last: after, yield: yield}
		if c.answered.Load() {
			w.thereAt = time.Now()
		}
		if err := w.follow(ctx); err != nil {
			yield(wire.JournalEntry{}, err)
		}
	}
}

// watch follows one run.
type watch struct {
	client *Client
	runID  string
	// last is the sequence number of the last entry that was given.
	last     int64
	failures int
	// thereAt is when the service was last seen.
	thereAt time.Time
	yield   func(wire.JournalEntry, error) bool
}

// errDone ends a watch that has nothing more to give, or whose caller wants no more.
var errDone = errors.New("done")

func (w *watch) follow(ctx context.Context) error {
	for {
		err := w.connect(ctx)
		if err == nil {
			// The stream ended in good order without the end of the run: the service stops, or the end lies before the
			// point from which we follow.
			err = w.rest(ctx)
		}
		switch {
		case err == nil:
			continue
		case err == errDone:
			return nil
		case ctx.Err() != nil || !isRetryable(err):
			return err
		}
		w.failures++
		patient := !w.thereAt.IsZero() && time.Since(w.thereAt) < patience
		if w.failures >= w.client.retry.Attempts && !patient {
			return err
		}
		if !pause(ctx, max(askedWait(err), jittered(w.client.retry, w.failures))) {
			return ctx.Err()
		}
	}
}

// give passes an entry on, unless it was given before.
func (w *watch) give(entry wire.JournalEntry) error {
	w.failures = 0
	if entry.Seq <= w.last {
		return nil
	}
	w.last = entry.Seq
	if !w.yield(entry, nil) || entry.Kind == wire.JournalKindRunFinished {
		return errDone
	}
	return nil
}

// connect gives what one connection brings.
func (w *watch) connect(ctx context.Context) error {
	r := request{method: "GET", path: runPath(w.runID, "events"), timeout: w.client.timeout}
	if w.last >= 0 {
		r.lastEventID = strconv.FormatInt(w.last, 10)
	}
	stream, err := w.client.transport.streamEvents(ctx, r, w.client.streamIdle)
	if err != nil {
		return err
	}
	defer stream.Close()
	w.client.answered.Store(true)
	w.thereAt = time.Now()
	// However long the run is silent, it is there until the connection ends.
	defer func() { w.thereAt = time.Now() }()
	for event, err := range readEvents(stream) {
		if err != nil {
			return err
		}
		var entry wire.JournalEntry
		if err := json.Unmarshal([]byte(event.data), &entry); err != nil {
			return &ConnectionError{Call: r.String(), Err: errors.New("an entry cannot be read: " + err.Error())}
		}
		if err := w.give(entry); err != nil {
			return err
		}
	}
	return nil
}

// rest gives a page of what follows, and is done where nothing comes behind it. The run is read before its journal:
// when it had ended by then, the journal holds all there is; the other way round, its end could be missed.
func (w *watch) rest(ctx context.Context) error {
	run, err := w.client.GetRun(ctx, w.runID)
	if err != nil {
		return err
	}
	page, err := w.client.Journal(ctx, w.runID, w.last, 0)
	if err != nil {
		return err
	}
	for _, entry := range page.Events {
		if err := w.give(entry); err != nil {
			return err
		}
	}
	if len(page.Events) > 0 {
		return nil
	}
	if isOver(run.Status) {
		return errDone
	}
	if !pause(ctx, jittered(w.client.retry, 1)) {
		return ctx.Err()
	}
	return nil
}

// Wait waits for the end of a run, until the context ends. It returns the run where it succeeded, and a
// [*RunFailedError], which holds the run, where it did not. Once the service has answered, it may be away for five
// minutes.
func (c *Client) Wait(ctx context.Context, runID string) (*wire.RunDetail, error) {
	run, err := c.askForEnd(ctx, runID)
	if refused, ok := as[*ServiceError](err); ok && refused.Field == "wait_ms" {
		// A service that does not hold a read.
		run, err = c.pollForEnd(ctx, runID)
	}
	if err != nil {
		return nil, err
	}
	if run.Status != wire.RunStatusSucceeded {
		return nil, &RunFailedError{Run: *run}
	}
	return run, nil
}

// askForEnd asks again and again; each call is held by the service.
func (c *Client) askForEnd(ctx context.Context, runID string) (*wire.RunDetail, error) {
	unheld := 0
	for {
		askedAt := time.Now()
		wait := endWait
		if deadline, ok := ctx.Deadline(); ok {
			wait = max(0, min(wait, time.Until(deadline)))
		}
		r := request{
			method:  "GET",
			path:    runPath(runID),
			query:   url.Values{"wait_ms": {strconv.FormatInt(milliseconds(wait), 10)}},
			timeout: wait + waitSlack,
		}
		run, err := withRetries(ctx, c.patient(), func() (*wire.RunDetail, error) {
			return onceAs[wire.RunDetail](ctx, c, r)
		})
		if err != nil || isOver(run.Status) {
			return run, err
		}
		if time.Since(askedAt) >= held {
			unheld = 0
			continue
		}
		unheld++
		if !pause(ctx, jittered(c.retry, unheld)) {
			return nil, ctx.Err()
		}
	}
}

func (c *Client) pollForEnd(ctx context.Context, runID string) (*wire.RunDetail, error) {
	for {
		run, err := withRetries(ctx, c.patient(), func() (*wire.RunDetail, error) {
			return onceAs[wire.RunDetail](ctx, c, request{method: "GET", path: runPath(runID)})
		})
		if err != nil || isOver(run.Status) {
			return run, err
		}
		if !pause(ctx, held) {
			return nil, ctx.Err()
		}
	}
}
