/// The refund agent. Workers in other languages serve the same definition.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <svc/workflow.hpp>

#include "bank.hpp"

struct Ticket {
  std::string id;
  std::string text;
  double amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Ticket, id, text, amount)

struct Case {
  Ticket ticket;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Case, ticket)

struct Order {
  double amount;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, amount)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, payment, amount)

/// The definition of the repository with its bodies. The bank must outlive what serves them.
svc::Workflow refund_agent(Bank& bank);
