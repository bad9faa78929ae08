/// It says when it is registered, where, and what it serves; Ctrl-C stops it.
#include <exception>
#include <iostream>
#include <svc/worker.hpp>

#include "refund.hpp"

int main() {
  try {
    Bank bank;
    svc::Worker worker{{refund_agent(bank)}, {.settings = {.service_name = "refund-agent"}, .name = "refund-agent"}};
    worker.run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
