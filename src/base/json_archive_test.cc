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

struct Shelf {
  std::string label = {};
  std::vector<Cup> cups = {};
  Reading<Bytes> weight = {};
  Reading<std::string> wood = {};
  std::vector<Reading<double>> heights = {};
  friend bool operator==(const Shelf&, const Shelf&) = default;
};
void put_place(Archive& archive, Cup& cup) {
  archive.is_reading() || cup.size != 7 ? put_row(archive, 2, cup.name, cup.holds, cup.size)
                                        : put_row(archive, 2, cup.name, cup.holds);
}
void walk_shelf(Archive& archive, Shelf& shelf) {
  archive.member("label", shelf.label, Form::nullable);
  if (archive.open("cups", true, Form::plain, nullptr)) {
    put_list(archive, shelf.cups, 3, [&](Cup& cup) { put_place(archive, cup); });
    archive.close();
  }
  archive.member("weight", shelf.weight, Form::worded);
  archive.member("wood", shelf.wood, Form::worded);
  archive.member("heights", shelf.heights, Form::sparse);
}
std::string written(Shelf shelf, JsonLayout layout = JsonLayout::compact) {
  return write_json(layout, [&](Archive& archive) { walk_shelf(archive, shelf); });
}
Result<Shelf> read_shelf(std::string_view text, WrongValues wrong = WrongValues::refused) {
  Shelf shelf;
  const auto done = read_json(text, [&](Archive& archive) { walk_shelf(archive, shelf); }, wrong);
  if (!done) return std::unexpected(done.error());
  return shelf;
}

TEST(JsonArchive, RowsHaveTheReasonInTheValuesPlace) {
  const Shelf shelf{.cups = {{.name = "a", .holds = Bytes{5}},
                             {.name = "b", .size = 9, .holds = Absent::not_sampled}},
                    .weight = Absent::no_permission,
                    .wood = Absent::failed,
                    .heights = {1.0, Absent::unsupported, 0.5}};
  EXPECT_EQ(written(shelf), R"({"label":null,"cups":[["a",5],["b","not sampled",9]],)"
                            R"("weight":"no permission","wood":"failed",)"
                            R"("heights":[1.0,"unsupported",0.5]})");
  EXPECT_EQ(written({.heights = {1.0, 0.5}}, JsonLayout::terse),
            R"({"label":null,"cups":[],"heights":[1,0.5]})");
  EXPECT_EQ(read_shelf(written(shelf)).value(), shelf);
  EXPECT_EQ(read_shelf(written({.wood = std::string("oak")})).value().wood,
            Reading<std::string>("oak"));
}

TEST(JsonArchive, ListsAndRowsHaveTheirBounds) {
  EXPECT_TRUE(read_shelf(R"({"cups":[["a",5,6,"of a newer one"]]})"));
  for (const auto& [text, mistake] : std::vector<std::pair<const char*, const char*>>{
           {R"({"cups":[["a"]]})", "cups has too few items"},
           {R"({"cups":["a"]})", "cups is not a list"},
           {R"({"cups":[[7,5]]})", "cups has a value of the wrong type"},
           {R"({"cups":[["a",1],["a",1],["a",1],["a",1]]})", "cups has too many items"},
           {R"({"weight":"heavy"})", "weight has a value of the wrong type"}}) {
    const auto shelf = read_shelf(text);
    ASSERT_FALSE(shelf) << text;
    EXPECT_THAT(shelf.error().message(), testing::HasSubstr(mistake)) << text;
  }
}

TEST(JsonArchive, WrongValuesMayBeForgiven) {
  const auto shelf =
      read_shelf(R"({"label":7,"cups":[["a",-5],["a",1],["a",1],["a",1]],"weight":1.5,"wood":[],)"
                 R"("heights":["low",2]})",
                 WrongValues::absent);
  ASSERT_TRUE(shelf) << shelf.error().message();
  EXPECT_EQ(shelf->label, "");
  ASSERT_EQ(shelf->cups.size(), 3U);
  EXPECT_EQ(shelf->cups[0].holds.why(), Absent::failed);
  EXPECT_EQ(shelf->cups[1].holds, Reading<Bytes>(Bytes{1}));
  EXPECT_EQ(shelf->weight.why(), Absent::failed);
  EXPECT_EQ(shelf->wood.why(), Absent::failed);
  EXPECT_EQ(shelf->heights, (std::vector<Reading<double>>{Absent::failed, 2.0}));
  EXPECT_TRUE(read_shelf(R"({"cups":{},"heights":7})", WrongValues::absent));
  EXPECT_FALSE(read_shelf(R"({"cups":[[7,5]]})", WrongValues::absent)) << "no reading";
  EXPECT_FALSE(read_shelf("[]", WrongValues::absent));
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

TEST(JsonArchive, AnObjectMayHaveItsReasonsAlsoWhereNothingIsAbsent) {
  Reading<Bytes> here = Bytes{5};
  const auto written_with_why = [&] {
    return write_json(JsonLayout::compact, [&](Archive& archive) {
      archive.always_why();
      archive.member("holds_bytes", here);
    });
  };
  EXPECT_EQ(written_with_why(), R"({"holds_bytes":5,"why":{}})");
  here = Absent::failed;
  EXPECT_EQ(written_with_why(), R"({"holds_bytes":null,"why":{"holds_bytes":"failed"}})");
}

}  // namespace
}  // namespace berth
