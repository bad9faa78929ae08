package svc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// defaultTimeout is how long a complete answer may take, where the caller names no time.
	defaultTimeout = 30 * time.Second
	connectTimeout = 10 * time.Second
	// answerLimit: a larger answer is refused, as no read of the service is.
	answerLimit = 256 << 20
	// messageLimit bounds the words of a refusal that is not JSON.
	messageLimit = 500
)

type request struct {
	method string
	path   string // From the root of the service, escaped: "/v1/api/runs".
	query  url.Values
	body   []byte // JSON; nil for none.
	// isStream asks for server-sent events, behind lastEventID where it is not empty.
	isStream    bool
	lastEventID string
	// timeout is for the complete answer; of a stream, for its beginning. 0: 30 s.
	timeout time.Duration
}

func (r request) String() string { return r.method + " " + r.path }

// transport makes calls to one service over connections that are kept alive. Safe for concurrent use.
type transport struct {
	endpoint string
	key      secret
	http     *http.Client
	// closing ends when the transport is closed, and with it what is on its way.
	closing context.Context
	close   context.CancelFunc
}

// newTransport makes no call. connections is how many may stand idle.
func newTransport(s *settings, connections int) *transport {
	roundTripper := s.roundTripper
	if roundTripper == nil {
		dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: connectTimeout}
		roundTripper = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           dialer.DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          connections,
			MaxIdleConnsPerHost:   connections,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   connectTimeout,
			ExpectContinueTimeout: time.Second,
		}
	}
	closing, closeAll := context.WithCancel(context.Background())
	t := &transport{endpoint: s.endpoint, key: s.apiKey, closing: closing}
	// No time limit of the client: it would end streams. Each call has its own. A redirect is a refusal: a key must not
	// follow it.
	t.http = &http.Client{
		Transport:     roundTripper,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.close = func() {
		closeAll()
		if s.roundTripper == nil {
			t.http.CloseIdleConnections()
		}
	}
	return t
}

// call makes one call, one try. It returns the body of a 2xx answer.
func (t *transport) call(ctx context.Context, r request) ([]byte, error) {
	timeout := r.timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(t.closing, cancel)()
	answer, err := t.send(within, r)
	if err != nil {
		return nil, t.failed(ctx, r, timeout, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit+1))
	if err == nil && len(text) > answerLimit {
		err = fmt.Errorf("the answer is larger than %d bytes", answerLimit)
	}
	if err != nil {
		return nil, t.failed(ctx, r, timeout, err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, refusal(answer.StatusCode, text, answer.Header)
	}
	return text, nil
}

// streamEvents opens a stream of events, once it is known to be a 2xx answer. Its reads fail when nothing came for as long as idle.
func (t *transport) streamEvents(ctx context.Context, r request, idle time.Duration) (io.ReadCloser, error) {
	r.isStream = true
	timeout := r.timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	within, cancel := context.WithCancelCause(ctx)
	uncouple := context.AfterFunc(t.closing, func() { cancel(ErrClosed) })
	tooLate := time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	end := func() {
		tooLate.Stop()
		uncouple()
		cancel(nil)
	}
	answer, err := t.send(within, r)
	if err == nil && (answer.StatusCode < 200 || answer.StatusCode > 299) {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(answer.Body, answerLimit))
		answer.Body.Close()
		if err == nil {
			err = refusal(answer.StatusCode, text, answer.Header)
		}
	}
	tooLate.Stop()
	if err != nil {
		if _, refused := as[*ServiceError](err); !refused {
			err = t.failed(ctx, r, timeout, causeOr(within, err))
		}
		end()
		return nil, err
	}
	stream := &idleStream{body: answer.Body, idle: idle, end: end}
	stream.timer = time.AfterFunc(idle, func() {
		cancel(fmt.Errorf("the stream was silent for %v", idle))
	})
	stream.timer.Stop()
	stream.why = func(err error) error { return t.failed(ctx, r, timeout, causeOr(within, err)) }
	return stream, nil
}

// causeOr prefers why a context ended to what the broken connection says.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (t *transport) send(ctx context.Context, r request) (*http.Response, error) {
	if t.closing.Err() != nil {
		return nil, ErrClosed
	}
	address := t.endpoint + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	sent.Header.Set("User-Agent", "svc-go/"+LibraryVersion)
	sent.Header.Set("Accept", "application/json")
	if r.isStream {
		sent.Header.Set("Accept", "text/event-stream")
	}
	if r.body != nil {
		sent.Header.Set("Content-Type", "application/json")
		// Answers to calls are many and small: there processor time is dearer than bytes, on both sides.
		sent.Header.Set("Accept-Encoding", "identity")
	}
	if r.lastEventID != "" {
		sent.Header.Set("Last-Event-ID", r.lastEventID)
	}
	if key := t.key.text(); key != "" {
		sent.Header.Set("Authorization", "Bearer "+key)
	}
	return t.http.Do(sent)
}

// failed says why there is no answer. A caller that stopped gets the error of its context.
func (t *transport) failed(ctx context.Context, r request, timeout time.Duration, err error) error {
	if stopped := ctx.Err(); stopped != nil {
		return fmt.Errorf("svc: %v: %w", r, stopped)
	}
	if t.closing.Err() != nil {
		return &ConnectionError{Call: r.String(), Err: ErrClosed}
	}
	// It holds the address again, which may hold more than a log should.
	if outer, ok := as[*url.Error](err); ok {
		err = outer.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %v", timeout)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the answer broke off")
	}
	return &ConnectionError{Call: r.String(), Err: err}
}

// refusal is made of the status and the body of an answer.
func refusal(status int, text []byte, header http.Header) *ServiceError {
	var said struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Field   string `json:"field"`
	}
	// What is not JSON, or holds other types, is shown as it is.
	if err := json.Unmarshal(text, &said); err != nil || said.Message == "" {
		said.Message = shortened(string(bytes.ToValidUTF8(text, []byte("\uFFFD"))), messageLimit)
	}
	refused := &ServiceError{Status: status, Code: said.Code, Message: said.Message, Field: said.Field}
	if refused.Code == "" {
		refused.Code = fmt.Sprintf("http_%d", status)
	}
	if refused.Message == "" {
		refused.Message = fmt.Sprintf("HTTP %d", status)
	}
	if header != nil {
		refused.RequestID = header.Get("X-Request-Id")
		refused.RetryAfter, _ = retryAfter(header.Get("Retry-After"), time.Now())
	}
	return refused
}

// shortened cuts a text at a number of characters.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	count := 0
	for at := range text {
		if count == limit {
			return text[:at]
		}
		count++
	}
	return text
}

// idleStream is a body that is broken off when nothing comes for too long.
type idleStream struct {
	body  io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	why   func(error) error
	end   func()
}

func (s *idleStream) Read(into []byte) (int, error) {
	// Only while somebody reads: a slow reader is no silent service.
	s.timer.Reset(s.idle)
	count, err := s.body.Read(into)
	s.timer.Stop()
	if err != nil && err != io.EOF {
		err = s.why(err)
	}
	return count, err
}

func (s *idleStream) Close() error {
	s.timer.Stop()
	s.end()
	return s.body.Close()
}
