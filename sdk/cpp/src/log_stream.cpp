#include "svc/log_stream.hpp"

namespace svc::inline v0 {

namespace {

constexpr std::size_t line_limit_bytes = std::size_t{64} * 1024;

}  // namespace

LogStreambuf::LogStreambuf(Instrumentation& instrumentation, wire::Severity severity, std::string logger, std::streambuf* tee)
    : instrumentation_(instrumentation), severity_(std::move(severity)), tee_(tee) {
  if (!logger.empty()) options_.logger = std::move(logger);
}

LogStreambuf::~LogStreambuf() { record(); }

LogStreambuf::int_type LogStreambuf::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const char one = traits_type::to_char_type(character);
  xsputn(&one, 1);
  return character;
}

std::streamsize LogStreambuf::xsputn(const char* text, std::streamsize count) {
  if (tee_ != nullptr) tee_->sputn(text, count);
  take({text, static_cast<std::size_t>(count)});
  return count;
}

int LogStreambuf::sync() { return tee_ == nullptr ? 0 : tee_->pubsync(); }

void LogStreambuf::take(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto room = line_limit_bytes - line_.size();
    const auto part = std::min({end, room, text.size()});
    line_.append(text.substr(0, part));
    text.remove_prefix(part);
    const bool is_end = !text.empty() && text.front() == '\n';
    if (is_end) text.remove_prefix(1);
    if (is_end || line_.size() == line_limit_bytes) record();
  }
}

void LogStreambuf::record() {
  if (!line_.empty()) instrumentation_.log(severity_, line_, options_);
  line_.clear();
}

}  // namespace svc::inline v0
