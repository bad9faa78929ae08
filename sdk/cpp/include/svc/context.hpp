/// What code runs under: the span that new ones become children of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace svc::inline v0 {

namespace detail {
struct TraceContext;
}

/// A span that runs, as others see it: cheap to copy, and good on any thread. See `Instrumentation::activate`.
class Context {
 public:
  /// Outside of any span.
  Context() noexcept = default;
  explicit Context(std::shared_ptr<const detail::TraceContext> trace) noexcept : trace_(std::move(trace)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return trace_ != nullptr; }
  /// 32 lowercase hex characters; empty outside of any span.
  [[nodiscard]] std::string_view trace_id() const noexcept;
  /// 16 lowercase hex characters; empty outside of any span.
  [[nodiscard]] std::string_view span_id() const noexcept;

  [[nodiscard]] const std::shared_ptr<const detail::TraceContext>& trace() const noexcept { return trace_; }

 private:
  std::shared_ptr<const detail::TraceContext> trace_;
};

/// A span of another library.
struct SpanAddress {
  std::string trace_id;
  std::string span_id;
};

/// Another tracing library whose spans ours nest with. `svc/otel.hpp` is one for OpenTelemetry.
///
/// Called on the threads that spans are made on; what it throws is counted as invalid.
class ContextBridge {
 public:
  ContextBridge() = default;
  ContextBridge(const ContextBridge&) = delete;
  ContextBridge(ContextBridge&&) = delete;
  ContextBridge& operator=(const ContextBridge&) = delete;
  ContextBridge& operator=(ContextBridge&&) = delete;
  virtual ~ContextBridge() = default;

  /// Its active span on this thread, ours included.
  virtual std::optional<SpanAddress> current() = 0;
  /// Makes a span of ours its active one on this thread, until the returned value is destroyed.
  virtual std::shared_ptr<void> attach(std::string_view trace_id, std::string_view span_id, bool sampled) = 0;
};

/// Undoes an activation at its end, on the thread that it was made on.
class Scope {
 public:
  Scope() noexcept = default;
  Scope(const Scope&) = delete;
  Scope(Scope&& other) noexcept;
  Scope& operator=(const Scope&) = delete;
  Scope& operator=(Scope&& other) noexcept;
  ~Scope();

 private:
  friend class Instrumentation;
  friend class Span;
  Scope(unsigned long long number, std::shared_ptr<void> attached) noexcept;
  void leave() noexcept;

  unsigned long long number_ = 0;
  std::shared_ptr<void> attached_;
};

}  // namespace svc::inline v0
