#include "event_stream.hpp"

#include "svc/errors.hpp"

namespace svc::inline v0::detail {

namespace {

/// A line longer than this is no event of ours.
constexpr std::size_t line_limit_bytes = std::size_t{64} * 1024 * 1024;

}  // namespace

void EventReader::take(std::string_view piece) {
  if (piece.empty()) return;
  if (is_half_ended_ && piece.front() == '\n') piece.remove_prefix(1);
  is_half_ended_ = false;
  while (true) {
    const auto end = piece.find_first_of("\r\n");
    if (end == std::string_view::npos) break;
    buffered_ += piece.substr(0, end);
    take_line(buffered_);
    buffered_.clear();
    const bool is_return = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    if (is_return && piece.empty()) is_half_ended_ = true;
    if (is_return && !piece.empty() && piece.front() == '\n') piece.remove_prefix(1);
  }
  buffered_ += piece;
  if (buffered_.size() > line_limit_bytes) throw ConnectionError("the stream holds a line without an end");
}

std::optional<StreamEvent> EventReader::next() {
  if (events_.empty()) return std::nullopt;
  auto event = std::move(events_.front());
  events_.pop_front();
  return event;
}

void EventReader::take_line(std::string_view line) {
  if (line.empty()) {
    if (data_.has_value()) events_.push_back({std::move(*data_), last_id_, std::move(name_)});
    data_.reset();
    name_.reset();
    return;
  }
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (field == "data") {
    if (data_.has_value())
      data_->append("\n").append(value);
    else
      data_ = value;
  } else if (field == "id") {
    last_id_ = value;
  } else if (field == "event") {
    name_ = value;
  }
}

}  // namespace svc::inline v0::detail
