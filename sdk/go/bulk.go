package svc

import (
	"context"
	"net/url"

	"svc.dev/sdk/go/wire"
)

func (c *Client) bulk(work wire.BulkInput, dryRun bool) (request, error) {
	work.DryRun = &dryRun
	// An empty filter stays empty, which the service refuses: it would mean every run.
	if work.Filter != (wire.RunFilter{}) && work.Filter.Project == "" {
		work.Filter.Project = c.project
	}
	body, err := encode(work)
	if err != nil {
		return request{}, &ArgumentError{What: "the action on many runs", Err: err}
	}
	return request{method: "POST", path: "/v1/api/runs/bulk", body: body}, nil
}

// CountBulk says how many runs an action would reach, and names ten of them. Nothing is begun.
func (c *Client) CountBulk(ctx context.Context, work wire.BulkInput) (*wire.StartedBulk, error) {
	work.IdempotencyKey = ""
	r, err := c.bulk(work, true)
	if err != nil {
		return nil, err
	}
	return callAs[wire.StartedBulk](ctx, c, r)
}

// StartBulk does something with all runs that match, in slices behind this call; without a BulkID in the answer no run
// matched. The same IdempotencyKey again gives the action that it began first, for as long as that is kept; without one, a
// new one makes a retry of this call safe.
func (c *Client) StartBulk(ctx context.Context, work wire.BulkInput) (*wire.StartedBulk, error) {
	if work.IdempotencyKey == "" {
		work.IdempotencyKey = newKey()
	}
	r, err := c.bulk(work, false)
	if err != nil {
		return nil, err
	}
	return callAs[wire.StartedBulk](ctx, c, r)
}

// GetBulk says how far an action on many runs is: Count, Done, Refused.
func (c *Client) GetBulk(ctx context.Context, bulkID string) (*wire.Bulk, error) {
	return getAs[wire.Bulk](ctx, c, "/v1/api/runs/bulk/"+url.PathEscape(bulkID), nil)
}

// StopBulk ends an action on many runs; what was done stays done.
func (c *Client) StopBulk(ctx context.Context, bulkID string) (*wire.Bulk, error) {
	return callAs[wire.Bulk](ctx, c, request{method: "DELETE", path: "/v1/api/runs/bulk/" + url.PathEscape(bulkID)})
}
