/// A definition and the bodies of its tasks.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "svc/errors.hpp"
#include "svc/payload.hpp"
#include "svc/step.hpp"

namespace svc::inline v0 {

namespace detail {

/// The output of a body that refused to be encoded.
class BadOutput : public Error {
 public:
  using Error::Error;
};

template <typename Signature>
struct BodyOf;
template <typename Result, typename... Arguments>
struct BodyOf<Result(Arguments...)> {
  static_assert(sizeof...(Arguments) == 1 || sizeof...(Arguments) == 2, "a body takes its step, and may take its input");
  template <typename First, typename Second = Json, typename...>
  struct Second_ {
    using type = std::remove_cvref_t<Second>;
  };
  using input = typename Second_<Arguments...>::type;
};
template <typename Result, typename... Arguments>
struct BodyOf<Result (*)(Arguments...)> : BodyOf<Result(Arguments...)> {};
template <typename Result, typename Class, typename... Arguments>
struct BodyOf<Result (Class::*)(Arguments...)> : BodyOf<Result(Arguments...)> {};
template <typename Result, typename Class, typename... Arguments>
struct BodyOf<Result (Class::*)(Arguments...) const> : BodyOf<Result(Arguments...)> {};

template <typename Body>
struct InputOf : BodyOf<decltype(&Body::operator())> {};
template <typename Result, typename... Arguments>
struct InputOf<Result (*)(Arguments...)> : BodyOf<Result(Arguments...)> {};

template <typename Input>
[[nodiscard]] Input input_of(const Json& given) {
  try {
    return from_wire<Input>(given);
  } catch (const std::exception& error) {
    throw StepFailure(std::string("the input is not what the body takes: ") + error.what(), {.code = "invalid_input"});
  }
}

template <typename Output>
[[nodiscard]] Json output_of(const Output& given) {
  try {
    return to_wire(given);
  } catch (const std::exception& error) {
    throw BadOutput(error.what());
  } catch (...) {
    throw BadOutput("its encoder threw");
  }
}

}  // namespace detail

/// A definition, as it is registered, and what serves its tasks. Copies share nothing but what their bodies share.
class Workflow {
 public:
  /// `definition` is JSON with `id`, `version` and `steps`; the service says what is wrong with the rest when it is
  /// registered. Throws `std::invalid_argument`.
  explicit Workflow(Json definition);
  /// The same from text.
  explicit Workflow(std::string_view definition);
  /// Reads the definition from a file of JSON. Throws `std::invalid_argument`, also where it cannot be read.
  static Workflow load(const std::filesystem::path& path);

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }
  [[nodiscard]] const Json& definition() const noexcept { return definition_; }
  /// The ids of its steps of kind `task`.
  [[nodiscard]] const std::vector<std::string>& tasks() const noexcept { return tasks_; }

  /// Binds a body to a task: a callable `(Step&, const Input&) -> Output`, or one that takes the step alone, or gives nothing.
  ///
  /// The input is read by the `from_json` of its type, and the output written by `to_json`. Called from several threads at
  /// once. It may run more than once, unless the delivery of the step is `at_most_once`: hand `step.key()` to whatever it does
  /// to the world. Throw `Retryable` to be tried again, `StepFailure` for a class of your own; anything else is fatal.
  /// Throws `std::invalid_argument` on a task that is not there, or has a body already.
  /// @tparam Input named only where the callable is generic
  template <typename Input = void, typename Body>
  Workflow& step(std::string_view step_id, Body body) {
    if constexpr (std::is_void_v<Input>)
      return step<typename detail::InputOf<Body>::input, Body>(step_id, std::move(body));
    else
      bind(step_id,
           [body = std::move(body)](Step& step, const Json& given) mutable -> Json { return call<Input>(body, step, given); });
    return *this;
  }

  /// What serves a task, as the worker calls it.
  using Serve = std::function<Json(Step&, const Json&)>;
  /// Null where no body is bound.
  [[nodiscard]] Serve body_of(const std::string& step_id) const;
  /// Tasks that no body serves yet.
  [[nodiscard]] std::vector<std::string> without_body() const;

 private:
  void bind(std::string_view step_id, Serve serve);

  template <typename Input, typename Body>
  static Json call(Body& body, Step& step, const Json& given) {
    const auto run = [&]() -> decltype(auto) {
      if constexpr (std::is_invocable_v<Body&, Step&, const Input&>)
        return body(step, detail::input_of<Input>(given));
      else
        return body(step);
    };
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      return {};
    } else {
      return detail::output_of<std::remove_cvref_t<decltype(run())>>(run());
    }
  }

  Json definition_;
  std::string id_;
  std::int64_t version_ = 0;
  std::vector<std::string> tasks_;
  std::map<std::string, Serve> bodies_;
};

}  // namespace svc::inline v0
