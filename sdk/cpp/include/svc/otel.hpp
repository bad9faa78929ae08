/// Joins instrumentation and OpenTelemetry: link `svc::otel`, which the CMake option SVC_WITH_OTEL makes.
///
///     svc::Instrumentation tracer{{.bridge = std::make_shared<svc::otel::Bridge>()}};
///
/// Nothing here sets or uses the global provider. Spans of a provider that is yours reach the service over OTLP/HTTP, with the
/// exporter of opentelemetry-cpp: its URL is the endpoint followed by `/v1/traces`, its header `authorization: Bearer <key>`.
#pragma once

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/span_context.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "svc/context.hpp"

namespace svc::inline v0::otel {

/// Makes an active OpenTelemetry span the parent of ours, and ours the parent of theirs: calls that an OpenTelemetry
/// instrumentation watches nest below our spans, and carry our `traceparent`.
class Bridge : public ContextBridge {
 public:
  std::optional<SpanAddress> current() override {
    namespace trace = opentelemetry::trace;
    const auto span = trace::GetSpan(opentelemetry::context::RuntimeContext::GetCurrent());
    const auto found = span->GetContext();
    if (!found.IsValid()) return std::nullopt;
    std::array<char, 32> trace_id{};
    std::array<char, 16> span_id{};
    found.trace_id().ToLowerBase16(trace_id);
    found.span_id().ToLowerBase16(span_id);
    return SpanAddress{{trace_id.data(), trace_id.size()}, {span_id.data(), span_id.size()}};
  }

  std::shared_ptr<void> attach(std::string_view trace_id, std::string_view span_id, bool sampled) override {
    namespace trace = opentelemetry::trace;
    namespace context = opentelemetry::context;
    using Propagation = trace::propagation::HttpTraceContext;
    const trace::SpanContext ours{Propagation::TraceIdFromHex({trace_id.data(), trace_id.size()}),
                                  Propagation::SpanIdFromHex({span_id.data(), span_id.size()}),
                                  trace::TraceFlags{sampled ? trace::TraceFlags::kIsSampled : std::uint8_t{0}}, false};
    // One that OpenTelemetry does not record.
    const opentelemetry::nostd::shared_ptr<trace::Span> span{new trace::DefaultSpan(ours)};
    auto current = context::RuntimeContext::GetCurrent();
    return std::shared_ptr<context::Token>(context::RuntimeContext::Attach(trace::SetSpan(current, span)).release());
  }
};

}  // namespace svc::inline v0::otel
