#include "svc/instrumentation.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "recorder.hpp"
#include "text.hpp"

namespace svc::inline v0 {

namespace detail {

namespace {

wire::CorrelationInput base_of(const ResolvedSettings& settings) {
  return {
      .project = settings.project,
      .environment = settings.environment,
      .service_name = settings.service_name,
      .service_version = settings.service_version,
  };
}

/// A signal that is being written. Members come in any order, and `first` needs no comma before it.
class Draft {
 public:
  explicit Draft(std::string_view first, std::string_view text) {
    out_.reserve(256);
    out_.append("{\"").append(first).append("\":");
    append_text(out_, text);
  }

  void text(std::string_view name, std::string_view text) { append_text_member(out_, name, text); }
  void maybe(std::string_view name, const std::optional<std::string>& text) {
    if (text.has_value()) append_text_member(out_, name, *text);
  }
  void json(std::string_view name, std::string_view json) { append_member(out_, name, json); }
  void number(std::string_view name, double number) { append_member(out_, name, encode_number(number)); }
  void attributes(std::string_view name, const Attributes& attributes) {
    if (!attributes.empty()) is_broken_ |= !append_attributes(out_, name, attributes);
  }
  void payload(std::string_view name, const Payload& value) {
    is_broken_ |= value.is_broken();
    append_member(out_, name, value.text());
  }

  /// Adds when it was and what it belongs to. Empty where a value could not be encoded.
  std::string finish(const Belonging& belongs) {
    append_text_member(out_, "timestamp", timestamp(now_epoch_ns()));
    append_member(out_, "correlation", belongs.json.empty() ? "{}" : belongs.json);
    return is_broken_ ? std::string() : std::move(out_ += '}');
  }

 private:
  std::string out_;
  bool is_broken_ = false;
};

/// What a signal is about: what was named, else the trace around the call.
Target about(const Target& named, const TraceContext* around) {
  if (named.trace_id.has_value() || named.span_id.has_value() || around == nullptr) return named;
  return {.trace_id = around->trace_id};
}

void add_metric(Recorder& recorder, std::string_view name, std::string_view type, const MetricOptions& options,
                const std::function<void(Draft&)>& write) {
  Draft draft{"name", name};
  draft.text("type", type);
  write(draft);
  draft.maybe("unit", options.unit);
  draft.attributes("attributes", options.attributes);
  recorder.queue.add(Signal::metrics, draft.finish(recorder.belongs_to(recorder.around().get())));
}

template <typename Numbers>
std::string list_of(const Numbers& numbers) {
  std::string out = "[";
  for (const auto number : numbers) {
    if (out.size() > 1) out += ',';
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(number)>>)
      out += encode_number(number);
    else
      out += std::to_string(number);
  }
  return out += ']';
}

}  // namespace

bool append_attributes(std::string& out, std::string_view name, const Attributes& attributes) {
  bool is_whole = true;
  append_member(out, name, "{");
  bool is_first = true;
  for (auto each = attributes.begin(); each != attributes.end(); ++each) {
    const auto is_same = [&](const auto& other) { return other.first == each->first; };
    if (std::any_of(std::next(each), attributes.end(), is_same)) continue;
    if (!is_first) out += ',';
    is_first = false;
    append_text(out, each->first);
    out.append(":").append(each->second.text());
    is_whole &= !each->second.is_broken();
  }
  out += '}';
  return is_whole;
}

Recorder::Recorder(InstrumentationOptions options)
    : settings(read_settings(options.settings)),
      realm(realm_of(settings.endpoint, settings.api_key.value_or(""))),
      base(belonging(base_of(settings))),
      bridge(std::move(options.bridge)),
      queue({.settings = settings,
             .max_queued = options.max_queued,
             .max_queued_bytes = options.max_queued_bytes,
             .batch_size = options.batch_size,
             .delay = options.delay,
             .retry = options.retry,
             .log = options.log}) {
  for (const auto& problem : settings.problems)
    if (options.log) options.log(LogLevel::warn, "instrumentation: " + problem);
}

std::shared_ptr<void> Recorder::attach(const TraceContext& context) noexcept {
  if (bridge == nullptr) return nullptr;
  try {
    return bridge->attach(context.trace_id, context.span_id, keeps(context.trace_id));
  } catch (...) {
    queue.add_invalid();
    return nullptr;
  }
}

}  // namespace detail

Instrumentation::Instrumentation(InstrumentationOptions options)
    : recorder_(std::make_shared<detail::Recorder>(std::move(options))) {}

Instrumentation::Instrumentation(std::shared_ptr<detail::Recorder> recorder) noexcept
    : recorder_(std::move(recorder)), is_owner_(false) {}

Instrumentation::~Instrumentation() {
  if (is_owner_) close();
}

Context Instrumentation::current() const noexcept { return Context(recorder_->around()); }

Scope Instrumentation::activate(const Context& context) noexcept {
  if (!context) return {};
  auto attached = recorder_->attach(*context.trace());
  return {detail::activate(recorder_->realm, context.trace()), std::move(attached)};
}

std::optional<std::string> Instrumentation::traceparent() const {
  const auto around = recorder_->around();
  if (around == nullptr) return std::nullopt;
  return detail::traceparent_of(*around, recorder_->keeps(around->trace_id));
}

void Instrumentation::log(const wire::Severity& severity, std::string_view message, const LogOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    const auto around = recorder.around();
    if (!(around == nullptr ? recorder.is_enabled() : recorder.keeps(around->trace_id))) return;
    detail::Draft draft{"message", message};
    draft.text("severity", severity.text());
    draft.maybe("logger", options.logger);
    if (around != nullptr) {
      draft.text("trace_id", around->trace_id);
      draft.text("span_id", around->span_id);
    }
    draft.attributes("attributes", options.attributes);
    recorder.queue.add(detail::Signal::logs, draft.finish(recorder.belongs_to(around.get())));
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::counter(std::string_view name, double value, const MetricOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    if (!std::isfinite(value)) return recorder.queue.add_invalid();
    detail::add_metric(recorder, name, "counter", options, [&](detail::Draft& draft) {
      draft.text("temporality", "delta");
      draft.number("value", value);
    });
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::gauge(std::string_view name, double value, const MetricOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    if (!std::isfinite(value)) return recorder.queue.add_invalid();
    detail::add_metric(recorder, name, "gauge", options, [&](detail::Draft& draft) { draft.number("value", value); });
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::histogram(std::string_view name, const HistogramValue& value, const MetricOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    const auto is_finite = [](double number) { return std::isfinite(number); };
    const bool is_valid = value.bucket_counts.size() == value.bounds.size() + 1 && std::isfinite(value.sum) &&
                          std::all_of(value.bounds.begin(), value.bounds.end(), is_finite);
    if (!is_valid) return recorder.queue.add_invalid();
    detail::add_metric(recorder, name, "histogram", options, [&](detail::Draft& draft) {
      draft.text("temporality", "delta");
      draft.json("count", std::to_string(value.count));
      draft.number("sum", value.sum);
      draft.json("bounds", detail::list_of(value.bounds));
      draft.json("bucket_counts", detail::list_of(value.bucket_counts));
    });
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::score(std::string_view scorer_id, double value, Scale scale, const ScoreOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    const auto around = recorder.around();
    const auto target = detail::about(options.about, around.get());
    const bool has_scale =
        std::isfinite(value) && std::isfinite(scale.min) && std::isfinite(scale.max) && scale.min < scale.max;
    if (!has_scale || !(target.trace_id.has_value() || target.span_id.has_value())) return recorder.queue.add_invalid();
    detail::Draft draft{"score_id", ""};
    draft.maybe("trace_id", target.trace_id);
    draft.maybe("span_id", target.span_id);
    draft.text("scorer_id", scorer_id);
    draft.maybe("scorer_version", options.scorer_version);
    draft.number("value", value);
    draft.number("min", scale.min);
    draft.number("max", scale.max);
    draft.maybe("label", options.label);
    draft.maybe("reason", options.reason);
    draft.text("source", options.source.text());
    draft.maybe("experiment_id", options.experiment_id);
    draft.attributes("metadata", options.metadata);
    recorder.queue.add(detail::Signal::scores, draft.finish(recorder.belongs_to(around.get())));
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::feedback(const wire::FeedbackKind& kind, const Payload& value, const FeedbackOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    const auto around = recorder.around();
    const auto target = detail::about(options.about, around.get());
    if (!(target.trace_id.has_value() || target.span_id.has_value())) return recorder.queue.add_invalid();
    detail::Draft draft{"feedback_id", ""};
    draft.maybe("trace_id", target.trace_id);
    draft.maybe("span_id", target.span_id);
    draft.text("kind", kind.text());
    draft.payload("value", value);
    draft.maybe("comment", options.comment);
    if (options.author_kind.has_value()) draft.text("author_kind", options.author_kind->text());
    draft.maybe("author_id", options.author_id);
    auto metadata = options.metadata;
    if (options.scale_min.has_value()) metadata.emplace_back("scale_min", *options.scale_min);
    if (options.scale_max.has_value()) metadata.emplace_back("scale_max", *options.scale_max);
    draft.attributes("metadata", metadata);
    recorder.queue.add(detail::Signal::feedback, draft.finish(recorder.belongs_to(around.get())));
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

void Instrumentation::aspect_note(std::string_view aspect, std::string_view text, const AspectNoteOptions& options) noexcept {
  auto& recorder = *recorder_;
  try {
    if (!recorder.is_enabled()) return;
    const auto around = recorder.around();
    auto target = detail::about(options.about, around.get());
    if (!target.trace_id.has_value() && around != nullptr) target.trace_id = around->trace_id;
    if (!target.trace_id.has_value()) return recorder.queue.add_invalid();
    detail::Draft draft{"aspect", aspect};
    draft.text("text", text);
    draft.maybe("trace_id", target.trace_id);
    draft.maybe("span_id", target.span_id);
    draft.maybe("model", options.model);
    recorder.queue.add(detail::Signal::aspect_notes, draft.finish(recorder.belongs_to(around.get())));
  } catch (...) {
    recorder.queue.add_invalid();
  }
}

const std::vector<std::string>& Instrumentation::problems() const noexcept { return recorder_->settings.problems; }
ExportCounters Instrumentation::counters() const noexcept { return recorder_->queue.counters(); }
bool Instrumentation::flush(std::chrono::milliseconds timeout) noexcept {
  return !recorder_->is_enabled() || recorder_->queue.flush(timeout);
}
void Instrumentation::close(std::chrono::milliseconds timeout) noexcept { recorder_->queue.close(timeout); }

}  // namespace svc::inline v0
