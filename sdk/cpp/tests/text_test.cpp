#include "text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "svc/payload.hpp"
#include "trace_context.hpp"

namespace {

using namespace svc::detail;
using nlohmann::json;

TEST(Text, IsWhatTheJsonLibraryWritesForEveryCharacterOfOneByte) {
  for (int byte = 0; byte < 0x80; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(json::parse(encode_text(text)), json(text)) << byte;
  }
}

TEST(Text, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  const std::string replaced = "\"\xEF\xBF\xBD\"";
  EXPECT_EQ(encode_text("\xFF"), replaced);
  EXPECT_EQ(encode_text("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "an overlong zero";
  EXPECT_TRUE(json::accept(encode_text("\xED\xA0\x80"))) << "half of a surrogate pair";
  EXPECT_TRUE(json::accept(encode_text("\xF4\x90\x80\x80"))) << "beyond the last character";
  EXPECT_TRUE(json::accept(encode_text("\xE2\x82"))) << "a character that is cut";
  EXPECT_EQ(encode_text("Gr\xC3\xBC\xC3\x9F"
                        "e \xF0\x9F\x98\x80"),
            "\"Gr\xC3\xBC\xC3\x9F"
            "e \xF0\x9F\x98\x80\"")
      << "well-formed text stays";
}

TEST(Decode, HalfOfASurrogatePairIsReplacedAndAPairIsKept) {
  EXPECT_EQ(decode(R"(["a\ud800b"])"), json::array({"a\xEF\xBF\xBD"
                                                    "b"}));
  EXPECT_EQ(decode(R"(["\ude00\ud83d\ude00"])"), json::array({"\xEF\xBF\xBD\xF0\x9F\x98\x80"}));
  EXPECT_EQ(decode(R"(["\\ud800"])"), json::array({"\\ud800"})) << "an escaped backslash begins no escape";
  EXPECT_THROW(static_cast<void>(decode("{\"a\":")), json::exception);
}

TEST(Shortened, CutsBetweenTwoCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abc", 2), "ab");
  EXPECT_EQ(shortened("a\xC3\xBC", 2), "a");
}

TEST(PercentEncoding, LeavesNothingThatMeansSomethingInAPath) {
  EXPECT_EQ(percent_encoded("a/b?c=d e~1"), "a%2Fb%3Fc%3Dd%20e~1");
}

TEST(Payload, TakesValuesOfEveryKind) {
  EXPECT_EQ(svc::Payload(true).text(), "true");
  EXPECT_EQ(svc::Payload(nullptr).text(), "null");
  EXPECT_EQ(svc::Payload(std::numeric_limits<std::uint64_t>::max()).text(), "18446744073709551615");
  EXPECT_EQ(svc::Payload(0.1).text(), "0.1");
  EXPECT_EQ(svc::Payload(std::numeric_limits<double>::infinity()).text(), "null");
  EXPECT_EQ(svc::Payload("text").text(), "\"text\"");
  EXPECT_EQ(svc::Payload(json{{"a", {1, 2}}}).text(), R"({"a":[1,2]})");
  EXPECT_EQ(svc::Payload(std::vector<int>{1, 2}).text(), "[1,2]");
}

struct Refuses {};
[[maybe_unused]] void to_json(json& /*out*/, const Refuses& /*value*/) { throw std::runtime_error("no"); }

TEST(Payload, AValueThatRefusesToBeEncodedIsBrokenAndThrowsNothing) {
  EXPECT_TRUE(svc::Payload(Refuses{}).is_broken());
  EXPECT_FALSE(svc::Payload("").is_broken());
}

TEST(Ids, AreOfTheirSizeAndNeverTheSame) {
  EXPECT_EQ(new_trace_id().size(), 32U);
  EXPECT_EQ(new_span_id().size(), 16U);
  EXPECT_NE(new_span_id(), new_span_id());
  const auto uuid = new_uuid();
  ASSERT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '4');
  EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos);
}

}  // namespace
