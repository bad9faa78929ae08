/// Ids, times, sampling, the `traceparent` header, and which span is active on a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "svc/context.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0::detail {

/// What signals belong to, and its JSON; empty text where it says nothing.
struct Belonging {
  wire::CorrelationInput members;
  std::string json;
};
[[nodiscard]] std::shared_ptr<const Belonging> belonging(wire::CorrelationInput members);
/// Members of `over` win.
[[nodiscard]] std::shared_ptr<const Belonging> merged(const Belonging& under, const wire::CorrelationInput& over);

/// Called at the end of every model span below, and of any other that carries usage.
using OnModelSpan = std::function<void(const std::string& model, const std::optional<wire::Usage>& usage)>;

struct TraceContext {
  std::string trace_id;
  std::string span_id;
  std::shared_ptr<const Belonging> belongs;
  std::shared_ptr<const OnModelSpan> on_model_span;
};

/// A service as one caller sees it. Spans of one realm nest; those of another are no business of it.
using Realm = std::uint64_t;
[[nodiscard]] Realm realm_of(std::string_view endpoint, std::string_view key);

/// The span around the call, on this thread.
[[nodiscard]] std::shared_ptr<const TraceContext> active(Realm realm) noexcept;
/// @returns a number that `deactivate` takes; 0 where there was no memory for it
[[nodiscard]] unsigned long long activate(Realm realm, std::shared_ptr<const TraceContext> context) noexcept;
void deactivate(unsigned long long number) noexcept;

/// Reads a `traceparent` header; none where it is malformed. See W3C Trace Context, "traceparent Header".
[[nodiscard]] std::optional<SpanAddress> parse_traceparent(std::string_view header);
[[nodiscard]] std::string traceparent_of(const TraceContext& context, bool sampled);

/// Fresh ids. Random bytes come from the kernel: the child of a fork repeats none of its parent's.
[[nodiscard]] std::string new_trace_id();
[[nodiscard]] std::string new_span_id();
/// A random UUID, version 4.
[[nodiscard]] std::string new_uuid();

/// The rule of the service, so that both keep the same traces: the low 56 bits of the id, as a fraction of 2^56.
[[nodiscard]] bool is_sampled(std::string_view trace_id, double fraction);

[[nodiscard]] std::int64_t now_epoch_ns();
/// RFC 3339 in UTC with three, six or nine digits of fraction, as many as there are.
[[nodiscard]] std::string timestamp(std::int64_t epoch_ns);
/// The instant of an RFC 3339 text, in nanoseconds since 1970; none where it is none.
[[nodiscard]] std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace svc::inline v0::detail
