#include "text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "svc/payload.hpp"

namespace svc::inline v0::detail {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr std::string_view hex_digits = "0123456789abcdef";

/// Bytes of the well-formed character at the start of the text; 0 where there is none. See RFC 3629.
std::size_t character_size(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto follows = [&](std::size_t at, unsigned low = 0x80, unsigned high = 0xBF) {
    return at < text.size() && byte(at) >= low && byte(at) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_plain(unsigned char byte) { return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\'; }

void append_escaped(std::string& out, unsigned char byte) {
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += hex_digits[byte >> 4U];
      out += hex_digits[byte & 0xFU];
  }
}

/// The four hex digits behind `\u` at a place; none where it is no such escape.
std::optional<unsigned> escape_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned unit = 0;
  const char* const first = text.data() + at + 2;
  const auto [end, error] = std::from_chars(first, first + 4, unit, 16);
  if (error != std::errc{} || end != first + 4) return std::nullopt;
  return unit;
}

/// Replaces each half of a surrogate pair that stands alone.
std::string without_halves(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    const auto unit = escape_at(text, at);
    if (!unit.has_value()) {
      out += text.substr(at, 2);
      at += 2;
      continue;
    }
    const bool is_high = *unit >= 0xD800 && *unit <= 0xDBFF;
    const bool is_low = *unit >= 0xDC00 && *unit <= 0xDFFF;
    const auto next = is_high ? escape_at(text, at + 6) : std::nullopt;
    if (next.has_value() && *next >= 0xDC00 && *next <= 0xDFFF) {
      out += text.substr(at, 12);
      at += 12;
    } else {
      out += is_high || is_low ? std::string_view("\\ufffd") : text.substr(at, 6);
      at += 6;
    }
  }
  return out;
}

}  // namespace

void append_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain]))) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto size = character_size(text);
    if (size == 1) {
      append_escaped(out, static_cast<unsigned char>(text.front()));
    } else {
      out += size == 0 ? replacement : text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

void append_member(std::string& out, std::string_view name, std::string_view json) {
  out += ",\"";
  out += name;
  out += "\":";
  out += json;
}

void append_text_member(std::string& out, std::string_view name, std::string_view text) {
  append_member(out, name, {});
  append_text(out, text);
}

std::string encode_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_text(out, text);
  return out;
}

std::string encode_number(double number) {
  // JSON has no word for what is not a number.
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} ? std::string(digits.data(), end) : "null";
}

std::string encode(const nlohmann::json& value) { return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

nlohmann::json decode(std::string_view text) {
  // Without exceptions first: one that is thrown and caught costs more than a small answer.
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  return parsed.is_discarded() ? nlohmann::json::parse(without_halves(text)) : parsed;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view upper_hex = "0123456789ABCDEF";
  std::string out;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (is_letter || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' || byte == '~') {
      out += character;
    } else {
      out += '%';
      out += upper_hex[byte >> 4U];
      out += upper_hex[byte & 0xFU];
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return std::string(text.substr(0, bytes));
}

}  // namespace svc::inline v0::detail
