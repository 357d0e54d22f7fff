#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/example_cards.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

using ::testing::AllOf;
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

Snapshot workstation_of(const std::string& driver) {
  Snapshot host = workstation_with_all_engines();
  host.host.software_of(Runtime::cuda).driver = driver;
  return host;
}

// As in librenms/librenms#10027 and #15756: without the space that later drivers end their lines
// in.
TEST(SmiDmon, OlderDriversHaveNarrowerAndFewerColumns) {
  EXPECT_EQ(dmon(workstation_of("525.85.12")),
            "# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk\n"
            "# Idx     W     C     C     %     %     %     %   MHz   MHz\n"
            "    0    37    40     -     0    10     0     0   405   300\n");
}

TEST(SmiDmon, JpegAndOpticalFlowCameWith535) {
  EXPECT_THAT(
      dmon(workstation_of("530.30.02")),
      StartsWith("# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk \n"));
  EXPECT_EQ(dmon(workstation_of("535.129.03")), dmon(workstation_of("595.71.05")));
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

// Logs of 535.129.03 (wide columns) and of 2021 (narrow ones) have a character less left of the
// columns. Logs of 2026 have it. A script that tells them apart names "#Date       gpu" as well.
TEST(SmiDmon, StampsOfOlderDriversStandCloser) {
  const Snapshot of_535 = workstation_of("535.129.03");
  EXPECT_EQ(dmon(of_535, {"dmon", "-s", "c", "-o", "TD"}),
            "#Date       Time        gpu   mclk   pclk \n"
            "#YYYYMMDD   HH:MM:SS    Idx    MHz    MHz \n"
            " 20260624   10:26:34      0    405    300 \n");
  EXPECT_EQ(dmon(of_535, {"dmon", "-s", "c", "-o", "T"}),
            "#Time        gpu   mclk   pclk \n"
            "#HH:MM:SS    Idx    MHz    MHz \n"
            " 10:26:34      0    405    300 \n");
  EXPECT_EQ(dmon(of_535, {"dmon", "-s", "c", "-o", "D"}),
            "#Date       gpu   mclk   pclk \n"
            "#YYYYMMDD   Idx    MHz    MHz \n"
            " 20260624     0    405    300 \n");
  EXPECT_EQ(dmon(workstation_of("450.80.02"), {"dmon", "-s", "c", "-o", "DT"}),
            "#Date       Time        gpu  mclk  pclk\n"
            "#YYYYMMDD   HH:MM:SS    Idx   MHz   MHz\n"
            " 20260624   10:26:34      0   405   300\n");
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

Snapshot throttled(std::uint64_t power_us, std::uint64_t heat_us, std::int64_t after_ms) {
  Snapshot host = example::workstation();
  host.taken.unix_ms += after_ms;
  Details& details = host.devices[0].details;
  details.set(Detail::throttled_power_cap, Reading<Microseconds>(Microseconds{power_us}));
  details.set(Detail::throttled_hardware_thermal, Reading<Microseconds>(Microseconds{heat_us}));
  return host;
}
std::string violations(const Snapshot& now, const Snapshot* before) {
  return render_dmon(now, parse({"dmon", "-s", "v"}), {}, 1, before).text;
}

TEST(SmiDmon, ViolationsAreOfTheTimeSinceTheRoundBefore) {
  const Snapshot first = throttled(7'000'000, 500, 0);
  // librenms/librenms#15756: 0 and 0 in the one round of `dmon -c 1`, of cards at their limit too.
  EXPECT_EQ(violations(first, nullptr), "    0      0      0 \n");
  const Snapshot idle = throttled(7'000'000, 500, 1000);
  EXPECT_EQ(violations(idle, &first), "    0      0      0 \n");
  const Snapshot busy = throttled(8'240'000, 501, 2000);
  EXPECT_EQ(violations(busy, &first), "    0     62      1 \n");
  // Two looks are never as far apart as the driver's own two.
  const Snapshot all = throttled(12'000'000, 500, 2000);
  EXPECT_EQ(violations(all, &first), "    0    100      0 \n");
}

TEST(SmiDmon, AViolationThatNobodyCountsIsADash) {
  const Snapshot without = example::workstation();
  EXPECT_EQ(violations(without, nullptr), "    0      -      - \n");
  const Snapshot first = throttled(7'000'000, 500, 0);
  const Snapshot anew = throttled(10, 0, 1000);
  EXPECT_EQ(violations(anew, &first), "    0      -      0 \n");
  const Snapshot set_back = throttled(7'000'000, 500, -1000);
  EXPECT_EQ(violations(set_back, &first), "    0      -      0 \n");
}

TEST(SmiDmon, HeatOfOlderDriversIsTheReasonOfTheMoment) {
  Snapshot host = example::workstation();
  host.devices[0].throttle_reasons = ClockReasons(0x4);
  EXPECT_EQ(violations(host, nullptr), "    0      -      0 \n");
  host.devices[0].throttle_reasons = ClockReasons(0x20);
  EXPECT_EQ(violations(host, nullptr), "    0      -      1 \n");
}

/// A card whose power limit holds it back all of the time.
class Limited final : public Source {
 public:
  Snapshot look(const Wanted&) override {
    const Snapshot seen = throttled(lost_us_, 0, static_cast<std::int64_t>(lost_us_ / 1000));
    lost_us_ += 1'000'000;
    return seen;
  }

 private:
  std::uint64_t lost_us_ = 5'000'000;
};

TEST(SmiDmon, RoundsAreComparedWithTheOneBefore) {
  Limited source;
  const SmiRequest request = parse({"dmon", "-s", "v"});
  EXPECT_THAT(answer(request, source, {}, 0).text, HasSubstr("\n    0      0      0 \n"));
  EXPECT_EQ(answer(request, source, {}, 1).text, "    0    100      0 \n");
  EXPECT_EQ(answer(request, source, {}, 2).text, "    0    100      0 \n");
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

// NordicHPC/sonar#170: 545.23.08 beside 550.54.14; 535.288.01 prints the same with -s um.
TEST(SmiPmon, BeforeDriver550TypeAndSmStandBesideTheirColumns) {
  Snapshot host = workstation_of("545.23.08");
  host.gpu_processes.erase(host.gpu_processes.begin(), host.gpu_processes.begin() + 2);
  host.gpu_processes[0].utilization_sm = Percent{88};
  host.gpu_processes[0].utilization_memory = Percent{54};
  EXPECT_EQ(pmon(host),
            "# gpu         pid  type    sm    mem    enc    dec    command\n"
            "# Idx           #   C/G     %      %      %      %    name\n"
            "    0     190709     C     88     54      -      -    ollama_llama_se\n");
  EXPECT_THAT(
      pmon(host, {"pmon", "-s", "um"}),
      StartsWith("# gpu         pid  type    sm    mem    enc    dec     fb   ccpm    command\n"
                 "# Idx           #   C/G     %      %      %      %     MB     MB    name\n"));
}

// As sonar's tests have it of the drivers before: 39 columns and a name of 15.
TEST(SmiPmon, OlderDriversHaveNarrowerColumns) {
  Snapshot host = workstation_of("525.85.12");
  host.gpu_processes.resize(1);
  EXPECT_EQ(pmon(host, {"pmon", "-s", "mu"}),
            "# gpu        pid  type    fb    sm   mem   enc   dec   command\n"
            "# Idx          #   C/G    MB     %     %     %     %   name\n"
            "    0       1696     G   176     -     -     -     -   gnome-shell    \n");
}

TEST(SmiPmon, StampsLinesAsDmonDoes) {
  Snapshot host = example::workstation();
  host.gpu_processes.clear();
  EXPECT_THAT(pmon(host, {"pmon", "-o", "DT"}),
              AllOf(StartsWith("#Date        Time         gpu         pid   type     sm"),
                    HasSubstr("\n#YYYYMMDD    HH:MM:SS     Idx           #    C/G      %"),
                    HasSubstr("\n 20260624    10:26:34       0          -     -      -")));
  host.host.software_of(Runtime::cuda).driver = std::string("535.129.03");
  EXPECT_THAT(pmon(host, {"pmon", "-o", "T"}),
              AllOf(StartsWith("#Time        gpu         pid  type    sm    mem"),
                    HasSubstr("\n 10:26:34      0          -     -      -      -")));
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
