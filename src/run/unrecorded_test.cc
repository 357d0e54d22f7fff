#include "run/unrecorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "run/run.h"

namespace berth {
namespace {

Claim claim_of(const std::string& run, uid_t uid = ::getuid()) {
  Claim claim;
  claim.id = "lease-" + run;
  claim.run = run;
  claim.uid = uid;
  return claim;
}

TEST(UnrecordedRun, IsFoundByWhatItsLeaseSays) {
  const std::vector<Claim> claims = {claim_of("20250101-000000-aaaaaa"),
                                     claim_of("20250101-000000-bbbbbb")};
  EXPECT_EQ(unrecorded_run("20250101-000000-bbbbbb", claims, "/none")->manifest.lease,
            "lease-20250101-000000-bbbbbb");
  EXPECT_EQ(unrecorded_run("aaaaaa", claims, "/none")->manifest.id, "20250101-000000-aaaaaa");
  EXPECT_EQ(unrecorded_run("2025", claims, "/none").error().code(), ErrorCode::invalid);
  EXPECT_EQ(unrecorded_run("cccccc", claims, "/none").error().code(), ErrorCode::not_found);
  EXPECT_EQ(unrecorded_run("", claims, "/none").error().code(), ErrorCode::not_found);
}

TEST(UnrecordedRun, OfAnotherUserIsNotTakenFromTheirLease) {
  const std::vector<Claim> claims = {claim_of("20250101-000000-aaaaaa", ::getuid() + 1)};
  EXPECT_FALSE(unrecorded_run("20250101-000000-aaaaaa", claims, "/none"));
}

TEST(UnrecordedRun, IsStoppedAndWaitedForByItsJob) {
  SystemClock clock;
  const std::string id = "20250101-000000-uuuuuu";
  const auto job = fork_process([&] {
    return static_cast<int>(execute({"sleep", "60"}, {"BERTH_RUN=" + id}, "/usr/bin:/bin").code());
  });
  ASSERT_TRUE(job);
  auto found = unrecorded_run(id, {});
  for (int i = 0; !found && i < 500; ++i) {  // until it has become the command
    clock.wait_until(clock.now() + std::chrono::milliseconds(10));
    found = unrecorded_run(id, {});
  }
  ASSERT_TRUE(found) << found.error().message();
  const auto waited = wait_for_run(*found, clock, [] { return true; });
  EXPECT_EQ(waited.error().code(), ErrorCode::busy) << "the job still runs";
  const auto stopped = stop_run(*found, std::chrono::seconds(20), clock);
  ASSERT_TRUE(stopped) << stopped.error().message();
  EXPECT_EQ(*stopped, StopResult::ended_by_term);
  EXPECT_EQ(reap(*job)->signal, SIGTERM);
  EXPECT_EQ(wait_for_run(*found, clock, {}).error().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace berth
