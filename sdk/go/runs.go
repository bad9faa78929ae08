package svc

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"svc.dev/sdk/go/wire"
)

// waitSlack: a call that is not answered so long after its wait is over, is lost.
const waitSlack = 15 * time.Second

// StartOption adds to a start. One of your own may set any member.
type StartOption func(*wire.RunInput)

// IdempotencyKey makes a start, or its repetition by another process, one run: the same key again gives the run that it
// started first. Without one, each start has a new key, which makes its retries safe.
func IdempotencyKey(key string) StartOption {
	return func(input *wire.RunInput) { input.IdempotencyKey = key }
}

// Version starts a version of the definition; without it, the highest.
func Version(version int64) StartOption {
	return func(input *wire.RunInput) { input.DefinitionVersion = &version }
}

// BelongsTo says what the run, and its trace, belong to: a user, a session.
func BelongsTo(correlation wire.RunCorrelation) StartOption {
	return func(input *wire.RunInput) { input.Correlation = &correlation }
}

// WaitFor lets a start wait for the end of the run, up to 60 s; it may still be open in the answer. It is sent in
// milliseconds.
func WaitFor(wait time.Duration) StartOption {
	most := milliseconds(wait)
	return func(input *wire.RunInput) { input.WaitMS = &most }
}

// StartAt lets the run begin at a time that lies ahead.
func StartAt(at time.Time) StartOption {
	return func(input *wire.RunInput) { input.StartAt = at.UTC().Format(time.RFC3339Nano) }
}

// StartAfter lets the run begin so long after its start, rounded up to seconds.
func StartAfter(wait time.Duration) StartOption {
	return func(input *wire.RunInput) { input.StartAt = fmt.Sprintf("+%ds", int64(math.Ceil(wait.Seconds()))) }
}

// Priority lets steps of the run be offered before those of a lower one: from -100 to 100, 0 by default.
func Priority(priority int64) StartOption {
	return func(input *wire.RunInput) { input.Priority = &priority }
}

// milliseconds rounds up: a wait is no shorter than was asked.
func milliseconds(wait time.Duration) int64 {
	return int64((wait + time.Millisecond - 1) / time.Millisecond)
}

// StartRun starts a run of a definition. The input is anything that encoding/json can write. [Start] gives a handle of
// the run. Before its first start a client reads the service's spec_version: it may return [*IncompatibleServerError].
func (c *Client) StartRun(ctx context.Context, definitionID string, input any, options ...StartOption) (*wire.Run, error) {
	text, err := encode(input)
	if err != nil {
		return nil, &ArgumentError{What: "the input of the run", Err: err}
	}
	start := wire.RunInput{DefinitionID: definitionID, Input: text, Project: c.project}
	for _, option := range options {
		option(&start)
	}
	if start.IdempotencyKey == "" {
		start.IdempotencyKey = newKey()
	}
	if err := c.spec.ensure(ctx); err != nil {
		return nil, err
	}
	body, err := encode(start)
	if err != nil {
		return nil, &ArgumentError{What: "the start of the run", Err: err}
	}
	r := request{method: "POST", path: "/v1/api/runs", body: body}
	if start.WaitMS != nil {
		r.timeout = max(c.timeout, time.Duration(*start.WaitMS)*time.Millisecond+waitSlack)
	}
	return callAs[wire.Run](ctx, c, r)
}

// GetRun reads a run as it is now, with its attempts, timers, waits and children.
func (c *Client) GetRun(ctx context.Context, runID string) (*wire.RunDetail, error) {
	return getAs[wire.RunDetail](ctx, c, runPath(runID), nil)
}

// RunQuery says which runs are listed; all that is set must match.
type RunQuery struct {
	Page
	Status       wire.RunStatus
	DefinitionID string
	UserID       string
	SessionID    string
	ParentRunID  string
	WaitingOn    wire.WaitingOn
	// From and To bound the time of creation: RFC 3339, or relative as "-1h".
	From, To string
	// Correlation matches other members of the correlation: {"request_id": "r-1"}.
	Correlation map[string]string
}

// ListRuns lists runs, those updated last first.
func (c *Client) ListRuns(ctx context.Context, q RunQuery) (*wire.ListRunsResponse, error) {
	query := queryOf("project", c.project, "status", string(q.Status), "definition_id", q.DefinitionID,
		"user_id", q.UserID, "session_id", q.SessionID, "parent_run_id", q.ParentRunID,
		"waiting_on", string(q.WaitingOn), "from", q.From, "to", q.To,
		"limit", numberText(q.Limit), "cursor", q.Cursor)
	for name, value := range q.Correlation {
		query.Set("correlation."+name, value)
	}
	return getAs[wire.ListRunsResponse](ctx, c, "/v1/api/runs", query)
}

// Journal reads a page of a run's journal, behind the sequence number after; -1 for its beginning. A limit of 0 is the
// service's own.
func (c *Client) Journal(ctx context.Context, runID string, after int64, limit int) (*wire.ListRunEventsResponse, error) {
	query := queryOf("limit", numberText(limit))
	if after >= 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	return getAs[wire.ListRunEventsResponse](ctx, c, runPath(runID, "events"), query)
}

// StepCause says why a step was attempted: the journal entries that led to it, oldest last.
func (c *Client) StepCause(ctx context.Context, runID, stepID string) (*wire.GetStepCauseResponse, error) {
	return getAs[wire.GetStepCauseResponse](ctx, c, runPath(runID, "steps", stepID, "cause"), nil)
}

// EventOption adds to an event.
type EventOption func(*wire.EventInput)

// EventID makes an event known again: the same id changes nothing a second time. Without one, each event has a new one,
// which makes its retries safe.
func EventID(id string) EventOption { return func(event *wire.EventInput) { event.EventID = id } }

func eventOf(name, key, project string, payload any, options []EventOption) (wire.EventInput, error) {
	object, err := encodeObject(payload)
	if err != nil {
		return wire.EventInput{}, &ArgumentError{What: "the payload of the event", Err: err}
	}
	event := wire.EventInput{Event: name, Key: key, Project: project, Payload: object}
	for _, option := range options {
		option(&event)
	}
	if event.EventID == "" {
		event.EventID = newKey()
	}
	return event, nil
}

// Signal gives an event to one run's own open wait. The payload is a JSON object; nil is an empty one. The service
// refuses with conflict where the run has no such wait, and with run_terminal where it has ended.
func (c *Client) Signal(ctx context.Context, runID, event string, payload any, options ...EventOption) (*wire.EventOutcome, error) {
	made, err := eventOf(event, "", "", payload, options)
	if err != nil {
		return nil, err
	}
	signal := wire.Signal{Event: made.Event, Payload: made.Payload, EventID: made.EventID}
	return postAs[wire.EventOutcome](ctx, c, runPath(runID, "signal"), signal)
}

// Publish gives an event to whichever run waits for it by name and key; it is kept for 24 hours when none does. The
// payload is a JSON object; nil is an empty one.
func (c *Client) Publish(ctx context.Context, event, key string, payload any, options ...EventOption) (*wire.EventOutcome, error) {
	made, err := eventOf(event, key, c.project, payload, options)
	if err != nil {
		return nil, err
	}
	return postAs[wire.EventOutcome](ctx, c, "/v1/api/events", made)
}

// Cancel ends a run and its children. A run that has ended is returned as it is. The reason may be empty.
func (c *Client) Cancel(ctx context.Context, runID, reason string) (*wire.Run, error) {
	return postAs[wire.Run](ctx, c, runPath(runID, "cancel"), wire.CancelRunRequest{Reason: reason})
}

// Pause pauses a run and its children: what a worker holds goes on, and nothing new is offered. The reason may be empty.
func (c *Client) Pause(ctx context.Context, runID, reason string) (*wire.Run, error) {
	return postAs[wire.Run](ctx, c, runPath(runID, "pause"), wire.PauseRunRequest{Reason: reason})
}

// Resume resumes a paused run: what fell due or came meanwhile acts at once. The reason may be empty.
func (c *Client) Resume(ctx context.Context, runID, reason string) (*wire.Run, error) {
	return postAs[wire.Run](ctx, c, runPath(runID, "resume"), wire.ResumeRunRequest{Reason: reason})
}

// Restart takes up an ended run as a new run, with the state and outputs of that moment; the ended run stays as it is.
// The zero RestartRun begins at the step that failed. Without an IdempotencyKey it gets a new one.
func (c *Client) Restart(ctx context.Context, runID string, restart wire.RestartRun) (*wire.Run, error) {
	if restart.IdempotencyKey == "" {
		restart.IdempotencyKey = newKey()
	}
	return postAs[wire.Run](ctx, c, runPath(runID, "restart"), restart)
}
