/// Lines of a stream as log signals.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "svc/instrumentation.hpp"

namespace svc::inline v0 {

/// Records each line that is written to it as a log of the span around the write: the bridge from the logging that C++ has.
///
///     svc::LogStreambuf bridge{tracer, svc::Severity::warn};
///     std::clog.rdbuf(&bridge);   // the former buffer may be given as `tee`, and gets each line as well
///
/// A logging library joins in one line: let its sink call `Instrumentation::log`. One thread at a time, as every stream
/// buffer. A line of more than 64 KiB is recorded in parts.
class LogStreambuf : public std::streambuf {
 public:
  explicit LogStreambuf(Instrumentation& instrumentation, wire::Severity severity = wire::Severity::info,
                        std::string logger = {}, std::streambuf* tee = nullptr);
  LogStreambuf(const LogStreambuf&) = delete;
  LogStreambuf(LogStreambuf&&) = delete;
  LogStreambuf& operator=(const LogStreambuf&) = delete;
  LogStreambuf& operator=(LogStreambuf&&) = delete;
  /// Records a last line that has no end.
  ~LogStreambuf() override;

 protected:
  int_type overflow(int_type character) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  void take(std::string_view text);
  void record();

  Instrumentation& instrumentation_;
  wire::Severity severity_;
  LogOptions options_;
  std::streambuf* tee_;
  std::string line_;
};

}  // namespace svc::inline v0
