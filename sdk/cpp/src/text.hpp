/// JSON as it travels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace svc::inline v0::detail {

/// Adds a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_text(std::string& out, std::string_view text);
/// Adds `,"name":value`; the value is JSON already. The name is one that needs no escape.
void append_member(std::string& out, std::string_view name, std::string_view json);
/// Adds `,"name":"text"`.
void append_text_member(std::string& out, std::string_view name, std::string_view text);

/// Half of a surrogate pair, which JSON can say and UTF-8 cannot, becomes U+FFFD. Throws `nlohmann::json::exception`.
[[nodiscard]] nlohmann::json decode(std::string_view text);

/// A segment of a path, or a part of a query, percent-encoded.
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Without the white space around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// At most so many bytes, cut between two characters.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace svc::inline v0::detail
