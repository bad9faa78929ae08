// The OpenTelemetry Go SDK by hand: spans, logs and metrics, over OTLP by gRPC or HTTP.
// Endpoint, headers, compression and timeout come from OTEL_EXPORTER_OTLP_*, as a user would set them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
)

type exporters struct {
	spans   trace.SpanExporter
	logs    sdklog.Exporter
	metrics metric.Exporter
}

func open(ctx context.Context, transport string) (found exporters, err error) {
	var spans *otlptrace.Exporter
	if transport == "grpc" {
		spans, err = otlptracegrpc.New(ctx)
		if err == nil {
			found.logs, err = otlploggrpc.New(ctx)
		}
		if err == nil {
			found.metrics, err = otlpmetricgrpc.New(ctx)
		}
	} else {
		spans, err = otlptracehttp.New(ctx)
		if err == nil {
			found.logs, err = otlploghttp.New(ctx)
		}
		if err == nil {
			found.metrics, err = otlpmetrichttp.New(ctx)
		}
	}
	found.spans = spans
	return found, err
}

func refund(ctx context.Context, payload string) {
	tracer := otel.Tracer("refund-bot")
	ctx, root := tracer.Start(ctx, "handle refund")
	defer root.End()
	root.SetAttributes(
		attribute.String("session.id", "conversation-1"),
		attribute.String("user.id", "user-1"),
		attribute.String("gen_ai.operation.name", "invoke_agent"),
	)
	_, chat := tracer.Start(ctx, "chat gpt-4o-mini")
	chat.SetAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "openai"),
		attribute.String("gen_ai.request.model", "gpt-4o-mini"),
		attribute.Int("gen_ai.usage.input_tokens", 1000),
		attribute.Int("gen_ai.usage.output_tokens", 50),
		attribute.Int("gen_ai.usage.cache_read.input_tokens", 400),
		attribute.String("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Refund order A-17`+payload+`"}]}]`),
		attribute.String("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"The refund was approved."}]}]`),
	)
	chat.End()
	_, pay := tracer.Start(ctx, "pay")
	pay.SetAttributes(attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", "pay"))
	pay.RecordError(errors.New("card declined"))
	pay.SetStatus(codes.Error, "card declined")
	pay.End()
}

func main() {
	ctx := context.Background()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { fmt.Fprintln(os.Stderr, "otel:", err) }))
	found, err := open(ctx, os.Getenv("TRANSPORT"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	tracing := trace.NewTracerProvider(trace.WithBatcher(found.spans))
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(found.logs)))
	metering := metric.NewMeterProvider(metric.WithReader(metric.NewPeriodicReader(found.metrics)))
	otel.SetTracerProvider(tracing)

	bytes, _ := strconv.Atoi(os.Getenv("PAYLOAD_BYTES"))
	refund(ctx, strings.Repeat("x", bytes))

	var record log.Record
	record.SetTimestamp(time.Now())
	record.SetSeverity(log.SeverityError)
	record.SetBody(attribute.StringValue("card declined"))
	logging.Logger("refund-bot.pay").Emit(ctx, record)

	meter := metering.Meter("refund-bot")
	refunds, _ := meter.Int64Counter("refunds")
	refunds.Add(ctx, 1)
	amounts, _ := meter.Float64Histogram("refund_amount")
	amounts.Record(ctx, 42.5)

	for _, shutdown := range []func(context.Context) error{tracing.Shutdown, logging.Shutdown, metering.Shutdown} {
		if err := shutdown(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "shutdown:", err)
		}
	}
}
