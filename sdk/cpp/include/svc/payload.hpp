/// Values of users as JSON.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "svc/wire.hpp"

namespace svc::inline v0 {

using wire::Json;

namespace detail {

/// `Type`, looked at no sooner than `Trigger` is known. So a header needs only the names of the JSON library, and code that
/// gives a type of its own includes the library before.
template <typename Trigger, typename Type>
struct Later {
  using type = Type;
};
template <typename Trigger, typename Type>
using later = typename Later<Trigger, Type>::type;

/// JSON text. What is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string encode(const nlohmann::json& value);
[[nodiscard]] std::string encode_text(std::string_view text);
[[nodiscard]] std::string encode_number(double number);

template <typename T>
[[nodiscard]] Json to_wire(const T& value) {
  if constexpr (std::same_as<T, Json>) {
    return value;
  } else {
    static_assert(
        requires { sizeof(later<T, nlohmann::json>); }, "include <nlohmann/json.hpp> to give a type of your own");
    return Json{later<T, nlohmann::json>(value)};
  }
}

/// Throws what `from_json` of the type throws.
template <typename T>
[[nodiscard]] T from_wire(const Json& value) {
  if constexpr (std::same_as<T, Json>) {
    return value;
  } else {
    const later<T, nlohmann::json>& json = value.value();
    return json.template get<T>();
  }
}

}  // namespace detail

/// Any value, written as JSON at once: what its owner changes later does not show.
///
/// Takes texts, numbers, booleans, `Json`, and every type with a `to_json` for nlohmann/json, whose header must be
/// included then. Making one never throws: a value whose own encoder throws makes its signal counted, not sent.
class Payload {
 public:
  template <typename T>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a payload is no value of it
  requires(!std::same_as<std::remove_cvref_t<T>, Payload>) Payload(T&& value)
  noexcept {  // NOLINT: it stands for the value
    using Value = std::remove_cvref_t<T>;
    try {
      if constexpr (std::same_as<Value, bool>) {
        text_ = value ? "true" : "false";
      } else if constexpr (std::is_null_pointer_v<Value>) {
        text_ = "null";
      } else if constexpr (std::integral<Value>) {
        text_ = std::to_string(value);
      } else if constexpr (std::floating_point<Value>) {
        text_ = detail::encode_number(static_cast<double>(value));
      } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        text_ = detail::encode_text(std::string_view(value));
      } else {
        text_ = detail::encode(detail::to_wire<Value>(value).value());
      }
    } catch (...) {
      text_.clear();
    }
  }

  /// JSON text; empty where the value refused to be encoded.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool is_broken() const noexcept { return text_.empty(); }

 private:
  std::string text_;
};

/// Names and values: `{{"shop.order", 17}, {"shop.vip", true}}`. A name that comes again replaces the one before.
using Attributes = std::vector<std::pair<std::string, Payload>>;

}  // namespace svc::inline v0
