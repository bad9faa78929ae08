#include "trace_context.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "svc/payload.hpp"
#include "text.hpp"

namespace svc::inline v0 {

namespace detail {

namespace {

constexpr std::string_view lower_hex_digits = "0123456789abcdef";
constexpr std::int64_t ns_per_second = 1'000'000'000;

template <std::size_t Size>
std::array<unsigned char, Size> random_bytes() {
  std::array<unsigned char, Size> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (auto& byte : bytes) byte = static_cast<unsigned char>(device());
  }
  return bytes;
}

template <std::size_t Size>
std::string random_hex() {
  const auto bytes = random_bytes<Size>();
  std::string text;
  text.reserve(2 * Size);
  for (const auto byte : bytes) {
    text += lower_hex_digits[byte >> 4U];
    text += lower_hex_digits[byte & 0xFU];
  }
  return text;
}

bool is_zero(std::string_view id) { return id.find_first_not_of('0') == std::string_view::npos; }

template <std::size_t Size>
std::string new_id() {
  auto id = random_hex<Size>();
  while (is_zero(id)) id = random_hex<Size>();
  return id;
}

bool is_lower_hex(std::string_view text) { return text.find_first_not_of(lower_hex_digits) == std::string_view::npos; }

struct Activation {
  unsigned long long number;
  Realm realm;
  std::shared_ptr<const TraceContext> context;
};

/// Behind a pointer that needs no destructor: spans may live in statics, which outlive what a thread owns.
thread_local std::vector<Activation>* activations = nullptr;
thread_local bool is_thread_over = false;

struct Reaper {
  Reaper() = default;
  Reaper(const Reaper&) = delete;
  Reaper(Reaper&&) = delete;
  Reaper& operator=(const Reaper&) = delete;
  Reaper& operator=(Reaper&&) = delete;
  ~Reaper() {
    is_thread_over = true;
    delete std::exchange(activations, nullptr);
  }
};

std::vector<Activation>& own_activations() {
  if (activations == nullptr) {
    if (!is_thread_over) {
      thread_local const Reaper reaper;
      static_cast<void>(reaper);
    }
    activations = new std::vector<Activation>();
  }
  return *activations;
}

std::int64_t days_before(std::int64_t year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year{static_cast<int>(year)}, std::chrono::month{month},
                                         std::chrono::day{day}};
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

/// A number of so many digits at a place; none where something else stands there.
std::optional<int> digits_at(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int number = 0;
  for (const char digit : text.substr(at, count)) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

}  // namespace

std::shared_ptr<const Belonging> belonging(wire::CorrelationInput members) {
  nlohmann::json json;
  wire::to_json(json, members);
  return std::make_shared<const Belonging>(Belonging{std::move(members), json.empty() ? std::string() : encode(json)});
}

std::shared_ptr<const Belonging> merged(const Belonging& under, const wire::CorrelationInput& over) {
  auto members = under.members;
  const auto take = [](auto& member, const auto& given) {
    if (given.has_value()) member = given;
  };
  take(members.project, over.project);
  take(members.environment, over.environment);
  take(members.service_name, over.service_name);
  take(members.service_version, over.service_version);
  take(members.session_id, over.session_id);
  take(members.thread_id, over.thread_id);
  take(members.user_id, over.user_id);
  take(members.request_id, over.request_id);
  take(members.release, over.release);
  take(members.run_id, over.run_id);
  take(members.resource_id, over.resource_id);
  take(members.experiment_id, over.experiment_id);
  take(members.tags, over.tags);
  return belonging(std::move(members));
}

Realm realm_of(std::string_view endpoint, std::string_view key) {
  const std::hash<std::string_view> hash;
  return hash(endpoint) ^ (hash(key) * 0x9E3779B97F4A7C15ULL);
}

std::shared_ptr<const TraceContext> active(Realm realm) noexcept {
  if (activations == nullptr) return nullptr;
  const auto found =
      std::find_if(activations->rbegin(), activations->rend(), [realm](const Activation& each) { return each.realm == realm; });
  return found == activations->rend() ? nullptr : found->context;
}

unsigned long long activate(Realm realm, std::shared_ptr<const TraceContext> context) noexcept {
  thread_local unsigned long long numbers = 0;
  try {
    own_activations().push_back({++numbers, realm, std::move(context)});
    return numbers;
  } catch (...) {
    return 0;
  }
}

void deactivate(unsigned long long number) noexcept {
  if (activations == nullptr) return;
  const auto found = std::find_if(activations->rbegin(), activations->rend(),
                                  [number](const Activation& each) { return each.number == number; });
  if (found != activations->rend()) activations->erase(std::next(found).base());
}

std::optional<SpanAddress> parse_traceparent(std::string_view header) {
  header = trimmed(header);
  constexpr std::size_t least = 55;
  if (header.size() < least || header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  const auto version = header.substr(0, 2);
  const auto trace_id = header.substr(3, 32);
  const auto span_id = header.substr(36, 16);
  for (const auto part : {version, trace_id, span_id, header.substr(53, 2)})
    if (!is_lower_hex(part)) return std::nullopt;
  if (version == "ff" || is_zero(trace_id) || is_zero(span_id)) return std::nullopt;
  if (header.size() > least && (version == "00" || header[least] != '-')) return std::nullopt;
  return SpanAddress{std::string(trace_id), std::string(span_id)};
}

std::string traceparent_of(const TraceContext& context, bool sampled) {
  return "00-" + context.trace_id + "-" + context.span_id + (sampled ? "-01" : "-00");
}

std::string new_trace_id() { return new_id<16>(); }
std::string new_span_id() { return new_id<8>(); }

std::string new_uuid() {
  auto text = random_hex<16>();
  text[12] = '4';
  text[16] = "89ab"[static_cast<unsigned>(text[16]) % 4U];
  for (const std::size_t at : {8U, 13U, 18U, 23U}) text.insert(at, 1, '-');
  return text;
}

bool is_sampled(std::string_view trace_id, double fraction) {
  if (fraction >= 1) return true;
  const auto low = std::strtoull(std::string(trace_id.substr(18)).c_str(), nullptr, 16);
  // As integers: a double has 53 bits.
  return low < static_cast<std::uint64_t>(std::ceil(fraction * 0x1p56));
}

std::int64_t now_epoch_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string timestamp(std::int64_t epoch_ns) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::chrono::nanoseconds{epoch_ns});
  const std::chrono::sys_seconds at{seconds};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{at - day};
  auto ns = epoch_ns - seconds.count() * ns_per_second;
  std::size_t digits = 9;
  while (digits > 3 && ns % 1000 == 0) {
    ns /= 1000;
    digits -= 3;
  }
  std::string text = "0000-00-00T00:00:00.";
  text.append(digits, '0').append(1, 'Z');
  const auto put = [&text](std::size_t at_end, std::int64_t number) {
    for (auto place = at_end; number > 0; number /= 10) text[--place] = static_cast<char>('0' + number % 10);
  };
  put(4, static_cast<int>(date.year()));
  put(7, static_cast<unsigned>(date.month()));
  put(10, static_cast<unsigned>(date.day()));
  put(13, time.hours().count());
  put(16, time.minutes().count());
  put(19, time.seconds().count());
  put(20 + digits, ns);
  return text;
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  const auto year = digits_at(text, 0, 4);
  const auto month = digits_at(text, 5, 2);
  const auto day = digits_at(text, 8, 2);
  const auto hour = digits_at(text, 11, 2);
  const auto minute = digits_at(text, 14, 2);
  const auto second = digits_at(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] | 0x20) != 't' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::size_t at = 19;
  std::int64_t ns = 0;
  if (at < text.size() && text[at] == '.') {
    const auto first = ++at;
    for (std::int64_t unit = ns_per_second / 10; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, unit /= 10)
      ns += (text[at] - '0') * unit;
    if (at == first) return std::nullopt;
  }
  std::int64_t offset_minutes = 0;
  const auto zone = text.substr(std::min(at, text.size()));
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-') && zone[3] == ':') {
    const auto hours = digits_at(zone, 1, 2);
    const auto minutes = digits_at(zone, 4, 2);
    if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    offset_minutes = (std::int64_t{*hours} * 60 + *minutes) * (zone[0] == '-' ? -1 : 1);
  } else if (zone != "Z" && zone != "z") {
    return std::nullopt;
  }
  const auto days = days_before(*year, static_cast<unsigned>(*month), static_cast<unsigned>(*day));
  const auto seconds = days * 86'400 + std::int64_t{*hour} * 3600 + (*minute - offset_minutes) * 60 + *second;
  // Nanoseconds of 64 bits reach from 1678 to 2261.
  constexpr std::int64_t most_seconds = INT64_MAX / ns_per_second - 1;
  if (seconds > most_seconds || seconds < -most_seconds) return std::nullopt;
  return seconds * ns_per_second + ns;
}

}  // namespace detail

std::string_view Context::trace_id() const noexcept { return trace_ == nullptr ? std::string_view() : trace_->trace_id; }
std::string_view Context::span_id() const noexcept { return trace_ == nullptr ? std::string_view() : trace_->span_id; }

Scope::Scope(unsigned long long number, std::shared_ptr<void> attached) noexcept
    : number_(number), attached_(std::move(attached)) {}
Scope::Scope(Scope&& other) noexcept : number_(std::exchange(other.number_, 0)), attached_(std::move(other.attached_)) {}
Scope& Scope::operator=(Scope&& other) noexcept {
  if (this != &other) {
    leave();
    number_ = std::exchange(other.number_, 0);
    attached_ = std::move(other.attached_);
  }
  return *this;
}
Scope::~Scope() { leave(); }

void Scope::leave() noexcept {
  attached_.reset();
  if (const auto number = std::exchange(number_, 0); number != 0) detail::deactivate(number);
}

}  // namespace svc::inline v0
