#include "probe/xid_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Xids = std::vector<XidEvent>;

XidEvent numbered(std::uint64_t number, XidEvent event) {
  event.number = number;
  return event;
}
XidEvent told(std::uint64_t code, std::int64_t at, const char* place = "00000000:3b:00.0") {
  return {.pci_address = place,
          .code = code,
          .at = {at},
          .pid = Absent::unsupported,
          .process = Absent::unsupported,
          .text = {}};
}
XidEvent logged(std::uint64_t code, std::int64_t at) {
  XidEvent event = told(code, at);
  event.pid = std::uint64_t{7};
  return event;
}

TEST(XidMemory, AnErrorOfBothSourcesIsOneAndTheLogsBecauseItNamesTheProcess) {
  XidMemory memory;
  memory.add_told(Xids{}, {10'000});
  memory.add_logged(Xids{});
  memory.add_told(Xids{told(31, 11'000)}, {11'000});
  memory.add_logged(Xids{logged(31, 10'400)});
  EXPECT_EQ(memory.all(), Reading<Xids>(Xids{numbered(1, logged(31, 10'400))}));
}

TEST(XidMemory, TwoErrorsOfOneCodeAreTwoAlsoWhereTheLogHasOne) {
  XidMemory memory;
  memory.add_told(Xids{}, {10'000});
  memory.add_told(Xids{told(31, 11'000), told(31, 11'000)}, {11'000});
  memory.add_logged(Xids{logged(31, 10'400)});
  EXPECT_THAT(*memory.all().get(),
              ElementsAre(numbered(1, logged(31, 10'400)), numbered(2, told(31, 11'000))));
}

TEST(XidMemory, AnotherTimeCodeOrDeviceIsAnotherError) {
  XidMemory memory;
  memory.add_told(Xids{}, {10'000});
  memory.add_told(Xids{told(31, 11'000), told(79, 11'000), told(31, 11'000, "00000000:5e:00.0")},
                  {11'000});
  memory.add_logged(Xids{logged(31, 7'900), logged(31, 13'100)});
  EXPECT_THAT(*memory.all().get(), SizeIs(5));
}

TEST(XidMemory, ALineThatIsReadLaterStillMeetsItsEvent) {
  XidMemory memory;
  memory.add_told(Xids{}, {10'000});
  memory.add_logged(Xids{});
  memory.add_told(Xids{told(31, 70'000)}, {70'000});  // a minute between two looks
  EXPECT_THAT(*memory.all().get(), SizeIs(1));
  memory.add_logged(Xids{logged(31, 12'000)});
  EXPECT_EQ(memory.all(), Reading<Xids>(Xids{numbered(1, logged(31, 12'000))}));
}

/// The numbers of what is new in a look, to who saw those up to `seen`.
std::vector<std::uint64_t> numbers_above(std::uint64_t seen, const XidMemory& memory) {
  std::vector<std::uint64_t> numbers;
  for (const XidEvent& event : memory.all().get().value_or(Xids{})) {
    if (event.number > seen) numbers.push_back(event.number);
  }
  return numbers;
}

TEST(XidMemory, AnErrorHasTheNumberByWhichItWasToldFirst) {
  XidMemory memory;
  memory.add_told(Xids{}, {10'000});
  memory.add_logged(Xids{logged(31, 10'100)});
  EXPECT_THAT(numbers_above(0, memory), ElementsAre(1));
  memory.add_told(Xids{told(31, 11'000), told(79, 11'000)}, {11'000});
  EXPECT_THAT(numbers_above(1, memory), ElementsAre(3)) << "the log has told 31 before";
  memory.add_logged(Xids{logged(79, 10'900), logged(48, 10'950)});
  EXPECT_THAT(numbers_above(3, memory), ElementsAre(5)) << "the driver has told 79 before";
}

TEST(XidMemory, OneSourceIsEnoughAndWithoutAnyItSaysWhy) {
  XidMemory neither;
  EXPECT_EQ(neither.all().why(), Absent::not_sampled);
  neither.add_told(Absent::unsupported, {1});
  EXPECT_EQ(neither.all().why(), Absent::unsupported);
  neither.add_logged(Absent::no_permission);
  EXPECT_EQ(neither.all().why(), Absent::no_permission);
  neither.add_told(Xids{}, {2});
  EXPECT_THAT(*neither.all().get(), IsEmpty());
}

TEST(XidMemory, KeepsTheNewestOfADeviceThatReportsErrorsAllDay) {
  XidMemory memory;
  memory.add_told(Xids{}, {0});
  for (std::int64_t at = 1; at <= 3000; ++at) memory.add_told(Xids{told(31, at)}, {at});
  ASSERT_THAT(*memory.all().get(), SizeIs(1000));
  EXPECT_EQ(memory.all().get()->back().at.unix_ms, 3000);
}

}  // namespace
}  // namespace berth
