package svc

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"svc.dev/sdk/go/wire"
)

const (
	traceIDLength = 32
	spanIDLength  = 16
)

// parseTraceparent reads a traceparent header. See W3C Trace Context, "traceparent Header".
func parseTraceparent(header string) (traceID, spanID string, ok bool) {
	version, rest, found := strings.Cut(strings.Trim(header, " \t"), "-")
	if !found || !isHex(version, 2) || version == "ff" {
		return "", "", false
	}
	fields := strings.SplitN(rest, "-", 4)
	if len(fields) < 3 || (version == "00" && len(fields) > 3) {
		return "", "", false
	}
	traceID, spanID = fields[0], fields[1]
	if !isID(traceID, traceIDLength) || !isID(spanID, spanIDLength) || !isHex(fields[2], 2) {
		return "", "", false
	}
	return traceID, spanID, true
}

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// isID: lowercase hex that is not all zero.
func isID(text string, length int) bool {
	return isHex(text, length) && strings.Trim(text, "0") != ""
}

// newTraceID need not be secret, only unique: the generator of math/rand/v2 is seeded by the system.
func newTraceID() string {
	var raw [traceIDLength / 2]byte
	binary.BigEndian.PutUint64(raw[:8], rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], notZero())
	return hex.EncodeToString(raw[:])
}

func newSpanID() string {
	var raw [spanIDLength / 2]byte
	binary.BigEndian.PutUint64(raw[:], notZero())
	return hex.EncodeToString(raw[:])
}

func notZero() uint64 {
	for {
		if number := rand.Uint64(); number != 0 {
			return number
		}
	}
}

// isSampled is the rule of the service, so that both keep the same traces: the low 56 bits of the id, as a fraction of
// 2^56.
func isSampled(traceID string, fraction float64) bool {
	if fraction >= 1 {
		return true
	}
	raw, err := hex.DecodeString(traceID[traceIDLength-16:])
	if err != nil {
		return false
	}
	const bits = 56
	low := binary.BigEndian.Uint64(raw) & (1<<bits - 1)
	return low < uint64(math.Ceil(fraction*(1<<bits)))
}

func traceparentOf(traceID, spanID string, kept bool) string {
	flags := "00"
	if kept {
		flags = "01"
	}
	return "00-" + traceID + "-" + spanID + "-" + flags
}

// appendTimestamp writes RFC 3339 in UTC with three, six or nine digits of fraction, as many as there are.
func appendTimestamp(into []byte, at time.Time) []byte {
	at = at.UTC()
	layout := "2006-01-02T15:04:05.000000000Z"
	switch ns := at.Nanosecond(); {
	case ns%1_000_000 == 0:
		layout = "2006-01-02T15:04:05.000Z"
	case ns%1000 == 0:
		layout = "2006-01-02T15:04:05.000000Z"
	}
	return at.AppendFormat(into, layout)
}

func timestamp(at time.Time) string { return string(appendTimestamp(nil, at)) }

// merged is a correlation with the members of another one on top.
func merged(under, over wire.CorrelationInput) wire.CorrelationInput {
	for _, member := range []struct {
		into *string
		from string
	}{
		{&under.Project, over.Project},
		{&under.Environment, over.Environment},
		{&under.ServiceName, over.ServiceName},
		{&under.ServiceVersion, over.ServiceVersion},
		{&under.SessionID, over.SessionID},
		{&under.ThreadID, over.ThreadID},
		{&under.UserID, over.UserID},
		{&under.RequestID, over.RequestID},
		{&under.Release, over.Release},
		{&under.RunID, over.RunID},
		{&under.ResourceID, over.ResourceID},
		{&under.ExperimentID, over.ExperimentID},
	} {
		if member.from != "" {
			*member.into = member.from
		}
	}
	if over.Tags != nil {
		under.Tags = over.Tags
	}
	return under
}
