package svc

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	defaultStreamIdle = 50 * time.Second
	clientConnections = 16
)

type clientConfig struct {
	given      given
	timeout    time.Duration
	streamIdle time.Duration
	retry      RetryPolicy
}

// ClientOption is an option of [NewClient]: an [Option], or one that is the client's own.
type ClientOption interface{ applyToClient(*clientConfig) }

type clientOption func(*clientConfig)

func (o clientOption) applyToClient(config *clientConfig) { o(config) }

// WithTimeout bounds one try of one call; the default is 30 s. A call that the service holds, such as a wait, has more.
func WithTimeout(timeout time.Duration) ClientOption {
	return clientOption(func(c *clientConfig) { c.timeout = timeout })
}

// WithStreamIdle says after how long a silence the stream of a watch is replaced; the default is 50 s. The service
// writes a comment every 15 s.
func WithStreamIdle(idle time.Duration) ClientOption {
	return clientOption(func(c *clientConfig) { c.streamIdle = idle })
}

type retryOption RetryPolicy

func (o retryOption) applyToClient(config *clientConfig) { config.retry = RetryPolicy(o) }
func (o retryOption) applyToInstrumentation(config *instrumentationConfig) {
	config.retry = RetryPolicy(o)
}

// WithRetry says how calls are tried again: of a client, 5 tries by default, 200 ms at first and 10 s at most; of
// instrumentation 8, 500 ms and 30 s. Workers repeat their reports until they are answered.
func WithRetry(policy RetryPolicy) interface {
	ClientOption
	InstrumentationOption
} {
	return retryOption(policy)
}

// Client talks to the service on behalf of who starts, follows and steers runs. Safe for concurrent use.
//
// Calls are tried again on 429, on a 5xx that says "later" and when there is no answer. That is safe, because starts and
// events carry a key of their own; what cannot have one is sent once, and says so. See the package for their errors.
type Client struct {
	*clientCore
	project string
}

// clientCore is what a client shares with those that [Client.InProject] makes of it.
type clientCore struct {
	code       given
	settings   *settings
	timeout    time.Duration
	streamIdle time.Duration
	retry      RetryPolicy
	transport  *transport
	spec       *specCheck
	// answered is whether the service was ever there.
	answered atomic.Bool
}

// NewClient makes a client; nothing is called yet. It returns an [*ArgumentError] on a setting that cannot be used.
func NewClient(options ...ClientOption) (*Client, error) {
	config := clientConfig{timeout: defaultTimeout, streamIdle: defaultStreamIdle}
	for _, option := range options {
		option.applyToClient(&config)
	}
	read := readSettings(config.given, osEnvironment)
	for _, problem := range read.problems {
		// It samples nothing: a bad SVC_SAMPLE is no business of a client.
		if !strings.HasPrefix(problem, "sample ") {
			return nil, &ArgumentError{What: "settings", Err: errors.New(problem)}
		}
	}
	connections := newTransport(read, clientConnections)
	return &Client{
		clientCore: &clientCore{
			code:       config.given,
			settings:   read,
			timeout:    config.timeout,
			streamIdle: config.streamIdle,
			retry:      config.retry.or(callerPolicy()),
			transport:  connections,
			spec:       &specCheck{transport: connections},
		},
		project: read.project,
	}, nil
}

// InProject is the same client, over the same connections, for another project.
func (c *Client) InProject(project string) *Client {
	return &Client{clientCore: c.clientCore, project: project}
}

// Close lets go of the connections and breaks off what is on its way, with [ErrClosed]. It also ends the clients that
// InProject made of this one.
func (c *Client) Close() { c.transport.close() }

// patient is for a service that has answered before: a restart must not hide how a run ended.
func (c *Client) patient() RetryPolicy {
	if !c.answered.Load() {
		return c.retry
	}
	policy := c.retry
	policy.Attempts, policy.within = unbounded, patience
	return policy
}

// once makes one try of a call.
func (c *Client) once(ctx context.Context, r request) ([]byte, error) {
	if r.timeout == 0 {
		r.timeout = c.timeout
	}
	text, err := c.transport.call(ctx, r)
	if err == nil {
		c.answered.Store(true)
	}
	return text, err
}

// onceAs makes one try of a call, and reads its answer.
func onceAs[T any](ctx context.Context, c *Client, r request) (*T, error) {
	text, err := c.once(ctx, r)
	if err != nil {
		return nil, err
	}
	return readAs[T](r, text)
}

// callAs makes a call, with retries, and reads its answer.
func callAs[T any](ctx context.Context, c *Client, r request) (*T, error) {
	return withRetries(ctx, c.retry, func() (*T, error) { return onceAs[T](ctx, c, r) })
}

func getAs[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	return callAs[T](ctx, c, request{method: "GET", path: path, query: query})
}

func postAs[T any](ctx context.Context, c *Client, path string, body any) (*T, error) {
	text, err := encode(body)
	if err != nil {
		return nil, &ArgumentError{What: "the body of POST " + path, Err: err}
	}
	return callAs[T](ctx, c, request{method: "POST", path: path, body: text})
}

func readAs[T any](r request, text []byte) (*T, error) {
	var answer T
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, &ConnectionError{Call: r.String(), Err: errors.New("the answer cannot be read: " + err.Error())}
	}
	return &answer, nil
}

// queryOf leaves out what is empty.
func queryOf(pairs ...string) url.Values {
	query := url.Values{}
	for at := 0; at < len(pairs); at += 2 {
		if pairs[at+1] != "" {
			query.Set(pairs[at], pairs[at+1])
		}
	}
	return query
}

func numberText(number int) string {
	if number == 0 {
		return ""
	}
	return strconv.Itoa(number)
}

func runPath(runID string, more ...string) string {
	path := "/v1/api/runs/" + url.PathEscape(runID)
	for _, part := range more {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// isOver says whether a run has ended: nothing about it changes any more.
func isOver(status wire.RunStatus) bool {
	switch status {
	case wire.RunStatusSucceeded, wire.RunStatusFailed, wire.RunStatusCancelled:
		return true
	}
	return false
}

// Page says which part of a list is wanted.
type Page struct {
	// Limit is the most entries of one page; 0 for the service's own default.
	Limit int
	// Cursor is the NextCursor of the page before; empty for the first.
	Cursor string
}
