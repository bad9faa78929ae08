#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "svc/context.hpp"
#include "svc/payload.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0 {

using wire::SpanKind;

namespace detail {
class Recorder;
struct SpanRecord;
}  // namespace detail

/// What a span begins with.
struct SpanOptions {
  wire::SpanKind kind = wire::SpanKind::generic;
  std::optional<Payload> input{};
  std::optional<std::string> model{};
  std::optional<std::string> provider{};
  /// The agent, tool or retriever that this is an operation of.
  std::optional<std::string> entity_name{};
  Attributes attributes{};
  /// Wins over what the span around belongs to, member by member.
  std::optional<wire::CorrelationInput> correlation{};
  /// The header of an incoming request to continue; a malformed one starts a new trace. Without one, the parent is the
  /// span around the call.
  std::optional<std::string> traceparent{};
  /// False: it is nobody's parent by itself, and may end on another thread than it began on.
  bool activate = true;
};

/// A span that runs. While it lives it is the parent of what its thread records; it ends with its block, and an exception
/// that leaves the block marks it as failed. `Instrumentation::traced` also records the message of that exception.
///
/// Its methods may be called until its end, in any order, by one thread at a time; none of them throws.
class Span {
 public:
  Span(const Span&) = delete;
  Span(Span&& other) noexcept;
  Span& operator=(const Span&) = delete;
  Span& operator=(Span&&) = delete;
  ~Span();

  /// 32 lowercase hex characters.
  [[nodiscard]] std::string_view trace_id() const noexcept;
  /// 16 lowercase hex characters.
  [[nodiscard]] std::string_view span_id() const noexcept;
  /// The header for a service that continues this trace.
  [[nodiscard]] std::string traceparent() const;
  /// To be activated on other threads.
  [[nodiscard]] Context context() const noexcept;

  Span& input(Payload value) noexcept;
  Span& output(Payload value) noexcept;
  Span& model(std::string_view name) noexcept;
  Span& provider(std::string_view name) noexcept;
  Span& entity_name(std::string_view name) noexcept;
  /// The tokens of this model call; in a body of a step they are reported as the step's usage too.
  Span& usage(const wire::Usage& usage) noexcept;
  Span& usage(std::int64_t input_tokens, std::int64_t output_tokens) noexcept;
  /// Money that is already known.
  Span& cost(const wire::CostInput& cost) noexcept;
  Span& attribute(std::string_view name, Payload value) noexcept;
  Span& attributes(const Attributes& attributes) noexcept;
  /// Marks a moment within the span.
  Span& event(std::string_view name, const Attributes& attributes = {}) noexcept;
  /// Marks the span as failed.
  Span& fail(std::string_view message, std::string_view type = {}) noexcept;
  /// Marks the span as failed, by what was thrown.
  Span& fail(const std::exception_ptr& error) noexcept;
  /// Ends the span before its block does, once; a second call does nothing.
  void end() noexcept;

 private:
  friend class Instrumentation;
  Span(std::shared_ptr<detail::Recorder> recorder, std::unique_ptr<detail::SpanRecord> record, Scope scope) noexcept;
  template <typename Change>
  Span& change(Change change) noexcept;

  std::shared_ptr<detail::Recorder> recorder_;
  std::unique_ptr<detail::SpanRecord> record_;
  Scope scope_;
  int exceptions_ = 0;
};

}  // namespace svc::inline v0
