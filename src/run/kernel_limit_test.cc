#include "run/kernel_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/process.h"
#include "base/sentence.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class KernelLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(ledger_.directory);
    auto kept = PlannedPlace::keep(ledger_);
    ASSERT_TRUE(kept) << kept.error().message();
    place_.emplace(*std::move(kept));
    std::filesystem::create_directories(group_);
  }

  std::string ask(LimitText text) const { return place_->add(text).value_or(""); }
  /// As the service has written it.
  std::string held(LimitText text) const {
    std::string id = ask(text);
    text.uid = ::geteuid();
    text.is_held = true;
    EXPECT_TRUE(place_->change(id, text));
    return id;
  }
  void see_to(const std::string& id) {
    const auto done = see_to_limit(*place_, id, driver_);
    EXPECT_TRUE(done) << done.error().message();
  }
  AskedLimit answer_to(const std::string& id) const {
    for (AskedLimit& one : place_->limits().value_or(std::vector<AskedLimit>())) {
      if (one.id == id) return std::move(one);
    }
    return {.id = "it has gone"};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const AskedLimit& one : place_->limits().value_or(std::vector<AskedLimit>())) {
      names.push_back(one.id);
    }
    return names;
  }

  TemporaryDirectory folder_;
  LedgerPlace ledger_{.directory = folder_ / "ledger"};
  std::optional<PlannedPlace> place_;
  std::string group_ = folder_ / "group";
  std::vector<std::string> groups_ = {group_, folder_.path()};
  Result<std::map<std::string, Bytes>> in_force_ = fail(ErrorCode::not_found, "no limit is set");
  std::vector<std::string> asked_of_;  // the groups of the last question
  std::vector<std::pair<std::string, LimitDriver::NewLimits>> set_;
  LimitDriver driver_{.groups_of = [this](pid_t) { return groups_; },
                      .limits_of =
                          [this](const std::vector<std::string>& groups) {
                            asked_of_ = groups;
                            return in_force_;
                          },
                      .set = [this](const std::string& group,
                                    const LimitDriver::NewLimits& limits) -> Result<void> {
                        set_.emplace_back(group, limits);
                        return {};
                      }};
};

TEST_F(KernelLimit, IsRefusedForAProcessThatIsNotTheOneThatAsked) {
  ProcessId another = own_process_id();
  ++another.start_ticks;
  const std::string id = ask({.process = another, .limits = {{"GPU-a", Bytes(5)}}});
  see_to(id);
  EXPECT_THAT(answer_to(id).text.failed, HasSubstr("not its user's, or has ended"));
  EXPECT_THAT(set_, IsEmpty());
}

TEST_F(KernelLimit, IsRefusedInsideOfAnotherLimit) {
  in_force_ = std::map<std::string, Bytes>{{"GPU-a", Bytes(9)}};
  const std::string id = ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}});
  see_to(id);
  EXPECT_THAT(answer_to(id).text.failed, HasSubstr("is set for its control group already"));
  EXPECT_EQ(asked_of_, groups_);
  EXPECT_THAT(set_, IsEmpty());
}

TEST_F(KernelLimit, IsRefusedWhereItCannotBeToldWhetherThereIsAnother) {
  in_force_ = fail(ErrorCode::io, "the driver hangs");
  const std::string id = ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}});
  see_to(id);
  EXPECT_EQ(answer_to(id).text.failed, "the driver hangs");
}

TEST_F(KernelLimit, IsRefusedOutsideOfControlGroupsOfVersionTwo) {
  groups_.clear();
  const std::string id = ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}});
  see_to(id);
  EXPECT_THAT(answer_to(id).text.failed, HasSubstr("not of version 2"));
}

TEST_F(KernelLimit, LeavesNoGroupWhereTheProcessCannotBeMoved) {
  // An ordinary directory: none of the kernel's files is in the one that is made.
  const std::string id = ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}});
  see_to(id);
  EXPECT_FALSE(answer_to(id).text.failed.empty());
  EXPECT_FALSE(answer_to(id).text.is_held);
  EXPECT_TRUE(std::filesystem::is_empty(group_));
  EXPECT_THAT(set_, IsEmpty());
}

TEST_F(KernelLimit, OfARunThatIsStartedAgainTakesTheGroupOfTheEarlierOne) {
  const std::string earlier = held({.process = own_process_id(),
                                    .limits = {{"GPU-a", Bytes(5)}, {"GPU-b", Bytes(5)}},
                                    .group = group_});
  const std::string id =
      ask({.process = own_process_id(), .limits = {{"GPU-b", Bytes(7)}}, .instead_of = earlier});
  see_to(id);
  // Its own earlier limit is no other's.
  EXPECT_THAT(asked_of_, ElementsAre(folder_.path()));
  EXPECT_THAT(
      set_,
      ElementsAre(Pair(group_, ElementsAre(Pair("GPU-a", std::nullopt), Pair("GPU-b", Bytes(7))))));
  EXPECT_TRUE(answer_to(id).text.is_held);
  EXPECT_THAT(names(), ElementsAre(id));
}

TEST_F(KernelLimit, DoesNotTakeAGroupThatTheProcessIsNotIn) {
  const std::string other =
      held({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}, .group = "/elsewhere"});
  const std::string id =
      ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(7)}}, .instead_of = other});
  see_to(id);
  EXPECT_EQ(asked_of_, groups_);
  EXPECT_THAT(set_, IsEmpty());
}

TEST_F(KernelLimit, IsTakenOffOnceNobodyIsInItsGroup) {
  const std::string id =
      held({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}, .group = group_});
  std::ofstream(group_ + "/cgroup.events") << "populated 1\n";
  EXPECT_THAT(limits_to_see_to(*place_), IsEmpty());
  see_to(id);
  EXPECT_THAT(set_, IsEmpty());

  std::filesystem::remove(group_ + "/cgroup.events");
  EXPECT_THAT(limits_to_see_to(*place_), ElementsAre(id));
  see_to(id);
  EXPECT_THAT(set_, ElementsAre(Pair(group_, ElementsAre(Pair("GPU-a", std::nullopt)))));
  EXPECT_FALSE(std::filesystem::exists(group_));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(KernelLimit, OfAProcessThatEndedBeforeItsAnswerIsForgotten) {
  ProcessId ended = own_process_id();
  ++ended.start_ticks;
  (void)ask({.process = ended, .limits = {{"GPU-a", Bytes(5)}}});
  const std::string alive = ask({.process = own_process_id(), .limits = {{"GPU-a", Bytes(5)}}});
  EXPECT_THAT(limits_to_see_to(*place_), ElementsAre(alive));
  EXPECT_THAT(names(), ElementsAre(alive));
}

TEST_F(KernelLimit, IsAskedForOnlyWhereAServiceSetsIt) {
  FakeClock clock;
  EXPECT_NE(kernel_limit_setter(ledger_, ::geteuid(), clock), nullptr);
  place_.reset();
  EXPECT_EQ(kernel_limit_setter(ledger_, ::geteuid(), clock), nullptr);
}

TEST_F(KernelLimit, IsWaitedForForALittleWhileAndTakenBack) {
  FakeClock clock;
  const auto set = kernel_limit_setter(ledger_, ::geteuid(), clock);
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set({})) << "nothing was asked for before";
  const Instant began = clock.now();
  const auto done = set({{"GPU-a", Bytes(5)}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::timeout);
  EXPECT_GE(clock.now() - began, std::chrono::seconds(8));
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace berth
