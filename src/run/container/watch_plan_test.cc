#include "run/container/watch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>

#include "base/clock.h"

namespace berth {
namespace {

using std::chrono::seconds;

const std::string id(64, 'a');

InspectedContainer running(pid_t process = 42) {
  return {.id = id, .is_running = true, .has_started = true, .process = process};
}
InspectedContainer ended(int code) { return {.id = id, .has_started = true, .exit_code = code}; }

class WatchPlanTest : public testing::Test {
 protected:
  std::vector<WatchAction> step(const WatchEvent& event) { return plan.step(event, now); }
  std::vector<WatchAction> inspected(InspectedContainer seen) {
    return step(ContainerInspected{.seen = std::move(seen)});
  }
  std::vector<WatchAction> inspected(ContainerInspected::How how) {
    return step(ContainerInspected{.how = how, .seen = {}});
  }
  /// As of a container that was started and is followed.
  void start() {
    step(ContainerMade{id});
    inspected(running());
    step(ProcessFollowed{true});
  }

  Instant now{seconds(100)};
  WatchPlan plan{now};
};

template <class T>
bool has(const std::vector<WatchAction>& actions) {
  return std::ranges::any_of(actions,
                             [](const WatchAction& one) { return std::holds_alternative<T>(one); });
}
/// The end of the run. Nothing: it goes on, or nobody can tell.
std::optional<Exit> end_in(const std::vector<WatchAction>& actions) {
  for (const WatchAction& one : actions) {
    if (const auto* over = std::get_if<RunOver>(&one)) return over->exit;
  }
  return std::nullopt;
}

TEST_F(WatchPlanTest, LooksForTheIdUntilItIsThere) {
  now += seconds(1);
  EXPECT_TRUE(has<ReadContainerId>(step(WatchTimePassed{})));
  EXPECT_TRUE(plan.next_deadline());
  EXPECT_TRUE(has<InspectContainer>(step(ContainerMade{id})));
}

TEST_F(WatchPlanTest, OneWhoseProcessLivesIsNotOverWhateverItsEngineKnows) {
  start();
  step(ClientEnded{Exit{}});
  EXPECT_FALSE(end_in(inspected(ContainerInspected::How::gone)));
  EXPECT_TRUE(plan.may_live());
  step(ProcessGone{});
  EXPECT_TRUE(has<RunOver>(inspected(ContainerInspected::How::gone)));
}

TEST_F(WatchPlanTest, OneThatIsNamedBeforeItIsMadeIsLookedForAgain) {
  step(ContainerMade{id});
  EXPECT_TRUE(inspected(ContainerInspected::How::gone).empty());
  EXPECT_TRUE(plan.may_live());
  now = plan.next_deadline().value_or(now);
  EXPECT_TRUE(has<InspectContainer>(step(WatchTimePassed{})));
  inspected({.id = id});  // made and not started
  now = plan.next_deadline().value_or(now);
  EXPECT_TRUE(has<InspectContainer>(step(WatchTimePassed{})));
  EXPECT_TRUE(has<FollowProcess>(inspected(running())));
}

TEST_F(WatchPlanTest, OneThatIsNamedAndNeverMadeIsOverWithItsClient) {
  step(ContainerMade{id});
  inspected(ContainerInspected::How::gone);
  EXPECT_TRUE(has<InspectContainer>(step(ClientEnded{{.code = 125}})));
  EXPECT_EQ(end_in(inspected(ContainerInspected::How::gone)), Exit{.code = 125});
}

TEST_F(WatchPlanTest, AWaitThatFailsIsNotTriedAgainAtOnce) {
  start();
  step(ClientEnded{Exit{}});
  EXPECT_TRUE(has<WaitForContainer>(inspected(running())));
  EXPECT_TRUE(step(WaitEnded{}).empty());
  ASSERT_TRUE(plan.next_deadline());
  EXPECT_GT(*plan.next_deadline(), now);
}

TEST_F(WatchPlanTest, AContainerThatIsFollowedIsAskedNothingMore) {
  step(ContainerMade{id});
  EXPECT_TRUE(has<FollowProcess>(inspected(running())));
  step(ProcessFollowed{true});
  EXPECT_FALSE(plan.next_deadline());
}

TEST_F(WatchPlanTest, OneThatCannotBeFollowedIsAskedAgainAndLessAndLess) {
  step(ContainerMade{id});
  inspected(running());
  step(ProcessFollowed{false});
  Duration last{};
  for (int i = 0; i < 12; ++i) {
    const auto at = plan.next_deadline();
    ASSERT_TRUE(at);
    last = *at - now;
    now = *at;
    EXPECT_TRUE(has<InspectContainer>(step(WatchTimePassed{})));
    inspected(ContainerInspected::How::no_answer);
  }
  EXPECT_EQ(last, seconds(30));
}

TEST_F(WatchPlanTest, AClientThatIsKilledEndsNothing) {
  start();
  EXPECT_TRUE(has<InspectContainer>(step(ClientEnded{{.signal = 9}})));
  const auto actions = inspected(running());
  EXPECT_TRUE(has<TellRunsOn>(actions));
  EXPECT_TRUE(has<WaitForContainer>(actions)) << "its code is told to a waiter alone";
  EXPECT_TRUE(plan.may_live());
  EXPECT_FALSE(has<RunOver>(step(ProcessGone{})));
  EXPECT_EQ(end_in(inspected(ended(7))), Exit{.code = 7});
}

TEST_F(WatchPlanTest, OneRemovedAtItsEndHasTheCodeThatWaitTold) {
  start();
  step(ClientEnded{{}});
  inspected(running());
  step(ProcessGone{});
  step(WaitEnded{3});
  inspected(ContainerInspected::How::gone);  // the look that was under way
  EXPECT_EQ(end_in(inspected(ContainerInspected::How::gone)), Exit{.code = 3});
}

TEST_F(WatchPlanTest, OneRemovedAtItsEndHasItsClientsCodeWhereThatWaited) {
  start();
  step(ProcessGone{});
  inspected(ContainerInspected::How::gone);
  EXPECT_EQ(end_in(step(ClientEnded{{.code = 5}})), Exit{.code = 5});
}

TEST_F(WatchPlanTest, OneRemovedAtItsEndHasTheCodeThatIsToldAMomentLater) {
  start();
  step(ClientEnded{{}});
  inspected(running());
  step(ProcessGone{});
  EXPECT_FALSE(has<RunOver>(inspected(ContainerInspected::How::gone))) << "who waits knows better";
  EXPECT_FALSE(plan.may_live());
  EXPECT_EQ(end_in(step(WaitEnded{3})), Exit{.code = 3});
}

TEST_F(WatchPlanTest, WhatNobodySawEndIsSaidToBeUnknown) {
  start();
  step(ClientEnded{{}});
  inspected(running());
  step(ProcessGone{});
  inspected(ContainerInspected::How::gone);
  ASSERT_TRUE(plan.next_deadline());
  now = *plan.next_deadline();
  const auto actions = step(WatchTimePassed{});
  EXPECT_TRUE(has<RunOver>(actions));
  EXPECT_FALSE(end_in(actions)) << "not 0";
}

TEST_F(WatchPlanTest, AnEngineThatDoesNotAnswerFreesNothingThatLives) {
  start();
  step(ClientEnded{{.code = 1}});
  EXPECT_TRUE(has<TellRunsOn>(inspected(ContainerInspected::How::no_answer)));
  for (int i = 0; i < 30; ++i) {
    now = plan.next_deadline().value_or(now) + seconds(60);
    step(WatchTimePassed{});
    EXPECT_FALSE(has<RunOver>(inspected(ContainerInspected::How::no_answer)));
  }
  step(ProcessGone{});
  now += seconds(11);
  step(WatchTimePassed{});
  EXPECT_TRUE(has<RunOver>(inspected(ContainerInspected::How::no_answer)))
      << "its process has ended, whatever its engine does";
}

TEST_F(WatchPlanTest, AContainerThatNeverWasEndsWithItsClient) {
  EXPECT_TRUE(has<ReadContainerId>(step(ClientEnded{{.code = 125}})));
  EXPECT_EQ(end_in(step(WatchTimePassed{})), Exit{.code = 125});
}

TEST_F(WatchPlanTest, OneThatItsClientCouldNotStartEndsWithIt) {
  step(ContainerMade{id});
  inspected({.id = id});
  step(ClientEnded{{.code = 127}});
  const auto actions = inspected({.id = id});
  EXPECT_EQ(end_in(actions), Exit{.code = 127});
  EXPECT_FALSE(has<RemoveContainer>(actions)) << "who did not say --rm may look at it";
}

TEST_F(WatchPlanTest, OneThatItsClientDidNotComeToStartIsRemoved) {
  step(ContainerMade{id});
  inspected({.id = id});
  step(ClientEnded{{.signal = 9}});
  EXPECT_TRUE(has<RemoveContainer>(inspected({.id = id})));
  now = plan.next_deadline().value_or(now);
  EXPECT_TRUE(has<InspectContainer>(step(WatchTimePassed{})));
  EXPECT_EQ(end_in(inspected(ContainerInspected::How::gone)), Exit{.signal = 9});
}

TEST_F(WatchPlanTest, OneThatHasStartedAfterAllIsFollowed) {
  step(ContainerMade{id});
  step(ClientEnded{{.signal = 9}});
  inspected({.id = id});
  inspected({.id = id});
  EXPECT_TRUE(has<FollowProcess>(inspected(running())));
  EXPECT_TRUE(plan.may_live());
}

TEST_F(WatchPlanTest, OneThatCannotBeRemovedIsWaitedForAMoment) {
  step(ContainerMade{id});
  step(ClientEnded{{.signal = 9}});
  inspected({.id = id});
  EXPECT_FALSE(has<RunOver>(inspected({.id = id})));
  now += seconds(11);
  step(WatchTimePassed{});
  EXPECT_TRUE(has<RunOver>(inspected({.id = id})));
}

TEST_F(WatchPlanTest, AClientThatSaysWellOfWhatNeverBeganIsNotBelieved) {
  step(ContainerMade{id});
  step(ClientEnded{{}});
  inspected({.id = id});
  inspected({.id = id});
  const auto actions = inspected(ContainerInspected::How::gone);
  EXPECT_TRUE(has<RunOver>(actions));
  EXPECT_FALSE(end_in(actions)) << "podman's ends with 0 by SIGTERM";
}

TEST_F(WatchPlanTest, OfAClientThatWasEndedTheContainerIsFoundByItsLabel) {
  EXPECT_TRUE(has<ReadContainerId>(step(ClientEnded{{.signal = 15}})));
  EXPECT_TRUE(has<FindContainer>(step(WatchTimePassed{})));
  EXPECT_TRUE(step(ContainerMade{}).empty()) << "its engine may yet make it";
  now = plan.next_deadline().value_or(now);
  EXPECT_TRUE(has<FindContainer>(step(WatchTimePassed{})));
  EXPECT_TRUE(has<InspectContainer>(step(ContainerMade{id})));
}

TEST_F(WatchPlanTest, OfAClientThatWasEndedNoContainerIsLookedForForEver) {
  step(ClientEnded{{.signal = 15}});
  step(WatchTimePassed{});
  now += seconds(2);
  EXPECT_EQ(end_in(step(ContainerMade{})), Exit{.signal = 15});
}

TEST_F(WatchPlanTest, StartedAgainByHandItIsFollowedAgain) {
  start();
  step(ClientEnded{{}});
  inspected(running());
  step(ProcessGone{});
  EXPECT_TRUE(has<FollowProcess>(inspected(running(77))));
}

TEST_F(WatchPlanTest, TheEndIsAskedOfTheEngine) {
  start();
  EXPECT_TRUE(has<StopContainer>(step(EndWanted{seconds(5)})));
  EXPECT_TRUE(has<KillContainer>(step(KillWanted{})));
}

TEST_F(WatchPlanTest, WhatHasNotBegunYetIsStoppedOnceItHas) {
  EXPECT_FALSE(has<StopContainer>(step(EndWanted{seconds(5)})));
  step(ContainerMade{id});
  EXPECT_TRUE(has<StopContainer>(inspected(running())));
}

TEST(WatchPlan, LooksForTheIdWhateverStoodInItsMemory) {
  alignas(WatchPlan) std::array<unsigned char, sizeof(WatchPlan)> place;
  place.fill(0x5a);
  const Instant started{};
  const auto* plan = new (place.data()) WatchPlan(started);
  EXPECT_EQ(plan->next_deadline(), started + std::chrono::milliseconds(50));
  std::destroy_at(plan);
}

}  // namespace
}  // namespace berth
