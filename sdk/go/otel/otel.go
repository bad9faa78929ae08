// Package otel joins instrumentation of package svc and OpenTelemetry. Nothing here sets or uses a global provider.
//
// [Bridge] nests spans of both: svc.NewInstrumentation(svc.WithBridge(otel.Bridge{})). [NewExporter] sends the spans of
// a provider that is yours to the service.
package otel

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	svc "svc.dev/sdk/go"
)

// Bridge makes an active OpenTelemetry span the parent of ours, and ours the parent of theirs, as one that
// OpenTelemetry does not record. So calls that an OpenTelemetry instrumentation watches nest below our spans, and carry
// our traceparent.
type Bridge struct{}

var _ svc.ContextBridge = Bridge{}

// Current gives trace id and span id of the active OpenTelemetry span, ours included.
func (Bridge) Current(ctx context.Context) (traceID, spanID string, ok bool) {
	found := trace.SpanContextFromContext(ctx)
	if !found.IsValid() {
		return "", "", false
	}
	return found.TraceID().String(), found.SpanID().String(), true
}

// Attach makes a span of ours the active one.
func (Bridge) Attach(ctx context.Context, traceID, spanID string, sampled bool) context.Context {
	var config trace.SpanContextConfig
	var err error
	if config.TraceID, err = trace.TraceIDFromHex(traceID); err != nil {
		return ctx
	}
	if config.SpanID, err = trace.SpanIDFromHex(spanID); err != nil {
		return ctx
	}
	config.TraceFlags = config.TraceFlags.WithSampled(sampled)
	return trace.ContextWithSpanContext(ctx, trace.NewSpanContext(config))
}

type config struct {
	settings []svc.Option
	keep     func(scope string) bool
}

// Option is an option of [NewExporter].
type Option func(*config)

// With gives settings of package svc in code: the endpoint and the key.
func With(settings ...svc.Option) Option {
	return func(c *config) { c.settings = append(c.settings, settings...) }
}

// Keep says by the name of their instrumentation scope which spans are sent, so that a provider that others write to as
// well does not send what is not meant. Without it all are.
func Keep(scope func(name string) bool) Option { return func(c *config) { c.keep = scope } }

// NewExporter sends spans to the service over OTLP/HTTP, with the settings of svc.NewInstrumentation. It is for a
// provider of yours:
//
//	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//
// It returns an *svc.ArgumentError on a setting that cannot be used.
func NewExporter(ctx context.Context, options ...Option) (sdktrace.SpanExporter, error) {
	var c config
	for _, option := range options {
		option(&c)
	}
	url, headers, err := svc.OTLPTraces(c.settings...)
	if err != nil {
		return nil, err
	}
	inner, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithHeaders(headers))
	if err != nil || c.keep == nil {
		return inner, err
	}
	return filtered{inner, c.keep}, nil
}

type filtered struct {
	sdktrace.SpanExporter
	keep func(scope string) bool
}

// ExportSpans sends those that are kept.
func (f filtered) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var kept []sdktrace.ReadOnlySpan
	for _, span := range spans {
		if f.keep(span.InstrumentationScope().Name) {
			kept = append(kept, span)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return f.SpanExporter.ExportSpans(ctx, kept)
}
