/// The journal of a run as an input range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stop_token>

#include "svc/wire.hpp"

namespace svc::inline v0 {

namespace detail {
class Follower;
}

/// Where a watch begins, and how long it lasts.
struct WatchOptions {
  /// Begins behind this sequence number; -1 for the beginning.
  std::int64_t after = -1;
  /// Ends the range, also while it waits for an entry.
  std::stop_token stop{};
};

/// Every entry of the journal once, in order, across broken connections and restarts of the service.
///
/// Ends when the run has ended, or its token is asked to stop, or the client is closed. A step of the iteration waits for the
/// next entry; it throws ServiceError when the service refuses, ConnectionError when it stays away for longer than five
/// minutes (or for the tries of the client's policy, where it never was there).
class Watch {
 public:
  class iterator {
   public:
    using value_type = wire::JournalEntry;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    iterator() = default;
    explicit iterator(detail::Follower* follower) : follower_(follower) {}

    [[nodiscard]] const wire::JournalEntry& operator*() const noexcept;
    [[nodiscard]] const wire::JournalEntry* operator->() const noexcept { return &**this; }
    iterator& operator++();
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, std::default_sentinel_t /*end*/) { return at.is_over(); }

   private:
    [[nodiscard]] bool is_over() const noexcept;

    detail::Follower* follower_ = nullptr;
  };

  explicit Watch(std::unique_ptr<detail::Follower> follower) noexcept;
  Watch(const Watch&) = delete;
  Watch(Watch&& other) noexcept;
  Watch& operator=(const Watch&) = delete;
  Watch& operator=(Watch&& other) noexcept;
  /// Hangs up.
  ~Watch();

  /// Connects, and waits for the first entry. Once.
  [[nodiscard]] iterator begin();
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  std::unique_ptr<detail::Follower> follower_;
};

}  // namespace svc::inline v0
