package svc

import (
	"context"
	"net/url"

	"svc.dev/sdk/go/wire"
)

func schedulePath(id string) string { return "/v1/api/schedules/" + url.PathEscape(id) }

// ListSchedules lists schedules by project and id, without their inputs.
func (c *Client) ListSchedules(ctx context.Context, page Page) (*wire.ListSchedulesResponse, error) {
	query := queryOf("project", c.project, "limit", numberText(page.Limit), "cursor", page.Cursor)
	return getAs[wire.ListSchedulesResponse](ctx, c, "/v1/api/schedules", query)
}

// GetSchedule reads a schedule with its next ten times, and what became of the last ten.
func (c *Client) GetSchedule(ctx context.Context, id string) (*wire.Schedule, error) {
	return getAs[wire.Schedule](ctx, c, schedulePath(id), queryOf("project", c.project))
}

// CreateSchedule makes a schedule. One that is there with the same content is the answer; the service refuses with
// conflict where it has other content.
func (c *Client) CreateSchedule(ctx context.Context, schedule wire.ScheduleInput) (*wire.Schedule, error) {
	if schedule.Project == "" {
		schedule.Project = c.project
	}
	return postAs[wire.Schedule](ctx, c, "/v1/api/schedules", schedule)
}

// ReplaceSchedule replaces all that a schedule was made of; what is left out gets its default.
func (c *Client) ReplaceSchedule(ctx context.Context, id string, schedule wire.ChangedSchedule) (*wire.Schedule, error) {
	body, err := encode(schedule)
	if err != nil {
		return nil, &ArgumentError{What: "the schedule", Err: err}
	}
	return callAs[wire.Schedule](ctx, c, request{
		method: "PUT", path: schedulePath(id), query: queryOf("project", c.project), body: body,
	})
}

// DeleteSchedule deletes a schedule; runs that it started go on. The service refuses with not_found, also where an
// earlier try of the same call was not answered.
func (c *Client) DeleteSchedule(ctx context.Context, id string) error {
	r := request{method: "DELETE", path: schedulePath(id), query: queryOf("project", c.project)}
	_, err := withRetries(ctx, c.retry, func() ([]byte, error) { return c.once(ctx, r) })
	return err
}

func (c *Client) scheduleCall(verb, id string) request {
	return request{method: "POST", path: schedulePath(id) + "/" + verb, query: queryOf("project", c.project)}
}

// PauseSchedule pauses a schedule: its times are missed from now on; a trigger still works.
func (c *Client) PauseSchedule(ctx context.Context, id string) (*wire.Schedule, error) {
	return callAs[wire.Schedule](ctx, c, c.scheduleCall("pause", id))
}

// ResumeSchedule lets a schedule go on; the times that were missed follow its CatchUp.
func (c *Client) ResumeSchedule(ctx context.Context, id string) (*wire.Schedule, error) {
	return callAs[wire.Schedule](ctx, c, c.scheduleCall("resume", id))
}

// TriggerSchedule fires once, now: see the first of Firings. It is sent once, as a try whose answer was lost may have
// fired.
func (c *Client) TriggerSchedule(ctx context.Context, id string) (*wire.Schedule, error) {
	return onceAs[wire.Schedule](ctx, c, c.scheduleCall("trigger", id))
}
