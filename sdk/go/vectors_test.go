package svc

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.dev/sdk/go/wire"
)

// vectors reads one of the tables that all libraries share: sdk/conformance/vectors.
func vectors[Table any](t *testing.T, name string) Table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "conformance", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := wire.Decode[Table](text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestSamplingKeepsTheTracesThatTheServiceKeeps(t *testing.T) {
	table := vectors[struct {
		Fractions []float64
		Cases     []struct {
			TraceID string `json:"trace_id"`
			Kept    []bool
		}
	}](t, "sampling")
	for _, each := range table.Cases {
		for column, fraction := range table.Fractions {
			if got := isSampled(each.TraceID, fraction); got != each.Kept[column] {
				t.Errorf("%s at %v: kept %v", each.TraceID, fraction, got)
			}
		}
	}
}

func TestTraceparentIsReadAsTheStandardSays(t *testing.T) {
	table := vectors[struct {
		Cases []struct {
			Header, Why string
			TraceID     *string `json:"trace_id"`
			SpanID      *string `json:"span_id"`
		}
	}](t, "traceparent")
	for _, each := range table.Cases {
		traceID, spanID, ok := parseTraceparent(each.Header)
		if ok != (each.TraceID != nil) {
			t.Errorf("%s: %q is read: %v", each.Why, each.Header, ok)
		} else if ok && (traceID != *each.TraceID || spanID != *each.SpanID) {
			t.Errorf("%s: %q is read as %s, %s", each.Why, each.Header, traceID, spanID)
		}
	}
}

func TestSettingsComeFromCodeThenTheEnvironmentThenDefaults(t *testing.T) {
	type texts struct {
		Endpoint       *string
		APIKey         *string `json:"api_key"`
		Project        *string
		Environment    *string
		ServiceName    *string `json:"service_name"`
		ServiceVersion *string `json:"service_version"`
		Sample         *float64
		Enabled        *bool
	}
	table := vectors[struct {
		Cases []struct {
			Why      string
			Env      map[string]string
			Code     texts
			Settings texts
			Problems []string
		}
	}](t, "settings")
	for _, each := range table.Cases {
		code := given{
			endpoint: each.Code.Endpoint, project: each.Code.Project, environment: each.Code.Environment,
			serviceName: each.Code.ServiceName, serviceVersion: each.Code.ServiceVersion,
			sample: each.Code.Sample, enabled: each.Code.Enabled,
		}
		if each.Code.APIKey != nil {
			WithAPIKey(*each.Code.APIKey)(&code)
		}
		read := readSettings(code, func(name string) string { return each.Env[name] })
		text := func(value *string) string {
			if value == nil {
				return ""
			}
			return *value
		}
		got := []any{
			read.endpoint, read.apiKey.text(), read.project, read.environment, read.serviceName, read.serviceVersion,
			read.sample, read.enabled,
		}
		want := []any{
			strings.TrimRight(text(each.Settings.Endpoint), "/"), text(each.Settings.APIKey), text(each.Settings.Project),
			text(each.Settings.Environment), text(each.Settings.ServiceName), text(each.Settings.ServiceVersion),
			*each.Settings.Sample, *each.Settings.Enabled,
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: settings are %v, not %v", each.Why, got, want)
		}
		if len(read.problems) != len(each.Problems) {
			t.Errorf("%s: problems are %q", each.Why, read.problems)
			continue
		}
		for at, named := range each.Problems {
			if !strings.HasPrefix(read.problems[at], named+" ") {
				t.Errorf("%s: problem %q does not name %s", each.Why, read.problems[at], named)
			}
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	table := vectors[struct {
		Cases []struct {
			Header *string
			Now    time.Time
			WaitMS *int64 `json:"wait_ms"`
		}
	}](t, "retry-after")
	for _, each := range table.Cases {
		header := ""
		if each.Header != nil {
			header = *each.Header
		}
		wait, ok := retryAfter(header, each.Now)
		if ok != (each.WaitMS != nil) || (ok && wait.Milliseconds() != *each.WaitMS) {
			t.Errorf("%q: %v, %v", header, wait, ok)
		}
	}
	if wait, ok := retryAfter("99999999999999999999", time.Now()); !ok || wait != math.MaxInt64 {
		t.Errorf("more seconds than a duration holds are %v, %v", wait, ok)
	}
}

func TestBackoffIsFullJitterWithinItsBounds(t *testing.T) {
	table := vectors[struct {
		Cases []struct {
			BaseMS  int64 `json:"base_ms"`
			MaxMS   int64 `json:"max_ms"`
			Attempt int
			LeastMS int64 `json:"least_ms"`
			MostMS  int64 `json:"most_ms"`
		}
	}](t, "backoff")
	for _, each := range table.Cases {
		policy := RetryPolicy{
			Base: time.Duration(each.BaseMS) * time.Millisecond, Max: time.Duration(each.MaxMS) * time.Millisecond,
		}
		least, most := backoff(policy, each.Attempt, 0), backoff(policy, each.Attempt, 1)
		if least.Milliseconds() != each.LeastMS || most.Milliseconds() != each.MostMS {
			t.Errorf("attempt %d: from %v to %v", each.Attempt, least, most)
		}
	}
}

func TestTimestampsHaveThreeSixOrNineDigits(t *testing.T) {
	table := vectors[struct {
		Cases []struct {
			EpochNS string `json:"epoch_ns"`
			Text    string
			Read    []string
		}
	}](t, "timestamps")
	for _, each := range table.Cases {
		ns, err := strconv.ParseInt(each.EpochNS, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := timestamp(time.Unix(0, ns)); got != each.Text {
			t.Errorf("%s is written as %s", each.EpochNS, got)
		}
		for _, text := range append(each.Read, each.Text) {
			read, err := time.Parse(time.RFC3339Nano, text)
			if err != nil || read.UnixNano() != ns {
				t.Errorf("%s is read as %v, %v", text, read, err)
			}
		}
	}
}

func TestAnswersAreDecodedWithoutLoss(t *testing.T) {
	table := vectors[struct {
		Cases []struct {
			Why, Model, Text string
			Expect           []struct {
				Path string
				JSON *string `json:"json"`
			}
		}
	}](t, "decoding")
	decoders := map[string]func(string) (any, error){
		"RunDetail":    func(text string) (any, error) { return wire.Decode[wire.RunDetail]([]byte(text)) },
		"Run":          func(text string) (any, error) { return wire.Decode[wire.Run]([]byte(text)) },
		"JournalEntry": func(text string) (any, error) { return wire.Decode[wire.JournalEntry]([]byte(text)) },
		"Lease":        func(text string) (any, error) { return wire.Decode[wire.Lease]([]byte(text)) },
		"TraceSummary": func(text string) (any, error) { return wire.Decode[wire.TraceSummary]([]byte(text)) },
		"Span":         func(text string) (any, error) { return wire.Decode[wire.Span]([]byte(text)) },
	}
	for _, each := range table.Cases {
		decode := decoders[each.Model]
		if decode == nil {
			t.Fatalf("no model %s", each.Model)
		}
		value, err := decode(each.Text)
		if err != nil {
			t.Errorf("%s: %v", each.Why, err)
			continue
		}
		text, err := encode(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range each.Expect {
			got, there := memberOf(t, text, member.Path)
			switch {
			case member.JSON == nil && there:
				t.Errorf("%s: %s is %s, not absent", each.Why, member.Path, got)
			case member.JSON != nil && !sameJSON(t, got, *member.JSON):
				t.Errorf("%s: %s is %s, not %s", each.Why, member.Path, got, *member.JSON)
			}
		}
	}
}

func memberOf(t *testing.T, text []byte, path string) (string, bool) {
	t.Helper()
	current := json.RawMessage(text)
	for _, name := range strings.Split(path, "/")[1:] {
		if current[0] == '[' {
			list, err := wire.Decode[[]json.RawMessage](current)
			at, numberErr := strconv.Atoi(name)
			if err != nil || numberErr != nil || at >= len(list) {
				return "", false
			}
			current = list[at]
			continue
		}
		members, err := wire.Decode[map[string]json.RawMessage](current)
		if err != nil || members[name] == nil {
			return "", false
		}
		current = members[name]
	}
	return string(current), true
}

func sameJSON(t *testing.T, left, right string) bool {
	t.Helper()
	if left == "" {
		return false
	}
	one, err := wire.Decode[any]([]byte(left))
	if err != nil {
		t.Fatal(err)
	}
	other, err := wire.Decode[any]([]byte(right))
	if err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(one, other)
}
