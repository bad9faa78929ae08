#include "svc/span.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <typeinfo>
#include <vector>

#include "recorder.hpp"
#include "text.hpp"

#if defined(__GNUG__)
#include <cxxabi.h>

#include <cstdlib>
#endif

namespace svc::inline v0 {

namespace detail {

struct SpanRecord {
  std::shared_ptr<const TraceContext> context;
  /// Null outside of any span of ours.
  std::shared_ptr<const TraceContext> around;
  std::string parent_span_id;
  std::string name;
  std::string kind;
  std::string model;
  std::optional<wire::Usage> usage;
  std::string cost;
  std::string provider;
  std::string entity_name;
  std::string input;
  std::string output;
  Attributes attributes;
  /// JSON objects with a comma before each.
  std::string events;
  std::string error;
  bool is_broken = false;
  std::int64_t started_ns = now_epoch_ns();
  Clock::time_point started_tick = Clock::now();
};

namespace {

std::string readable_name(const std::type_info& type) {
#if defined(__GNUG__)
  int status = 0;
  char* const name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  if (status == 0 && name != nullptr) {
    std::string text = name;
    std::free(name);  // NOLINT: it comes from malloc
    return text;
  }
#endif
  return type.name();
}

std::string json_of(const SpanRecord& record) {
  const auto& context = *record.context;
  std::string out;
  out.reserve(512 + record.input.size() + record.output.size());
  out.append(R"({"trace_id":")").append(context.trace_id);
  out.append(R"(","span_id":")").append(context.span_id).append("\"");
  if (!record.parent_span_id.empty()) append_text_member(out, "parent_span_id", record.parent_span_id);
  append_text_member(out, "name", record.name);
  append_text_member(out, "kind", record.kind);
  append_member(out, "status", record.error.empty() ? "\"ok\"" : "\"error\"");
  append_text_member(out, "start_time", timestamp(record.started_ns));
  // The monotonic clock measures; the other one may be set meanwhile.
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - record.started_tick).count();
  append_text_member(out, "end_time", timestamp(record.started_ns + took));
  if (!record.input.empty()) append_member(out, "input", record.input);
  if (!record.output.empty()) append_member(out, "output", record.output);
  if (!record.model.empty()) append_text_member(out, "model", record.model);
  if (!record.provider.empty()) append_text_member(out, "provider", record.provider);
  if (!record.entity_name.empty()) append_text_member(out, "entity_name", record.entity_name);
  if (record.usage.has_value()) {
    nlohmann::json usage;
    wire::to_json(usage, *record.usage);
    append_member(out, "usage", encode(usage));
  }
  if (!record.cost.empty()) append_member(out, "cost", record.cost);
  if (!record.error.empty()) append_member(out, "error", record.error);
  if (!context.belongs->json.empty()) append_member(out, "correlation", context.belongs->json);
  bool is_broken = record.is_broken;
  if (!record.attributes.empty()) is_broken |= !append_attributes(out, "attributes", record.attributes);
  if (!record.events.empty()) append_member(out, "events", "[" + record.events.substr(1) + "]");
  return is_broken ? std::string() : out += '}';
}

}  // namespace
}  // namespace detail

Span::Span(std::shared_ptr<detail::Recorder> recorder, std::unique_ptr<detail::SpanRecord> record, Scope scope) noexcept
    : recorder_(std::move(recorder)),
      record_(std::move(record)),
      scope_(std::move(scope)),
      exceptions_(std::uncaught_exceptions()) {}
Span::Span(Span&& other) noexcept = default;

Span::~Span() {
  if (record_ == nullptr) return;
  if (std::uncaught_exceptions() > exceptions_ && record_->error.empty()) fail("an exception left the span");
  end();
}

std::string_view Span::trace_id() const noexcept { return context().trace_id(); }
std::string_view Span::span_id() const noexcept { return context().span_id(); }
std::string Span::traceparent() const {
  const auto& context = *record_->context;
  return detail::traceparent_of(context, recorder_->keeps(context.trace_id));
}
Context Span::context() const noexcept { return Context(record_->context); }

template <typename Change>
Span& Span::change(Change change) noexcept {
  // Without a recorder it has ended.
  if (recorder_ == nullptr) return *this;
  try {
    change(*record_);
  } catch (...) {
    recorder_->queue.add_invalid();
  }
  return *this;
}

Span& Span::input(Payload value) noexcept {
  return change([&](detail::SpanRecord& record) {
    record.is_broken |= value.is_broken();
    record.input = value.text();
  });
}

Span& Span::output(Payload value) noexcept {
  return change([&](detail::SpanRecord& record) {
    record.is_broken |= value.is_broken();
    record.output = value.text();
  });
}

Span& Span::model(std::string_view name) noexcept {
  return change([&](detail::SpanRecord& record) { record.model = name; });
}

Span& Span::provider(std::string_view name) noexcept {
  return change([&](detail::SpanRecord& record) { record.provider = name; });
}

Span& Span::entity_name(std::string_view name) noexcept {
  return change([&](detail::SpanRecord& record) { record.entity_name = name; });
}

Span& Span::usage(const wire::Usage& usage) noexcept {
  return change([&](detail::SpanRecord& record) { record.usage = usage; });
}

Span& Span::usage(std::int64_t input_tokens, std::int64_t output_tokens) noexcept {
  return usage({.input_tokens = input_tokens, .output_tokens = output_tokens});
}

Span& Span::cost(const wire::CostInput& cost) noexcept {
  return change([&](detail::SpanRecord& record) { record.cost = Payload(cost).text(); });
}

Span& Span::attribute(std::string_view name, Payload value) noexcept {
  return change([&](detail::SpanRecord& record) { record.attributes.emplace_back(name, std::move(value)); });
}

Span& Span::attributes(const Attributes& attributes) noexcept {
  return change([&](detail::SpanRecord& record) {
    record.attributes.insert(record.attributes.end(), attributes.begin(), attributes.end());
  });
}

Span& Span::event(std::string_view name, const Attributes& attributes) noexcept {
  return change([&](detail::SpanRecord& record) {
    std::string event = R"(,{"name":)";
    detail::append_text(event, name);
    detail::append_text_member(event, "time", detail::timestamp(detail::now_epoch_ns()));
    record.is_broken |= !detail::append_attributes(event, "attributes", attributes);
    record.events += event += '}';
  });
}

Span& Span::fail(std::string_view message, std::string_view type) noexcept {
  return change([&](detail::SpanRecord& record) {
    std::string error = R"({"message":)";
    detail::append_text(error, message);
    if (!type.empty()) detail::append_text_member(error, "type", type);
    record.error = error += '}';
  });
}

Span& Span::fail(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    try {
      return fail(known.what(), detail::readable_name(typeid(known)));
    } catch (...) {
      return fail(known.what());
    }
  } catch (const std::string& text) {
    return fail(text);
  } catch (const char* text) {
    return fail(text);
  } catch (...) {
    return fail("an exception of an unknown type");
  }
}

void Span::end() noexcept {
  const auto recorder = std::exchange(recorder_, nullptr);
  if (recorder == nullptr) return;
  scope_ = Scope();
  try {
    auto& record = *record_;
    const auto& around = record.around;
    const bool is_model_call = record.kind == wire::SpanKind::model_generation || record.usage.has_value();
    if (is_model_call && around != nullptr && around->on_model_span != nullptr)
      (*around->on_model_span)(record.model, record.usage);
    if (recorder->keeps(record.context->trace_id)) recorder->queue.add(detail::Signal::spans, detail::json_of(record));
  } catch (...) {
    recorder->queue.add_invalid();
  }
}

Span Instrumentation::span(std::string_view name, SpanOptions options) {
  auto& recorder = *recorder_;
  auto around = recorder.around();
  auto record = std::make_unique<detail::SpanRecord>();
  std::optional<SpanAddress> parent;
  try {
    if (options.traceparent.has_value())
      parent = detail::parse_traceparent(*options.traceparent);
    else if (recorder.bridge != nullptr)
      parent = recorder.bridge->current();
  } catch (...) {
    recorder.queue.add_invalid();
  }
  if (!parent.has_value() && !options.traceparent.has_value() && around != nullptr)
    parent = SpanAddress{around->trace_id, around->span_id};

  detail::TraceContext context{
      .trace_id = parent.has_value() ? std::move(parent->trace_id) : detail::new_trace_id(),
      .span_id = detail::new_span_id(),
      .belongs = around == nullptr ? recorder.base : around->belongs,
      .on_model_span = around == nullptr ? nullptr : around->on_model_span,
  };
  if (options.correlation.has_value()) context.belongs = detail::merged(*context.belongs, *options.correlation);
  if (parent.has_value()) record->parent_span_id = std::move(parent->span_id);
  record->context = std::make_shared<const detail::TraceContext>(std::move(context));
  record->around = std::move(around);
  record->name = name;
  record->kind = options.kind.text();
  record->model = std::move(options.model).value_or("");
  record->provider = std::move(options.provider).value_or("");
  record->entity_name = std::move(options.entity_name).value_or("");
  record->attributes = std::move(options.attributes);
  if (options.input.has_value()) {
    record->is_broken = options.input->is_broken();
    record->input = options.input->text();
  }
  auto scope = options.activate ? activate(Context(record->context)) : Scope();
  return {recorder_, std::move(record), std::move(scope)};
}

}  // namespace svc::inline v0
