#include "serve/run_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace berth::serve {
namespace {

using RunPlaces = std::set<RunPlace, std::greater<>>;

/// All places, as a client reads them page after page. Each page goes on from the last place of the
/// one before.
std::vector<RunPlace> paged(const RunPlaces& places, std::size_t limit) {
  std::vector<RunPlace> seen;
  std::string after;
  while (true) {
    std::vector<RunPlace> page;
    for (const RunPlace& place : places) {
      const bool is_behind = after.empty() || place < run_place_in(after);
      if (is_behind && page.size() < limit) page.push_back(place);
    }
    if (page.empty()) return seen;
    seen.insert(seen.end(), page.begin(), page.end());
    after = to_text(page.back());
  }
}

TEST(RunPlace, OfEachOfSeveralPeopleIsSeenOnceWhateverThePageHolds) {
  const RunPlaces places = {{"20260102-twice", 1001}, {"20260102-twice", 1002},
                            {"20260101-old", 1002},   {"20260103-new", 1001},
                            {"20260102-twice", 0},    {"odd@name", 1001}};
  for (const std::size_t limit : {1U, 2U, 5U}) {
    EXPECT_THAT(paged(places, limit), testing::ElementsAreArray(places)) << limit << " a page";
  }
}

TEST(RunPlace, ReadsBackWhatWasWritten) {
  for (const RunPlace& place : {RunPlace{"20260101-a", 1001}, RunPlace{"odd@7", 0},
                                RunPlace{"a@b", 4'294'967'295}, RunPlace{"", 1}}) {
    EXPECT_EQ(run_place_in(to_text(place)), place) << to_text(place);
  }
}

TEST(RunPlace, OfANameAloneIsBehindEverybodysRunOfThatName) {
  const RunPlace place = run_place_in("20260102-twice");
  EXPECT_FALSE((RunPlace{"20260102-twice", 0} < place));
  EXPECT_FALSE((RunPlace{"20260102-twice", 1001} < place));
  EXPECT_TRUE((RunPlace{"20260101-old", 1002} < place));
}

TEST(RunPlace, IsANameAloneWhereNoUidStandsBehindIt) {
  for (const char* text : {"a@", "a@bob", "a@-1", "a@4294967296", "@", "a@1 "}) {
    EXPECT_EQ(run_place_in(text), (RunPlace{text, 0})) << text;
  }
}

}  // namespace
}  // namespace berth::serve
