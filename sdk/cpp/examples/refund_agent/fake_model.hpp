/// Stands for a model: it takes a moment, counts tokens, and does the same thing every time.
#pragma once

#include <cstdint>
#include <string>

/// The name under which the price book knows the model that this one plays.
inline constexpr auto model_name = "gpt-4o-mini";

struct Judgement {
  double confidence;
  std::string reason;
};

template <typename Answer>
struct Reply {
  Answer answer;
  std::int64_t input_tokens;
  std::int64_t output_tokens;
};

/// Reads a complaint the way a careful agent would.
Reply<Judgement> judge(const std::string& complaint);
/// Writes the answer to a customer whose refund was refused.
Reply<std::string> apologise(const std::string& complaint);
