#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/example_cards.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string dmon(const Snapshot& host, const std::vector<std::string>& words = {"dmon"},
                 std::uint64_t tick = 0) {
  return render_dmon(host, parse(words), {}, tick).text;
}
std::string pmon(const Snapshot& host, const std::vector<std::string>& words = {"pmon"},
                 std::uint64_t tick = 0) {
  return render_pmon(host, parse(words), {}, tick).text;
}

Snapshot workstation_with_all_engines() {
  Snapshot host = example::workstation();
  host.devices[0].details.set(Detail::utilization_jpeg, Reading<Percent>(Percent{0}));
  host.devices[0].details.set(Detail::utilization_optical_flow, Reading<Percent>(Percent{0}));
  return host;
}

TEST(SmiDmon, DrawsTheDefaultColumnsAsDriver595Does) {
  EXPECT_EQ(
      dmon(workstation_with_all_engines()),
      "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk \n"
      "# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz \n"
      "    0     37     40      -      0     10      0      0      0      0    405    300 \n");
}

TEST(SmiDmon, OlderDriversHaveNarrowerAndFewerColumns) {
  Snapshot host = example::workstation();
  host.host.driver_version = std::string("525.85.12");
  EXPECT_EQ(dmon(host),
            "# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk \n"
            "# Idx     W     C     C     %     %     %     %   MHz   MHz \n"
            "    0    37    40     -     0    10     0     0   405   300 \n");
}

TEST(SmiDmon, ShowsTheColumnsAskedForInTheirOrder) {
  Snapshot host = example::workstation();
  host.devices[0].pcie_replays = std::uint64_t{2};
  EXPECT_EQ(dmon(host, {"dmon", "-s", "ecm"}),
            "# gpu  sbecc  dbecc    pci   mclk   pclk     fb   bar1   ccpm \n"
            "# Idx   errs   errs   errs    MHz    MHz     MB     MB     MB \n"
            "    0      -      -      2    405    300    214      -      - \n");
}

TEST(SmiDmon, StampsLinesWithDateAndTime) {
  EXPECT_EQ(dmon(example::workstation(), {"dmon", "-s", "c", "-o", "DT"}),
            "#Date        Time         gpu   mclk   pclk \n"
            "#YYYYMMDD    HH:MM:SS     Idx    MHz    MHz \n"
            " 20260624    10:26:34       0    405    300 \n");
  EXPECT_THAT(dmon(example::workstation(), {"dmon", "-s", "c", "-o", "T"}),
              HasSubstr("\n 10:26:34       0    405    300 \n"));
}

TEST(SmiDmon, HasItsHeadingOnce) {
  EXPECT_THAT(dmon(example::workstation(), {"dmon"}, 1), StartsWith("    0     37"));
}

TEST(SmiDmon, TrafficIsWhatTheCountersGainedBetweenTwoLooks) {
  Snapshot before = example::workstation();
  before.devices[0].pcie_sent = Bytes{1'000'000'000};
  before.devices[0].pcie_received = Bytes{5'000'000'000};
  Snapshot now = before;
  now.taken.unix_ms += 2000;
  now.devices[0].pcie_sent = Bytes{1'090'000'000};
  now.devices[0].pcie_received = Bytes{4'000'000'000};  // it has wrapped
  add_rates(now, before);
  EXPECT_EQ(dmon(before, {"dmon", "-s", "t"}, 1), "    0      -      - \n");
  EXPECT_EQ(dmon(now, {"dmon", "-s", "t"}, 1), "    0      -     45 \n");
}

TEST(SmiDmon, ADividedCardHasNoUtilisation) {
  EXPECT_THAT(dmon(example::divided_card(), {"dmon", "-s", "u"}),
              HasSubstr("\n    0      -      -      -      -      -      - \n"));
}

TEST(SmiPmon, DrawsEachProcessAsDriver595Does) {
  Snapshot host = example::workstation();
  host.gpu_processes[2].utilization_sm = Percent{7};
  host.gpu_processes[2].utilization_memory = Percent{3};
  host.gpu_processes[2].utilization_encoder = Percent{99};
  EXPECT_EQ(
      pmon(host),
      "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
      "# Idx           #    C/G      %      %      %      %      %      %    name \n"
      "    0       1696     G      -      -      -      -      -      -    gnome-shell    \n"
      "    0       4584     G      -      -      -      -      -      -    Xwayland       \n"
      "    0     190709     C      7      3     99      -      -      -    ollama_llama_se\n");
}

TEST(SmiPmon, ListsProcessesByPid) {
  Snapshot host = example::workstation();
  std::swap(host.gpu_processes.front(), host.gpu_processes.back());
  EXPECT_EQ(pmon(host), pmon(example::workstation()));
}

TEST(SmiPmon, ACardWithoutProcessesHasALineOfDashes) {
  Snapshot host = example::workstation();
  host.gpu_processes.clear();
  EXPECT_THAT(pmon(host),
              HasSubstr("\n    0          -     -      -      -      -      -      -    "
                        "  -    -              \n"));
}

TEST(SmiPmon, ShowsMemoryWhereItIsAskedFor) {
  EXPECT_THAT(pmon(example::workstation(), {"pmon", "-s", "m"}),
              StartsWith("# gpu         pid   type     fb   ccpm    command \n"
                         "# Idx           #    C/G     MB     MB    name \n"
                         "    0       1696     G    176      -    gnome-shell    \n"));
}

}  // namespace
}  // namespace berth::smi
