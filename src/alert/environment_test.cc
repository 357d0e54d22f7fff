#include "alert/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alert/rule_matches.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Snapshot host_of(const std::string& driver, const std::vector<std::string>& devices) {
  SnapshotBuilder builder;
  for (const std::string& id : devices) builder.gpu(id, 80_GiB);
  Snapshot host = builder.build();
  host.sources = {{"nvml", true}};
  host.host.software_of(Runtime::cuda).driver = driver;
  return host;
}

class EnvironmentOfAMachine : public testing::Test {
 protected:
  void see(const Snapshot& host, Duration lasting = 61s,
           const std::optional<std::string>& toolkit = "12.4.1") {
    memory.see(environment_of(host, toolkit), clock.moment(), 60s);
    clock.advance(lasting);
    memory.see(environment_of(host, toolkit), clock.moment(), 60s);
  }
  std::vector<std::string> changes() const {
    const Snapshot host = host_of("580.1", {"GPU-A"});
    std::vector<std::string> words;
    for (const Alert& one :
         matches({.snapshot = host, .now = clock.wall_now(), .changes = memory.changes()}, {})
             .seen) {
      words.push_back(one.summary.english());
    }
    return words;
  }
  FakeClock clock;
  EnvironmentMemory memory;
};

TEST_F(EnvironmentOfAMachine, IsNoNewsWhenSeenFirst) {
  see(host_of("570.1", {"GPU-A", "GPU-B"}));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(EnvironmentOfAMachine, IsNewsWhenTheDriverIsAnother) {
  see(host_of("570.1", {"GPU-A"}));
  see(host_of("580.1", {"GPU-A"}));
  EXPECT_THAT(changes(), ElementsAre("the driver changed from 570.1 to 580.1"));
}

TEST_F(EnvironmentOfAMachine, IsNewsByTheVendorWhoseDriverIsAnother) {
  Snapshot both = host_of("570.1", {"GPU-A"});
  both.host.software_of(Runtime::rocm) = {.driver = std::string("6.10.5"),
                                          .runtime = std::string("6.3.0-39")};
  see(both);
  both.host.software_of(Runtime::rocm) = {.driver = std::string("6.12.1"),
                                          .runtime = std::string("6.4.0-47")};
  see(both);
  EXPECT_THAT(changes(), testing::UnorderedElementsAre(
                             "the AMD driver changed from 6.10.5 to 6.12.1",
                             "the version of ROCm changed from 6.3.0-39 to 6.4.0-47"));
}

TEST_F(EnvironmentOfAMachine, IsNoNewsBeforeItHasSettled) {
  see(host_of("570.1", {"GPU-A"}));
  see(host_of("580.1", {"GPU-A"}), 59s);
  see(host_of("570.1", {"GPU-A"}));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(EnvironmentOfAMachine, IsNewsWhenACardComesGoesOrIsRenumbered) {
  see(host_of("570.1", {"GPU-A", "GPU-B"}));
  see(host_of("570.1", {"GPU-B", "GPU-C"}));
  EXPECT_THAT(
      changes(),
      testing::UnorderedElementsAre(
          "a device is gone: GPU 0: NVIDIA Test GPU", "a device is new: GPU 1: NVIDIA Test GPU",
          "a device changed from GPU 1: NVIDIA Test GPU to GPU 0: NVIDIA Test GPU"));
}

TEST_F(EnvironmentOfAMachine, KeepsCardsThatTheDriverDoesNotList) {
  see(host_of("570.1", {"GPU-A"}));
  Snapshot without_driver = host_of("570.1", {"00000000:3b:00.0"});
  without_driver.sources = {{"nvml", false}};
  see(without_driver);
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(EnvironmentOfAMachine, KeepsALostCard) {
  see(host_of("570.1", {"GPU-A"}));
  Snapshot host = host_of("570.1", {"GPU-A"});
  host.devices[0].lost = true;
  host.devices[0].name = Absent::failed;
  see(host);
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(EnvironmentOfAMachine, KnowsALostCardThatCannotSayWhoItIs) {
  see(host_of("570.1", {"GPU-A", "GPU-B"}));
  Snapshot host = host_of("570.1", {"GPU-A", "nvml-index-1"});
  host.devices[1].lost = true;
  host.devices[1].name = host.devices[1].uuid = Absent::failed;
  see(host);
  EXPECT_THAT(changes(), IsEmpty());
  const RuleMatches found =
      matches({.snapshot = host, .now = clock.wall_now(), .cards = memory.cards()}, {});
  ASSERT_FALSE(found.seen.empty());
  EXPECT_EQ(found.seen[0].rule, AlertRule::gpu_lost);
  EXPECT_EQ(found.seen[0].subject, "GPU-B");
}

TEST_F(EnvironmentOfAMachine, IsComparedWithWhatAnEarlierServerSaw) {
  see(host_of("570.1", {"GPU-A"}));
  EnvironmentMemory next;
  next.restore(memory.facts(), memory.changes());
  memory = std::move(next);
  see(host_of("570.1", {"GPU-A"}), 61s, "12.6.0");
  EXPECT_THAT(changes(), ElementsAre("the CUDA toolkit changed from 12.4.1 to 12.6.0"));
}

TEST_F(EnvironmentOfAMachine, IsNewsForADay) {
  see(host_of("570.1", {"GPU-A"}));
  see(host_of("580.1", {"GPU-A"}));
  clock.advance(23h);
  see(host_of("580.1", {"GPU-A"}));
  EXPECT_THAT(changes(), testing::SizeIs(1));
  clock.advance(1h);
  see(host_of("580.1", {"GPU-A"}));
  EXPECT_THAT(changes(), IsEmpty());
}

TEST(Toolkit, IsReadFromItsOwnFile) {
  EXPECT_EQ(toolkit_version(R"({"cuda": {"name": "CUDA SDK", "version": "12.4.1"}})"), "12.4.1");
  EXPECT_EQ(toolkit_version("12.4.1"), std::nullopt);
  EXPECT_EQ(toolkit_version(R"({"cuda": 12})"), std::nullopt);
}

}  // namespace
}  // namespace berth
