package svc

import (
	"encoding/json"
	"slices"
	"time"
)

// The JSON of a span is written by hand, member by member as wire.SpanInput has them: through encoding/json, which
// checks and copies each nested text again, a span would cost its goroutine several times as much.

// jsonValue is a value as it will be written. A plain text stays as it is until then: nobody can change it.
type jsonValue struct {
	text  []byte
	plain string
	isSet bool
}

func valueOf(value any) jsonValue {
	if plain, ok := value.(string); ok {
		return jsonValue{plain: plain, isSet: true}
	}
	return jsonValue{text: valueText(value), isSet: true}
}

func (v jsonValue) size() int { return len(v.text) + len(v.plain) + 2 }

func (v jsonValue) appendTo(into []byte) []byte {
	if v.text != nil {
		return append(into, v.text...)
	}
	return appendString(into, v.plain)
}

type attribute struct {
	key   string
	value jsonValue
}

func (s *Span) setAttribute(key string, value any) {
	at := slices.IndexFunc(s.attributes, func(known attribute) bool { return known.key == key })
	if at >= 0 {
		s.attributes[at].value = valueOf(value)
		return
	}
	s.attributes = append(s.attributes, attribute{key, valueOf(value)})
}

func attributesOf(values map[string]any) []attribute {
	attributes := make([]attribute, 0, len(values))
	for key, value := range values {
		attributes = append(attributes, attribute{key, valueOf(value)})
	}
	return attributes
}

// appendTo needs no lock: the span has ended.
func (s *Span) appendTo(into []byte, took time.Duration) []byte {
	size := 512 + len(s.name) + s.input.size() + s.output.size() + len(s.events) + len(s.context.correlationText)
	for _, each := range s.attributes {
		size += len(each.key) + each.value.size() + 4
	}
	into = append(slices.Grow(into, size), `{"trace_id":"`...)
	into = append(into, s.context.traceID...)
	into = append(into, `","span_id":"`...)
	into = append(into, s.context.spanID...)
	into = append(into, '"')
	into = appendText(into, "parent_span_id", s.parentID)
	into = append(into, `,"name":`...)
	into = appendString(into, s.name)
	into = appendText(into, "kind", string(s.kind))
	if s.failure == nil {
		into = append(into, `,"status":"ok"`...)
	} else {
		into = append(into, `,"status":"error"`...)
	}
	into = append(into, `,"start_time":"`...)
	into = appendTimestamp(into, s.started)
	into = append(into, `","end_time":"`...)
	// By the monotonic clock: a span never ends before its start.
	into = appendTimestamp(into, s.started.Add(took))
	into = append(into, '"')
	into = appendValue(into, "input", s.input)
	into = appendValue(into, "output", s.output)
	into = appendText(into, "model", s.model)
	into = appendText(into, "provider", s.provider)
	into = appendText(into, "entity_name", s.entity)
	if s.usage != nil {
		into = appendRaw(into, "usage", valueText(s.usage))
	}
	if s.cost != nil {
		into = appendRaw(into, "cost", valueText(s.cost))
	}
	if s.failure != nil {
		into = appendRaw(into, "error", valueText(s.failure))
	}
	into = appendRaw(into, "correlation", s.context.correlationText)
	if len(s.attributes) > 0 {
		into = append(into, `,"attributes":`...)
		into = appendAttributes(into, s.attributes)
	}
	if len(s.events) > 0 {
		into = append(into, `,"events":[`...)
		into = append(into, s.events...)
		into = append(into, ']')
	}
	return append(into, '}')
}

func appendAttributes(into []byte, attributes []attribute) []byte {
	into = append(into, '{')
	for at, each := range attributes {
		if at > 0 {
			into = append(into, ',')
		}
		into = appendString(into, each.key)
		into = append(into, ':')
		into = each.value.appendTo(into)
	}
	return append(into, '}')
}

// appendText writes a member that is absent where it is empty.
func appendText(into []byte, member, text string) []byte {
	if text == "" {
		return into
	}
	into = append(into, `,"`...)
	into = append(into, member...)
	into = append(into, `":`...)
	return appendString(into, text)
}

// appendValue writes a member that is absent where it was not set.
func appendValue(into []byte, member string, value jsonValue) []byte {
	if !value.isSet {
		return into
	}
	into = append(into, `,"`...)
	into = append(into, member...)
	into = append(into, `":`...)
	return value.appendTo(into)
}

// appendRaw writes a member whose JSON is there, and that is absent where it is not.
func appendRaw(into []byte, member string, text []byte) []byte {
	if len(text) == 0 {
		return into
	}
	into = append(into, `,"`...)
	into = append(into, member...)
	into = append(into, `":`...)
	return append(into, text...)
}

func appendString(into []byte, text string) []byte {
	for at := range len(text) {
		if c := text[at]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			// encoding/json mends what is no UTF-8.
			return append(into, stringText(text)...)
		}
	}
	into = append(into, '"')
	into = append(into, text...)
	return append(into, '"')
}

func stringText(text string) []byte {
	written, err := encode(text)
	if err != nil {
		return []byte(`""`)
	}
	return written
}

// valueText is the JSON of a value. What is not JSON becomes a text that says so.
func valueText(value any) []byte {
	switch plain := value.(type) {
	case string:
		return appendString(make([]byte, 0, len(plain)+2), plain)
	case json.RawMessage:
		if !json.Valid(plain) {
			return stringText("(not JSON: a json.RawMessage that is none)")
		}
		return slices.Clone(plain)
	}
	text, err := encode(value)
	if err != nil {
		return stringText("(not JSON: " + shortened(err.Error(), messageLimit) + ")")
	}
	return text
}
