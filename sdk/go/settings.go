package svc

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// DefaultEndpoint is where the service is unless code or SVC_ENDPOINT say otherwise.
const DefaultEndpoint = "http://127.0.0.1:4317"

// secret holds a key where no formatting verb, and no dump of a struct, finds it.
type secret struct{ reveal func() string }

func newSecret(text string) secret {
	return secret{func() string { return text }}
}

func (s secret) text() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// given is what code says. Nil: it does not say.
type given struct {
	endpoint, project, environment, serviceName, serviceVersion *string
	apiKey                                                      *secret
	sample                                                      *float64
	enabled                                                     *bool
	roundTripper                                                http.RoundTripper
	logger                                                      *slog.Logger
}

// settings are what a client, a worker or instrumentation goes by: code, else the environment, else the defaults.
type settings struct {
	endpoint                                          string // Without a slash at its end.
	apiKey                                            secret
	project, environment, serviceName, serviceVersion string
	sample                                            float64
	enabled                                           bool
	problems                                          []string // What could not be used. Never holds a key.
	roundTripper                                      http.RoundTripper
	logger                                            *slog.Logger
}

// readSettings joins code and environment. An empty text counts as absent. What cannot be used falls back to its
// default, and is named in the problems.
func readSettings(code given, environment func(string) string) *settings {
	var problems []string
	text := func(said *string, name string) string {
		if said != nil {
			return *said
		}
		return environment(name)
	}

	endpoint := text(code.endpoint, "SVC_ENDPOINT")
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	if !isHTTPURL(endpoint) {
		problems = append(problems, fmt.Sprintf("endpoint %q is not an http or https URL; %s is used", endpoint, DefaultEndpoint))
		endpoint = DefaultEndpoint
	}

	key := environment("SVC_API_KEY")
	if code.apiKey != nil {
		key = code.apiKey.text()
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		problems = append(problems, "api_key holds characters that a header cannot carry; none is used")
		key = ""
	}

	sample, shown := 1.0, ""
	if code.sample != nil {
		sample, shown = *code.sample, fmt.Sprint(*code.sample)
	} else if said := environment("SVC_SAMPLE"); said != "" {
		number, err := strconv.ParseFloat(said, 64)
		if err != nil {
			number = math.NaN()
		}
		sample, shown = number, strconv.Quote(said)
	}
	if !(sample >= 0 && sample <= 1) {
		problems = append(problems, fmt.Sprintf("sample %s is not between 0 and 1; 1 is used", shown))
		sample = 1
	}

	enabled := !strings.EqualFold(strings.TrimSpace(environment("SVC_ENABLED")), "false")
	if code.enabled != nil {
		enabled = *code.enabled
	}
	logger := code.logger
	if logger == nil {
		logger = slog.Default()
	}
	return &settings{
		endpoint:       strings.TrimRight(endpoint, "/"),
		apiKey:         newSecret(key),
		project:        text(code.project, "SVC_PROJECT"),
		environment:    text(code.environment, "SVC_ENVIRONMENT"),
		serviceName:    text(code.serviceName, "SVC_SERVICE_NAME"),
		serviceVersion: text(code.serviceVersion, "SVC_SERVICE_VERSION"),
		sample:         sample,
		enabled:        enabled,
		problems:       problems,
		roundTripper:   code.roundTripper,
		logger:         logger,
	}
}

func isHTTPURL(text string) bool {
	if strings.ContainsAny(text, " \r\n\t") {
		return false
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Hostname() == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return false
	}
	if port := parsed.Port(); port != "" {
		number, err := strconv.Atoi(port)
		return err == nil && number > 0 && number <= math.MaxUint16
	}
	return true
}

// shownEndpoint is the endpoint without what a user info in it may hold.
func (s *settings) shownEndpoint() string {
	parsed, err := url.Parse(s.endpoint)
	if err != nil {
		return ""
	}
	parsed.User = nil
	return parsed.String()
}

// Option is a setting that clients, instrumentation and workers share. It wins over its environment variable.
type Option func(*given)

func (o Option) applyToClient(config *clientConfig)                   { o(&config.given) }
func (o Option) applyToInstrumentation(config *instrumentationConfig) { o(&config.given) }

// WithEndpoint says where the service is: an http or https URL, with a path before the API where there is one. It wins
// over SVC_ENDPOINT; the default is [DefaultEndpoint].
func WithEndpoint(url string) Option { return func(g *given) { g.endpoint = &url } }

// WithAPIKey sets the key, which is sent as a bearer token. It wins over SVC_API_KEY. No error and no log holds it.
func WithAPIKey(key string) Option {
	hidden := newSecret(key)
	return func(g *given) { g.apiKey = &hidden }
}

// WithProject says what signals and runs belong to. It wins over SVC_PROJECT; without either it is the project of the
// key, or of the service.
func WithProject(project string) Option { return func(g *given) { g.project = &project } }

// WithEnvironment names the deployment, such as "staging". It wins over SVC_ENVIRONMENT, and goes with every signal.
func WithEnvironment(name string) Option { return func(g *given) { g.environment = &name } }

// WithServiceName names the program. It wins over SVC_SERVICE_NAME, and goes with every signal.
func WithServiceName(name string) Option { return func(g *given) { g.serviceName = &name } }

// WithServiceVersion names the release of the program. It wins over SVC_SERVICE_VERSION, and goes with every signal.
func WithServiceVersion(version string) Option { return func(g *given) { g.serviceVersion = &version } }

// WithSample says which fraction of traces is sent, from 0 to 1. It wins over SVC_SAMPLE; the default is 1. The service
// decides by the same rule, from the trace id, so that both keep the same traces.
func WithSample(fraction float64) Option { return func(g *given) { g.sample = &fraction } }

// WithEnabled silences instrumentation where it is false, and wins over SVC_ENABLED. Spans and their ids stay valid, and
// nothing is sent. Clients and workers go on.
func WithEnabled(enabled bool) Option { return func(g *given) { g.enabled = &enabled } }

// WithLogger takes what the library says of its own life; the default is slog.Default. No key and no payload is logged.
func WithLogger(logger *slog.Logger) Option { return func(g *given) { g.logger = logger } }

// WithRoundTripper makes HTTP calls through a transport of the caller, for certificates of one's own for example. By
// default each client, worker and instrumentation has a transport of its own, which follows HTTP_PROXY and its kind.
func WithRoundTripper(transport http.RoundTripper) Option {
	return func(g *given) { g.roundTripper = transport }
}

func osEnvironment(name string) string { return os.Getenv(name) }
