#include "usage.hpp"

namespace svc::inline v0::detail {

namespace {

void add_count(std::optional<std::int64_t>& total, const std::optional<std::int64_t>& more) {
  if (more.has_value()) total = total.value_or(0) + *more;
}

void add_counts(wire::UsageInputDetails& total, const wire::UsageInputDetails& more) {
  add_count(total.cache_read, more.cache_read);
  add_count(total.cache_write, more.cache_write);
  add_count(total.cache_write_5m, more.cache_write_5m);
  add_count(total.cache_write_1h, more.cache_write_1h);
  add_count(total.audio, more.audio);
  add_count(total.text, more.text);
}

void add_counts(wire::UsageOutputDetails& total, const wire::UsageOutputDetails& more) {
  add_count(total.reasoning, more.reasoning);
  add_count(total.audio, more.audio);
  add_count(total.text, more.text);
}

template <typename Details>
void add_details(std::optional<Details>& total, const std::optional<Details>& more) {
  if (!more.has_value()) return;
  if (!total.has_value()) total.emplace();
  add_counts(*total, *more);
}

wire::ReportedUsage entry_of(const std::string& model, const wire::Usage& usage) {
  wire::ReportedUsage entry{
      .input_tokens = usage.input_tokens, .output_tokens = usage.output_tokens, .total_tokens = usage.total_tokens};
  if (!model.empty()) entry.model = model;
  if (const auto& from = usage.input_details; from.has_value()) {
    entry.input_details = wire::ReportedUsageInputDetails{.cache_read = from->cache_read,
                                                          .cache_write = from->cache_write,
                                                          .cache_write_5m = from->cache_write_5m,
                                                          .cache_write_1h = from->cache_write_1h,
                                                          .audio = from->audio,
                                                          .text = from->text};
  }
  if (const auto& from = usage.output_details; from.has_value()) {
    entry.output_details =
        wire::ReportedUsageOutputDetails{.reasoning = from->reasoning, .audio = from->audio, .text = from->text};
  }
  return entry;
}

}  // namespace

void UsageTotals::add(const std::string& model, const std::optional<wire::Usage>& usage) {
  const std::lock_guard lock{mutex_};
  has_model_span_ = true;
  if (!usage.has_value()) return;
  auto& total = by_model_[model];
  add_count(total.input_tokens, usage->input_tokens);
  add_count(total.output_tokens, usage->output_tokens);
  add_count(total.total_tokens, usage->total_tokens);
  add_details(total.input_details, usage->input_details);
  add_details(total.output_details, usage->output_details);
}

std::vector<wire::ReportedUsage> UsageTotals::reported(std::optional<std::vector<wire::ReportedUsage>> by_hand) const {
  const std::lock_guard lock{mutex_};
  if (by_hand.has_value()) {
    for (auto& entry : *by_hand)
      if (!has_model_span_ && !entry.record.has_value()) entry.record = true;
    return std::move(*by_hand);
  }
  std::vector<wire::ReportedUsage> entries;
  entries.reserve(by_model_.size());
  for (const auto& [model, usage] : by_model_) entries.push_back(entry_of(model, usage));
  return entries;
}

}  // namespace svc::inline v0::detail
