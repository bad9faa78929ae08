#include "svc/settings.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "resolved_settings.hpp"
#include "text.hpp"

namespace svc::inline v0 {

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      break;
  }
  return "error";
}

void log_to_stderr(LogLevel level, std::string_view line) {
  if (level == LogLevel::debug) return;
  std::string text = "svc: ";
  text.append(to_string(level)).append(": ").append(line).append("\n");
  // In one piece: several threads write.
  std::cerr << text << std::flush;
}

namespace detail {

namespace {

constexpr std::string_view default_endpoint = "http://127.0.0.1:4317";

struct FreeUrl {
  void operator()(CURLU* url) const noexcept { curl_url_cleanup(url); }
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK || text == nullptr) return std::nullopt;
  std::string found = text;
  curl_free(text);
  return found;
}

/// Scheme, host, port and path; none where the text is no URL of a service.
std::optional<std::string> normalized(const std::string& text) {
  if (text.find_first_of(" \r\n\t") != std::string::npos) return std::nullopt;
  const std::unique_ptr<CURLU, FreeUrl> url{curl_url()};
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const auto scheme = part_of(url.get(), CURLUPART_SCHEME);
  const auto host = part_of(url.get(), CURLUPART_HOST);
  if (!scheme.has_value() || (*scheme != "http" && *scheme != "https")) return std::nullopt;
  if (!host.has_value() || host->empty()) return std::nullopt;
  const auto port = part_of(url.get(), CURLUPART_PORT);
  if (port == "0") return std::nullopt;
  std::string endpoint = *scheme + "://" + *host + (port.has_value() ? ":" + *port : "");
  auto path = part_of(url.get(), CURLUPART_PATH).value_or("");
  while (!path.empty() && path.back() == '/') path.pop_back();
  return endpoint + path;
}

double number_of(std::string_view text) {
  text = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : std::nan("");
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each; });
  return out;
}

}  // namespace

std::optional<std::string> process_environment(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): who changes the environment beside threads has lost already
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

ResolvedSettings read_settings(const Settings& code, const Environment& environment) {
  ResolvedSettings settings;
  const auto text = [&](const std::optional<std::string>& given, const char* name) {
    auto chosen = given.has_value() ? given : environment(name);
    return chosen.has_value() && chosen->empty() ? std::nullopt : chosen;
  };

  const auto endpoint = text(code.endpoint, "SVC_ENDPOINT");
  const auto usable = endpoint.has_value() ? normalized(*endpoint) : std::string(default_endpoint);
  // Its words stay out: an endpoint may hold a password.
  if (!usable.has_value())
    settings.problems.push_back("endpoint is not an http or https URL; " + std::string(default_endpoint) + " is used");
  settings.endpoint = usable.value_or(std::string(default_endpoint));

  settings.api_key = text(code.api_key, "SVC_API_KEY");
  const auto is_printable = [](char each) { return each >= ' ' && each <= '~'; };
  if (settings.api_key.has_value() && !std::all_of(settings.api_key->begin(), settings.api_key->end(), is_printable)) {
    settings.problems.emplace_back("api_key holds characters that a header cannot carry; none is used");
    settings.api_key.reset();
  }

  const auto fraction = text(std::nullopt, "SVC_SAMPLE");
  settings.sample = code.sample.value_or(fraction.has_value() ? number_of(*fraction) : 1);
  if (!(settings.sample >= 0 && settings.sample <= 1)) {
    const auto named = code.sample.has_value() ? std::to_string(*code.sample) : fraction.value_or("");
    settings.problems.push_back("sample " + named + " is not between 0 and 1; 1 is used");
    settings.sample = 1;
  }

  settings.project = text(code.project, "SVC_PROJECT");
  settings.environment = text(code.environment, "SVC_ENVIRONMENT");
  settings.service_name = text(code.service_name, "SVC_SERVICE_NAME");
  settings.service_version = text(code.service_version, "SVC_SERVICE_VERSION");
  settings.enabled = code.enabled.value_or(lower(trimmed(environment("SVC_ENABLED").value_or(""))) != "false");
  return settings;
}

ResolvedSettings usable_settings(Settings code) {
  code.sample = 1;
  auto settings = read_settings(code);
  if (settings.problems.empty()) return settings;
  std::string all;
  for (const auto& problem : settings.problems) all += (all.empty() ? "" : "; ") + problem;
  throw std::invalid_argument(all);
}

}  // namespace detail
}  // namespace svc::inline v0
