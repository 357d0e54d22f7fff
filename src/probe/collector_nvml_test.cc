// A Collector on the fake driver library: what it remembers between looks, and what hangs.

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "base/fd.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "probe/collector.h"
#include "probe/nvml/fake_machine_test.h"

namespace berth {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CollectorOnDriver : public nvml::NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    unsetenv("BERTH_FAKE_NVML_NOW_MS");
    ASSERT_TRUE(write_file_atomically(wrong, ""));
    ASSERT_TRUE(write_file_atomically(events, ""));
    setenv("BERTH_FAKE_NVML_FAULTS", ("@" + wrong).c_str(), 1);
    setenv("BERTH_FAKE_NVML_EVENTS", events.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("BERTH_FAKE_NVML_EVENTS");
    NvmlFake::TearDown();
  }
  void goes_wrong(const std::string& faults) { ASSERT_TRUE(write_file_atomically(wrong, faults)); }
  static Collector started(Patience patience = {.whole = std::chrono::seconds(60),
                                                .stall = std::chrono::seconds(20)},
                           const std::string& proc = "/nowhere",
                           const std::string& kernel_log = "/nowhere") {
    const Sources sources{.nvml_library = nvml::library("all"),
                          .proc = proc,
                          .sys = "/nowhere",
                          .passwd = "/nowhere",
                          .kernel_log = kernel_log};
    return std::move(*Collector::start(sources, {.patience = std::move(patience)}));
  }
  Snapshot looked(Collector& collector, Depth depth = Depth::state) {
    return collector.collect({.wanted = depth}, clock);
  }
  static std::vector<std::uint64_t> codes(const Snapshot& look) {
    std::vector<std::uint64_t> found;
    if (!look.xids.get()) return found;
    for (const XidEvent& event : *look.xids.get()) found.push_back(event.code);
    return found;
  }
  static constexpr std::size_t problems_without_driver = 1;  // there is no sysfs here
  TemporaryDirectory files;
  std::string wrong = files / "faults";
  std::string events = files / "events";
  SystemClock clock;
};

TEST_F(CollectorOnDriver, ErrorsThatWereToldByEventsStay) {
  Collector collector = started();
  EXPECT_THAT(codes(looked(collector)), IsEmpty());
  ASSERT_TRUE(write_file_atomically(events, "1 79\n"));
  EXPECT_THAT(codes(looked(collector)), ElementsAre(79));
  ASSERT_TRUE(write_file_atomically(events, "1 79\n2 31\n"));
  EXPECT_THAT(codes(looked(collector)), ElementsAre(79, 31));
}

TEST_F(CollectorOnDriver, AnErrorIsHeardAlsoWhereItsCardHangsOfIt) {
  Collector collector =
      started({.whole = std::chrono::seconds(60), .stall = std::chrono::seconds(1)});
  EXPECT_THAT(codes(looked(collector)), IsEmpty());
  ASSERT_TRUE(write_file_atomically(events, "1 79\n"));
  goes_wrong("nvmlDeviceGetMemoryInfo_v2@1=hang;nvmlDeviceGetMemoryInfo@1=hang");
  const Snapshot look = looked(collector);
  EXPECT_THAT(codes(look), ElementsAre(79));
  EXPECT_FALSE(look.devices.at(1).unusable_because.empty());
}

TEST_F(CollectorOnDriver, ErrorsInTheKernelLogAreHeardOnceAlsoThoseOfBefore) {
  const std::string log = files / "kmsg";
  const auto line = [](int code) {
    return fmt::format("4,1,5000000,-;NVRM: Xid (PCI:0000:18:00): {}, pid=7, name=job, gone\n",
                       code);
  };
  ASSERT_TRUE(write_file_atomically(files / "uptime", "100.00 1.00\n"));
  ASSERT_TRUE(write_file_atomically(log, line(79)));
  Collector collector = started(
      {.whole = std::chrono::seconds(60), .stall = std::chrono::seconds(20)}, files / "", log);
  EXPECT_THAT(codes(looked(collector)), IsEmpty()) << "a first picture does not wait for the log";
  EXPECT_THAT(codes(looked(collector)), ElementsAre(79));
  EXPECT_THAT(codes(looked(collector)), ElementsAre(79)) << "not again";
  const auto fd = open_fd(log, O_WRONLY | O_APPEND);
  ASSERT_TRUE(fd && write_all(fd->get(), line(31)));
  EXPECT_THAT(codes(looked(collector)), testing::UnorderedElementsAre(79, 31));
  Collector thorough = started(
      {.whole = std::chrono::seconds(60), .stall = std::chrono::seconds(20)}, files / "", log);
  EXPECT_THAT(codes(looked(thorough, Depth::details)), ElementsAre(79));
}

TEST_F(CollectorOnDriver, ACardThatIsListedNoLongerStaysAsLost) {
  Collector collector = started();
  EXPECT_THAT(looked(collector).devices, SizeIs(3));
  goes_wrong("nvmlDeviceGetCount_v2=lie:2");
  for (int i = 0; i < 2; ++i) {
    const Snapshot look = looked(collector);
    ASSERT_THAT(look.devices, SizeIs(3));
    EXPECT_EQ(look.devices[2].id, nvml::h100(2).id);
    EXPECT_TRUE(look.devices[2].lost);
    EXPECT_EQ(look.devices[2].unusable_because, Unusable::unlisted);
    EXPECT_THAT(look.problems, Contains(testing::Field(&Problem::code, "device_gone")));
  }
  goes_wrong("");
  EXPECT_FALSE(looked(collector).devices.at(2).lost);
}

/// The memory that the only Collector of this process shares with its probe process: a page that
/// begins with the length of the messages, then these.
char* shared_memory() {
  const std::string maps = *read_file("/proc/self/maps", 16 << 20);
  for (const std::string_view line : split(maps, '\n')) {
    const auto dash = line.find('-');
    if (line.find(" rw-s ") == std::string_view::npos) continue;
    const auto begin = std::stoull(std::string(line.substr(0, dash)), nullptr, 16);
    const auto end = std::stoull(std::string(line.substr(dash + 1)), nullptr, 16);
    if (end - begin == std::uint64_t{64} << 20) return reinterpret_cast<char*>(begin);
  }
  return nullptr;
}

TEST_F(CollectorOnDriver, WhatADriverScribblesOverIsNotTakenForAWholeLook) {
  Collector collector = started();
  collector.begin({.wanted = Depth::state}, clock);
  ASSERT_TRUE(wait_readable({*collector.descriptor()}, std::chrono::seconds(30)).front())
      << "it says that it is done";
  char* memory = shared_memory();
  ASSERT_NE(memory, nullptr);
  std::uint64_t length = 0;
  std::memcpy(&length, memory, sizeof length);
  char* const messages = memory + 64;
  std::uint64_t at = 0;
  while (at < length / 2) {
    std::uint32_t of_message = 0;
    std::memcpy(&of_message, messages + at, sizeof of_message);
    at += sizeof of_message + of_message;
  }
  ASSERT_LT(at, length);
  std::memset(messages + at, 0xFF, 4);  // a message of four gibibytes
  std::optional<Snapshot> look;
  while (!(look = collector.advance(clock))) {
    if (const auto news = collector.descriptor()) {
      static_cast<void>(wait_readable({*news}, collector.patience(clock)));
    }
  }
  EXPECT_THAT(look->problems, Contains(testing::Field(&Problem::code, "crashed")));
  ASSERT_THAT(look->devices, SizeIs(3)) << "another process went on behind the step";
  for (const Device& device : look->devices) EXPECT_FALSE(device.lost) << device.id.text();
}

TEST_F(CollectorOnDriver, EventsThatHangCostNoDevice) {
  for (const char* function : {"nvmlEventSetCreate", "nvmlDeviceRegisterEvents@0",
                               "nvmlDeviceGetSupportedEventTypes@1", "nvmlEventSetWait_v2"}) {
    goes_wrong(fmt::format("{}=hang", function));
    Snapshot look;
    // More patience where a loaded machine did not get to run the probe process for a stall.
    for (const auto stall : {std::chrono::milliseconds(700), std::chrono::milliseconds(7000)}) {
      Collector collector = started(
          {.whole = 12 * stall, .stall = stall, .opening = 12 * stall, .waking = 6 * stall});
      const Instant before = clock.now();
      look = looked(collector);
      // By the clock.
      EXPECT_LT(clock.now() - before, 12 * stall + std::chrono::seconds(3)) << function;
      if (look.problems.size() == 1 + problems_without_driver) break;
    }
    ASSERT_THAT(look.devices, SizeIs(3)) << function;
    for (const Device& device : look.devices) {
      EXPECT_TRUE(device.memory_free.get()) << function << " cost GPU " << *device.index;
    }
    EXPECT_EQ(look.xids, Reading<std::vector<XidEvent>>(Absent::failed)) << function;
    EXPECT_THAT(look.problems, Contains(testing::Field(&Problem::code, "timeout"))) << function;
  }
}

}  // namespace
}  // namespace berth
