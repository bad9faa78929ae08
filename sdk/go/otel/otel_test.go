package otel

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	svc "svc.dev/sdk/go"
)

func TestSpansOfBothNest(t *testing.T) {
	tracer := svc.NewInstrumentation(svc.WithEnabled(true), svc.WithSample(1), svc.WithBridge(Bridge{}))
	theirs := sdktrace.NewTracerProvider().Tracer("test")
	ctx, outer := theirs.Start(t.Context(), "theirs")
	ctx, ours := tracer.Span(ctx, "ours")
	if ours.TraceID() != outer.SpanContext().TraceID().String() {
		t.Error("ours is not in the trace of theirs")
	}
	_, inner := theirs.Start(ctx, "inner")
	read, ok := inner.(sdktrace.ReadOnlySpan)
	if !ok || read.Parent().SpanID().String() != ours.SpanID() || read.SpanContext().TraceID().String() != ours.TraceID() {
		t.Error("theirs is no child of ours")
	}
}

func TestASpanThatIsNotKeptIsNotSampledForThem(t *testing.T) {
	tracer := svc.NewInstrumentation(svc.WithEnabled(false), svc.WithBridge(Bridge{}))
	ctx, _ := tracer.Span(t.Context(), "ours")
	if found := trace.SpanContextFromContext(ctx); !found.IsValid() || found.IsSampled() {
		t.Errorf("%v", found)
	}
}

func TestTheExporterSendsWhatIsKeptWithTheKey(t *testing.T) {
	var mu sync.Mutex
	var bodies [][]byte
	var paths, keys []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies, paths, keys = append(bodies, body), append(paths, r.URL.Path), append(keys, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	exporter, err := NewExporter(t.Context(), With(svc.WithEndpoint(server.URL+"/base/"), svc.WithAPIKey("k")),
		Keep(func(scope string) bool { return scope == "mine" }))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	for _, scope := range []string{"mine", "foreign"} {
		_, span := provider.Tracer(scope).Start(t.Context(), "span-of-"+scope)
		span.End()
	}
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(bodies) != 1 || !bytes.Contains(bodies[0], []byte("span-of-mine")) {
		t.Fatalf("%q", bodies)
	}
	if paths[0] != "/base/v1/traces" || keys[0] != "Bearer k" {
		t.Errorf("%v %v", paths, keys)
	}
	if _, err := NewExporter(t.Context(), With(svc.WithEndpoint("not a url"))); err == nil {
		t.Error("a bad endpoint is taken")
	}
}
