/// Records traces, logs, metrics, scores, feedback and aspect notes, and sends them in the background.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "svc/context.hpp"
#include "svc/payload.hpp"
#include "svc/settings.hpp"
#include "svc/span.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0 {

using wire::AuthorKind;
using wire::FeedbackKind;
using wire::ScoreSource;
using wire::Severity;

struct InstrumentationOptions {
  Settings settings{};
  /// Signals that wait while the service is slow or away. A full queue drops its oldest.
  std::size_t max_queued = 10'000;
  /// Bytes of JSON that wait.
  std::size_t max_queued_bytes = std::size_t{32} * 1024 * 1024;
  /// Signals of one call.
  std::size_t batch_size = 500;
  /// How long a signal waits for others to travel with.
  std::chrono::milliseconds delay{500};
  RetryPolicy retry{.attempts = 8, .base = std::chrono::milliseconds{500}, .max = std::chrono::milliseconds{30'000}};
  /// Joins another tracing library.
  std::shared_ptr<ContextBridge> bridge{};
  /// Is called for troubles only; null for none.
  LogSink log = log_to_stderr;
};

/// What became of signals since the start of this process. Each is counted once.
struct ExportCounters {
  /// Stored by the service, or recognised by it as sent before.
  std::uint64_t sent = 0;
  /// Pushed out by newer ones while the queue was full; or too large, or not JSON; or recorded after `close`.
  std::uint64_t dropped = 0;
  /// Refused by the service: a 4xx, or an error of its answer.
  std::uint64_t refused = 0;
  /// Given up after the last try, or at `close`.
  std::uint64_t failed = 0;
  /// Calls that gave something that is no signal, such as a score whose scale says nothing.
  std::uint64_t invalid = 0;
};

/// What a signal is about. Without either: the trace of the span around the call.
struct Target {
  std::optional<std::string> trace_id{};
  std::optional<std::string> span_id{};
};

struct LogOptions {
  std::optional<std::string> logger{};
  Attributes attributes{};
};

struct MetricOptions {
  std::optional<std::string> unit{};
  Attributes attributes{};
};

/// How values of the time since the last call are spread.
struct HistogramValue {
  std::int64_t count = 0;
  double sum = 0;
  /// Upper bounds of the buckets, ascending.
  std::vector<double> bounds{};
  /// One more than there are bounds.
  std::vector<std::int64_t> bucket_counts{};
};

/// A number says nothing without its scale.
struct Scale {
  double min;
  double max;
};

struct ScoreOptions {
  Target about{};
  std::optional<std::string> scorer_version{};
  std::optional<std::string> label{};
  std::optional<std::string> reason{};
  wire::ScoreSource source = wire::ScoreSource::live;
  std::optional<std::string> experiment_id{};
  Attributes metadata{};
};

struct FeedbackOptions {
  Target about{};
  std::optional<std::string> comment{};
  std::optional<wire::AuthorKind> author_kind{};
  /// Stored exactly as sent: send a pseudonymous id.
  std::optional<std::string> author_id{};
  /// Of a rating.
  std::optional<double> scale_min{};
  std::optional<double> scale_max{};
  Attributes metadata{};
};

struct AspectNoteOptions {
  Target about{};
  /// The model that wrote it.
  std::optional<std::string> model{};
};

/// Records what user code does. Nothing here throws into the code that it watches, and nothing makes it wait: the network
/// belongs to a thread of its own, and what cannot be delivered is counted. Safe for threads; the child of a fork begins
/// with an empty queue. Only the constructor throws; without memory `span` does, too.
class Instrumentation {
 public:
  /// A setting that cannot be used falls back to its default, and is named in `problems`.
  explicit Instrumentation(InstrumentationOptions options = {});
  /// Another handle of the same instrumentation, whose end does not close it.
  explicit Instrumentation(std::shared_ptr<detail::Recorder> recorder) noexcept;
  Instrumentation(const Instrumentation&) = delete;
  Instrumentation(Instrumentation&&) = delete;
  Instrumentation& operator=(const Instrumentation&) = delete;
  Instrumentation& operator=(Instrumentation&&) = delete;
  /// Closes it, within five seconds. An instrumentation in a static drains while the program exits.
  ~Instrumentation();

  /// Starts a span that is the parent of what this thread records until it ends.
  [[nodiscard]] Span span(std::string_view name, SpanOptions options = {});

  /// Calls `function(Span&)` under a span, and gives what it returns. What it throws marks the span, with its message, and
  /// goes on unchanged.
  template <typename Function>
  auto traced(std::string_view name, SpanOptions options, Function&& function) -> std::invoke_result_t<Function, Span&> {
    auto span = this->span(name, std::move(options));
    try {
      return std::forward<Function>(function)(span);
    } catch (...) {
      span.fail(std::current_exception());
      throw;
    }
  }
  template <typename Function>
  requires std::is_invocable_v<Function, Span&>
  auto traced(std::string_view name, Function&& function) -> std::invoke_result_t<Function, Span&> {
    return traced(name, SpanOptions{}, std::forward<Function>(function));
  }

  /// The span around the call, to be activated elsewhere.
  [[nodiscard]] Context current() const noexcept;
  /// Makes a span the parent of what this thread records, until the scope ends: for work that a span hands to another
  /// thread. The scope must end on this thread.
  [[nodiscard]] Scope activate(const Context& context) noexcept;
  /// A function that runs under the span around this call, wherever it is called. It must not outlive this object.
  template <typename Function>
  [[nodiscard]] auto bound(Function function) {
    return [this, context = current(), function = std::move(function)](auto&&... arguments) mutable -> decltype(auto) {
      const auto scope = activate(context);
      return std::invoke(function, std::forward<decltype(arguments)>(arguments)...);
    };
  }

  /// The span around the call as a `traceparent` header; nothing outside of any.
  [[nodiscard]] std::optional<std::string> traceparent() const;
  /// Gives the `traceparent` of the span around the call to `set(name, value)`, which puts it into an outgoing request.
  template <typename Set>
  void inject(Set&& set) const {
    if (const auto header = traceparent()) std::forward<Set>(set)(std::string_view("traceparent"), std::string_view(*header));
  }
  /// Reads the header from `get(name) -> std::optional<std::string>` of an incoming request, for `SpanOptions::traceparent`.
  template <typename Get>
  [[nodiscard]] static std::optional<std::string> extract(Get&& get) {
    return std::forward<Get>(get)(std::string_view("traceparent"));
  }

  /// Records a log line, of the span around the call where there is one.
  void log(const wire::Severity& severity, std::string_view message, const LogOptions& options = {}) noexcept;
  /// Counts: `value` is what came since the last call.
  void counter(std::string_view name, double value = 1, const MetricOptions& options = {}) noexcept;
  /// Says how much there is now.
  void gauge(std::string_view name, double value, const MetricOptions& options = {}) noexcept;
  void histogram(std::string_view name, const HistogramValue& value, const MetricOptions& options = {}) noexcept;
  /// Records a machine's evaluation of a trace or a span.
  void score(std::string_view scorer_id, double value, Scale scale, const ScoreOptions& options = {}) noexcept;
  /// Records a person's judgement. It is counted by kind, and never averaged with anything. `thumbs`: `up` or `down`.
  /// `rating`: a number. `correction`, `tag` and `comment`: a text.
  void feedback(const wire::FeedbackKind& kind, const Payload& value, const FeedbackOptions& options = {}) noexcept;
  /// Records one sentence that a model wrote about a run.
  void aspect_note(std::string_view aspect, std::string_view text, const AspectNoteOptions& options = {}) noexcept;

  /// Settings that could not be used, in words that hold no key.
  [[nodiscard]] const std::vector<std::string>& problems() const noexcept;
  [[nodiscard]] ExportCounters counters() const noexcept;
  /// Sends what is queued now. Returns whether it went out, or was refused, within the time.
  bool flush(std::chrono::milliseconds timeout = std::chrono::seconds{5}) noexcept;
  /// Sends what is queued for so long at most, then stops. What is recorded later is dropped.
  void close(std::chrono::milliseconds timeout = std::chrono::seconds{5}) noexcept;

  [[nodiscard]] const std::shared_ptr<detail::Recorder>& recorder() const noexcept { return recorder_; }

 private:
  std::shared_ptr<detail::Recorder> recorder_;
  bool is_owner_ = true;
};

}  // namespace svc::inline v0
