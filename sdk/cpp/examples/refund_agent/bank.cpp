#include "bank.hpp"

Payment Bank::pay(double amount, const std::string& key) {
  const std::lock_guard lock{mutex_};
  if (const auto paid = payments_.find(key); paid != payments_.end()) return paid->second;
  if (refused_once_.insert(key).second) throw BankDown();
  return payments_[key] = {"payment-" + std::to_string(payments_.size() + 1), amount};
}
