// On every simulated server, at any time, the devices that the views call free are those that
// placement gives to somebody who wants one whole.

#include <gtest/gtest.h>

#include "place/placement.h"
#include "probe/observe.h"
#include "probe/sim/motion.h"
#include "probe/sim/scenario.h"
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
    if (state_of(device, host) == DeviceState::free) verdicts.free.push_back(device.id.text());
    const PlaceLimits only_it{.visible = {{device.id}}};
    if (place(host, Request{}, only_it).satisfied()) verdicts.placed.push_back(device.id.text());
  }
  return verdicts;
}

/// A run that holds every other device.
std::vector<Claim> claims_on_every_other(const Snapshot& host) {
  std::vector<Claim> claims;
  for (std::size_t at = 0; at < host.devices.size(); at += 2) {
    Claim claim;
    claim.id = "lease-" + std::to_string(at);
    claim.user = "dora";
    claim.keeper.pid = static_cast<pid_t>(900'000 + at);
    claim.job = ProcessId{.pid = static_cast<pid_t>(910'000 + at), .start_ticks = 1};
    claim.since = host.taken;
    claim.devices.push_back({host.devices[at].id, std::nullopt});
    claims.push_back(std::move(claim));
  }
  return claims;
}

TEST(FreeInScenarios, IsWhatARequestForAWholeDeviceGets) {
  std::size_t free = 0;
  for (const ScenarioName& known : builtin_scenarios()) {
    const auto scenario = sim::load_scenario(std::string(known.name));
    ASSERT_TRUE(scenario) << known.name;
    for (int second = 0; second < 120; second += 7) {
      const WallTime when{scenario->base.taken.unix_ms + second * 1000};
      Snapshot host = sim::scenario_at(*scenario, when);
      const Verdicts alone = verdicts_on(host);
      EXPECT_EQ(alone.free, alone.placed) << known.name << " after " << second << " s";
      free += alone.free.size();

      host.claims = claims_on_every_other(host);
      sim::add_jobs(host, host.claims, scenario->seed);
      const Verdicts shared = verdicts_on(host);
      EXPECT_EQ(shared.free, shared.placed) << known.name << " with leases after " << second;
    }
  }
  EXPECT_GT(free, 0U);
}

}  // namespace
}  // namespace berth
