/// What the library costs: `svc_bench spans <url>`, or `svc_bench runs` with a plan on standard input. See bench/sdk/README.md.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <future>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <svc/svc.hpp>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int warm_up = 10'000;
constexpr int spans = 50'000;
constexpr int offered = 300'000;
constexpr double rate = 100'000;

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
  for (int n = 0; n < warm_up; ++n) record(tracer, n, question);
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
  for (int n = 1; n <= offered; ++n) {
    record(tracer, n, question);
    if (n % 1000 != 0) continue;
    most = std::max(most, resident_mb());
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(n / rate)));
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto dropped = tracer.counters().dropped;
  tracer.close(std::chrono::milliseconds{0});
  return {{"offered_per_s", std::round(offered / seconds)}, {"dropped", dropped}, {"grew_mb", rounded(most - before)}};
}

/// Of this process, in microseconds.
double processor_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

/// A worker and a client in one process; each run is started and awaited, so many at a time.
nlohmann::json runs(const nlohmann::json& plan) {
  const auto url = plan.at("url").get<std::string>();
  const auto definition_id = plan.at("definition").get<std::string>();
  const auto in_flight = plan.at("inFlight").get<int>();
  svc::Client client{{.endpoint = url}};
  std::atomic<std::int64_t> steps{0};
  svc::Workflow workflow{client.get_definition(definition_id).latest};
  for (const auto& step_id : workflow.tasks())
    workflow.step(step_id, [&](svc::Step& /*step*/) -> nlohmann::json {
      ++steps;
      return {{"ok", true}};
    });
  svc::Worker worker{{workflow}, {.settings = {.endpoint = url}, .concurrency = in_flight, .stop_on_signals = false}};
  std::jthread serving{[&] { worker.run(); }};

  std::atomic<bool> over{false};
  const auto drive = [&](int number) {
    while (!over) {
      const auto run = client.start(definition_id, nlohmann::json{{"n", number}}, {.wait = std::chrono::seconds{60}});
      if (run.snapshot().status != svc::wire::RunStatus::succeeded)
        throw std::runtime_error("run " + run.run_id() + " is " + std::string{run.snapshot().status.text()});
    }
  };
  std::vector<std::future<void>> drivers;
  for (int number = 0; number < in_flight; ++number) drivers.push_back(std::async(std::launch::async, drive, number));
  const auto pass = [&](const char* name) {
    std::this_thread::sleep_for(std::chrono::duration<double>(plan.at(name).get<double>()));
  };
  pass("warmUpSeconds");
  std::cout << "measuring" << std::endl;
  const auto began = Clock::now();
  const auto cpu = processor_us();
  const auto before = steps.load();
  pass("seconds");
  std::cout << "measured" << std::endl;
  nlohmann::json figures{{"steps", steps.load() - before},
                         {"seconds", std::chrono::duration<double>(Clock::now() - began).count()},
                         {"cpu_us", processor_us() - cpu}};
  over = true;
  for (auto& driver : drivers) driver.get();
  worker.stop();
  return figures;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string verb = count > 1 ? arguments[1] : "";
  if (verb == "spans" && count == 3) {
    const auto under_stall = stalled(arguments[2]);
    std::cout << nlohmann::json{{"stalled", under_stall}, {"record", cost(arguments[2])}} << '\n';
  } else if (verb == "runs") {
    std::cout << runs(nlohmann::json::parse(std::cin)) << '\n';
  } else {
    std::cerr << "usage: svc_bench spans <url> | svc_bench runs\n";
    return 2;
  }
}
