#include "diagnose/bottleneck/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/builder.h"

namespace berth::bottleneck {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// ann has a lease of A and computes there; bob computes on B without one; nobody is on C.
Snapshot machine() {
  Snapshot snapshot = SnapshotBuilder()
                          .gpu("GPU-A", 80_GiB)
                          .process(11, "ann", 9_GiB)
                          .claim("ann", std::nullopt, 10)
                          .gpu("GPU-B", 80_GiB)
                          .process(21, "bob", 1_GiB)
                          .process(22, "bob", 9_GiB)
                          .gpu("GPU-C", 80_GiB)
                          .build();
  snapshot.claims[0].run = "20260101-a";
  for (HostProcess& process : snapshot.processes) {
    if (process.id.pid == 11) process.ancestors = {10};
  }
  return snapshot;
}

std::vector<std::string> subjects(const std::vector<Target>& targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.subject);
  return names;
}

TEST(Targets, AreTheDevicesThatAWordNames) {
  EXPECT_THAT(subjects(named_targets("0", machine())), ElementsAre("GPU 0"));
  EXPECT_THAT(subjects(named_targets("GPU-C,1", machine())), ElementsAre("GPU 1", "GPU 2"));
  EXPECT_THAT(named_targets("7", machine()), IsEmpty());
  EXPECT_THAT(named_targets(",", machine()), IsEmpty());
  Snapshot unsupported = machine();
  unsupported.devices[0].kind = DeviceKind::other;
  EXPECT_THAT(named_targets("0", unsupported), IsEmpty());
}

TEST(Targets, OfADeviceAreTheRunThatLeasesItOrTheProcessWithMostOfIt) {
  const std::vector<Target> busy = busy_targets(machine());
  ASSERT_THAT(subjects(busy), ElementsAre("GPU 0", "GPU 1"));
  EXPECT_EQ(busy[0].run, "20260101-a");
  EXPECT_EQ(busy[0].keeper, 10);
  EXPECT_EQ(busy[1].run, "");
  EXPECT_THAT(busy[1].roots, ElementsAre(22));
}

}  // namespace
}  // namespace berth::bottleneck
