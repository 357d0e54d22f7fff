// "free", as every view says it, is what placement gives to a request for a whole device. Held here
// on any machine, and in tests/together on the built-in scenarios.

#include <gtest/gtest.h>

#include <random>

#include "place/placement.h"
#include "snapshot/builder.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

using namespace literals;
using Random = std::mt19937;

int below(Random& random, int limit) {
  return static_cast<int>(random() % static_cast<unsigned>(limit));
}

Absent any_reason(Random& random) { return static_cast<Absent>(below(random, 4)); }

/// Something that decides whether it can be had.
void change(Device& device, Random& random) {
  switch (below(random, 14)) {
    case 0:
      device.utilization_gpu = Percent(below(random, 20));
      break;
    case 1:
      device.utilization_gpu = any_reason(random);
      device.utilization_history =
          std::vector<UtilizationSample>{{Milliseconds{100}, Percent(below(random, 20))}};
      break;
    case 2:
      device.memory_used = Bytes{(1ULL + random() % 200) << 20};
      break;
    case 3:
      device.memory_used = any_reason(random);
      break;
    case 4:
      device.memory_used = 3_GiB;
      break;
    case 5:
      device.memory_total = any_reason(random);
      break;
    case 6:
      device.process_count = any_reason(random);
      break;
    case 7:
      device.mig_mode = any_reason(random);
      break;
    case 8:
      device.mig_mode = below(random, 2) == 0;
      break;
    case 9:
      device.compute_mode = std::string(below(random, 2) == 0 ? "Prohibited" : "Exclusive_Process");
      break;
    case 10:
      device.lost = true;
      break;
    case 11:
      device.unusable_because = WhyUnusable("no driver");
      break;
    case 12:
      device.details.put(Detail::recovery_action, any_reason(random));
      break;
    default:
      device.kind = DeviceKind::other;
  }
}

void add_somebody(SnapshotBuilder& builder, pid_t pid, Random& random) {
  const Bytes memory{random() % (4ULL << 30)};
  switch (below(random, 6)) {
    case 0:
      builder.process(pid, "eve", memory, static_cast<GpuUse>(below(random, 4)));
      break;
    case 1:
      builder.process(pid, "gdm", memory, GpuUse::graphics);
      break;
    case 2:
      builder.claim("alice", std::nullopt, pid);
      break;
    case 3:
      builder.claim("bob", 2_GiB, pid).process(pid, "bob", memory);
      break;
    default:
      break;
  }
}

Snapshot random_machine(Random& random) {
  SnapshotBuilder builder;
  pid_t pid = 100;
  const auto card = [&](const std::string& name) {
    builder.gpu(name, 8_GiB);
    for (int times = below(random, 3); times > 0; --times) add_somebody(builder, ++pid, random);
    for (int times = below(random, 3); times > 0; --times) {
      builder.with([&](Device& device) { change(device, random); });
    }
  };
  for (const char* name : {"A", "B", "C"}) card(name);
  builder.gpu("D", 80_GiB).with([](Device& device) { device.mig_mode = true; });
  if (below(random, 2) == 0) add_somebody(builder, ++pid, random);
  for (const std::uint32_t place : {1U, 2U}) {
    card("M" + std::to_string(place));
    builder.with([&](Device& device) {
      device.kind = DeviceKind::nvidia_mig;
      device.parent = DeviceId("D");
      device.partition = Partition{place, 0};
    });
  }
  Snapshot host = builder.build();
  for (GpuProcess& use : host.gpu_processes) {
    if (use.device == DeviceId("D") && below(random, 2) == 0) use.partition = Partition{1, 0};
    if (below(random, 4) == 0) use.memory = any_reason(random);
  }
  if (below(random, 8) == 0) host.sources = {{"ledger", below(random, 2) == 0}};
  return host;
}

TEST(Free, IsWhatARequestForAWholeDeviceGets) {
  Random random(7);
  int free = 0;
  int devices = 0;
  for (int round = 0; round < 600; ++round) {
    const Snapshot host = random_machine(random);
    for (const Device& device : host.devices) {
      const DeviceState state = state_of(device, host);
      const Placement got = place(host, Request{}, {.visible = {{device.id}}});
      std::string why;
      for (const Refusal& refusal : got.refused) {
        if (refusal.device == device.id) why = refusal.text.english();
      }
      ASSERT_EQ(state == DeviceState::free, got.satisfied())
          << "round " << round << ", " << device.id.text() << " is " << name_of(state)
          << ", placement says: " << (why.empty() ? "take it" : why);
      free += state == DeviceState::free ? 1 : 0;
      ++devices;
    }
  }
  EXPECT_GT(free, devices / 5) << "the machines are too broken to say anything";
  EXPECT_LT(free, devices / 5 * 4) << "the machines are too sound to say anything";
}

}  // namespace
}  // namespace berth
