#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "resolved_settings.hpp"
#include "retry.hpp"
#include "svc/instrumentation.hpp"

namespace svc::inline v0::detail {

enum class Signal { spans, logs, metrics, scores, feedback, aspect_notes };

struct ExportOptions {
  ResolvedSettings settings;
  std::size_t max_queued;
  std::size_t max_queued_bytes;
  std::size_t batch_size;
  Millis delay;
  RetryPolicy retry;
  LogSink log;
};

/// Sends signals in the background, in batches, one batch at a time.
///
/// Adding never throws and never waits for the network: a signal is text already, and goes into a bounded queue that drops
/// its oldest.
class ExportQueue {
 public:
  explicit ExportQueue(ExportOptions options);
  ExportQueue(const ExportQueue&) = delete;
  ExportQueue(ExportQueue&&) = delete;
  ExportQueue& operator=(const ExportQueue&) = delete;
  ExportQueue& operator=(ExportQueue&&) = delete;
  ~ExportQueue();

  /// `text` is a JSON object; an empty one stands for a signal that could not be written, and is counted as dropped.
  void add(Signal signal, std::string text) noexcept;
  void add_invalid() noexcept;
  [[nodiscard]] ExportCounters counters() const noexcept;
  bool flush(Millis timeout) noexcept;
  void close(Millis timeout) noexcept;

 private:
  class Line;
  [[nodiscard]] Line& line() const;

  ExportOptions options_;
  /// The queue of this process. A fork makes a new one: neither thread nor locks nor connections survive in the child, so
  /// that of the parent is left there as it is.
  mutable std::atomic<Line*> line_;
};

}  // namespace svc::inline v0::detail
