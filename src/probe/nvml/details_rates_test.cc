#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "probe/nvml/device_details.h"
#include "probe/nvml/device_processes.h"

namespace berth::nvml {
namespace {

constexpr std::int64_t second_us = 1'000'000;

Counters counters(std::uint64_t bytes, std::int64_t read_us) {
  const Counter counter{bytes, read_us};
  return {counter, counter, counter, counter};
}

Reading<BytesPerSecond> pcie_rate(const Counters& before, const Counters& now) {
  Details details;
  read_rates(before, now, details);
  return details.get<BytesPerSecond>(Detail::pcie_sent_rate);
}

TEST(NvmlRates, AreWhatWentByBetweenTwoReadings) {
  EXPECT_EQ(pcie_rate(counters(1000, second_us), counters(5000, 3 * second_us)).get(),
            BytesPerSecond(2000));
}

TEST(NvmlRates, ACounterThatStandsStillIsZeroAndOneThatWentBackIsNotKnown) {
  EXPECT_EQ(pcie_rate(counters(1000, second_us), counters(1000, 2 * second_us)).get(),
            BytesPerSecond(0));
  EXPECT_EQ(pcie_rate(counters(1000, second_us), counters(10, 2 * second_us)).why(),
            Absent::not_sampled)
      << "it wrapped, or the driver was loaded anew";
}

TEST(NvmlRates, NeedTwoReadingsAtTwoTimes) {
  EXPECT_EQ(pcie_rate({}, counters(1000, second_us)).why(), Absent::not_sampled);
  EXPECT_EQ(pcie_rate(counters(1, second_us), counters(2, second_us)).why(), Absent::not_sampled);
  Counters refused = counters(2, 2 * second_us);
  refused.pcie_sent = Absent::unsupported;
  EXPECT_EQ(pcie_rate(counters(1, second_us), refused).why(), Absent::unsupported);
}

// --- processes: what the driver's newer function tells, garbage included
// ---------------------------

constexpr WallTime now{1'760'000'000'000};
constexpr std::uint64_t now_us = 1'760'000'000'000'000;

struct Script {
  std::vector<ProcessUtilizationV2> rows;
  Return answer = success;
  std::vector<std::uint64_t> asked_since;
};
Script script;

Api api_with_newer_function() {
  Api api;
  api.nvmlDeviceGetProcessesUtilizationInfo.call = [](Handle, ProcessesUtilization* list) {
    script.asked_since.push_back(list->since_us);
    if (script.answer != success) return script.answer;
    // Real drivers have said 100 rows and filled few.
    const std::size_t room = list->count;
    list->count = static_cast<std::uint32_t>(std::min<std::size_t>(100, room));
    for (std::size_t i = 0; i < list->count; ++i) {
      list->entries[i] = i < script.rows.size()
                             ? script.rows[i]
                             : ProcessUtilizationV2{.timestamp_us = 77, .pid = 7, .sm = 4'000'000};
    }
    return success;
  };
  return api;
}

class NvmlProcessLoad : public ::testing::Test {
 protected:
  void SetUp() override { script = {}; }
  std::vector<GpuProcess> look(Depth depth) {
    std::vector<GpuProcess> processes = {{.pid = 7}, {.pid = 8}};
    const Wanted wanted = depth;
    DeviceAsker asker(api, nullptr, memory.refusals, wanted);
    read_process_utilization(asker, now, memory, processes);
    return processes;
  }
  Api api = api_with_newer_function();
  DeviceMemory memory;
};

TEST_F(NvmlProcessLoad, OneHundredRowsOfWhichTwoAreSoundAreTwo) {
  script.rows = {{.timestamp_us = now_us - 900'000, .pid = 7, .sm = 10, .memory = 1},
                 {.timestamp_us = now_us - 400'000,
                  .pid = 7,
                  .sm = 60,
                  .memory = 20,
                  .encoder = 3,
                  .decoder = 4,
                  .jpeg = 5,
                  .ofa = 6},
                 {.timestamp_us = now_us - 400'000, .pid = 8, .sm = 20, .memory = 200},
                 {.timestamp_us = now_us + 60'000'000, .pid = 8, .sm = 20}};
  const auto got = look(Depth::details);
  EXPECT_EQ(got[0].utilization_sm.get(), Percent(60)) << "the newest";
  EXPECT_EQ(got[0].utilization_memory.get(), Percent(20));
  EXPECT_EQ(got[0].utilization_encoder.get(), Percent(3));
  EXPECT_EQ(got[0].utilization_decoder.get(), Percent(4));
  EXPECT_EQ(got[0].utilization_jpeg.get(), Percent(5));
  EXPECT_EQ(got[0].utilization_optical_flow.get(), Percent(6));
  EXPECT_EQ(got[1].utilization_sm, Reading<Percent>(Absent::not_sampled))
      << "one row cannot be, one is of another clock";
  (void)look(Depth::details);
  EXPECT_EQ(script.asked_since.back(), now_us - 400'000) << "since the last row that was sound";
}

TEST_F(NvmlProcessLoad, WithoutDetailsTheOlderFunctionIsAskedAloneAndTellsNoJpeg) {
  api.nvmlDeviceGetProcessUtilization.call = [](Handle, ProcessUtilization* rows, unsigned* count,
                                                unsigned long long) {
    rows[0] = {7, now_us - 100'000, 30, 5, 0, 0};
    *count = 1;
    return success;
  };
  const auto got = look(Depth::everything);
  EXPECT_EQ(got[0].utilization_sm.get(), Percent(30));
  EXPECT_EQ(got[0].utilization_jpeg, Reading<Percent>(Absent::not_sampled));
  EXPECT_TRUE(script.asked_since.empty());
  script.answer = not_supported;
  memory = {};
  EXPECT_EQ(look(Depth::details)[0].utilization_memory.get(), Percent(5)) << "the older answers";
}

TEST_F(NvmlProcessLoad, NoPermissionIsSaidOfEveryProcess) {
  script.answer = no_permission;
  for (const GpuProcess& process : look(Depth::details)) {
    EXPECT_EQ(process.utilization_sm, Reading<Percent>(Absent::no_permission));
    EXPECT_EQ(process.utilization_decoder, Reading<Percent>(Absent::no_permission));
  }
}

}  // namespace
}  // namespace berth::nvml
