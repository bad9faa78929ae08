import type { EnumModel, Member, Models, ObjectModel, Type } from './models.ts';
import { wrap } from './text.ts';

const WIDTH = 100;

/** Words that C++ keeps for itself, among the names of members and values. */
const RESERVED: ReadonlySet<string> = new Set(['class', 'continue', 'default', 'delete', 'new', 'operator', 'public']);
const identifier = (name: string): string => {
  const plain = name.replace(/\W/g, '_');
  return RESERVED.has(plain) ? `${plain}_` : plain;
};

const docs = (text: string, indent: string): readonly string[] =>
  wrap(text, WIDTH - indent.length - 4).map((line) => `${indent}/// ${line}`);

const typeName = (type: Type): string => {
  switch (type.kind) {
    case 'text':
      return 'std::string';
    case 'integer':
      return 'std::int64_t';
    case 'number':
      return 'double';
    case 'boolean':
      return 'bool';
    case 'json':
    case 'json_object':
      return 'Json';
    case 'list':
      return `std::vector<${typeName(type.of)}>`;
    case 'map':
      return `std::map<std::string, ${typeName(type.of)}>`;
    default:
      return type.name;
  }
};
const memberType = ({ type, isRequired, isNullable }: Member): string =>
  isRequired && !isNullable ? typeName(type) : `std::optional<${typeName(type)}>`;

/** A required object begins as `{}`, which null is not. */
const initial = ({ type, isRequired }: Member): string =>
  isRequired && type.kind === 'json_object' ? ' = Json::object()' : '{}';

const structOf = ({ name, doc, members }: ObjectModel): readonly string[] => [
  ...docs(doc, ''),
  `struct ${name} {`,
  // Each has an initializer, so that a caller may name only what it sets.
  ...members.flatMap((member) => [
    ...docs(member.doc, '  '),
    `  ${memberType(member)} ${identifier(member.name)}${initial(member)};`,
  ]),
  '};',
  `void to_json(nlohmann::json& out, const ${name}& value);`,
  `void from_json(const nlohmann::json& in, ${name}& value);`,
];

const enumOf = ({ name, doc, values }: EnumModel): readonly string[] => [
  ...docs(doc, ''),
  `class ${name} : public OpenEnum {`,
  ' public:',
  ...values.map((value) => `  static constexpr std::string_view ${identifier(value)} = "${value}";`),
  '',
  '  using OpenEnum::OpenEnum;',
  '};',
];

const codecOf = ({ name, members }: ObjectModel): readonly string[] => [
  `void to_json(nlohmann::json& out, const ${name}& value) {`,
  '  out = nlohmann::json::object();',
  ...members.map((member) => {
    const put = member.isNullable ? 'put_nullable' : 'put';
    return `  ${put}(out, "${member.name}", value.${identifier(member.name)});`;
  }),
  '}',
  '',
  `void from_json(const nlohmann::json& in, ${name}& value) {`,
  ...members.map((member) => `  take(in, "${member.name}", value.${identifier(member.name)});`),
  '}',
];

/** Objects so that each comes after those that it holds. */
const inOrder = (objects: readonly ObjectModel[]): readonly ObjectModel[] => {
  const byName = new Map(objects.map((object) => [object.name, object]));
  const placed = new Set<string>();
  const place = (type: Type): readonly ObjectModel[] => {
    if (type.kind === 'list' || type.kind === 'map') return place(type.of);
    if (type.kind !== 'object' || placed.has(type.name)) return [];
    placed.add(type.name);
    const object = byName.get(type.name);
    return object === undefined ? [] : [...object.members.flatMap((member) => place(member.type)), object];
  };
  return objects.flatMap(({ name }) => place({ kind: 'object', name }));
};

const HEADER_PRELUDE = `
// NOLINTBEGIN
// clang-format off

/// The JSON that the service takes and gives.
///
/// Members that a struct does not have are ignored, and an enum keeps values that it does not know: a
/// newer service says more. A member that is absent is \`std::nullopt\`; where null is a value, it is a
/// \`Json\` that holds null. Integers have 64 bits.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace svc::inline v0::wire {

/// Any JSON. Kept behind a pointer that copies share, so that this header needs no more of the JSON
/// library than its names; include \`nlohmann/json.hpp\` where a value is made or read.
class Json {
 public:
  /// Null.
  Json() noexcept = default;
  Json(nlohmann::json value);  // NOLINT(google-explicit-constructor): it is JSON already
  /// \`{}\`.
  static Json object();

  /// Never changes, and lives as long as any copy.
  [[nodiscard]] const nlohmann::json& value() const;
  friend bool operator==(const Json& a, const Json& b);

 private:
  std::shared_ptr<const nlohmann::json> value_;
};
void to_json(nlohmann::json& out, const Json& value);
void from_json(const nlohmann::json& in, Json& value);

/// A text of which some values are known.
class OpenEnum {
 public:
  OpenEnum() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): the constants are texts
  OpenEnum(std::string_view text) : text_(text) {}

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  friend bool operator==(const OpenEnum& a, const OpenEnum& b) noexcept { return a.text_ == b.text_; }
  friend bool operator==(const OpenEnum& a, std::string_view b) noexcept { return a.text_ == b; }

 protected:
  ~OpenEnum() = default;
  OpenEnum(const OpenEnum&) = default;
  OpenEnum(OpenEnum&&) = default;
  OpenEnum& operator=(const OpenEnum&) = default;
  OpenEnum& operator=(OpenEnum&&) = default;

 private:
  std::string text_;
};`;

const SOURCE_PRELUDE = `
// NOLINTBEGIN
// clang-format off

#include "svc/wire.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>

namespace svc::inline v0::wire {

namespace {

const nlohmann::json& null_json() {
  // Never destroyed: a value may be read by a thread that outlives the statics.
  static const auto* const null = new nlohmann::json(nullptr);
  return *null;
}

template <typename T>
void write(nlohmann::json& out, const T& value) {
  if constexpr (std::is_base_of_v<OpenEnum, T>) {
    out = value.text();
  } else {
    out = value;
  }
}

template <typename T>
void write(nlohmann::json& out, const std::vector<T>& values) {
  out = nlohmann::json::array();
  for (const auto& value : values) write(out.emplace_back(), value);
}

template <typename T>
void put(nlohmann::json& out, const char* key, const T& value) {
  write(out[key], value);
}

/// What is absent is not written.
template <typename T>
void put(nlohmann::json& out, const char* key, const std::optional<T>& value) {
  if (value.has_value()) write(out[key], *value);
}

template <typename T>
void put_nullable(nlohmann::json& out, const char* key, const std::optional<T>& value) {
  auto& member = out[key];
  if (value.has_value()) write(member, *value);
}

template <typename T>
void read(const nlohmann::json& in, T& value) {
  if constexpr (std::is_base_of_v<OpenEnum, T>) {
    value = T{in.get_ref<const std::string&>()};
  } else {
    in.get_to(value);
  }
}

template <typename T>
void read(const nlohmann::json& in, std::vector<T>& values) {
  if (!in.is_array()) throw nlohmann::json::type_error::create(302, "expected an array", &in);
  values.clear();
  values.reserve(in.size());
  for (const auto& item : in) read(item, values.emplace_back());
}

/// Throws \`nlohmann::json::exception\` when the member is missing.
template <typename T>
void take(const nlohmann::json& in, const char* key, T& value) {
  read(in.at(key), value);
}

template <typename T>
void take(const nlohmann::json& in, const char* key, std::optional<T>& value) {
  const auto found = in.find(key);
  // Null is a value of any JSON, and no value of all else.
  if (found == in.end() || (found->is_null() && !std::is_same_v<T, Json>)) {
    value.reset();
  } else {
    read(*found, value.emplace());
  }
}

}  // namespace

Json::Json(nlohmann::json value) : value_(std::make_shared<const nlohmann::json>(std::move(value))) {}
Json Json::object() { return {nlohmann::json::object()}; }
const nlohmann::json& Json::value() const { return value_ == nullptr ? null_json() : *value_; }
bool operator==(const Json& a, const Json& b) { return a.value() == b.value(); }
void to_json(nlohmann::json& out, const Json& value) { out = value.value(); }
void from_json(const nlohmann::json& in, Json& value) { value = Json{in}; }`;

/** The models as a header of C++20. */
export const emitCppHeader = ({ specVersion, objects, enums }: Models): string =>
  `${[
    HEADER_PRELUDE,
    '\n/// Of the data model that this header was made from. A service of another major is not understood.',
    `inline constexpr std::string_view spec_version = "${specVersion}";`,
    ...enums.map((each) => `\n${enumOf(each).join('\n')}`),
    ...inOrder(objects).map((each) => `\n${structOf(each).join('\n')}`),
    '',
    '}  // namespace svc::inline v0::wire',
    '// NOLINTEND',
  ].join('\n')}\n`;

/** How the models of the header are read from JSON and written to it. */
export const emitCpp = ({ objects }: Models): string =>
  `${[
    SOURCE_PRELUDE,
    ...inOrder(objects).map((each) => `\n${codecOf(each).join('\n')}`),
    '',
    '}  // namespace svc::inline v0::wire',
    '// NOLINTEND',
  ].join('\n')}\n`;
