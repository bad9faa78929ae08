package svc

import (
	"context"
	"log/slog"

	"svc.dev/sdk/go/wire"
)

// LogHandler is a slog.Handler that records log lines as signals, each of the span of its context:
//
//	logger := slog.New(svc.NewLogHandler(tracer, slog.LevelInfo))
//	logger.InfoContext(ctx, "paid", "amount", 40)
//
// Groups become a part of the names of their attributes: "payment.amount".
type LogHandler struct {
	tracer *Instrumentation
	level  slog.Leveler
	// fixed are the attributes of WithAttrs, prefix the open groups, with a dot at the end.
	fixed  map[string]any
	prefix string
}

// NewLogHandler takes records of a level and above; nil is slog.LevelInfo.
func NewLogHandler(tracer *Instrumentation, level slog.Leveler) *LogHandler {
	if level == nil {
		level = slog.LevelInfo
	}
	return &LogHandler{tracer: tracer, level: level}
}

// Enabled says whether records of a level are taken.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle records a log line. It never fails.
func (h *LogHandler) Handle(ctx context.Context, record slog.Record) error {
	attributes := h.copied()
	record.Attrs(func(attr slog.Attr) bool {
		flatten(attributes, h.prefix, attr)
		return true
	})
	h.tracer.Log(ctx, Log{
		Severity:   severityOf(record.Level),
		Message:    record.Message,
		Attributes: attributes,
		at:         record.Time,
	})
	return nil
}

// WithAttrs is a handler whose records have more attributes.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *h
	more.fixed = h.copied()
	for _, attr := range attrs {
		flatten(more.fixed, h.prefix, attr)
	}
	return &more
}

// WithGroup is a handler whose further attributes belong to a group.
func (h *LogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	more := *h
	more.prefix += name + "."
	return &more
}

func (h *LogHandler) copied() map[string]any {
	attributes := make(map[string]any, len(h.fixed))
	for name, value := range h.fixed {
		attributes[name] = value
	}
	return attributes
}

func flatten(into map[string]any, prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attr.Key != "" {
			prefix += attr.Key + "."
		}
		for _, inner := range value.Group() {
			flatten(into, prefix, inner)
		}
		return
	}
	if attr.Equal(slog.Attr{}) {
		return
	}
	plain := value.Any()
	// encoding/json would write an error as {}.
	if err, ok := plain.(error); ok && err != nil {
		plain = errorText(err)
	}
	into[prefix+attr.Key] = plain
}

// fatalLevel is as far above slog.LevelError as that is above slog.LevelWarn: slog has no name for it.
const fatalLevel = slog.LevelError + 4

func severityOf(level slog.Level) wire.Severity {
	switch {
	case level >= fatalLevel:
		return wire.SeverityFatal
	case level >= slog.LevelError:
		return wire.SeverityError
	case level >= slog.LevelWarn:
		return wire.SeverityWarn
	case level >= slog.LevelInfo:
		return wire.SeverityInfo
	case level >= slog.LevelDebug:
		return wire.SeverityDebug
	default:
		return wire.SeverityTrace
	}
}
