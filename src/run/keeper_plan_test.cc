#include "run/keeper_plan.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string_view>

#include "record/run_record.h"

namespace berth {
namespace {

using namespace std::chrono_literals;

template <class T>
std::size_t number_of(const std::vector<KeeperAction>& actions) {
  std::size_t count = 0;
  for (const KeeperAction& action : actions) count += std::holds_alternative<T>(action) ? 1U : 0U;
  return count;
}

/// Without a warning before the time limit.
KeeperTerms with_lease() {
  return {.job = {.warning_signal = 0, .linger = 60s}, .stop_grace = 10s};
}

TEST(KeeperPlan, ReleasesBeforeItTellsWhenNobodySurvives) {
  KeeperPlan plan(with_lease(), Instant{});
  EXPECT_EQ(number_of<SurveyTree>(plan.step(JobEnded{{.code = 3}}, Instant{1s})), 1U);
  const auto actions = plan.step(TreeSurveyed{}, Instant{1s});
  ASSERT_EQ(actions.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<ReleaseLease>(actions[0]));
  ASSERT_TRUE(std::holds_alternative<TellEnd>(actions[1]));
  EXPECT_EQ(std::get<TellEnd>(actions[1]).exit.code, 3);
  EXPECT_TRUE(std::holds_alternative<Finish>(actions[2]));
}

TEST(KeeperPlan, KeepsTheLeaseAsLongAsASurvivorHasTheDeviceOpen) {
  FakeClock clock;
  KeeperPlan plan(with_lease(), clock.now());
  (void)plan.step(JobEnded{}, clock.now());
  const auto first = plan.step(TreeSurveyed{.survivors = 1, .with_device = 1}, clock.now());
  EXPECT_EQ(number_of<TellEnd>(first), 1U);
  for (int second = 0; second < 3600; ++second) {
    clock.advance(1s);
    const auto actions = plan.step(TreeSurveyed{.survivors = 1, .with_device = 1}, clock.now());
    ASSERT_EQ(number_of<ReleaseLease>(actions), 0U) << "after " << second << " s";
    ASSERT_EQ(number_of<TellEnd>(actions), 0U);
  }
}

TEST(KeeperPlan, EndsWhatItIsAskedToWithTheTimeThatIsGiven) {
  FakeClock clock;
  KeeperPlan plan(with_lease(), clock.now());
  const auto actions = plan.step(StopRequested{3s}, clock.now());
  EXPECT_EQ(number_of<SignalTree>(actions), 1U);
  EXPECT_EQ(plan.because(), end_cause::stopped);
  EXPECT_EQ(plan.grace(), Duration(3s));
  EXPECT_EQ(plan.next_deadline(), clock.now() + 3s);
}

TEST(KeeperPlan, GoesOnWhereAKilledKeeperHadBegunToEndTheJob) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 100s;
  terms.job.warning_ahead = 10s;
  terms.job.warning_signal = SIGUSR1;
  for (const std::string_view because : {end_cause::time_limit, end_cause::gpu_fault}) {
    KeeperPlan plan(terms, clock.now());
    plan.go_on_after(because, clock.now());
    EXPECT_EQ(plan.next_deadline(), clock.now() + 10s) << "neither warned nor asked again";
    clock.advance(10s);
    EXPECT_EQ(number_of<SignalTree>(plan.step(TimePassed{}, clock.now())), 1U);
    EXPECT_EQ(plan.because(), because);
  }
}

TEST(KeeperPlan, WarnsOnceAlsoWhereTheKeeperThatDidWasKilled) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 100s;
  terms.job.warning_ahead = 10s;
  terms.job.warning_signal = SIGUSR1;
  KeeperPlan plan(terms, clock.now());
  clock.advance(95s);
  plan.go_on_after(end_cause::warned, clock.now());
  EXPECT_THAT(plan.step(TimePassed{}, clock.now()), testing::IsEmpty());
  (void)plan.step(JobEnded{{.signal = SIGUSR1}}, clock.now());
  const auto actions = plan.step(TreeSurveyed{}, clock.now());
  ASSERT_EQ(number_of<TellEnd>(actions), 1U);
  EXPECT_EQ(std::get<TellEnd>(actions[1]).because, end_cause::time_limit);
}

TEST(KeeperPlan, AnHeirBeginsAnewWhatNobodyHadBegun) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 100s;
  KeeperPlan plan(terms, clock.now());
  clock.advance(200s);
  plan.go_on_after("", clock.now());
  EXPECT_EQ(number_of<SignalTree>(plan.step(TimePassed{}, clock.now())), 1U);
}

TEST(KeeperPlan, ReleasesWhenNoSurvivorHasHadTheDeviceOpenForTheLinger) {
  FakeClock clock;
  KeeperPlan plan(with_lease(), clock.now());
  (void)plan.step(JobEnded{}, clock.now());
  (void)plan.step(TreeSurveyed{.survivors = 1, .with_device = 1}, clock.now());
  (void)plan.step(TreeSurveyed{.survivors = 1}, clock.now());
  clock.advance(59s);
  EXPECT_EQ(number_of<ReleaseLease>(plan.step(TreeSurveyed{.survivors = 1}, clock.now())), 0U);
  clock.advance(1s);
  EXPECT_EQ(number_of<ReleaseLease>(plan.step(TreeSurveyed{.survivors = 1}, clock.now())), 1U);
}

TEST(KeeperPlan, HoldsForLateStartersUntilTheLastProcessEnds) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.hold = true;
  KeeperPlan plan(terms, clock.now());
  (void)plan.step(JobEnded{}, clock.now());
  (void)plan.step(TreeSurveyed{.survivors = 1}, clock.now());
  clock.advance(24h);
  EXPECT_EQ(number_of<ReleaseLease>(plan.step(TreeSurveyed{.survivors = 1}, clock.now())), 0U);
  EXPECT_EQ(number_of<ReleaseLease>(plan.step(TreeSurveyed{}, clock.now())), 1U);
}

TEST(KeeperPlan, WarnsThenTermsThenKillsAtTheTimeLimit) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 2h;
  terms.job.warning_ahead = 60s;
  terms.job.warning_signal = SIGUSR1;
  KeeperPlan plan(terms, clock.now());
  std::vector<int> signals;
  std::vector<Duration> times;
  const Instant began = clock.now();
  for (int turn = 0; turn < 3; ++turn) {
    clock.wait_until(*plan.next_deadline());
    for (const KeeperAction& action : plan.step(TimePassed{}, clock.now())) {
      if (const auto* job = std::get_if<SignalJob>(&action)) signals.push_back(job->signal);
      if (const auto* tree = std::get_if<SignalTree>(&action)) signals.push_back(tree->signal);
    }
    times.push_back(clock.now() - began);
  }
  EXPECT_THAT(signals, testing::ElementsAre(SIGUSR1, SIGTERM, SIGKILL));
  EXPECT_THAT(times, testing::ElementsAre(Duration(2h - 60s), Duration(2h), Duration(2h + 10s)));
  (void)plan.step(JobEnded{{.signal = SIGKILL}}, clock.now());
  const auto actions = plan.step(TreeSurveyed{}, clock.now());
  EXPECT_EQ(std::get<TellEnd>(actions.at(1)).because, "time limit");
}

std::string because_of_an_end_after_the_warning(Exit exit) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 2h;
  terms.job.warning_ahead = 60s;
  terms.job.warning_signal = SIGUSR1;
  KeeperPlan plan(terms, clock.now());
  clock.wait_until(*plan.next_deadline());
  (void)plan.step(TimePassed{}, clock.now());
  (void)plan.step(JobEnded{exit}, clock.now());
  return std::get<TellEnd>(plan.step(TreeSurveyed{}, clock.now()).at(1)).because;
}

TEST(KeeperPlan, AnExtendedJobIsNeitherWarnedNorEndedAtItsOldEnd) {
  FakeClock clock;
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 100s;
  terms.job.warning_ahead = 10s;
  terms.job.warning_signal = SIGUSR1;
  KeeperPlan plan(terms, clock.now());
  clock.advance(95s);
  plan.know_time_limit(300s);
  EXPECT_EQ(number_of<SignalJob>(plan.step(TimePassed{}, clock.now())), 0U);
  clock.advance(10s);
  EXPECT_EQ(number_of<SignalTree>(plan.step(TimePassed{}, clock.now())), 0U);
  clock.advance(185s);
  EXPECT_EQ(number_of<SignalJob>(plan.step(TimePassed{}, clock.now())), 1U) << "warned anew";
  clock.advance(10s);
  EXPECT_EQ(number_of<SignalTree>(plan.step(TimePassed{}, clock.now())), 1U);
  plan.know_time_limit(900s);
  EXPECT_EQ(plan.next_deadline(), clock.now() + 10s) << "what has begun goes on";
}

TEST(KeeperPlan, ALimitThatIsShorterOrNewChangesNothing) {
  KeeperTerms terms = with_lease();
  terms.job.time_limit = 100s;
  KeeperPlan plan(terms, Instant{});
  plan.know_time_limit(50s);
  plan.know_time_limit(std::nullopt);
  EXPECT_EQ(plan.next_deadline(), Instant{100s});
  KeeperPlan endless(with_lease(), Instant{});
  endless.know_time_limit(50s);
  EXPECT_EQ(endless.next_deadline(), std::nullopt);
}

TEST(KeeperPlan, WhoDiesOfTheWarningWasEndedByTheTimeLimit) {
  EXPECT_EQ(because_of_an_end_after_the_warning({.signal = SIGUSR1}), "time limit");
  EXPECT_EQ(because_of_an_end_after_the_warning({.code = 0}), "warned of the time limit");
  EXPECT_EQ(because_of_an_end_after_the_warning({.signal = SIGSEGV}), "warned of the time limit");
}

TEST(KeeperPlan, RestartsASamplerEverMoreSlowly) {
  FakeClock clock;
  KeeperPlan plan(with_lease(), clock.now());
  std::vector<Duration> pauses;
  for (int death = 0; death < 8; ++death) {
    (void)plan.step(SamplerEnded{}, clock.now());
    pauses.push_back(*plan.next_deadline() - clock.now());
    clock.wait_until(*plan.next_deadline());
    EXPECT_EQ(number_of<StartSampler>(plan.step(TimePassed{}, clock.now())), 1U);
  }
  EXPECT_THAT(pauses, testing::ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s));
}

TEST(KeeperPlan, TriesAgainToStartASamplerThatCouldNotBeAndNotesItOnce) {
  FakeClock clock;
  KeeperPlan plan(with_lease(), clock.now());
  std::vector<std::string> noted;
  std::vector<Duration> pauses;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto told = plan.step(SamplerNotStarted{Sentence("too many open files")}, clock.now());
    pauses.push_back(*plan.next_deadline() - clock.now());
    clock.wait_until(*plan.next_deadline());
    const auto again = plan.step(TimePassed{}, clock.now());
    EXPECT_EQ(number_of<StartSampler>(again), 1U);
    for (const auto* actions : {&told, &again}) {
      for (const KeeperAction& action : *actions) {
        if (const auto* note = std::get_if<Note>(&action)) noted.push_back(note->text.english());
      }
    }
  }
  EXPECT_THAT(noted, testing::ElementsAre(testing::HasSubstr("too many open files")));
  EXPECT_THAT(pauses, testing::ElementsAre(1s, 2s, 4s));
}

TEST(KeeperPlan, NotesADateThatWasSetAndNotWhatATimeServerCorrects) {
  const WallTime expected{1'760'000'000'000};
  EXPECT_FALSE(date_change({expected.unix_ms + 900}, expected));
  EXPECT_THAT(date_change({expected.unix_ms + 3'600'000}, expected)->text.english(),
              testing::HasSubstr("set forward"));
  EXPECT_THAT(date_change({expected.unix_ms - 3'600'000}, expected)->text.english(),
              testing::HasSubstr("set back"));
}

DeviceFaulted lost_device(std::size_t device = 0) {
  return {
      {FaultKind::lost, device, "lost", Sentence("GPU 2: it fell off the bus and answers nobody")}};
}

KeeperTerms on_fault(OnGpuFault what) {
  KeeperTerms terms = with_lease();
  terms.job.on_gpu_fault = what;
  terms.job.fault_signal = SIGUSR1;
  return terms;
}

TEST(KeeperPlan, TellsAndNotesEachDevicesFaultOnce) {
  KeeperPlan plan(with_lease(), Instant{});
  const auto actions = plan.step(lost_device(), Instant{1s});
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<Note>(actions[0]).kind, "gpu_lost");
  EXPECT_THAT(std::get<Note>(actions[0]).text.english(), testing::HasSubstr("fell off the bus"));
  EXPECT_EQ(std::get<TellFault>(actions[1]).news, lost_device().news);
  EXPECT_TRUE(plan.step(lost_device(), Instant{2s}).empty());
  EXPECT_EQ(number_of<TellFault>(plan.step(lost_device(1), Instant{2s})), 1U);
  DeviceFaulted other = lost_device();
  other.news.code = "xid_79";
  EXPECT_EQ(number_of<TellFault>(plan.step(other, Instant{3s})), 1U);
}

TEST(KeeperPlan, TellsOfAFaultThatTheLastLookFinds) {
  KeeperPlan plan(on_fault(OnGpuFault::stop), Instant{});
  (void)plan.step(JobEnded{{.code = 1}}, Instant{1s});
  (void)plan.step(TreeSurveyed{}, Instant{1s});
  const auto actions = plan.step(lost_device(), Instant{1s});
  EXPECT_EQ(number_of<TellFault>(actions), 1U);
  EXPECT_EQ(number_of<SignalTree>(actions), 0U);
}

TEST(KeeperPlan, SignalsTheJobForAFaultOfItsDeviceOnly) {
  KeeperPlan plan(on_fault(OnGpuFault::signal), Instant{});
  DeviceFaulted own_error{{FaultKind::job_error, 0, "xid_31", Sentence("GPU 2: XID 31: …")}};
  EXPECT_EQ(number_of<SignalJob>(plan.step(own_error, Instant{1s})), 0U);
  const auto actions = plan.step(lost_device(), Instant{2s});
  ASSERT_EQ(number_of<SignalJob>(actions), 1U);
  EXPECT_EQ(std::get<SignalJob>(actions.at(2)).signal, SIGUSR1);
  EXPECT_EQ(number_of<TellUser>(actions), 1U);
  EXPECT_FALSE(plan.next_deadline()) << "nothing follows a signal";
}

TEST(KeeperPlan, StopsTheTreeForAFaultByTermAndKillAndSaysWhy) {
  FakeClock clock;
  KeeperTerms terms = on_fault(OnGpuFault::stop);
  terms.job.time_limit = 5s;
  KeeperPlan plan(terms, clock.now());
  const auto first = plan.step(lost_device(), clock.now());
  ASSERT_EQ(number_of<SignalTree>(first), 1U);
  EXPECT_EQ(std::get<SignalTree>(first.at(2)).signal, SIGTERM);
  DeviceFaulted other = lost_device();
  other.news.code = "xid_79";
  EXPECT_EQ(number_of<SignalTree>(plan.step(other, clock.now())), 0U);
  EXPECT_EQ(*plan.next_deadline() - clock.now(), Duration(10s));
  clock.wait_until(*plan.next_deadline());
  EXPECT_EQ(std::get<SignalTree>(plan.step(TimePassed{}, clock.now()).at(0)).signal, SIGKILL);
  (void)plan.step(JobEnded{{.signal = SIGKILL}}, clock.now());
  const auto last = plan.step(TreeSurveyed{}, clock.now());
  EXPECT_EQ(std::get<TellEnd>(last.at(1)).because, "GPU fault");
}

KeeperTerms on_over_cap(CapAction action) {
  KeeperTerms terms = with_lease();
  terms.job.cap_action = action;
  return terms;
}

TEST(KeeperPlan, LetsAJobGoOnThatIsOverItsCapWhereOnlyAWarningIsWanted) {
  KeeperPlan plan(on_over_cap(CapAction::warn), Instant{});
  EXPECT_THAT(plan.step(OverCap{}, Instant{1s}), testing::IsEmpty());
  EXPECT_FALSE(plan.next_deadline());
}

TEST(KeeperPlan, StopsTheTreeThatIsOverItsCapByTermAndKillAndSaysWhy) {
  FakeClock clock;
  KeeperTerms terms = on_over_cap(CapAction::stop);
  terms.job.time_limit = 5s;
  KeeperPlan plan(terms, clock.now());
  const auto first = plan.step(OverCap{}, clock.now());
  ASSERT_EQ(number_of<SignalTree>(first), 1U);
  EXPECT_EQ(std::get<SignalTree>(first.at(0)).signal, SIGTERM);
  EXPECT_EQ(std::get<Note>(first.at(1)).kind, "cap_action");
  EXPECT_EQ(number_of<TellUser>(first), 1U);
  EXPECT_EQ(number_of<SignalTree>(plan.step(OverCap{}, clock.now())), 0U) << "it is being ended";
  EXPECT_EQ(*plan.next_deadline() - clock.now(), Duration(10s));
  clock.wait_until(*plan.next_deadline());
  EXPECT_EQ(std::get<SignalTree>(plan.step(TimePassed{}, clock.now()).at(0)).signal, SIGKILL);
  (void)plan.step(JobEnded{{.signal = SIGKILL}}, clock.now());
  const auto last = plan.step(TreeSurveyed{}, clock.now());
  EXPECT_EQ(std::get<TellEnd>(last.at(1)).because, "memory cap");
}

TEST(KeeperPlan, EndsNoSurvivorsForTheCapOfAJobThatHasEnded) {
  KeeperPlan plan(on_over_cap(CapAction::stop), Instant{});
  (void)plan.step(JobEnded{{.code = 0}}, Instant{1s});
  EXPECT_EQ(number_of<SignalTree>(plan.step(OverCap{}, Instant{2s})), 0U);
}

TEST(KeeperPlan, ContinuesALauncherThatStoppedWithTheJob) {
  KeeperPlan plan(with_lease(), Instant{});
  EXPECT_EQ(number_of<TellStopped>(plan.step(JobStopped{SIGTSTP}, Instant{})), 1U);
  EXPECT_EQ(number_of<ContinueLauncher>(plan.step(JobContinued{}, Instant{})), 1U);
}

}  // namespace
}  // namespace berth
