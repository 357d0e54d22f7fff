#include "base/json_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace berth {

struct Cup {
  std::string name = {};
  std::uint32_t size = 7;
  std::optional<DeviceId> stands_on = {};
  Reading<Bytes> holds = {};
  Reading<double> warmth = {};
  bool chipped = false;
  std::vector<std::string> owners = {};
  friend bool operator==(const Cup&, const Cup&) = default;
};
static void walk(Archive& archive, Cup& cup) {
  archive.member("name", cup.name, Form::required);
  archive.member("size", cup.size);
  archive.member("stands_on", cup.stands_on);
  archive.member("holds_bytes", cup.holds);
  archive.member("warmth", cup.warmth, Form::sparse);
  archive.member("chipped", cup.chipped, Form::sparse);
  archive.derived("is_large", cup.size > 9);
  archive.member("owners", cup.owners);
}

namespace {

std::string written(Cup cup, JsonLayout layout = JsonLayout::compact) {
  return write_json(layout, [&](Archive& archive) { walk(archive, cup); });
}
Result<Cup> read(std::string_view text) {
  Cup cup;
  const auto done = read_json(text, [&](Archive& archive) { walk(archive, cup); });
  if (!done) return std::unexpected(done.error());
  return cup;
}

TEST(JsonArchive, TheReasonsOfWhatIsAbsentStandLast) {
  EXPECT_EQ(written({.name = "a", .holds = Absent::no_permission}),
            R"({"name":"a","size":7,"stands_on":null,"holds_bytes":null,"is_large":false,)"
            R"("owners":[],"why":{"holds_bytes":"no permission"}})");
  EXPECT_EQ(
      written(
          {.name = "a", .size = 10, .holds = Bytes{5}, .warmth = Absent::failed, .chipped = true}),
      R"({"name":"a","size":10,"stands_on":null,"holds_bytes":5,"warmth":null,)"
      R"("chipped":true,"is_large":true,"owners":[],"why":{"warmth":"failed"}})");
}

TEST(JsonArchive, IndentedForPeople) {
  EXPECT_EQ(written({.name = "a", .holds = Bytes{5}, .owners = {"b"}}, JsonLayout::indented),
            "{\n  \"name\": \"a\",\n  \"size\": 7,\n  \"stands_on\": null,\n  \"holds_bytes\": 5,\n"
            "  \"is_large\": false,\n  \"owners\": [\n    \"b\"\n  ]\n}");
}

TEST(JsonArchive, GivesBackWhatItWrote) {
  for (const double warmth : {0.0, -0.0, 60.0, 0.1, 1e15, 1e-9, -3.25, 123456789.125}) {
    const Cup cup{.name = "\"\\\n\x01 空\x7F",
                  .size = 4'000'000'000,
                  .stands_on = DeviceId("GPU-1"),
                  .holds = Bytes{std::numeric_limits<std::uint64_t>::max()},
                  .warmth = warmth,
                  .chipped = true,
                  .owners = {"", "b"}};
    EXPECT_EQ(read(written(cup)).value(), cup) << written(cup);
  }
}

TEST(JsonArchive, KeysComeInAnyOrderAndUnknownOnesAreIgnored) {
  EXPECT_EQ(read(R"({"later":{"a":[1]},"owners":["x"],"size":3,"name":"n"})").value(),
            (Cup{.name = "n", .size = 3, .owners = {"x"}}));
}

TEST(JsonArchive, NamesTheFirstMistake) {
  for (const auto& [text, mistake] : std::vector<std::pair<const char*, const char*>>{
           {"7", "it is not an object"},
           {"{}", "name is missing"},
           {R"({"name":null})", "name is missing"},
           {R"({"name":7})", "name has a value of the wrong type or range"},
           {R"({"name":"","size":-1})", "size has a value of the wrong type or range"},
           {R"({"name":"","size":1.5})", "size has a value of the wrong type or range"},
           {R"({"name":"","size":4294967296})", "size has a value of the wrong type or range"},
           {R"x({"name":"","stands_on":"$(reboot)"})x", "stands_on is no plain word"},
           {R"({"name":"","owners":{}})", "owners is not a list"},
           {R"({"name":"","owners":["a",7,{}]})", "owners has a value of the wrong type"}}) {
    const auto cup = read(text);
    ASSERT_FALSE(cup) << text;
    EXPECT_EQ(cup.error().code(), ErrorCode::invalid);
    EXPECT_THAT(cup.error().message(), testing::HasSubstr(mistake)) << text;
  }
  EXPECT_THAT(read("{").error().message(), testing::HasSubstr("not valid JSON"));
  EXPECT_THAT(read(std::string(1000, '[')).error().message(), testing::HasSubstr("too deeply"));
}

}  // namespace
}  // namespace berth
