#pragma once

#include <nlohmann/json.hpp>

#include "svc/errors.hpp"
#include "svc/wire.hpp"

namespace svc::inline v0::detail {

/// A model, read from an answer. Throws ConnectionError where the answer is none.
template <typename Model>
[[nodiscard]] Model decoded(const wire::Json& answer) {
  try {
    return answer.value().get<Model>();
  } catch (const nlohmann::json::exception& error) {
    throw ConnectionError(std::string("the answer cannot be read: ") + error.what());
  }
}

}  // namespace svc::inline v0::detail
