/// Stands for a bank with an API as banks have them: it fails now and then, and it takes an idempotency key.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

struct BankDown : std::runtime_error {
  BankDown() : std::runtime_error("the bank does not answer") {}
};

struct Payment {
  std::string payment;
  double amount = 0;
};

class Bank {
 public:
  /// The first try for a key fails, so that a retry can be seen; a repeated key pays nothing twice. Throws BankDown.
  Payment pay(double amount, const std::string& key);

 private:
  std::mutex mutex_;
  std::map<std::string, Payment> payments_;
  std::set<std::string> refused_once_;
};
