#include "fake_model.hpp"

#include <chrono>
#include <regex>
#include <thread>

namespace {

std::int64_t tokens_of(const std::string& text) { return static_cast<std::int64_t>((text.size() + 3) / 4); }

void think() { std::this_thread::sleep_for(std::chrono::milliseconds{300}); }

}  // namespace

Reply<Judgement> judge(const std::string& complaint) {
  think();
  static const std::regex fault{"broken|damaged|never arrived|wrong", std::regex::icase};
  const Judgement judgement = std::regex_search(complaint, fault)
                                  ? Judgement{0.93, "the customer names a fault that the terms cover"}
                                  : Judgement{0.55, "the complaint names no fault that the terms cover"};
  return {judgement, 220 + tokens_of(complaint), tokens_of(judgement.reason) + 8};
}

Reply<std::string> apologise(const std::string& complaint) {
  think();
  const std::string text = "We are sorry. A colleague looked at your case, and we cannot refund it under our terms.";
  return {text, 180 + tokens_of(complaint), tokens_of(text)};
}
