package svc

import (
	"context"
	"net/url"
	"strconv"

	"svc.dev/sdk/go/wire"
)

// Faults is what is wrong with a definition.
type Faults struct {
	ID      string        `json:"id"`
	Version int64         `json:"version"`
	Faults  []wire.Object `json:"faults"`
}

func (c *Client) definitionsOf(definitions []any) (wire.DefinitionsInput, error) {
	input := wire.DefinitionsInput{Project: c.project}
	for _, definition := range definitions {
		object, err := encodeObject(definition)
		if err != nil {
			return input, &ArgumentError{What: "a definition", Err: err}
		}
		input.Definitions = append(input.Definitions, object)
	}
	return input, nil
}

// StoreDefinitions stores definitions without a worker, all or none, so that runs can be started before the first worker
// is there. A definition is a [*Workflow], or anything that encoding/json writes as an object. The service refuses with
// definition_invalid, or with definition_conflict where a version has other content.
func (c *Client) StoreDefinitions(ctx context.Context, definitions ...any) ([]wire.StoredDefinition, error) {
	input, err := c.definitionsOf(definitions)
	if err != nil {
		return nil, err
	}
	if err := c.spec.ensure(ctx); err != nil {
		return nil, err
	}
	type stored struct {
		Definitions []wire.StoredDefinition `json:"definitions"`
	}
	answer, err := postAs[stored](ctx, c, "/v1/api/definitions", input)
	if err != nil {
		return nil, err
	}
	return answer.Definitions, nil
}

// CheckDefinitions stores nothing, and says of each definition what is wrong with it.
func (c *Client) CheckDefinitions(ctx context.Context, definitions ...any) ([]Faults, error) {
	input, err := c.definitionsOf(definitions)
	if err != nil {
		return nil, err
	}
	body, err := encode(input)
	if err != nil {
		return nil, &ArgumentError{What: "the definitions", Err: err}
	}
	type checked struct {
		Definitions []Faults `json:"definitions"`
	}
	answer, err := callAs[checked](ctx, c, request{
		method: "POST", path: "/v1/api/definitions", query: url.Values{"check": {"true"}}, body: body,
	})
	if err != nil {
		return nil, err
	}
	return answer.Definitions, nil
}

// ListDefinitions lists those of the client's project, where it has one, and those of the service.
func (c *Client) ListDefinitions(ctx context.Context, page Page) (*wire.ListDefinitionsResponse, error) {
	query := queryOf("project", c.project, "limit", numberText(page.Limit), "cursor", page.Cursor)
	return getAs[wire.ListDefinitionsResponse](ctx, c, "/v1/api/definitions", query)
}

func definitionPath(id string) string { return "/v1/api/definitions/" + url.PathEscape(id) }

// GetDefinition reads the project's own definition where it owns one of that id, else the service's.
func (c *Client) GetDefinition(ctx context.Context, id string) (*wire.DefinitionOverview, error) {
	return getAs[wire.DefinitionOverview](ctx, c, definitionPath(id), queryOf("project", c.project))
}

// GetDefinitionVersion reads one version, with its content.
func (c *Client) GetDefinitionVersion(ctx context.Context, id string, version int64) (*wire.DefinitionVersion, error) {
	path := definitionPath(id) + "/versions/" + strconv.FormatInt(version, 10)
	return getAs[wire.DefinitionVersion](ctx, c, path, queryOf("project", c.project))
}

// PauseDefinition pauses a definition in all its versions: starts stay queued, and no step of its runs is offered. The
// reason may be empty.
func (c *Client) PauseDefinition(ctx context.Context, id, reason string) (*wire.DefinitionState, error) {
	body := wire.PauseDefinitionRequest{Reason: reason, Project: c.project}
	return postAs[wire.DefinitionState](ctx, c, definitionPath(id)+"/pause", body)
}

// ResumeDefinition resumes a paused definition. Runs that were paused by name stay paused. The reason may be empty.
func (c *Client) ResumeDefinition(ctx context.Context, id, reason string) (*wire.DefinitionState, error) {
	body := wire.ResumeDefinitionRequest{Reason: reason, Project: c.project}
	return postAs[wire.DefinitionState](ctx, c, definitionPath(id)+"/resume", body)
}
