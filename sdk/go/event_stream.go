package svc

import (
	"bufio"
	"bytes"
	"io"
	"iter"
	"strings"
)

// streamLineLimit: a longer line is no event of the service.
const streamLineLimit = 64 << 20

type streamEvent struct {
	id   string
	data string
}

// readEvents reads server-sent events. Comments, the service's sign of life, are passed over. See WHATWG HTML, 9.2.
func readEvents(stream io.Reader) iter.Seq2[streamEvent, error] {
	return func(yield func(streamEvent, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, streamLineLimit)
		lines.Split(streamLines())
		var event streamEvent
		var data []string
		first := true
		for lines.Scan() {
			line := lines.Text()
			if first {
				line = strings.TrimPrefix(line, "\uFEFF")
				first = false
			}
			if line == "" {
				if data != nil {
					event.data = strings.Join(data, "\n")
					if !yield(event, nil) {
						return
					}
				}
				data = nil
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "data":
				data = append(data, value)
			case "id":
				event.id = value
			}
		}
		if err := lines.Err(); err != nil {
			yield(streamEvent{}, err)
		}
	}
}

// streamLines splits at LF, CR and CRLF. A CR ends its line at once, and the LF that may follow belongs to it. What has
// no end is no line.
func streamLines() bufio.SplitFunc {
	halfEnded := false
	return func(data []byte, _ bool) (int, []byte, error) {
		start := 0
		if halfEnded && len(data) > 0 && data[0] == '\n' {
			start = 1
		}
		length := bytes.IndexAny(data[start:], "\r\n")
		if length < 0 {
			return 0, nil, nil
		}
		end := start + length
		halfEnded = data[end] == '\r'
		return end + 1, data[start:end], nil
	}
}
