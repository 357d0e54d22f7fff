#include "run/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "base/process.h"
#include "snapshot/builder.h"
#include "snapshot/details.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;

Snapshot two_nodes() {
  SnapshotBuilder builder;
  for (std::uint64_t node = 0; node < 2; ++node) {
    builder.gpu(node == 0 ? "A" : "B", 8_GiB).with([&](Device& device) {
      device.numa_node = node;
      device.details.set(Detail::cpu_affinity, Reading<std::string>(node == 0 ? "0-1,4" : "2-3"));
    });
  }
  return builder.build();
}

TEST(Binding, IsToTheNodeOfTheDevices) {
  const Snapshot host = two_nodes();
  const auto one = plan_binding({DeviceId("B")}, host);
  EXPECT_THAT(one->cpus, ElementsAre(2, 3));
  EXPECT_EQ(one->node, 1);
  const auto both = plan_binding({DeviceId("A"), DeviceId("B")}, host);
  EXPECT_THAT(both->cpus, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(both->node, std::nullopt) << "memory of neither";
}

TEST(Binding, OfADeviceOfWhichNothingIsKnownThereIsNone) {
  const Snapshot host = SnapshotBuilder().gpu("A", 8_GiB).build();
  const auto plan = plan_binding({DeviceId("A")}, host);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::unsupported);
}

/// In a child: what is narrowed stays so.
int cpus_after(const Binding& binding) {
  const auto child = fork_process([&] {
    bind_to(binding);
    cpu_set_t now;
    if (::sched_getaffinity(0, sizeof now, &now) != 0) return 255;
    return CPU_COUNT(&now);
  });
  return child ? await_end(*child)->code : -1;
}

TEST(Binding, NarrowsToTheCpusThatMayBeUsedAlready) {
  cpu_set_t own;
  ASSERT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(first), &own)) ++first;
  EXPECT_EQ(cpus_after({.cpus = {first, 1023}}), 1);
  EXPECT_EQ(cpus_after({.cpus = {1023}}), CPU_COUNT(&own))
      << "none of them is there: left as it is";
}

}  // namespace
}  // namespace berth
