#include "guard/cap.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using enum CapTier;

/// One machine and one wish; the tier, or what is said where it cannot be had.
struct CapRow {
  const char* name;
  std::optional<CapTier> asked;
  CapFacts facts;
  CapTier tier;
  const char* refusal;
};

const CapFacts all{};
const CapFacts no_kernel{.no_kernel = Sentence("no dmem"), .no_mps = {}, .no_shim = {}};
const CapFacts shim_alone{
    .no_kernel = Sentence("no dmem"), .no_mps = Sentence("no MPS"), .no_shim = {}};
const CapFacts nothing{.no_kernel = Sentence("no dmem"),
                       .no_mps = Sentence("no MPS"),
                       .no_shim = Sentence("no driver")};

const CapRow rows[] = {
    {"all_there", {}, all, kernel, nullptr},
    {"without_the_kernel", {}, no_kernel, mps, nullptr},
    {"the_shim_alone", {}, shim_alone, shim, nullptr},
    {"nothing_there", {}, nothing, watchdog, nullptr},
    {"kernel_asked", kernel, all, kernel, nullptr},
    {"kernel_asked_not_there", kernel, nothing, none, "--cap kernel: no dmem"},
    {"mps_asked", mps, all, mps, nullptr},
    {"mps_asked_not_there", mps, shim_alone, none, "--cap mps: no MPS"},
    {"shim_asked", shim, all, shim, nullptr},
    {"shim_asked_not_there", shim, nothing, none, "--cap shim: no driver"},
    {"watchdog_asked", watchdog, all, watchdog, nullptr},
    {"none_asked", none, all, none, nullptr},
};

class EachCap : public testing::TestWithParam<CapRow> {};

TEST_P(EachCap, IsTheTierAskedForOrTheStrongestOrARefusal) {
  const CapRow& row = GetParam();
  const auto choice = choose_cap(row.asked, row.facts);
  if (row.refusal != nullptr) {
    ASSERT_FALSE(choice) << word_of(choice->tier);
    EXPECT_EQ(choice.error().code(), ErrorCode::unsupported);
    EXPECT_THAT(choice.error().message(), HasSubstr(row.refusal));
  } else {
    ASSERT_TRUE(choice) << choice.error().message();
    EXPECT_EQ(word_of(choice->tier), word_of(row.tier));
  }
}

INSTANTIATE_TEST_SUITE_P(Cap, EachCap, testing::ValuesIn(rows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Cap, SaysWhyEachStrongerTierIsNotTaken) {
  EXPECT_THAT(choose_cap({}, nothing)->stronger,
              ElementsAre(Pair(kernel, "no dmem"), Pair(mps, "no MPS"), Pair(shim, "no driver")));
  EXPECT_THAT(choose_cap({}, all)->stronger, IsEmpty());
  EXPECT_THAT(choose_cap(shim, no_kernel)->stronger,
              ElementsAre(Pair(kernel, "no dmem"), Pair(mps, "a weaker tier was asked for")));
}

}  // namespace
}  // namespace berth
