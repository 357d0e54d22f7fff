// On every simulated server, at any time: placement gives the devices that the views call free. It
// gives them to a user who wants one whole.

#include <gtest/gtest.h>

#include <random>

#include "health/health.h"
#include "place/placement.h"
#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"
#include "probe/sources.h"
#include "snapshot/builder.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {
namespace {

/// By the names of the devices: what a failure shows.
struct Verdicts {
  std::vector<std::string> free;
  std::vector<std::string> placed;
};

Verdicts verdicts_on(const Snapshot& host) {
  Verdicts verdicts;
  for (const Device& device : host.devices) {
    if (!is_given_unasked(device)) continue;  // free, and only if it is named
    if (state_of(device, host) == DeviceState::free) verdicts.free.push_back(device.id.text());
    const PlaceLimits only_it{.visible = {{device.id}}};
    if (place(host, Request{}, only_it).satisfied()) verdicts.placed.push_back(device.id.text());
  }
  return verdicts;
}

/// What placement says of each device, for a failure to show.
std::string reasons_on(const Snapshot& host) {
  std::string text;
  for (const Refusal& refusal : place(host, Request{}).refused) {
    text += "\n" + refusal.device.text() + ": " + refusal.text.english();
  }
  return text;
}

/// A run that holds every other device.
std::vector<Claim> claims_on_every_other(const Snapshot& host) {
  std::vector<Claim> claims;
  for (std::size_t at = 0; at < host.devices.size(); at += 2) {
    Claim claim;
    claim.id = "lease-" + std::to_string(at);
    claim.user = "dora";
    claim.keeper = ProcessId{.pid = static_cast<pid_t>(900'000 + at)};
    claim.job = ProcessId{.pid = static_cast<pid_t>(910'000 + at), .start_ticks = 1};
    claim.since = host.taken;
    claim.devices.push_back({host.devices[at].id, std::nullopt});
    claims.push_back(std::move(claim));
  }
  return claims;
}

template <class T>
Reading<T> any_of(std::mt19937& random, std::initializer_list<Reading<T>> values) {
  return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
}

/// Cards in every state that decides whether one is given, MIG instances among them.
Snapshot random_machine(std::mt19937& random) {
  using namespace literals;
  const auto once_in = [&](unsigned times) { return random() % times == 0; };
  SnapshotBuilder builder;
  for (int i = 0; i < 6; ++i) {
    builder.gpu("GPU-" + std::to_string(i), 8_GiB).with([&](Device& card) {
      card.pci_address = "00000000:0" + std::to_string(i) + ":00.0";
      card.lost = once_in(9);
      if (once_in(9)) card.unusable_because = Unusable::no_driver;
      card.memory_used = any_of<Bytes>(random, {0_B, 0_B, 0_B, 3_GiB, Absent::failed});
      card.utilization_gpu = any_of<Percent>(
          random, {0_percent, 0_percent, 60_percent, Absent::failed, Absent::unsupported});
      card.mig_mode =
          any_of<bool>(random, {false, false, false, true, Absent::failed, Absent::unsupported});
      card.process_count = any_of<std::uint64_t>(
          random, {std::uint64_t{0}, std::uint64_t{0}, Absent::failed, Absent::not_sampled});
      card.compute_mode = any_of<std::string>(
          random, {std::string("Default"), std::string("Default"), std::string("Prohibited")});
      if (once_in(3)) card.details.set(Detail::remapped_rows_failed, Reading<bool>(true));
      if (once_in(5)) card.details.set(Detail::recovery_action, Reading<std::string>("Reset"));
      if (i < 2 || !once_in(3)) return;
      card.kind = DeviceKind::nvidia_mig;
      card.mig_mode = true;
      card.parent = DeviceId("GPU-" + std::to_string(random() % 2));
      card.partition = Partition{static_cast<std::uint32_t>(i), 0};
    });
    if (once_in(4)) builder.process(100 + i, "eve", 1_GiB);
    if (once_in(5)) builder.process(200 + i, "gdm", 1_GiB, GpuUse::graphics);
    if (once_in(4)) builder.claim("bob");
  }
  Snapshot host = builder.build();
  for (const Device& one : host.devices) {
    if (one.parent == host.devices[0].id) host.devices[0].mig_mode = true;
    if (one.parent == host.devices[1].id) host.devices[1].mig_mode = true;
  }
  return host;
}

TEST(FreeOnRandomMachines, IsWhatARequestForAWholeDeviceGetsAlsoWhereCardsAreFailed) {
  std::mt19937 random{11};
  std::size_t free = 0;
  std::size_t failed = 0;
  for (int round = 0; round < 2000; ++round) {
    Snapshot host = random_machine(random);
    host.faults = failed_devices(host);
    const Verdicts verdicts = verdicts_on(host);
    ASSERT_EQ(verdicts.free, verdicts.placed) << "round " << round << reasons_on(host);
    free += verdicts.free.size();
    for (const Device& device : host.devices) {
      failed += state_of(device, host) == DeviceState::failed ? 1 : 0;
    }
  }
  EXPECT_GT(free, 0U);
  EXPECT_GT(failed, 0U);
}

TEST(FreeInScenarios, IsWhatARequestForAWholeDeviceGets) {
  std::size_t free = 0;
  for (const ScenarioName& known : builtin_scenarios()) {
    const auto scenario = sim::load_scenario(std::string(known.name));
    ASSERT_TRUE(scenario) << known.name;
    for (int second = 0; second < 120; second += 7) {
      const WallTime when{scenario->base.taken.unix_ms + second * 1000};
      Snapshot host = sim::scenario_at(*scenario, when);
      host.faults = failed_devices(host);
      const Verdicts alone = verdicts_on(host);
      EXPECT_EQ(alone.free, alone.placed) << known.name << " after " << second << " s";
      free += alone.free.size();

      host.claims = claims_on_every_other(host);
      sim::add_jobs(host, host.claims, scenario->seed);
      host.faults = failed_devices(host);
      const Verdicts shared = verdicts_on(host);
      EXPECT_EQ(shared.free, shared.placed) << known.name << " with leases after " << second;
    }
  }
  EXPECT_GT(free, 0U);
}

}  // namespace
}  // namespace berth
