#pragma once

#include <string_view>

namespace svc::inline v0 {

/// Of this library.
inline constexpr std::string_view library_version = "0.1.0";

}  // namespace svc::inline v0
