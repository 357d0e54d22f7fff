#include "smi/layout_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/fixed_source_test.h"

namespace berth::smi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Two items of a list, printed and read back.
std::vector<ItemCells> there_and_back(const ItemLayout& layout, const ItemCells& one,
                                      const ItemCells& other, Surface surface) {
  Node list{"list", "", {}, true};
  for (const ItemCells& cells : {one, other}) {
    print_item(layout, cells, surface, Failure::unknown_error, list);
  }
  return items_in(list, layout, surface);
}

TEST(Items, AreReadBackAsTheyWerePrinted) {
  const AccountedProcess done{.pid = 7,
                              .utilization_gpu = Percent(3),
                              .memory_max = Bytes(5 << 20),
                              .run_time = Milliseconds(99),
                              .running = false};
  for (const Surface surface : {Surface::text, Surface::xml}) {
    const auto items =
        there_and_back(accounted_item, cells_of(done), cells_of({.pid = 8}), surface);
    ASSERT_THAT(items, SizeIs(2));
    AccountedProcess expected = done;
    expected.utilization_memory = Absent::unsupported;  // N/A
    EXPECT_EQ(accounted_from(items[0]), expected);
    EXPECT_EQ(accounted_from(items[1])->pid, 8);
  }
}

TEST(Items, HaveTheirLastLineAsOftenAsItStands) {
  const ItemCells two = {Scalar(std::uint64_t{2619}), Scalar(std::uint64_t{1980}),
                         Scalar(std::uint64_t{1965})};
  const ItemCells none = {Scalar(std::uint64_t{405})};
  for (const Surface surface : {Surface::text, Surface::xml}) {
    EXPECT_THAT(there_and_back(clock_item, two, none, surface), ElementsAre(two, none));
  }
}

TEST(Items, OfWhichThereMayBeSeveralAreArraysInJson) {
  for (const char* tag : {"gpu", "mig_device", "process_info", "accounted_process_info",
                          "retired_page", "supported_mem_clock", "supported_graphics_clock"}) {
    EXPECT_TRUE(is_repeated(tag)) << tag;
  }
  EXPECT_FALSE(is_repeated("supported_clocks"));
  EXPECT_FALSE(is_repeated("pid"));
}

TEST(Items, AQueryNamesTheColumnsThatItsListHas) {
  Fixed source{Snapshot{}};
  std::string help;
  for (const char* query :
       {"compute-apps", "accounted-apps", "retired-pages", "supported-clocks"}) {
    help += run({std::string("--help-query-") + query}, source).text;
  }
  for (const ItemLayout& layout : {process_item, accounted_item, page_item, clock_item}) {
    for (const ItemLine& line : layout.lines) {
      if (line.column.empty()) continue;
      EXPECT_THAT(help, HasSubstr("\"" + std::string(line.column) + "\"")) << line.tag;
    }
  }
}

}  // namespace
}  // namespace berth::smi
