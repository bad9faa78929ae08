/// What recording a span costs its thread, and what a stalled service costs the process.
///
/// `cmake --workflow --preset bench && build/bench/bench/svc_bench_spans`. The first figure is the time from the start of a
/// span with an input, an output and usage to behind its end, in microseconds: of the wall clock (aim: 5 at the median), and of
/// this thread's processor time, which other processes do not lengthen. The second offers spans of 4 KiB, at most 100,000 a
/// second, to a service that takes connections and never answers: how much the process grew (aim: 64 MB), and what was dropped.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <svc/instrumentation.hpp>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int spans = 50'000;
constexpr int offered = 300'000;
constexpr double rate = 100'000;

/// A service that takes connections and what is sent, and never answers. Lives as long as the process.
std::string stalled_service() {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(server, 64) != 0)
    throw std::runtime_error("no port is free");
  getsockname(server, reinterpret_cast<sockaddr*>(&address), &size);
  std::thread([server] {
    while (true) {
      const int connection = accept(server, nullptr, nullptr);
      std::thread([connection] {
        std::array<char, 1 << 16> taken{};
        while (read(connection, taken.data(), taken.size()) > 0) continue;
        close(connection);
      }).detach();
    }
  }).detach();
  return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

void record(svc::Instrumentation& tracer, int number, const std::string& question) {
  auto span = tracer.span(
      "draft",
      {.kind = svc::SpanKind::model_generation, .input = question, .model = "gpt-4o-mini", .attributes = {{"n", number}}});
  span.output("42").usage(12, 1);
}

double resident_mb() {
  std::ifstream file{"/proc/self/statm"};
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double thread_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double rounded(double number) { return std::round(number * 10) / 10; }

nlohmann::json cost(const std::string& endpoint) {
  svc::Instrumentation tracer{{.settings = {.endpoint = endpoint}}};
  const std::string question = "What is it all about?";
  for (int n = 0; n < 1000; ++n) record(tracer, n, question);
  std::vector<double> taken;
  taken.reserve(spans);
  const auto before = thread_us();
  for (int n = 0; n < spans; ++n) {
    const auto start = Clock::now();
    record(tracer, n, question);
    taken.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  const auto cpu = thread_us() - before;
  tracer.close(std::chrono::milliseconds{0});
  std::sort(taken.begin(), taken.end());
  return {{"median_us", rounded(taken[taken.size() / 2])},
          {"p99_us", rounded(taken[taken.size() * 99 / 100])},
          {"cpu_us", rounded(cpu / spans)}};
}

nlohmann::json stalled(const std::string& endpoint) {
  svc::Instrumentation tracer{{.settings = {.endpoint = endpoint}}};
  record(tracer, -1, "first");
  std::this_thread::sleep_for(std::chrono::seconds{1});
  const std::string question(4096, 'x');
  const auto before = resident_mb();
  auto most = before;
  const auto start = Clock::now();
  for (int n = 0; n < offered; ++n) {
    record(tracer, n, question);
    if (n % 10'000 != 0) continue;
    most = std::max(most, resident_mb());
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(n / rate)));
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto dropped = tracer.counters().dropped;
  tracer.close(std::chrono::milliseconds{0});
  const auto found = tracer.counters();
  return {{"offered_per_s", std::round(offered / seconds)},
          {"dropped", dropped},
          {"all_counted_once", dropped + found.failed == offered + 1},
          {"grew_mb", rounded(most - before)}};
}

}  // namespace

int main() {
  const auto endpoint = stalled_service();
  std::cout << nlohmann::json{{"stalled", stalled(endpoint)}, {"record", cost(endpoint)}}.dump(2) << '\n';
}
