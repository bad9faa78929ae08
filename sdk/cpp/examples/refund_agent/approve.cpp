/// The person's answer: `refund_approve <ticket> yes|no`.
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <svc/client.hpp>

int main(int count, char** given) {
  const std::span arguments{given, static_cast<std::size_t>(count)};
  const std::string answer = count == 3 ? arguments[2] : "";
  if (answer != "yes" && answer != "no") {
    std::cerr << "usage: refund_approve <ticket> yes|no\n";
    return 2;
  }
  try {
    const std::string ticket = arguments[1];
    svc::Client client;
    // A ticket is approved once: the id makes a second click count as the first.
    const auto published = client.publish("approval", "ticket/" + ticket, nlohmann::json{{"approved", answer == "yes"}},
                                          {.event_id = "approval-of-" + ticket});
    std::cout << published.outcome.text() << '\n';
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
