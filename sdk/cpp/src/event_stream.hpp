#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace svc::inline v0::detail {

/// One event of a server-sent stream.
struct StreamEvent {
  std::string data;
  std::optional<std::string> id;
  std::optional<std::string> name;
};

/// Reads server-sent events, however they are cut into pieces. See WHATWG HTML, 9.2.
class EventReader {
 public:
  /// Throws ConnectionError on a line that has no end.
  void take(std::string_view piece);
  /// The next event that is complete; none where more has to come.
  [[nodiscard]] std::optional<StreamEvent> next();

 private:
  void take_line(std::string_view line);

  std::string buffered_;
  /// A carriage return ended the last line; the line feed that may follow it belongs to it.
  bool is_half_ended_ = false;
  std::optional<std::string> last_id_;
  std::optional<std::string> name_;
  std::optional<std::string> data_;
  std::deque<StreamEvent> events_;
};

}  // namespace svc::inline v0::detail
