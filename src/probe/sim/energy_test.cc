#include "probe/sim/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/sim/motion.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr WallTime boot{1'760'000'000'000};
constexpr WallTime after_boot(std::int64_t ms) { return {boot.unix_ms + ms}; }

Snapshot server_at(WallTime now) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 100_GiB)
                      .with([](Device& device) {
                        device.power_draw = 70_watts;
                        device.power_limit = 700_watts;
                        device.energy = Millijoules(5'000'000);
                      })
                      .gpu("B", 100_GiB)
                      .build();
  host.taken = now;
  return host;
}

Claim job_of(const std::string& lease, WallTime since) {
  Claim claim;
  claim.id = lease;
  claim.job = ProcessId{.pid = 71, .start_ticks = 5};
  claim.since = since;
  claim.devices.push_back({DeviceId("A"), std::nullopt});
  return claim;
}

std::uint64_t joules_after(sim::JobEnergy& energy, std::int64_t ms,
                           const std::vector<Claim>& running) {
  Snapshot host = server_at(after_boot(ms));
  energy.add(host, running);
  return host.devices[0].energy.get()->count() / 1000 - 5000;
}

TEST(JobEnergy, CounterNeverGoesBackWhenAJobEndsAndAnotherBegins) {
  sim::JobEnergy energy(server_at(boot));
  const std::vector<Claim> first = {job_of("one", boot)};
  const std::vector<Claim> second = {job_of("two", after_boot(9000))};
  std::uint64_t before = 0;
  for (std::int64_t ms = 0; ms < 20'000; ms += 500) {
    const std::vector<Claim> running = ms < 4000    ? first
                                       : ms < 9000  ? std::vector<Claim>()
                                       : ms < 15000 ? second
                                                    : std::vector<Claim>();
    const std::uint64_t now = joules_after(energy, ms, running);
    EXPECT_GE(now, before) << "after " << ms << " ms";
    before = now;
  }
  EXPECT_GT(before, 8U * 500) << "both jobs count";
}

TEST(JobEnergy, FollowsThePowerThatTheJobShows) {
  sim::JobEnergy energy(server_at(boot));
  const std::vector<Claim> running = {job_of("one", boot)};
  double milliwatts = 0;
  constexpr int seconds = 60;
  for (int second = 10; second < 10 + seconds; ++second) {
    Snapshot host = server_at(after_boot(second * 1000));
    sim::add_jobs(host, running, 1);
    milliwatts += static_cast<double>(host.devices[0].power_draw.get()->count()) - 70'000;
  }
  const auto used = static_cast<double>(joules_after(energy, (10 + seconds) * 1000, running) -
                                        joules_after(energy, 10'000, running));
  EXPECT_NEAR(used, milliwatts / 1000, 0.02 * used);
}

TEST(JobEnergy, DeviceWithoutACounterStaysWithout) {
  sim::JobEnergy energy(server_at(boot));
  Claim claim = job_of("one", boot);
  claim.devices[0].device = DeviceId("B");
  Snapshot host = server_at(after_boot(5000));
  energy.add(host, {claim});
  EXPECT_FALSE(host.devices[1].energy.has_value());
}

}  // namespace
}  // namespace berth
