package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

// calling is a verb of the client.
func calling[In, Out any](f *fixture, call func(context.Context, *svc.Client, In) (Out, error)) verb {
	return taking(func(ctx context.Context, input In) (any, error) {
		client, err := f.client()
		if err != nil {
			return nil, err
		}
		return call(ctx, client, input)
	})
}

type runRequest struct {
	RunID  string `json:"run_id"`
	Reason string `json:"reason"`
}

type namedRequest struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

type startRequest struct {
	DefinitionID   string               `json:"definition_id"`
	Input          json.RawMessage      `json:"input"`
	Version        *int64               `json:"version"`
	Project        string               `json:"project"`
	IdempotencyKey string               `json:"idempotency_key"`
	Correlation    *wire.RunCorrelation `json:"correlation"`
	WaitMS         *int64               `json:"wait_ms"`
	StartAt        string               `json:"start_at"`
	Priority       *int64               `json:"priority"`
}

func start(ctx context.Context, client *svc.Client, w startRequest) (*wire.Run, error) {
	if w.Project != "" {
		client = client.InProject(w.Project)
	}
	// An option of one's own may set any member.
	return client.StartRun(ctx, w.DefinitionID, w.Input, func(input *wire.RunInput) {
		input.DefinitionVersion, input.IdempotencyKey, input.Correlation = w.Version, w.IdempotencyKey, w.Correlation
		input.WaitMS, input.StartAt, input.Priority = w.WaitMS, w.StartAt, w.Priority
	})
}

type watchRequest struct {
	RunID string `json:"run_id"`
	After *int64 `json:"after"`
	Limit int    `json:"limit"`
}

func (f *fixture) watch(ctx context.Context, client *svc.Client, w watchRequest) (object, error) {
	entries := client.Watch(ctx, w.RunID)
	if w.After != nil {
		entries = client.WatchAfter(ctx, w.RunID, *w.After)
	}
	seqs := []int64{}
	for entry, err := range entries {
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, entry.Seq)
		f.emit(object{"event": "watch.entry", "call": ctx.Value(callID{}), "seq": entry.Seq, "kind": entry.Kind})
		if len(seqs) == w.Limit {
			break
		}
	}
	return object{"seqs": seqs}, nil
}

type eventRequest struct {
	RunID   string      `json:"run_id"`
	Event   string      `json:"event"`
	Key     string      `json:"key"`
	Payload wire.Object `json:"payload"`
	EventID string      `json:"event_id"`
	Project string      `json:"project"`
}

type scheduleRequest[Body any] struct {
	ID       string `json:"id"`
	Schedule Body   `json:"schedule"`
}

type definitionsRequest struct {
	Definitions []any `json:"definitions"`
}

func (f *fixture) clientVerbs() map[string]verb {
	verbs := map[string]verb{
		"client.start": calling(f, start),
		"client.watch": calling(f, f.watch),
		"client.wait": calling(f, func(ctx context.Context, c *svc.Client, w runRequest) (object, error) {
			output, err := svc.Attach[json.RawMessage](c, w.RunID).Wait(ctx)
			return object{"output": output}, err
		}),
		"client.get": calling(f, func(ctx context.Context, c *svc.Client, w runRequest) (*wire.RunDetail, error) {
			return c.GetRun(ctx, w.RunID)
		}),
		"client.journal": calling(f, func(ctx context.Context, c *svc.Client, w watchRequest) (*wire.ListRunEventsResponse, error) {
			after := int64(-1)
			if w.After != nil {
				after = *w.After
			}
			return c.Journal(ctx, w.RunID, after, w.Limit)
		}),
		"client.cause": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			RunID  string `json:"run_id"`
			StepID string `json:"step_id"`
		}) (*wire.GetStepCauseResponse, error) {
			return c.StepCause(ctx, w.RunID, w.StepID)
		}),
		"client.list": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			Status       wire.RunStatus `json:"status"`
			DefinitionID string         `json:"definition_id"`
			UserID       string         `json:"user_id"`
			Limit        int            `json:"limit"`
			Cursor       string         `json:"cursor"`
		}) (*wire.ListRunsResponse, error) {
			return c.ListRuns(ctx, svc.RunQuery{
				Status: w.Status, DefinitionID: w.DefinitionID, UserID: w.UserID,
				Page: svc.Page{Limit: w.Limit, Cursor: w.Cursor},
			})
		}),
		"client.signal": calling(f, func(ctx context.Context, c *svc.Client, w eventRequest) (*wire.EventOutcome, error) {
			return c.Signal(ctx, w.RunID, w.Event, w.Payload, svc.EventID(w.EventID))
		}),
		"client.publish": calling(f, func(ctx context.Context, c *svc.Client, w eventRequest) (*wire.EventOutcome, error) {
			if w.Project != "" {
				c = c.InProject(w.Project)
			}
			return c.Publish(ctx, w.Event, w.Key, w.Payload, svc.EventID(w.EventID))
		}),
		"client.cancel": calling(f, func(ctx context.Context, c *svc.Client, w runRequest) (*wire.Run, error) {
			return c.Cancel(ctx, w.RunID, w.Reason)
		}),
		"client.pause": calling(f, func(ctx context.Context, c *svc.Client, w runRequest) (*wire.Run, error) {
			return c.Pause(ctx, w.RunID, w.Reason)
		}),
		"client.resume": calling(f, func(ctx context.Context, c *svc.Client, w runRequest) (*wire.Run, error) {
			return c.Resume(ctx, w.RunID, w.Reason)
		}),
		"client.restart": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			runRequest
			wire.RestartRun
		}) (*wire.Run, error) {
			return c.Restart(ctx, w.RunID, w.RestartRun)
		}),
		"client.read": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			Path  string `json:"path"`
			Query object `json:"query"`
		}) (json.RawMessage, error) {
			query := url.Values{}
			for name, value := range w.Query {
				query.Set(name, fmt.Sprint(value))
			}
			return c.Read(ctx, w.Path, query)
		}),
		"client.list_workers": calling(f, func(ctx context.Context, c *svc.Client, _ struct{}) (*wire.ListWorkersResponse, error) {
			return c.ListWorkers(ctx, svc.Page{})
		}),
		"client.close": calling(f, func(_ context.Context, c *svc.Client, _ struct{}) (object, error) {
			c.Close()
			return object{}, nil
		}),
	}
	for name, do := range f.definitionVerbs() {
		verbs[name] = do
	}
	return verbs
}

func (f *fixture) definitionVerbs() map[string]verb {
	return map[string]verb{
		"client.store_definitions": calling(f, func(ctx context.Context, c *svc.Client, w definitionsRequest) (object, error) {
			stored, err := c.StoreDefinitions(ctx, w.Definitions...)
			return object{"definitions": stored}, err
		}),
		"client.check_definitions": calling(f, func(ctx context.Context, c *svc.Client, w definitionsRequest) (object, error) {
			checked, err := c.CheckDefinitions(ctx, w.Definitions...)
			return object{"definitions": checked}, err
		}),
		"client.pause_definition": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.DefinitionState, error) {
			return c.PauseDefinition(ctx, w.ID, w.Reason)
		}),
		"client.resume_definition": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.DefinitionState, error) {
			return c.ResumeDefinition(ctx, w.ID, w.Reason)
		}),
		"client.create_schedule": calling(f, func(ctx context.Context, c *svc.Client, w scheduleRequest[wire.ScheduleInput]) (*wire.Schedule, error) {
			w.Schedule.ID = w.ID
			return c.CreateSchedule(ctx, w.Schedule)
		}),
		"client.replace_schedule": calling(f, func(ctx context.Context, c *svc.Client, w scheduleRequest[wire.ChangedSchedule]) (*wire.Schedule, error) {
			return c.ReplaceSchedule(ctx, w.ID, w.Schedule)
		}),
		"client.get_schedule": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.Schedule, error) {
			return c.GetSchedule(ctx, w.ID)
		}),
		"client.pause_schedule": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.Schedule, error) {
			return c.PauseSchedule(ctx, w.ID)
		}),
		"client.resume_schedule": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.Schedule, error) {
			return c.ResumeSchedule(ctx, w.ID)
		}),
		"client.trigger_schedule": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (*wire.Schedule, error) {
			return c.TriggerSchedule(ctx, w.ID)
		}),
		"client.delete_schedule": calling(f, func(ctx context.Context, c *svc.Client, w namedRequest) (object, error) {
			return object{}, c.DeleteSchedule(ctx, w.ID)
		}),
		"client.list_schedules": calling(f, func(ctx context.Context, c *svc.Client, _ struct{}) (*wire.ListSchedulesResponse, error) {
			return c.ListSchedules(ctx, svc.Page{})
		}),
		"client.count_bulk": calling(f, func(ctx context.Context, c *svc.Client, w wire.BulkInput) (*wire.StartedBulk, error) {
			return c.CountBulk(ctx, w)
		}),
		"client.start_bulk": calling(f, func(ctx context.Context, c *svc.Client, w wire.BulkInput) (*wire.StartedBulk, error) {
			return c.StartBulk(ctx, w)
		}),
		"client.get_bulk": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			BulkID string `json:"bulk_id"`
		}) (*wire.Bulk, error) {
			return c.GetBulk(ctx, w.BulkID)
		}),
		"client.stop_bulk": calling(f, func(ctx context.Context, c *svc.Client, w struct {
			BulkID string `json:"bulk_id"`
		}) (*wire.Bulk, error) {
			return c.StopBulk(ctx, w.BulkID)
		}),
	}
}
