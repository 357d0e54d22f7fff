#include "run/shim_watch.h"
#include "base/sentence.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "guard/account.h"
#include "guard/context_sizes.h"
#include "record/record_writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

constexpr const char* uuid = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";

class ShimWatchOfUs : public testing::Test {
 protected:
  ShimWatchOfUs() {
    manifest_.given = SnapshotBuilder().gpu(uuid, 80_GiB).build();
    manifest_.promised = {10_GiB};
    manifest_.cap = RunCap{.tier = CapTier::shim,
                           .image = std::filesystem::canonical("/proc/self/exe").string()};
    const auto made = AccountFile::make(directory_ / "account", {{uuid, 10_GiB, Bytes(0)}});
    EXPECT_TRUE(made) << made.error().message();
  }
  [[nodiscard]] ShimWatch watch() const { return {manifest_, directory_.path(), "/proc"}; }
  std::vector<Note> look(ShimWatch& watch, const std::vector<ProcessSample>& own,
                         Reading<Bytes> measured) {
    watch.before_look();
    return watch.after_look(own, {measured}, clock_);
  }
  static std::vector<ProcessSample> us(Reading<Bytes> memory) {
    return {{.device = 0, .pid = ::getpid(), .memory = memory}};
  }

  /// As a shim reads it.
  [[nodiscard]] Bytes unseen() const {
    const auto bytes = read_file(directory_ / "account", 1 << 22);
    std::uint64_t told = 0;
    constexpr std::size_t at =
        offsetof(berth_account, results) + offsetof(berth_account_result, unseen_bytes);
    if (bytes && bytes->size() > at + sizeof told) {
      std::memcpy(&told, bytes->data() + at, sizeof told);
    }
    return Bytes(told);
  }

  /// As a process of the job has: 1 GiB.
  void charge(std::size_t slot, std::uint64_t pid, std::uint64_t start, std::uint64_t space) const {
    const Fd file = *open_fd(directory_ / "account", O_RDWR);
    berth_account_slot one{};
    one.pid = pid;
    one.start_time = start;
    one.pid_namespace = space;
    one.charged[0] = (1_GiB).count();
    const auto at = static_cast<off_t>(offsetof(berth_account, slots) + slot * sizeof one);
    EXPECT_EQ(::pwrite(file.get(), &one, sizeof one, at), ssize_t{sizeof one});
  }

  Manifest manifest_;
  TemporaryDirectory directory_;
  SystemClock clock_;
};

TEST_F(ShimWatchOfUs, WhatIsMappedInAProcessOnTheDeviceIsProved) {
  ShimWatch watch = this->watch();
  EXPECT_THAT(look(watch, us(1_GiB), 1_GiB), testing::IsEmpty());
  EXPECT_TRUE(watch.seen().in_processes);
  EXPECT_EQ(watch.seen().gap.english(), "");
  EXPECT_TRUE(watch.has_changed());
  EXPECT_THAT(look(watch, us(1_GiB), 1_GiB), testing::IsEmpty());
  EXPECT_FALSE(watch.has_changed());
}

TEST_F(ShimWatchOfUs, AProcessWithoutItIsToldOnceAndNothingIsProved) {
  manifest_.cap->image = directory_ / "another/libcuda.so.1";
  ShimWatch watch = this->watch();
  for (int number = 0; number < 2; ++number) {
    const auto news = look(watch, us(1_GiB), 1_GiB);
    EXPECT_EQ(news.size(), number == 0 ? 1U : 0U);
  }
  EXPECT_FALSE(watch.seen().in_processes);
  EXPECT_THAT(watch.seen().gap.english(), testing::HasSubstr("without the shim"));
}

TEST_F(ShimWatchOfUs, WhatIsMeasuredAboveTheChargesCountsOnceItLasts) {
  ShimWatch watch = this->watch();
  (void)look(watch, us(3_GiB), 3_GiB);
  (void)look(watch, us(3_GiB), 3_GiB);
  EXPECT_EQ(unseen(), Bytes(0))
      << "it may have been taken and given back while the driver was asked";
  (void)look(watch, us(2_GiB), 2_GiB);
  EXPECT_EQ(unseen(), 2_GiB);
}

TEST_F(ShimWatchOfUs, WhatAContextTakesIsLearnedForTheNextRun) {
  const std::string run = directory_ / "runs/20261126-120000-abcdef";
  std::filesystem::create_directories(run);
  manifest_.given.devices[0].name = std::string("NVIDIA H200");
  manifest_.given.host.software_of(Runtime::cuda).driver = std::string("580.159.04");
  ASSERT_TRUE(AccountFile::make(run + "/account", {{uuid, 10_GiB, 128_MiB}}));
  const auto learned = [&] {
    return ContextSizes::load(directory_.path())
        .of(manifest_.given.devices[0], manifest_.given.host.software_of(Runtime::cuda).driver);
  };
  ShimWatch watch(manifest_, run, "/proc");
  (void)look(watch, us(388_MiB), 388_MiB);
  (void)look(watch, us(388_MiB), 388_MiB);
  EXPECT_EQ(learned(), std::nullopt) << "it may not last";
  (void)look(watch, us(388_MiB), 388_MiB);
  EXPECT_EQ(learned(), 516_MiB);
  (void)look(watch, us(900_MiB), 900_MiB);
  EXPECT_EQ(learned(), 516_MiB) << "modules come on top";
}

TEST_F(ShimWatchOfUs, OfSeveralProcessesNoContextIsLearned) {
  const std::string run = directory_ / "runs/20261126-120000-abcdef";
  std::filesystem::create_directories(run);
  manifest_.given.devices[0].name = std::string("NVIDIA H200");
  manifest_.given.host.software_of(Runtime::cuda).driver = std::string("580.159.04");
  ASSERT_TRUE(AccountFile::make(run + "/account", {{uuid, 10_GiB, 128_MiB}}));
  ShimWatch watch(manifest_, run, "/proc");
  auto two = us(388_MiB);
  two.push_back({.device = 0, .pid = ::getpid(), .memory = 388_MiB});
  for (int number = 0; number < 3; ++number) (void)look(watch, two, 776_MiB);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "contexts.json"));
}

TEST_F(ShimWatchOfUs, MemoryThatCannotBeReadIsNotZero) {
  ShimWatch watch = this->watch();
  for (int look_number = 0; look_number < 3; ++look_number) (void)look(watch, us(3_GiB), 3_GiB);
  (void)look(watch, us(Absent::unsupported), Absent::unsupported);
  EXPECT_EQ(unseen(), 3_GiB);
}

TEST_F(ShimWatchOfUs, WhereNobodyIsLeftNothingIsUnseen) {
  ShimWatch watch = this->watch();
  for (int look_number = 0; look_number < 3; ++look_number) (void)look(watch, us(3_GiB), 3_GiB);
  (void)look(watch, {}, Bytes(0));
  EXPECT_EQ(unseen(), Bytes(0));
}

TEST_F(ShimWatchOfUs, ASamplerThatIsStartedAgainKnowsTheGap) {
  CapSeen before{.devices = {}, .in_processes = true, .gap = Sentence("process 7 uses it without")};
  ASSERT_TRUE(write_file_atomically(directory_ / "cap.json", cap_seen_to_json(before), 0600));
  ShimWatch watch = this->watch();
  (void)look(watch, us(1_GiB), 1_GiB);
  EXPECT_EQ(watch.seen().gap.english(), before.gap);
}

TEST_F(ShimWatchOfUs, ADamagedAccountIsToldOnce) {
  ShimWatch watch = this->watch();
  std::filesystem::resize_file(directory_ / "account", 100);
  EXPECT_EQ(look(watch, us(1_GiB), 1_GiB).size(), 1U);
  EXPECT_EQ(look(watch, us(1_GiB), 1_GiB).size(), 0U);
  EXPECT_NE(watch.seen().gap.english(), "");
}

TEST_F(ShimWatchOfUs, AnotherTierIsNotWatched) {
  manifest_.cap->tier = CapTier::watchdog;
  ShimWatch watch = this->watch();
  EXPECT_THAT(look(watch, us(1_GiB), 1_GiB), testing::IsEmpty());
  EXPECT_FALSE(watch.has_changed());
}

TEST_F(ShimWatchOfUs, MemoryThatIsNotCountedIsToldOnceItLastsAndNothingIsProved) {
  ShimWatch watch = this->watch();
  std::vector<std::string> kinds;
  for (int number = 0; number < 5; ++number) {
    for (const Note& note : look(watch, us(3_GiB), 3_GiB)) kinds.push_back(note.kind);
    EXPECT_EQ(watch.seen().gap.empty(), number < 2) << number;
  }
  EXPECT_THAT(kinds, testing::ElementsAre("memory_not_counted"));
  EXPECT_THAT(watch.seen().gap.english(), testing::HasSubstr("has 3.0 GiB of GPU 0"));
}

TEST_F(ShimWatchOfUs, OfOneProcessMoreThanThereAreSlotsTheMemoryIsToldOnce) {
  for (std::size_t slot = 0; slot < BERTH_ACCOUNT_SLOTS; ++slot) charge(slot, 1, 1, 0);
  ShimWatch watch = this->watch();
  std::vector<std::string> kinds;
  for (int number = 0; number < 5; ++number) {
    for (const Note& note : look(watch, us(3_GiB), 3_GiB)) kinds.push_back(note.kind);
  }
  EXPECT_THAT(kinds, testing::ElementsAre("memory_not_counted"));
}

TEST_F(ShimWatchOfUs, AContextIsNoMemoryThatIsNotCounted) {
  ShimWatch watch = this->watch();
  for (int number = 0; number < 5; ++number) {
    EXPECT_THAT(look(watch, us(500_MiB), 500_MiB), testing::IsEmpty());
  }
}

TEST_F(ShimWatchOfUs, ASlotWhoseProcessHasGoneIsGivenBack) {
  const auto ns = read_link("/proc/self/ns/pid");
  const std::uint64_t ours = *parse_unsigned(std::string_view(*ns).substr(5, ns->size() - 6));
  charge(0, 1 << 22, 1, ours);         // no such process: the largest number is below
  charge(1, 1 << 22, 1, ours + 4096);  // none in any other namespace either
  charge(2, 1 << 22, 1, 0);            // of one that is not known
  ShimWatch watch = this->watch();
  (void)look(watch, {}, 0_MiB);
  const auto slots = AccountFile::open(directory_ / "account")->slots();
  ASSERT_EQ(slots->size(), 1U);
  EXPECT_EQ(slots->at(0).number, 2U) << "in doubt it stays";
}

}  // namespace
}  // namespace berth
