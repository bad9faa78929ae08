package svc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc.dev/sdk/go/wire"
)

// SpanKind says what a span is of.
type SpanKind = wire.SpanKind

// Kinds of spans.
const (
	ModelGeneration  = wire.SpanKindModelGeneration
	WorkflowRun      = wire.SpanKindWorkflowRun
	ToolCall         = wire.SpanKindToolCall
	AgentRun         = wire.SpanKindAgentRun
	Retrieval        = wire.SpanKindRetrieval
	RAGEmbedding     = wire.SpanKindRagEmbedding
	RAGAction        = wire.SpanKindRagAction
	Guardrail        = wire.SpanKindGuardrail
	ScorerRun        = wire.SpanKindScorerRun
	MCPToolCall      = wire.SpanKindMcpToolCall
	HTTPRequest      = wire.SpanKindHttpRequest
	Generic          = wire.SpanKindGeneric
	ClientToolCall   = wire.SpanKindClientToolCall
	ProviderToolCall = wire.SpanKindProviderToolCall
)

type spanConfig struct {
	kind                    SpanKind
	model, provider, entity string
	input                   any
	attributes              map[string]any
	correlation             *wire.CorrelationInput
	traceparent             *string
}

// SpanOption says something of a span at its start.
type SpanOption func(*spanConfig)

// Kind says what the span is of; Generic by default.
func Kind(kind SpanKind) SpanOption { return func(c *spanConfig) { c.kind = kind } }

// Input sets what the work was given: anything that encoding/json can write.
func Input(input any) SpanOption { return func(c *spanConfig) { c.input = input } }

// Model names the model that is called, as the price book does.
func Model(name string) SpanOption { return func(c *spanConfig) { c.model = name } }

// Provider names who serves the model: "openai".
func Provider(name string) SpanOption { return func(c *spanConfig) { c.provider = name } }

// Entity names the agent, tool or retriever that this is an operation of.
func Entity(name string) SpanOption { return func(c *spanConfig) { c.entity = name } }

// Attributes sets attributes of the span.
func Attributes(attributes map[string]any) SpanOption {
	return func(c *spanConfig) { c.attributes = attributes }
}

// Correlated says what the span, and all below it, belong to: a user, a session. What is left out is that of the span
// around it.
func Correlated(correlation wire.CorrelationInput) SpanOption {
	return func(c *spanConfig) { c.correlation = &correlation }
}

// Traceparent continues the trace of an incoming request, by its header. A malformed one, or an empty one, begins a new
// trace.
func Traceparent(header string) SpanOption { return func(c *spanConfig) { c.traceparent = &header } }

// Span is a span that runs. Its methods may be called until its end, in any order and from any goroutine; none of them
// fails. A nil Span takes all calls, and records nothing.
type Span struct {
	tracer   *Instrumentation
	context  *spanContext
	parentID string
	kept     bool
	name     string
	kind     SpanKind
	started  time.Time

	mu                      sync.Mutex
	ended                   bool
	model, provider, entity string
	input, output           jsonValue
	usage                   *wire.Usage
	cost                    *wire.CostInput
	attributes              []attribute
	events                  []byte
	failure                 *wire.SpanError
}

// Span starts a span, and gives a context for what runs inside: spans and signals of that context belong to it. Its
// caller ends it:
//
//	ctx, span := tracer.Span(ctx, "draft", svc.Kind(svc.ModelGeneration), svc.Model("gpt-4o-mini"))
//	defer span.End()
func (t *Instrumentation) Span(ctx context.Context, name string, options ...SpanOption) (context.Context, *Span) {
	config := spanConfig{kind: Generic}
	for _, option := range options {
		option(&config)
	}
	around := t.active(ctx)
	own := &spanContext{spanID: newSpanID(), correlation: t.base, correlationText: t.baseText}
	parentID := ""
	if around != nil {
		own.correlation, own.correlationText = around.correlation, around.correlationText
		own.onModelSpan = around.onModelSpan
		own.traceID, parentID = around.traceID, around.spanID
	}
	if config.traceparent != nil {
		own.traceID, parentID, _ = parseTraceparent(*config.traceparent)
	} else if t.bridge != nil {
		if traceID, spanID, ok := t.bridge.Current(ctx); ok {
			own.traceID, parentID = traceID, spanID
		}
	}
	if own.traceID == "" {
		own.traceID = newTraceID()
	}
	if config.correlation != nil {
		own.correlation = merged(own.correlation, *config.correlation)
		own.correlationText = correlationText(own.correlation)
	}
	span := &Span{
		tracer:   t,
		context:  own,
		parentID: parentID,
		kept:     t.keeps(own.traceID),
		name:     name,
		kind:     config.kind,
		model:    config.model,
		provider: config.provider,
		entity:   config.entity,
	}
	if span.kept {
		if config.input != nil {
			span.input = valueOf(config.input)
		}
		for key, value := range config.attributes {
			span.setAttribute(key, value)
		}
	}
	ctx = context.WithValue(ctx, t.realm, own)
	if t.bridge != nil {
		ctx = t.bridge.Attach(ctx, own.traceID, own.spanID, span.kept)
	}
	span.started = time.Now()
	return ctx, span
}

// Do runs work under a span. The error of the work marks the span, and is returned unchanged; so does a panic, which
// goes on.
func (t *Instrumentation) Do(ctx context.Context, name string, work func(context.Context, *Span) error, options ...SpanOption) error {
	ctx, span := t.Span(ctx, name, options...)
	returned := false
	defer func() {
		// It is not recovered: whoever does finds it as it was.
		if !returned {
			_ = span.Fail(errors.New("the work panicked"))
		}
		span.End()
	}()
	err := work(ctx, span)
	returned = true
	return span.Fail(err)
}

// TraceID is 32 characters of lowercase hex.
func (s *Span) TraceID() string {
	if s == nil {
		return ""
	}
	return s.context.traceID
}

// SpanID is 16 characters of lowercase hex.
func (s *Span) SpanID() string {
	if s == nil {
		return ""
	}
	return s.context.spanID
}

// Traceparent is the traceparent header for a service that continues this trace.
func (s *Span) Traceparent() string {
	if s == nil {
		return ""
	}
	return traceparentOf(s.context.traceID, s.context.spanID, s.kept)
}

// change makes a change of a span that has not ended.
func (s *Span) change(change func()) *Span {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		change()
	}
	return s
}

// Input sets what the work was given: anything that encoding/json can write.
func (s *Span) Input(input any) *Span {
	if s == nil || !s.kept {
		return s
	}
	value := valueOf(input)
	return s.change(func() { s.input = value })
}

// Output sets what the work gave: anything that encoding/json can write.
func (s *Span) Output(output any) *Span {
	if s == nil || !s.kept {
		return s
	}
	value := valueOf(output)
	return s.change(func() { s.output = value })
}

// Model names the model that was called.
func (s *Span) Model(name string) *Span { return s.change(func() { s.model = name }) }

// Provider names who serves the model.
func (s *Span) Provider(name string) *Span { return s.change(func() { s.provider = name }) }

// Entity names the agent, tool or retriever that this is an operation of.
func (s *Span) Entity(name string) *Span { return s.change(func() { s.entity = name }) }

// Usage sets the tokens of a model call. On a step of a run they are reported as the step's usage too.
func (s *Span) Usage(inputTokens, outputTokens int64) *Span {
	return s.SetUsage(wire.Usage{InputTokens: &inputTokens, OutputTokens: &outputTokens})
}

// SetUsage is [Span.Usage] with all its members. A count that is not known is left nil.
func (s *Span) SetUsage(usage wire.Usage) *Span { return s.change(func() { s.usage = &usage }) }

// Cost sets the money of a call where it is known; else the service prices the usage.
func (s *Span) Cost(cost wire.CostInput) *Span { return s.change(func() { s.cost = &cost }) }

// Attribute sets one attribute.
func (s *Span) Attribute(key string, value any) *Span {
	if s == nil || !s.kept {
		return s
	}
	return s.change(func() { s.setAttribute(key, value) })
}

// Event marks a moment within the span. The attributes may be nil.
func (s *Span) Event(name string, attributes map[string]any) *Span {
	if s == nil || !s.kept {
		return s
	}
	now := time.Now()
	text := append([]byte(`{"name":`), stringText(name)...)
	text = append(text, `,"time":"`...)
	text = appendTimestamp(text, now)
	text = append(text, `","attributes":`...)
	text = appendAttributes(text, attributesOf(attributes))
	text = append(text, '}')
	return s.change(func() {
		if len(s.events) > 0 {
			s.events = append(s.events, ',')
		}
		s.events = append(s.events, text...)
	})
}

// Fail marks the span as failed, and gives the error back:
//
//	if err != nil {
//		return span.Fail(err)
//	}
//
// A nil error marks nothing.
func (s *Span) Fail(err error) error {
	if err == nil || s == nil || !s.kept {
		return err
	}
	failure := &wire.SpanError{Message: errorText(err), Type: fmt.Sprintf("%T", err)}
	s.change(func() { s.failure = failure })
	return err
}

// errorText is the message of an error, also of one whose Error panics.
func errorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", err)
		}
	}()
	if text = err.Error(); text == "" {
		text = fmt.Sprintf("%T", err)
	}
	return text
}

// End ends the span, once; a second call does nothing.
func (s *Span) End() {
	if s == nil {
		return
	}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.mu.Unlock()
	if told := s.context.onModelSpan; told != nil && (s.usage != nil || s.kind == ModelGeneration) {
		told(s.model, s.usage)
	}
	if s.kept {
		took := time.Since(s.started)
		scratch := s.tracer.takeScratch()
		*scratch = s.appendTo((*scratch)[:0], took)
		s.tracer.queue.add(spanSignal, *scratch)
		s.tracer.giveScratch(scratch)
	}
}
