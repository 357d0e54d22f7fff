// Errors that the driver tells by events, through the fake library.

#include "probe/nvml/events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"
#include "probe/nvml/answers.h"
#include "probe/nvml/fake_machine_test.h"

namespace berth::nvml {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Xids = std::vector<XidEvent>;

class NvmlEvents : public NvmlFake {
 protected:
  void SetUp() override {
    NvmlFake::SetUp();
    setenv("BERTH_FAKE_NVML_EVENTS", written.c_str(), 1);
    ASSERT_TRUE(write_file_atomically(written, ""));
  }
  void TearDown() override {
    unsetenv("BERTH_FAKE_NVML_EVENTS");
    NvmlFake::TearDown();
  }
  void happens(const std::string& line) {
    lines += line + "\n";
    ASSERT_TRUE(write_file_atomically(written, lines));
  }
  static XidEvent xid(int device, std::uint64_t code, WallTime at = now) {
    return {.pci_address = *h100(device).pci_address.get(),
            .code = code,
            .at = at,
            .pid = Absent::unsupported,
            .process = Absent::unsupported,
            .text = {}};
  }
  /// "0:79 1:48": what a look has heard, by the number of the card; why not, where it has not.
  static std::string heard(const Snapshot& look) {
    if (!look.xids.get()) return std::string(name_of(look.xids.why()));
    std::string text;
    for (const XidEvent& event : *look.xids.get()) {
      text += text.empty() ? "" : " ";
      for (int i = 0; i < 3; ++i) {
        if (event.pci_address == *h100(i).pci_address.get()) text += std::to_string(i);
      }
      text += ":" + std::to_string(event.code);
    }
    return text;
  }
  /// A look as the probe process takes it; what the events told is in its xids.
  static Snapshot look_with_events(NvmlProbe& probe, WallTime at = now) {
    Snapshot got = whole_look(probe, at, Depth::state);
    if (probe.is_open()) got.xids = probe.new_events(at);
    return got;
  }
  TemporaryDirectory directory_;
  std::string written = directory_ / "events";
  std::string lines;
};

TEST_F(NvmlEvents, AnErrorIsToldOnceByTheLookAfterIt) {
  for (const char* list : {"all", "real-390.157", "real-555.58.02"}) {
    NvmlProbe probe({.library = library(list), .proc = "/nonexistent"});
    EXPECT_EQ(heard(look_with_events(probe)), "") << list;
    happens("1 79");
    EXPECT_EQ(heard(look_with_events(probe)), "1:79") << list;
    EXPECT_EQ(heard(look_with_events(probe)), "") << list;
  }
}

TEST_F(NvmlEvents, AScheduledErrorComesAtItsTimeAndAnEarlierOneNever) {
  Snapshot machine = server();
  machine.xids = Xids{xid(0, 31, {now.unix_ms - 1000}), xid(2, 48, {now.unix_ms + 5000})};
  play(machine);
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  EXPECT_EQ(heard(look_with_events(probe)), "");
  EXPECT_EQ(heard(look_with_events(probe)), "");
  const WallTime later{now.unix_ms + 6000};
  setenv("BERTH_FAKE_NVML_NOW_MS", std::to_string(later.unix_ms).c_str(), 1);
  EXPECT_EQ(look_with_events(probe, later).xids, Reading<Xids>(Xids{xid(2, 48, later)}));
}

TEST_F(NvmlEvents, ADoubleBitErrorIsXid48AndOneThatIsToldBothWaysIsOne) {
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  look_with_events(probe);
  happens("0 dbe");
  EXPECT_EQ(heard(look_with_events(probe)), "0:48");
  happens("0 dbe\n0 48\n1 dbe");
  EXPECT_EQ(heard(look_with_events(probe)), "0:48 1:48");
}

TEST_F(NvmlEvents, ADriverWithoutThemIsUnsupported) {
  auto opened = Library::open(library("all"));
  ASSERT_TRUE(opened);
  Api api = opened->api();
  api.nvmlDeviceRegisterEvents.call = nullptr;
  NvmlProbe probe(api, {.proc = "/nonexistent"});
  EXPECT_EQ(heard(look_with_events(probe)), "unsupported");
}

TEST_F(NvmlEvents, ARegistrationIsMadeAnewAfterTheDriverWasReloaded) {
  const std::string file = directory_ / "faults";
  setenv("BERTH_FAKE_NVML_FAULTS", ("@" + file).c_str(), 1);
  NvmlProbe watched({.library = library("all"), .proc = "/nonexistent"});
  ASSERT_TRUE(write_file_atomically(file, ""));
  look_with_events(watched);
  ASSERT_TRUE(write_file_atomically(file, "nvmlEventSetWait_v2=1"));
  EXPECT_EQ(heard(look_with_events(watched)), "failed");
  ASSERT_TRUE(write_file_atomically(file, ""));
  EXPECT_EQ(heard(look_with_events(watched)), "") << "registered anew";
  happens("2 79");
  EXPECT_EQ(heard(look_with_events(watched)), "2:79");
}

TEST_F(NvmlEvents, DevicesThatAreLeftAreHeardAfterOneWasLost) {
  const std::string file = directory_ / "faults";
  ASSERT_TRUE(write_file_atomically(file, ""));
  setenv("BERTH_FAKE_NVML_FAULTS", ("@" + file).c_str(), 1);
  NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
  look_with_events(probe);
  ASSERT_TRUE(write_file_atomically(file, "*@1=15;nvmlEventSetWait_v2=15"));
  EXPECT_EQ(heard(look_with_events(probe)), "");
  ASSERT_TRUE(write_file_atomically(file, "*@1=15"));
  look_with_events(probe);  // registers for the others
  happens("0 31");
  EXPECT_EQ(heard(look_with_events(probe)), "0:31");
}

TEST_F(NvmlEvents, ALibraryThatNeverSaysNoMoreIsLeftAlone) {
  const auto told = [] {
    NvmlProbe probe({.library = library("all"), .proc = "/nonexistent"});
    const auto xids = look_with_events(probe).xids;
    return xids.get() ? static_cast<int>(xids.get()->size()) : -1;
  };
  faults("nvmlEventSetWait_v2=lie:79");
  EXPECT_EQ(told(), 1000);
  faults("nvmlEventSetWait_v2=lie:4294967295");
  EXPECT_EQ(told(), 0) << "there is no such XID";
}

/// Each code that NVML documents, and success with another number than the truth. What a wait that
/// lies tells is believed; that test is above.
std::vector<std::string> codes_and_lies(std::string_view function) {
  std::vector<std::string> all = {"999", "4711"};
  for (int code = 1; code <= 30; ++code) all.push_back(std::to_string(code));
  if (function == "nvmlEventSetWait_v2") return all;
  for (const char* lie : {"lie:0", "lie:4", "lie:101", "lie:4294967295"}) all.emplace_back(lie);
  return all;
}

// As faults_test.cc does for readings: each function, each code.
TEST_F(NvmlEvents, EachFunctionFailingInEachWayCostsEventsAndNothingElse) {
  auto opened = Library::open(library("all"));
  ASSERT_TRUE(opened);
  const Snapshot sound = [&] {
    NvmlProbe probe(opened->api(), {.proc = "/nonexistent"});
    return look_with_events(probe);
  }();
  for (const std::string_view function :
       {"nvmlEventSetCreate", "nvmlEventSetFree", "nvmlEventSetWait_v2",
        "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents"}) {
    const bool of_a_device = function.starts_with("nvmlDevice");
    for (const std::string& wrong : codes_and_lies(function)) {
      const std::string fault = fmt::format("{}{}={}", function, of_a_device ? "@0" : "", wrong);
      faults(fault);
      NvmlProbe probe(opened->api(), {.proc = "/nonexistent"});
      const Snapshot before = look_with_events(probe);
      ASSERT_TRUE(before.devices == sound.devices) << fault << " changed a device";
      ASSERT_TRUE(before.gpu_processes == sound.gpu_processes) << fault;
      happens("1 79");
      const Snapshot after = look_with_events(probe);
      ASSERT_TRUE(after.devices == sound.devices) << fault << " changed a device";
      // An answer that says that the library must be initialised again costs what came before.
      const bool was_heard = after.xids == Reading<Xids>(Xids{xid(1, 79)});
      const auto answer = parse_unsigned(wrong);
      const bool registered_anew = answer && wants_initialising(static_cast<Return>(*answer));
      if (of_a_device && !registered_anew) {
        EXPECT_TRUE(was_heard) << fault << ": the other device was not heard";
      }
      if (!after.xids.get()) {
        EXPECT_NE(after.xids.why(), Absent::not_sampled) << fault;
      } else if (!was_heard) {
        EXPECT_THAT(*after.xids.get(), IsEmpty()) << fault;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth::nvml
