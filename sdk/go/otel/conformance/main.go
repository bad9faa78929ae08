// Program conformance joins the conformance kit to the library and its bridge to OpenTelemetry. See
// sdk/conformance/README.md.
package main

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"svc.dev/sdk/go/internal/fixture"
	"svc.dev/sdk/go/otel"
)

func main() {
	tracer := sdktrace.NewTracerProvider().Tracer("fixture")
	fixture.Main(&fixture.OpenTelemetry{
		Bridge: otel.Bridge{},
		Under: func(ctx context.Context, name string, inside func(context.Context)) (string, string) {
			ctx, span := tracer.Start(ctx, name)
			defer span.End()
			inside(ctx)
			return span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()
		},
	})
}
