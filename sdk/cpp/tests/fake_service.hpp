/// A service on the loopback that answers calls as a test says.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace svc_tests {

struct Reply {
  int status = 200;
  nlohmann::json body = nlohmann::json::object();
};

class FakeService {
 public:
  using Answer = std::function<Reply(const std::string& path, const nlohmann::json& body)>;

  /// `answer` is called on the threads of connections.
  explicit FakeService(Answer answer) : answer_(std::move(answer)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, at, size) != 0 || listen(listener_, 16) != 0 || getsockname(listener_, at, &size) != 0)
      throw std::runtime_error("no socket");
    port_ = ntohs(address.sin_port);
    accepting_ = std::jthread([this] { accept_all(); });
  }
  FakeService(const FakeService&) = delete;
  FakeService(FakeService&&) = delete;
  FakeService& operator=(const FakeService&) = delete;
  FakeService& operator=(FakeService&&) = delete;
  ~FakeService() {
    is_closed_ = true;
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock{mutex_};
      for (const int connection : connections_) shutdown(connection, SHUT_RDWR);
    }
    serving_.clear();
    for (const int connection : connections_) close(connection);
    close(listener_);
  }

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void accept_all() {
    while (!is_closed_) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      const std::lock_guard lock{mutex_};
      connections_.push_back(connection);
      serving_.emplace_back([this, connection] { serve(connection); });
    }
  }

  void serve(int connection) {
    std::string text;
    const auto more = [&] {
      std::string part(16384, '\0');
      const auto size = recv(connection, part.data(), part.size(), 0);
      if (size > 0) text.append(part, 0, static_cast<std::size_t>(size));
      return size > 0;
    };
    while (true) {
      auto end = text.find("\r\n\r\n");
      while (end == std::string::npos) {
        if (!more()) return;
        end = text.find("\r\n\r\n");
      }
      const auto head = text.substr(0, end);
      text.erase(0, end + 4);
      const auto length_at = head.find("Content-Length: ");
      const auto length = length_at == std::string::npos ? 0 : std::stoul(head.substr(length_at + 16));
      while (text.size() < length)
        if (!more()) return;
      const auto path = head.substr(head.find(' ') + 1, head.find(' ', head.find(' ') + 1) - head.find(' ') - 1);
      const auto reply = answer_(path, nlohmann::json::parse(text.substr(0, length), nullptr, false));
      text.erase(0, length);
      const auto body = reply.body.dump();
      const auto answer = "HTTP/1.1 " + std::to_string(reply.status) +
                          " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                          "\r\n\r\n" + body;
      if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
    }
  }

  Answer answer_;
  int listener_;
  int port_ = 0;
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;
  std::vector<int> connections_;
  std::vector<std::jthread> serving_;
  std::jthread accepting_;
};

}  // namespace svc_tests
