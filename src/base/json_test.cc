#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(ParseJson, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(parse_json("{\n\"a\":").error().message(), HasSubstr("line 2"));
  EXPECT_THAT(parse_json("1e999").error().message(), HasSubstr("not valid JSON"));
  EXPECT_TRUE(parse_json(nested(deepest_json)));
  EXPECT_EQ(parse_json(nested(deepest_json + 1)).error().message(), "nested too deeply");
  EXPECT_TRUE(parse_json(nested(4), 4));
  EXPECT_FALSE(parse_json(nested(5), 4));
}

TEST(ParseJson, KeepsTheOrderOfTheText) {
  EXPECT_EQ(json_line(*parse_json(R"({ "b": 1, "a": [2], "b": 3 })")), R"({"b":3,"a":[2]})");
  EXPECT_EQ(json_line(Json("\xff")), "\"\xEF\xBF\xBD\"");
}

TEST(ParseForeignJson, IsNullForWhatIsNone) {
  EXPECT_EQ(parse_foreign_json(R"({"a":1})")["a"], 1);
  for (const std::string& none : {std::string(), std::string("{"), std::string("1e999")}) {
    EXPECT_TRUE(parse_foreign_json(none).is_null()) << none;
  }
  EXPECT_TRUE(parse_foreign_json(nested(deepest_json)).is_array());
  EXPECT_TRUE(parse_foreign_json(nested(deepest_json + 1)).is_null());
}

TEST(NumberIn, HoldsNoOtherNumber) {
  EXPECT_EQ(number_in<int>(Json(-5)), -5);
  EXPECT_EQ(number_in<std::uint64_t>(Json(-5)), std::nullopt);
  EXPECT_EQ(number_in<std::uint8_t>(Json(256)), std::nullopt);
  EXPECT_EQ(number_in<int>(Json(3.5)), std::nullopt);
  EXPECT_EQ(number_in<double>(Json(3)), 3.0);
  EXPECT_EQ(number_in<int>(Json("3")), std::nullopt);
}

}  // namespace
}  // namespace berth
