package svc

import (
	"context"
	"math"
	"time"

	"svc.dev/sdk/go/wire"
)

// Log is a log line.
type Log struct {
	// Severity is SeverityInfo of package wire where it is empty.
	Severity wire.Severity
	Message  string
	// Logger names who says it; it may be empty.
	Logger     string
	Attributes map[string]any

	// at is when it was said; zero: now.
	at time.Time
}

// Metric names what is measured.
type Metric struct {
	Name string
	// Unit is that of the values, such as "ms"; it may be empty.
	Unit       string
	Attributes map[string]any
}

// Histogram says how values of the time since the last call are spread.
type Histogram struct {
	Count int64
	// Sum is that of the values, in the unit of the metric.
	Sum float64
	// Bounds are the upper bounds of all buckets but the last, in rising order.
	Bounds []float64
	// BucketCounts are one more than Bounds.
	BucketCounts []int64
}

// Score is a machine's evaluation of a trace or a span; of the trace of the context where none is named.
type Score struct {
	ScorerID string
	Value    float64
	// Min and Max are the scale, without which a value says nothing: Min is below Max.
	Min, Max        float64
	TraceID, SpanID string
	ScorerVersion   string
	Label, Reason   string
	// Source is wire.ScoreSourceLive where it is empty.
	Source wire.ScoreSource
	// ScoreTraceID is the trace of the evaluation itself.
	ScoreTraceID string
	Cost         *wire.CostInput
	ExperimentID string
	Metadata     map[string]any
}

// Feedback is a person's judgement of a trace or a span; of the trace of the context where none is named. It is counted
// by kind, and never averaged with anything.
type Feedback struct {
	Kind wire.FeedbackKind
	// Value is "up" or "down" of thumbs, a number of a rating, and a text of the other kinds.
	Value           any
	TraceID, SpanID string
	Comment         string
	AuthorKind      wire.AuthorKind
	// AuthorID is stored exactly as sent: send a pseudonymous id.
	AuthorID string
	// ScaleMin and ScaleMax are the scale of a rating; both 0 for none.
	ScaleMin, ScaleMax float64
	Metadata           map[string]any
}

// AspectNote is one sentence that a model wrote about a run; about the trace of the context where none is named.
type AspectNote struct {
	Aspect, Text    string
	TraceID, SpanID string
	// Model names who wrote it; it may be empty.
	Model string
}

// Log records a log line, of the span of the context where there is one.
func (t *Instrumentation) Log(ctx context.Context, log Log) {
	around := t.active(ctx)
	if !t.settings.enabled || (around != nil && !t.keeps(around.traceID)) {
		return
	}
	if log.Severity == "" {
		log.Severity = wire.SeverityInfo
	}
	if log.at.IsZero() {
		log.at = time.Now()
	}
	record := wire.LogRecordInput{
		Timestamp:   timestamp(log.at),
		Severity:    log.Severity,
		Message:     log.Message,
		Logger:      log.Logger,
		Attributes:  attributesObject(log.Attributes),
		Correlation: t.correlation(around),
	}
	if around != nil {
		record.TraceID, record.SpanID = around.traceID, around.spanID
	}
	t.add(logSignal, record)
}

// Counter counts: value is what came since the last call.
func (t *Instrumentation) Counter(ctx context.Context, metric Metric, value float64) {
	t.metric(ctx, metric, wire.MetricPointInput{
		Type: wire.MetricTypeCounter, Temporality: wire.TemporalityDelta, Value: &value,
	}, value)
}

// Gauge says how much there is now.
func (t *Instrumentation) Gauge(ctx context.Context, metric Metric, value float64) {
	t.metric(ctx, metric, wire.MetricPointInput{Type: wire.MetricTypeGauge, Value: &value}, value)
}

// Histogram says how values are spread.
func (t *Instrumentation) Histogram(ctx context.Context, metric Metric, spread Histogram) {
	if len(spread.BucketCounts) != len(spread.Bounds)+1 {
		t.queue.addInvalid()
		return
	}
	t.metric(ctx, metric, wire.MetricPointInput{
		Type:         wire.MetricTypeHistogram,
		Temporality:  wire.TemporalityDelta,
		Count:        &spread.Count,
		Sum:          &spread.Sum,
		Bounds:       append(wire.List[float64]{}, spread.Bounds...),
		BucketCounts: spread.BucketCounts,
	}, append([]float64{spread.Sum}, spread.Bounds...)...)
}

func (t *Instrumentation) metric(ctx context.Context, metric Metric, point wire.MetricPointInput, numbers ...float64) {
	if !t.settings.enabled {
		return
	}
	if metric.Name == "" || !areFinite(numbers...) {
		t.queue.addInvalid()
		return
	}
	point.Name, point.Unit = metric.Name, metric.Unit
	point.Timestamp = timestamp(time.Now())
	point.Attributes = attributesObject(metric.Attributes)
	point.Correlation = t.correlation(t.active(ctx))
	t.add(metricSignal, point)
}

// Score records a score. One without a scale, or about nothing, is counted as invalid.
func (t *Instrumentation) Score(ctx context.Context, score Score) {
	if !t.settings.enabled {
		return
	}
	around := t.active(ctx)
	traceID, spanID := aboutOf(around, score.TraceID, score.SpanID)
	if !areFinite(score.Value, score.Min, score.Max) || score.Min >= score.Max || (traceID == "" && spanID == "") {
		t.queue.addInvalid()
		return
	}
	if score.Source == "" {
		score.Source = wire.ScoreSourceLive
	}
	t.add(scoreSignal, wire.ScoreInput{
		TraceID:       traceID,
		SpanID:        spanID,
		ScorerID:      score.ScorerID,
		ScorerVersion: score.ScorerVersion,
		Value:         score.Value,
		Min:           &score.Min,
		Max:           &score.Max,
		Label:         score.Label,
		Reason:        score.Reason,
		Source:        score.Source,
		ScoreTraceID:  score.ScoreTraceID,
		Cost:          score.Cost,
		Timestamp:     timestamp(time.Now()),
		Correlation:   t.correlation(around),
		ExperimentID:  score.ExperimentID,
		Metadata:      attributesObject(score.Metadata),
	})
}

// Feedback records a judgement. One about nothing is counted as invalid.
func (t *Instrumentation) Feedback(ctx context.Context, feedback Feedback) {
	if !t.settings.enabled {
		return
	}
	around := t.active(ctx)
	traceID, spanID := aboutOf(around, feedback.TraceID, feedback.SpanID)
	value, err := encode(feedback.Value)
	if err != nil || (traceID == "" && spanID == "") {
		t.queue.addInvalid()
		return
	}
	metadata := feedback.Metadata
	if feedback.ScaleMin != feedback.ScaleMax {
		metadata = map[string]any{}
		for name, each := range feedback.Metadata {
			metadata[name] = each
		}
		metadata["scale_min"], metadata["scale_max"] = feedback.ScaleMin, feedback.ScaleMax
	}
	t.add(feedbackSignal, wire.FeedbackInput{
		TraceID:     traceID,
		SpanID:      spanID,
		Kind:        feedback.Kind,
		Value:       value,
		Comment:     feedback.Comment,
		AuthorKind:  feedback.AuthorKind,
		AuthorID:    feedback.AuthorID,
		Metadata:    attributesObject(metadata),
		Timestamp:   timestamp(time.Now()),
		Correlation: t.correlation(around),
	})
}

// AspectNote records a note. One about no trace is counted as invalid.
func (t *Instrumentation) AspectNote(ctx context.Context, note AspectNote) {
	if !t.settings.enabled {
		return
	}
	around := t.active(ctx)
	traceID, spanID := aboutOf(around, note.TraceID, note.SpanID)
	if traceID == "" && around != nil {
		traceID = around.traceID
	}
	if traceID == "" {
		t.queue.addInvalid()
		return
	}
	t.add(noteSignal, wire.AspectNoteInput{
		TraceID:     traceID,
		SpanID:      spanID,
		Aspect:      note.Aspect,
		Text:        note.Text,
		Model:       note.Model,
		Timestamp:   timestamp(time.Now()),
		Correlation: t.correlation(around),
	})
}

// aboutOf is what a signal is about: what was named, else the trace around the call.
func aboutOf(around *spanContext, traceID, spanID string) (string, string) {
	if traceID == "" && spanID == "" && around != nil {
		traceID = around.traceID
	}
	return traceID, spanID
}

func (t *Instrumentation) correlation(around *spanContext) *wire.CorrelationInput {
	correlation, text := &t.base, t.baseText
	if around != nil {
		correlation, text = &around.correlation, around.correlationText
	}
	if text == nil {
		return nil
	}
	return correlation
}

func (t *Instrumentation) add(kind signalKind, signal any) {
	text, err := encode(signal)
	if err != nil {
		t.queue.addInvalid()
		return
	}
	t.queue.add(kind, text)
}

// attributesObject is the JSON of attributes; nil for none. A value that is not JSON becomes a text that says so.
func attributesObject(attributes map[string]any) wire.Object {
	if len(attributes) == 0 {
		return nil
	}
	return wire.Object(appendAttributes(nil, attributesOf(attributes)))
}

func areFinite(numbers ...float64) bool {
	for _, number := range numbers {
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return false
		}
	}
	return true
}
