#include "event_stream.hpp"

#include <gtest/gtest.h>

namespace {

using svc::detail::EventReader;

std::vector<std::string> data_of(std::string_view text, std::size_t piece) {
  EventReader reader;
  std::vector<std::string> found;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    reader.take(text.substr(0, piece));
    while (const auto event = reader.next()) found.push_back(event->data);
  }
  return found;
}

TEST(EventReader, ReadsTheSameEventsHoweverTheStreamIsCut) {
  constexpr std::string_view text =
      ": a comment\r\n\r\nid: 7\r\nevent: journal\r\ndata: one\r\ndata: two\r\n\r\ndata:three\n\nretry: 10\n\ndata: "
      "four\r\rdata: half";
  const std::vector<std::string> expected{"one\ntwo", "three", "four"};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(data_of(text, piece), expected) << piece;
}

TEST(EventReader, KeepsIdAndNameOfAnEvent) {
  EventReader reader;
  reader.take("id: 7\nevent: journal\ndata\n\ndata: x\n\n");
  const auto first = reader.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->data, "");
  EXPECT_EQ(first->id, "7");
  EXPECT_EQ(first->name, "journal");
  const auto second = reader.next();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->id, "7") << "the last id stays";
  EXPECT_EQ(second->name, std::nullopt) << "the name does not";
}

}  // namespace
