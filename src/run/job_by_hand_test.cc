// A job by hand in an invented /proc: its numbers are real ones only where a process must live.

#include "run/job_by_hand.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/process.h"
#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Above what the kernel gives: none of them is the test's own.
constexpr pid_t job = 5'000'000;
constexpr pid_t child = job + 1;
constexpr pid_t stranger = job + 2;

class JobsByHand : public testing::Test {
 protected:
  void put(pid_t pid, pid_t parent = 2, uid_t user = ::getuid()) const {
    const std::string folder = proc_.path() + "/" + std::to_string(pid);
    ASSERT_TRUE(make_directories(folder));
    ASSERT_TRUE(write_file_atomically(
        folder + "/stat",
        fmt::format("{} (a b) S {} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 1000 0 0\n", pid,
                    parent)));
    ASSERT_TRUE(write_file_atomically(folder + "/status",
                                      fmt::format("Name:\ta b\nUid:\t{0}\t{0}\t{0}\n", user)));
  }
  void put_run(pid_t pid, const std::string& run) const {
    put(pid);
    ASSERT_TRUE(write_file_atomically(proc_.path() + "/" + std::to_string(pid) + "/environ",
                                      "A=b" + std::string(1, '\0') + "BERTH_RUN=" + run));
  }
  /// Why it cannot be claimed; empty: it can.
  [[nodiscard]] std::string refusal(const std::string& number) const {
    const auto found = find_job_by_hand(number, proc_.path());
    return found ? "" : found.error().message();
  }
  [[nodiscard]] std::string run_of(pid_t pid, const std::vector<Claim>& claims) const {
    const Claim* claim = lease_of(pid, claims, proc_.path());
    return claim == nullptr ? "none" : claim->run;
  }
  [[nodiscard]] std::vector<std::string> devices_of_it(const Snapshot& host) const {
    std::vector<std::string> names;
    for (const Device* one : devices_of_job(job, host, proc_.path())) {
      names.push_back(one->id.text());
    }
    return names;
  }
  TemporaryDirectory proc_;
};

TEST_F(JobsByHand, OfOnesOwnThatLivesIsTheJobOfItsClaim) {
  put(::getpid());
  const auto found = find_job_by_hand(std::to_string(::getpid()), proc_.path());
  ASSERT_TRUE(found) << found.error().message();
  const ProcessId self{.pid = ::getpid(), .start_ticks = 77};
  EXPECT_EQ(found->claim.job, self);
  EXPECT_EQ(found->claim.keeper, self);
  EXPECT_TRUE(found->life.is_open());
}

TEST_F(JobsByHand, AreNamedByANumberThatAProcessHas) {
  for (const char* word : {"", "x", "0", "-5", "1x", "99999999999999"}) {
    EXPECT_THAT(refusal(word), HasSubstr("is no process's number")) << word;
  }
  EXPECT_EQ(refusal("2147483647"), "there is no process 2147483647");
}

TEST_F(JobsByHand, OfAnotherUserAreTheirsToClaim) {
  put(::getpid(), 2, ::getuid() + 1);
  EXPECT_THAT(refusal(std::to_string(::getpid())), HasSubstr("is another user's"));
}

TEST_F(JobsByHand, ThatHaveEndedAreNone) {
  const auto ended = fork_process([] { return 0; });
  ASSERT_TRUE(ended) << ended.error().message();
  ASSERT_TRUE(await_end(*ended));
  put(*ended);
  EXPECT_EQ(refusal(std::to_string(*ended)), fmt::format("process {} has ended", *ended));
  EXPECT_TRUE(reap(*ended));
}

TEST_F(JobsByHand, AreNotWhatHasStartedAllOthers) {
  put(1, 0);
  put(::getpid(), 2);
  EXPECT_EQ(refusal("1"), "") << "in a container it may be the job";
  put(job, 1);
  put(::getpid(), job);
  EXPECT_THAT(refusal("1"), HasSubstr("process 1 is no job"));
}

TEST_F(JobsByHand, AreUnderALeaseByTheirParentsOrByTheRunThatTheyAreOf) {
  std::vector<Claim> claims(3);
  claims[0] = {.run = "r1", .job = ProcessId{.pid = job}};
  claims[1] = {.run = ""};
  claims[2] = {.run = "r2", .keeper = ProcessId{.pid = job + 20}};
  put(job);
  put(child, job);
  put(stranger);
  EXPECT_EQ(run_of(child, claims), "r1");
  EXPECT_EQ(run_of(job + 20, claims), "r2");
  EXPECT_EQ(run_of(stranger, claims), "none");
  put_run(job + 11, "r2");
  EXPECT_EQ(run_of(job + 11, claims), "r2") << "its keeper is no parent of it";
  put_run(job + 12, "");
  put_run(job + 13, "r3");
  EXPECT_EQ(run_of(job + 12, claims), "none");
  EXPECT_EQ(run_of(job + 13, claims), "none");
}

TEST_F(JobsByHand, HaveTheDevicesThatTheyAndWhatTheyStartedComputeOn) {
  put(job);
  put(child, job);
  put(stranger);
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 24_GiB)
                            .process(job, "ann", 1_GiB)
                            .process(child, "ann", 1_GiB)
                            .gpu("B", 24_GiB)
                            .process(stranger, "ann", 1_GiB)
                            .gpu("C", 24_GiB)
                            .process(job, "ann", 1_GiB, GpuUse::graphics)
                            .gpu("D", 24_GiB)
                            .process(child, "ann", 1_GiB)
                            .build();
  EXPECT_THAT(devices_of_it(host), ElementsAre("A", "D"));
  Snapshot of_a_server = host;
  for (GpuProcess& use : of_a_server.gpu_processes) use.server = true;
  EXPECT_THAT(devices_of_it(of_a_server), IsEmpty());
}

}  // namespace
}  // namespace berth
