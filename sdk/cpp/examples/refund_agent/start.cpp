/// Starts a refund and follows it: `refund_start [amount] [complaint]`.
#include <chrono>
#include <exception>
#include <iomanip>
#include <iostream>
#include <span>
#include <svc/client.hpp>

#include "refund.hpp"

namespace {

void follow(svc::Run<Payment>& run, const std::string& ticket) {
  for (const auto& entry : run.watch()) {
    std::cout << std::setw(3) << entry.seq << ' ' << std::left << std::setw(15) << entry.kind.text() << std::right << ' '
              << entry.step_id.value_or("") << '\n';
    if (entry.kind == svc::JournalKind::run_waiting && entry.step_id == "ask")
      std::cout << "\n    It waits for a person. In another terminal:\n    refund_approve " << ticket << " yes\n\n";
  }
  try {
    const auto paid = run.wait();
    std::cout << "paid: " << paid.amount << " as " << paid.payment << '\n';
  } catch (const svc::RunFailed& failed) {
    std::cout << failed.what() << '\n';
  }
}

}  // namespace

int main(int count, char** given) {
  const std::span arguments{given, static_cast<std::size_t>(count)};
  try {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const Ticket ticket{.id = "t-" + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
                        .text = count > 2 ? arguments[2] : "I do not like the colour any more.",
                        .amount = count > 1 ? std::stod(arguments[1]) : 250.0};
    svc::Client client;
    auto run =
        client.start<Payment>("refund", Case{ticket}, {.correlation = svc::wire::RunCorrelation{.user_id = "customer-7"}});
    std::cout << "run " << run.run_id() << ", trace " << run.trace_id() << ", ticket " << ticket.id << '\n';
    follow(run, ticket.id);
  } catch (const svc::ServiceError& refusal) {
    std::cerr << refusal.what();
    if (refusal.code() == svc::wire::ErrorCode::not_found) std::cerr << ": a worker brings it, so start refund_worker first";
    std::cerr << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
