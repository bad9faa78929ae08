package svc

import (
	"context"
	"encoding/json"
	"net/url"

	"svc.dev/sdk/go/wire"
)

// GetTrace reads a trace with its spans; include is a comma list of scores, feedback and logs, or "all", or empty.
func (c *Client) GetTrace(ctx context.Context, traceID, include string) (*wire.TraceDetail, error) {
	return getAs[wire.TraceDetail](ctx, c, "/v1/api/traces/"+url.PathEscape(traceID), queryOf("include", include))
}

// ListTraces lists traces; query holds the parameters of GET /v1/api/traces, such as q, has_score, sort and limit.
func (c *Client) ListTraces(ctx context.Context, query url.Values) (*wire.ListTracesResponse, error) {
	return getAs[wire.ListTracesResponse](ctx, c, "/v1/api/traces", c.inProject(query))
}

// ListScores lists scores, newest first; query holds the parameters of GET /v1/api/scores.
func (c *Client) ListScores(ctx context.Context, query url.Values) (*wire.ListScoresResponse, error) {
	return getAs[wire.ListScoresResponse](ctx, c, "/v1/api/scores", c.inProject(query))
}

// ListFeedback lists judgements on a trace.
func (c *Client) ListFeedback(ctx context.Context, traceID string) (*wire.ListFeedbackResponse, error) {
	return getAs[wire.ListFeedbackResponse](ctx, c, "/v1/api/feedback", queryOf("trace_id", traceID))
}

// CreateScore stores one score now, and returns it as it was stored. [Instrumentation.Score] does it in the background.
// Without a ScoreID it gets a new one, which makes its retries safe. Min and Max, the scale, are required.
func (c *Client) CreateScore(ctx context.Context, score wire.ScoreInput) (*wire.Score, error) {
	if score.ScoreID == "" {
		score.ScoreID = newKey()
	}
	score.Correlation = c.correlated(score.Correlation)
	return postAs[wire.Score](ctx, c, "/v1/api/scores", score)
}

// CreateFeedback stores one judgement now, and returns it as it was stored. Without a FeedbackID it gets a new one,
// which makes its retries safe.
func (c *Client) CreateFeedback(ctx context.Context, feedback wire.FeedbackInput) (*wire.Feedback, error) {
	if feedback.FeedbackID == "" {
		feedback.FeedbackID = newKey()
	}
	feedback.Correlation = c.correlated(feedback.Correlation)
	return postAs[wire.Feedback](ctx, c, "/v1/api/feedback", feedback)
}

func (c *Client) correlated(correlation *wire.CorrelationInput) *wire.CorrelationInput {
	if c.project == "" || (correlation != nil && correlation.Project != "") {
		return correlation
	}
	var own wire.CorrelationInput
	if correlation != nil {
		own = *correlation
	}
	own.Project = c.project
	return &own
}

// ListWorkers lists those limited to the client's project, where it has one, and those limited to none.
func (c *Client) ListWorkers(ctx context.Context, page Page) (*wire.ListWorkersResponse, error) {
	query := queryOf("project", c.project, "limit", numberText(page.Limit), "cursor", page.Cursor)
	return getAs[wire.ListWorkersResponse](ctx, c, "/v1/api/workers", query)
}

// ListParkedEvents lists events that no run has taken yet.
func (c *Client) ListParkedEvents(ctx context.Context, page Page) (*wire.ListParkedEventsResponse, error) {
	query := queryOf("project", c.project, "limit", numberText(page.Limit), "cursor", page.Cursor)
	return getAs[wire.ListParkedEventsResponse](ctx, c, "/v1/api/events", query)
}

// Read makes a read of the query API that has no method here, and gives its JSON:
//
//	text, err := client.Read(ctx, "/v1/api/sessions", url.Values{"limit": {"10"}})
func (c *Client) Read(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	found, err := getAs[json.RawMessage](ctx, c, path, query)
	if err != nil {
		return nil, err
	}
	return *found, nil
}

// inProject adds the client's project to a query that names none. It leaves the query of the caller as it is.
func (c *Client) inProject(query url.Values) url.Values {
	if c.project == "" || query.Has("project") {
		return query
	}
	own := url.Values{"project": {c.project}}
	for name, values := range query {
		own[name] = values
	}
	return own
}
