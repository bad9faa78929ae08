package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"

	svc "svc.dev/sdk/go"
	"svc.dev/sdk/go/wire"
)

type spanRequest struct {
	Name        string                 `json:"name"`
	Kind        *svc.SpanKind          `json:"kind"`
	Input       json.RawMessage        `json:"input"`
	Output      json.RawMessage        `json:"output"`
	Model       string                 `json:"model"`
	Provider    string                 `json:"provider"`
	EntityName  string                 `json:"entity_name"`
	Usage       *wire.Usage            `json:"usage"`
	Attributes  map[string]any         `json:"attributes"`
	Correlation *wire.CorrelationInput `json:"correlation"`
	Traceparent *string                `json:"traceparent"`
	Events      []struct {
		Name       string         `json:"name"`
		Attributes map[string]any `json:"attributes"`
	} `json:"events"`
	Error  *string   `json:"error"`
	Hop    bool      `json:"hop"`
	Inside []request `json:"inside"`
}

func (w spanRequest) options() []svc.SpanOption {
	options := []svc.SpanOption{
		svc.Model(w.Model), svc.Provider(w.Provider), svc.Entity(w.EntityName), svc.Attributes(w.Attributes),
	}
	if w.Kind != nil {
		options = append(options, svc.Kind(*w.Kind))
	}
	if w.Input != nil {
		options = append(options, svc.Input(w.Input))
	}
	if w.Correlation != nil {
		options = append(options, svc.Correlated(*w.Correlation))
	}
	if w.Traceparent != nil {
		options = append(options, svc.Traceparent(*w.Traceparent))
	}
	return options
}

func (w spanRequest) set(span *svc.Span) {
	if w.Output != nil {
		span.Output(w.Output)
	}
	if w.Usage != nil {
		span.SetUsage(*w.Usage)
	}
	for _, event := range w.Events {
		span.Event(event.Name, event.Attributes)
	}
}

func (f *fixture) span(ctx context.Context, w spanRequest) (any, error) {
	ok := object{}
	err := f.tracer().Do(ctx, w.Name, func(ctx context.Context, span *svc.Span) error {
		ok["trace_id"], ok["span_id"], ok["traceparent"] = span.TraceID(), span.SpanID(), span.Traceparent()
		w.set(span)
		if w.Hop {
			done := make(chan struct{})
			go func() {
				defer close(done)
				ok["inside"] = f.inside(ctx, w.Inside)
			}()
			<-done
		} else {
			ok["inside"] = f.inside(ctx, w.Inside)
		}
		if w.Error != nil {
			return errors.New(*w.Error)
		}
		return nil
	}, w.options()...)
	if err != nil {
		ok["raised"] = err.Error()
	}
	return ok, nil
}

func (f *fixture) inside(ctx context.Context, requests []request) []any {
	results := []any{}
	for _, each := range requests {
		result, err := f.signals[each.Do](ctx, each.With)
		if err != nil {
			result = object{"error": errorOf(err)}
		}
		results = append(results, result)
	}
	return results
}

type logRequest struct {
	Severity   wire.Severity  `json:"severity"`
	Message    string         `json:"message"`
	Logger     string         `json:"logger"`
	Attributes map[string]any `json:"attributes"`
}

func (w logRequest) log() svc.Log {
	return svc.Log{Severity: w.Severity, Message: w.Message, Logger: w.Logger, Attributes: w.Attributes}
}

type metricRequest struct {
	Name         string          `json:"name"`
	Type         wire.MetricType `json:"type"`
	Value        float64         `json:"value"`
	Count        int64           `json:"count"`
	Sum          float64         `json:"sum"`
	Bounds       []float64       `json:"bounds"`
	BucketCounts []int64         `json:"bucket_counts"`
	Unit         string          `json:"unit"`
	Attributes   map[string]any  `json:"attributes"`
}

func (f *fixture) metric(ctx context.Context, w metricRequest) (any, error) {
	metric := svc.Metric{Name: w.Name, Unit: w.Unit, Attributes: w.Attributes}
	switch w.Type {
	case wire.MetricTypeHistogram:
		f.tracer().Histogram(ctx, metric,
			svc.Histogram{Count: w.Count, Sum: w.Sum, Bounds: w.Bounds, BucketCounts: w.BucketCounts})
	case wire.MetricTypeGauge:
		f.tracer().Gauge(ctx, metric, w.Value)
	default:
		f.tracer().Counter(ctx, metric, w.Value)
	}
	return object{}, nil
}

type scoreRequest struct {
	ScorerID string           `json:"scorer_id"`
	Value    float64          `json:"value"`
	Min      float64          `json:"min"`
	Max      float64          `json:"max"`
	TraceID  string           `json:"trace_id"`
	SpanID   string           `json:"span_id"`
	Label    string           `json:"label"`
	Reason   string           `json:"reason"`
	Source   wire.ScoreSource `json:"source"`
	Metadata map[string]any   `json:"metadata"`
}

func (w scoreRequest) score() svc.Score {
	return svc.Score{
		ScorerID: w.ScorerID, Value: w.Value, Min: w.Min, Max: w.Max, TraceID: w.TraceID, SpanID: w.SpanID,
		Label: w.Label, Reason: w.Reason, Source: w.Source, Metadata: w.Metadata,
	}
}

type feedbackRequest struct {
	Kind       wire.FeedbackKind `json:"kind"`
	Value      any               `json:"value"`
	TraceID    string            `json:"trace_id"`
	SpanID     string            `json:"span_id"`
	Comment    string            `json:"comment"`
	AuthorKind wire.AuthorKind   `json:"author_kind"`
	AuthorID   string            `json:"author_id"`
	ScaleMin   float64           `json:"scale_min"`
	ScaleMax   float64           `json:"scale_max"`
}

func (w feedbackRequest) feedback() svc.Feedback {
	return svc.Feedback{
		Kind: w.Kind, Value: w.Value, TraceID: w.TraceID, SpanID: w.SpanID, Comment: w.Comment,
		AuthorKind: w.AuthorKind, AuthorID: w.AuthorID, ScaleMin: w.ScaleMin, ScaleMax: w.ScaleMax,
	}
}

type noteRequest struct {
	Aspect  string `json:"aspect"`
	Text    string `json:"text"`
	TraceID string `json:"trace_id"`
	SpanID  string `json:"span_id"`
	Model   string `json:"model"`
}

// panics is a value whose own encoder panics.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON of this") }

func (f *fixture) hostile(ctx context.Context, w struct{ Name, What string }) (any, error) {
	cycle := object{}
	cycle["self"] = cycle
	values := object{
		"cycle": cycle, "nan": math.NaN(), "huge": strings.Repeat("x", 8<<20), "bad_text": "a\xffb", "throws": panics{},
	}
	_, span := f.tracer().Span(ctx, w.Name, svc.Input(values[w.What]))
	span.End()
	return object{}, nil
}

func (f *fixture) burst(ctx context.Context, w struct {
	Count        int     `json:"count"`
	PayloadBytes int     `json:"payload_bytes"`
	Threads      int     `json:"threads"`
	Prefix       *string `json:"prefix"`
}) (any, error) {
	prefix := "burst-"
	if w.Prefix != nil {
		prefix = *w.Prefix
	}
	var options []svc.SpanOption
	if w.PayloadBytes > 0 {
		options = append(options, svc.Input(strings.Repeat("x", w.PayloadBytes)))
	}
	record := func(count int, prefix string) {
		for i := range count {
			_, span := f.tracer().Span(ctx, fmt.Sprint(prefix, i), options...)
			span.End()
		}
	}
	if w.Threads == 0 {
		record(w.Count, prefix)
		return object{}, nil
	}
	var threads sync.WaitGroup
	for thread := range w.Threads {
		threads.Go(func() { record(w.Count/w.Threads, fmt.Sprint(prefix, thread, "-")) })
	}
	threads.Wait()
	return object{}, nil
}

type timeoutRequest struct {
	TimeoutMS *float64 `json:"timeout_ms"`
}

func (w timeoutRequest) context() (context.Context, context.CancelFunc) {
	if w.TimeoutMS == nil {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), after(*w.TimeoutMS))
}

func (f *fixture) signalVerbs() map[string]verb {
	return map[string]verb{
		"span":    taking(f.span),
		"metric":  taking(f.metric),
		"hostile": taking(f.hostile),
		"burst":   taking(f.burst),
		"log": taking(func(ctx context.Context, w logRequest) (any, error) {
			f.tracer().Log(ctx, w.log())
			return object{}, nil
		}),
		"score": taking(func(ctx context.Context, w scoreRequest) (any, error) {
			f.tracer().Score(ctx, w.score())
			return object{}, nil
		}),
		"feedback": taking(func(ctx context.Context, w feedbackRequest) (any, error) {
			f.tracer().Feedback(ctx, w.feedback())
			return object{}, nil
		}),
		"aspect_note": taking(func(ctx context.Context, w noteRequest) (any, error) {
			f.tracer().AspectNote(ctx, svc.AspectNote(w))
			return object{}, nil
		}),
		"log.native": taking(func(ctx context.Context, w struct{ Level, Message string }) (any, error) {
			var level slog.Level
			if err := level.UnmarshalText([]byte(w.Level)); err != nil {
				return nil, err
			}
			slog.New(svc.NewLogHandler(f.tracer(), slog.LevelDebug)).Log(ctx, level, w.Message)
			return object{}, nil
		}),
		"counters": taking(func(context.Context, struct{}) (any, error) {
			found := f.tracer().Counters()
			return object{
				"sent": found.Sent, "dropped": found.Dropped, "refused": found.Refused, "failed": found.Failed,
				"invalid": found.Invalid,
			}, nil
		}),
		"flush": taking(func(_ context.Context, w timeoutRequest) (any, error) {
			ctx, cancel := w.context()
			defer cancel()
			return object{"flushed": f.tracer().Flush(ctx) == nil}, nil
		}),
		"close": taking(func(_ context.Context, w timeoutRequest) (any, error) {
			ctx, cancel := w.context()
			defer cancel()
			// What was not delivered is in the counters.
			_ = f.tracer().Close(ctx)
			return object{}, nil
		}),
	}
}
