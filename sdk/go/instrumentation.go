package svc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	// DefaultCloseTimeout bounds a Flush or a Close whose context has no deadline.
	DefaultCloseTimeout = 5 * time.Second

	defaultMaxQueued = 10_000
	// The collector of Go lets the heap grow to twice what is live: the process holds some 40 MB with a full queue.
	defaultMaxQueuedBytes = 16 << 20
	defaultBatchSize      = 500
	defaultDelay          = 500 * time.Millisecond
	exportConnections     = 2
)

type instrumentationConfig struct {
	given          given
	maxQueued      int
	maxQueuedBytes int
	batchSize      int
	delay          time.Duration
	retry          RetryPolicy
	bridge         ContextBridge
}

// InstrumentationOption is an option of [NewInstrumentation]: an [Option], or one that is its own.
type InstrumentationOption interface {
	applyToInstrumentation(*instrumentationConfig)
}

type instrumentationOption func(*instrumentationConfig)

func (o instrumentationOption) applyToInstrumentation(config *instrumentationConfig) { o(config) }

// WithMaxQueued bounds what waits in memory while the service is slow or away: so many signals, 10,000 by default, and
// so many bytes of JSON, 16 MiB by default. The oldest go first. A bound of 0 is the default.
func WithMaxQueued(signals, bytes int) InstrumentationOption {
	return instrumentationOption(func(c *instrumentationConfig) {
		if signals > 0 {
			c.maxQueued = signals
		}
		if bytes > 0 {
			c.maxQueuedBytes = bytes
		}
	})
}

// WithBatch says how many signals travel together at most, 500 by default, and how long one waits for others to travel
// with, 500 ms by default. A size of 0 is the default, and so is a delay of 0.
func WithBatch(size int, delay time.Duration) InstrumentationOption {
	return instrumentationOption(func(c *instrumentationConfig) {
		if size > 0 {
			c.batchSize = size
		}
		if delay > 0 {
			c.delay = delay
		}
	})
}

// ContextBridge joins another tracing library, whose spans ours nest with. The module svc.dev/sdk/go/otel has one for
// OpenTelemetry.
type ContextBridge interface {
	// Current gives trace id and span id, in lowercase hex, of that library's active span.
	Current(ctx context.Context) (traceID, spanID string, ok bool)
	// Attach makes a span of ours that library's active one.
	Attach(ctx context.Context, traceID, spanID string, sampled bool) context.Context
}

// WithBridge nests spans of this library and of another one.
func WithBridge(bridge ContextBridge) InstrumentationOption {
	return instrumentationOption(func(c *instrumentationConfig) { c.bridge = bridge })
}

// Instrumentation records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background.
//
// Nothing here fails, and nothing here makes the code wait that it watches: a signal becomes JSON at once and goes into
// a bounded queue that drops its oldest. [Instrumentation.Counters] say what became of signals. A value that is not
// JSON is replaced by words that say so. Safe for concurrent use.
//
// A program closes it at its end, and so sends what is queued:
//
//	tracer := svc.NewInstrumentation()
//	defer tracer.Close(context.Background())
type Instrumentation struct {
	settings *settings
	// realm is the key of the active span in a context. Spans nest within one service as one caller sees it; those of
	// others are no business of it.
	realm     any
	base      wire.CorrelationInput
	baseText  []byte
	queue     *exportQueue
	transport *transport
	spec      *specCheck
	bridge    ContextBridge
	warned    sync.Once
	// scratch holds buffers in which spans are written before they are queued.
	scratch sync.Pool
}

type realm struct {
	endpoint  string
	keyDigest [sha256.Size]byte
}

// NewInstrumentation calls nothing, and starts no goroutine yet. A setting that cannot be used falls back to its
// default, is logged, and is named in [Instrumentation.Problems].
func NewInstrumentation(options ...InstrumentationOption) *Instrumentation {
	config := instrumentationConfig{
		maxQueued:      defaultMaxQueued,
		maxQueuedBytes: defaultMaxQueuedBytes,
		batchSize:      defaultBatchSize,
		delay:          defaultDelay,
	}
	for _, option := range options {
		option.applyToInstrumentation(&config)
	}
	read := readSettings(config.given, osEnvironment)
	for _, problem := range read.problems {
		read.logger.Warn("instrumentation: " + problem)
	}
	// Its own connections: what user code does with others cannot hold it up.
	connections := newTransport(read, exportConnections)
	t := &Instrumentation{
		settings: read,
		realm:    realm{read.endpoint, sha256.Sum256([]byte(read.apiKey.text()))},
		base: wire.CorrelationInput{
			Project:        read.project,
			Environment:    read.environment,
			ServiceName:    read.serviceName,
			ServiceVersion: read.serviceVersion,
		},
		transport: connections,
		spec:      &specCheck{transport: connections},
		bridge:    config.bridge,
	}
	t.baseText = correlationText(t.base)
	t.queue = newExportQueue(connections, &config, t.checkSpec)
	return t
}

func (t *Instrumentation) takeScratch() *[]byte {
	if buffer, ok := t.scratch.Get().(*[]byte); ok {
		return buffer
	}
	return new([]byte)
}

// giveScratch lets go of a large buffer: one large span must not hold its memory for good.
func (t *Instrumentation) giveScratch(buffer *[]byte) {
	if cap(*buffer) <= blockBytes {
		t.scratch.Put(buffer)
	}
}

// checkSpec warns once, and goes on, where the service has another major spec_version.
func (t *Instrumentation) checkSpec(ctx context.Context) {
	if fault, ok := as[*IncompatibleServerError](t.spec.ensure(ctx)); ok {
		t.warned.Do(func() { t.settings.logger.Warn("instrumentation: " + fault.Error()) })
	}
}

// correlationText is the JSON of a correlation; nil for an empty one.
func correlationText(correlation wire.CorrelationInput) []byte {
	text, err := encode(correlation)
	if err != nil || string(text) == "{}" {
		return nil
	}
	return text
}

// spanContext is what code runs under: the span that new ones become children of.
type spanContext struct {
	traceID, spanID string
	correlation     wire.CorrelationInput
	correlationText []byte
	// onModelSpan is called at the end of every model span below, and of any other that carries usage.
	onModelSpan func(model string, usage *wire.Usage)
}

func (t *Instrumentation) active(ctx context.Context) *spanContext {
	found, _ := ctx.Value(t.realm).(*spanContext)
	return found
}

// under is a context below a span that somebody else records: a step of a run.
func (t *Instrumentation) under(ctx context.Context, around *spanContext) context.Context {
	ctx = context.WithValue(ctx, t.realm, around)
	if t.bridge != nil {
		ctx = t.bridge.Attach(ctx, around.traceID, around.spanID, true)
	}
	return ctx
}

func (t *Instrumentation) keeps(traceID string) bool {
	return t.settings.enabled && isSampled(traceID, t.settings.sample)
}

// Traceparent is the traceparent header of the span of a context; empty outside of any.
func (t *Instrumentation) Traceparent(ctx context.Context) string {
	around := t.active(ctx)
	if around == nil {
		return ""
	}
	return traceparentOf(around.traceID, around.spanID, t.keeps(around.traceID))
}

// Inject adds the traceparent of the span of a context to the header of an outgoing request.
func (t *Instrumentation) Inject(ctx context.Context, header http.Header) {
	if text := t.Traceparent(ctx); text != "" {
		header.Set("Traceparent", text)
	}
}

// Problems are the settings that could not be used, in words.
func (t *Instrumentation) Problems() []string {
	return append([]string(nil), t.settings.problems...)
}

// Counters say what became of signals since the start.
func (t *Instrumentation) Counters() Counters { return t.queue.count() }

// Flush sends what is queued now. It returns nil once all of it was sent, refused or given up, and the error of the
// context where that ended first; a context without a deadline has [DefaultCloseTimeout].
func (t *Instrumentation) Flush(ctx context.Context) error {
	if !t.settings.enabled {
		return nil
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return t.queue.flush(ctx)
}

// Close sends what is queued until the context ends, then gives up the rest and stops; a context without a deadline has
// [DefaultCloseTimeout]. What is recorded later is dropped. It returns an error where signals were given up.
func (t *Instrumentation) Close(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	lost := t.queue.close(ctx)
	t.transport.close()
	if lost > 0 {
		return fmt.Errorf("svc: %d signals were not delivered", lost)
	}
	return nil
}

func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, DefaultCloseTimeout)
}
