package svc

import (
	"errors"
)

// OTLPTraces says where an OTLP/HTTP exporter of OpenTelemetry sends traces, and with which headers: its settings are
// those of [NewInstrumentation]. It returns an [*ArgumentError] on a setting that cannot be used.
func OTLPTraces(options ...Option) (url string, headers map[string]string, err error) {
	var code given
	for _, option := range options {
		option(&code)
	}
	// The provider samples.
	WithSample(1)(&code)
	read := readSettings(code, osEnvironment)
	if len(read.problems) > 0 {
		return "", nil, &ArgumentError{What: "settings", Err: errors.New(read.problems[0])}
	}
	headers = map[string]string{}
	if key := read.apiKey.text(); key != "" {
		headers["Authorization"] = "Bearer " + key
	}
	return read.endpoint + "/v1/traces", headers, nil
}
