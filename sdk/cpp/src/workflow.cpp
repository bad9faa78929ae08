#include "svc/workflow.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "text.hpp"

namespace svc::inline v0 {

namespace {

Json parsed(std::string_view text) {
  try {
    return {detail::decode(text)};
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(std::string("a definition is JSON: ") + error.what());
  }
}

}  // namespace

Workflow::Workflow(Json definition) : definition_(std::move(definition)) {
  const auto& json = definition_.value();
  const auto has = [&json](const char* name, bool (nlohmann::json::*is)() const noexcept) {
    return json.is_object() && json.contains(name) && (json[name].*is)();
  };
  if (!has("id", &nlohmann::json::is_string) || !has("version", &nlohmann::json::is_number_integer) ||
      !has("steps", &nlohmann::json::is_array))
    throw std::invalid_argument("a definition is a JSON object with `id`, `version` and `steps`");
  id_ = json["id"];
  version_ = json["version"];
  for (const auto& step : json["steps"]) {
    if (!step.is_object() || step.value("kind", nlohmann::json()) != "task") continue;
    if (const auto id = step.find("id"); id != step.end() && id->is_string()) tasks_.push_back(*id);
  }
}

Workflow::Workflow(std::string_view definition) : Workflow(parsed(definition)) {}

Workflow Workflow::load(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw std::invalid_argument("the definition " + path.string() + " cannot be read");
  return Workflow(std::string_view(text.str()));
}

void Workflow::bind(std::string_view step_id, Serve serve) {
  const auto title = "workflow " + id_ + " version " + std::to_string(version_);
  if (std::find(tasks_.begin(), tasks_.end(), step_id) == tasks_.end())
    throw std::invalid_argument(title + " has no task \"" + std::string(step_id) + "\"");
  if (!bodies_.emplace(step_id, std::move(serve)).second)
    throw std::invalid_argument("step \"" + std::string(step_id) + "\" of " + title + " has a body already");
}

Workflow::Serve Workflow::body_of(const std::string& step_id) const {
  const auto found = bodies_.find(step_id);
  return found == bodies_.end() ? nullptr : found->second;
}

std::vector<std::string> Workflow::without_body() const {
  std::vector<std::string> without;
  std::copy_if(tasks_.begin(), tasks_.end(), std::back_inserter(without),
               [this](const std::string& task) { return !bodies_.contains(task); });
  return without;
}

}  // namespace svc::inline v0
