package svc

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeService answers calls in memory, so that tests run in the bubbles of testing/synctest, where time is fake.
type fakeService struct {
	t  *testing.T
	mu sync.Mutex
	// calls are "POST /v1/api/runs", in order of arrival.
	calls  []fakeCall
	answer func(call fakeCall) fakeAnswer
}

type fakeCall struct {
	what   string
	body   string
	header http.Header
	at     time.Time
	done   <-chan struct{} // Closed when the caller hangs up.
}

// fakeAnswer: a status of 0 means that the connection breaks.
type fakeAnswer struct {
	status     int
	body       string
	retryAfter string
}

func ok(body string) fakeAnswer { return fakeAnswer{status: 200, body: body} }

func problem(status int, code string) fakeAnswer {
	return fakeAnswer{status: status, body: `{"code":"` + code + `","message":"refused"}`}
}

func (s *fakeService) RoundTrip(sent *http.Request) (*http.Response, error) {
	call := fakeCall{
		what: sent.Method + " " + sent.URL.Path, header: sent.Header, at: time.Now(), done: sent.Context().Done(),
	}
	if sent.Body != nil {
		text, err := io.ReadAll(sent.Body)
		if err != nil {
			return nil, err
		}
		call.body = string(text)
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	answer := s.answer(call)
	if err := sent.Context().Err(); err != nil {
		return nil, err
	}
	if answer.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	header := http.Header{}
	if answer.retryAfter != "" {
		header.Set("Retry-After", answer.retryAfter)
	}
	return &http.Response{
		StatusCode: answer.status, Header: header, Body: io.NopCloser(strings.NewReader(answer.body)), Request: sent,
	}, nil
}

// callsTo are the calls whose words begin so.
func (s *fakeService) callsTo(what string) []fakeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []fakeCall
	for _, call := range s.calls {
		if strings.HasPrefix(call.what, what) {
			found = append(found, call)
		}
	}
	return found
}

// spansIn are the names of the spans of a batch.
func spansIn(t *testing.T, call fakeCall) []string {
	t.Helper()
	var batch struct {
		Spans []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(call.body), &batch); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, span := range batch.Spans {
		names = append(names, span.Name)
	}
	return names
}

func newFakeService(t *testing.T, answer func(fakeCall) fakeAnswer) *fakeService {
	t.Helper()
	return &fakeService{t: t, answer: answer}
}

func (s *fakeService) client(options ...ClientOption) *Client {
	s.t.Helper()
	client, err := NewClient(append([]ClientOption{WithEndpoint("http://svc.test"), WithRoundTripper(s)}, options...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

func (s *fakeService) tracer(options ...InstrumentationOption) *Instrumentation {
	s.t.Helper()
	shared := []InstrumentationOption{WithEndpoint("http://svc.test"), WithRoundTripper(s)}
	return NewInstrumentation(append(shared, options...)...)
}
