package svc

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func eventsIn(t *testing.T, reader io.Reader) []streamEvent {
	t.Helper()
	var events []streamEvent
	for event, err := range readEvents(reader) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}

func TestEventsAreReadHoweverTheirBytesAreCut(t *testing.T) {
	text := "\uFEFF: a comment\r\n\r\nid: 1\r\ndata: {\"a\":\r\ndata: \"ü😀\"}\r\n\r\n" +
		"data:two\n\nid: 3\rdata\rdata:  x\r\revent: e\n\n\ndata: without an end\n"
	want := []streamEvent{{"1", "{\"a\":\n\"ü😀\"}"}, {"1", "two"}, {"3", "\n x"}}
	for name, reader := range map[string]io.Reader{
		"in one piece":     strings.NewReader(text),
		"byte by byte":     iotest.OneByteReader(strings.NewReader(text)),
		"in half pieces":   iotest.HalfReader(strings.NewReader(text)),
		"with data at EOF": iotest.DataErrReader(strings.NewReader(text)),
	} {
		if got := eventsIn(t, reader); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestAStreamThatBreaksSaysSo(t *testing.T) {
	var last error
	count := 0
	for _, err := range readEvents(io.MultiReader(strings.NewReader("data: 1\n\n"), iotest.ErrReader(io.ErrUnexpectedEOF))) {
		last = err
		count++
	}
	if count != 2 || last != io.ErrUnexpectedEOF {
		t.Errorf("%d items, the last with %v", count, last)
	}
}
