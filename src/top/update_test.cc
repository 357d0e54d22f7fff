#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "top/layout.h"
#include "top/model.h"
#include "view/example_server.h"

namespace berth::top {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Key named(Key::Name name) { return Key{.name = name, .text = {}}; }

State typed(State state, std::string_view keys) {
  for (const char key : keys) {
    state =
        update(std::move(state), Key{.name = Key::Name::character, .text = std::string(1, key)});
  }
  return state;
}

State shown(Snapshot snapshot) {
  State state;
  state.size = {120, 30};
  state.viewer.uid = 1000;
  return update(std::move(state), Looked{std::make_shared<const Seen>(std::move(snapshot))});
}

/// The example server; all processes are alice's (uid 1000) but dave's.
State server() {
  Snapshot snapshot = example::server();
  for (HostProcess& process : snapshot.processes) {
    process.uid = uid_t{process.user.get() == "dave" ? 1001U : 1000U};
  }
  return shown(std::move(snapshot));
}

std::vector<pid_t> pids(const State& state) {
  std::vector<pid_t> all;
  for (const UseRow& row : state.rows) all.push_back(row.use->pid);
  return all;
}

TEST(Top, RowsStandByDeviceThenMemory) {
  EXPECT_THAT(pids(server()), ElementsAre(4711, 4802, 5100, 6001));
}

TEST(Top, SecondSortKeyDecidesAmongEquals) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 10_GiB)
                      .process(1, "zoe", 1_GiB)
                      .process(2, "amy", 3_GiB)
                      .process(3, "zoe", 2_GiB)
                      .build();
  State state = shown(std::move(host));
  state.sort = {{SortKey::user, false}, {SortKey::memory, true}};
  arrange_rows(state);
  EXPECT_THAT(pids(state), ElementsAre(2, 3, 1));
}

TEST(Top, UnknownValuesComeLastBothWays) {
  State state = server();  // dave's memory is not known
  state.sort = {{SortKey::memory, true}};
  arrange_rows(state);
  EXPECT_EQ(pids(state).back(), 5100);
  state = typed(std::move(state), "S");
  EXPECT_FALSE(state.sort.front().descending);
  EXPECT_EQ(pids(state).back(), 5100);
  EXPECT_EQ(pids(state).front(), 6001);
}

TEST(Top, AddingASortKeyKeepsTheOneBefore) {
  State state = typed(server(), "sa");
  ASSERT_GE(state.sort.size(), 2U);
  EXPECT_NE(state.sort[0].key, state.sort[1].key);
}

TEST(Top, SelectionStaysOnItsProcessWhenTheOrderChanges) {
  State state = update(server(), named(Key::Name::down));
  ASSERT_EQ(selected_row(state)->use->pid, 4802);
  state.sort = {{SortKey::pid, true}};
  arrange_rows(state);
  EXPECT_EQ(selected_row(state)->use->pid, 4802);
  EXPECT_EQ(state.cursor, 2U);
}

TEST(Top, SelectionOfAProcessThatEndedGoesToItsNeighbour) {
  State state = update(server(), named(Key::Name::end));
  Snapshot fewer = example::server();
  fewer.gpu_processes.pop_back();
  state = update(std::move(state), Looked{std::make_shared<const Seen>(std::move(fewer))});
  ASSERT_NE(selected_row(state), nullptr);
  EXPECT_EQ(selected_row(state)->use->pid, 5100);
}

TEST(Top, FilterFindsTextsWhateverTheirCase) {
  State state = typed(server(), "/TRAIN");
  EXPECT_THAT(pids(state), ElementsAre(4711));
  state = update(std::move(state), named(Key::Name::escape));
  EXPECT_EQ(pids(state).size(), 4U);
}

TEST(Top, FilterKeysAreNotCommands) {
  const State state = typed(server(), "/qk");
  EXPECT_FALSE(state.quits);
  EXPECT_EQ(state.filter, "qk");
}

TEST(Top, UserFilterShowsOneUser) {
  State state = update(typed(server(), "ubob"), named(Key::Name::enter));
  EXPECT_THAT(pids(state), ElementsAre(4802));
}

TEST(Top, ProcessesAreFilteredByWhatTheyDoOnADevice) {
  Snapshot snapshot = example::server();
  snapshot.gpu_processes[0].use = GpuUse::graphics;
  snapshot.gpu_processes[1].use = GpuUse::both;
  const pid_t draws = snapshot.gpu_processes[0].pid;
  const State all = shown(std::move(snapshot));
  const State compute = typed(all, "T");
  EXPECT_EQ(pids(compute).size(), pids(all).size() - 1);
  EXPECT_THAT(pids(compute), testing::Not(testing::Contains(draws)));
  EXPECT_EQ(pids(typed(compute, "T")).size(), 2U) << "what does both draws, too";
  EXPECT_EQ(pids(typed(compute, "TT")), pids(all));
  EXPECT_EQ(pids(update(compute, named(Key::Name::escape))), pids(all));
}

TEST(Top, DigitShowsOneDeviceAndItsInstances) {
  State state = typed(server(), "6");
  EXPECT_THAT(pids(state), ElementsAre(6001));
  EXPECT_EQ(shown_devices(state).size(), 3U);
  EXPECT_EQ(pids(typed(std::move(state), "6")).size(), 4U);
}

TEST(Top, TreePutsChildrenUnderTheirParent) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 10_GiB)
                      .process(30, "x", 3_GiB)
                      .process(10, "x", 1_GiB)
                      .process(20, "x", 2_GiB)
                      .build();
  host.processes[0].ancestors = {10, 1};
  host.processes[2].ancestors = {15, 1};
  State state = typed(shown(std::move(host)), "t");
  EXPECT_THAT(pids(state), ElementsAre(20, 10, 30));
  EXPECT_EQ(state.rows[2].depth, 1);
}

TEST(Top, TreeOfProcessesThatAreEachOthersAncestorsEnds) {
  Snapshot host =
      SnapshotBuilder().gpu("A", 10_GiB).process(1, "x", 1_GiB).process(2, "x", 2_GiB).build();
  host.processes[0].ancestors = {2};
  host.processes[1].ancestors = {1};
  EXPECT_EQ(typed(shown(std::move(host)), "t").rows.size(), 2U);
}

TEST(Top, SignalIsSentOnlyAfterAYes) {
  State state = typed(server(), "kt");
  ASSERT_TRUE(state.question);
  EXPECT_THAT(state.question->text, HasSubstr("TERM"));
  EXPECT_THAT(state.question->text, HasSubstr("4711"));
  EXPECT_THAT(state.question->text, HasSubstr("alice"));
  EXPECT_THAT(state.question->text, HasSubstr("train.py"));
  EXPECT_THAT(state.wanted, IsEmpty());
  state = typed(std::move(state), "y");
  ASSERT_EQ(state.wanted.size(), 1U);
  const auto& sent = std::get<SendSignal>(state.wanted[0]);
  EXPECT_EQ(sent.signal, SIGTERM);
  ASSERT_EQ(sent.to.size(), 1U);
  EXPECT_EQ(sent.to[0].process, (ProcessId{4711, 1}));
}

TEST(Top, WhatWasStartedToReadAloneEndsAndChangesNothing) {
  for (const char* keys : {"kt", "kk", "z", "r"}) {
    State state = server();
    state.viewer.read_only = true;
    state = typed(std::move(state), keys);
    if (state.mode == Mode::nice) {
      state = update(typed(std::move(state), "5"), named(Key::Name::enter));
    }
    EXPECT_FALSE(state.question) << keys;
    ASSERT_TRUE(state.message) << keys;
    EXPECT_THAT(state.message->text, HasSubstr("--read-only")) << keys;
    EXPECT_THAT(typed(std::move(state), "y").wanted, IsEmpty()) << keys;
  }
}

TEST(Top, EachColumnWithANumberIsSortedBy) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 10_GiB)
                      .process(1, "amy", 1_GiB)
                      .process(2, "amy", 1_GiB)
                      .process(3, "amy", 1_GiB)
                      .build();
  const auto by = [&](SortKey key) {
    State state = shown(host);
    state.sort = {{key, sorting_by(key).descending_first}};
    arrange_rows(state);
    return pids(state);
  };
  host.gpu_processes[1].utilization_memory = Percent(9);
  host.gpu_processes[2].utilization_encoder = Percent(9);
  host.gpu_processes[1].utilization_decoder = Percent(9);
  host.processes[2].memory_resident = 9_GiB;
  EXPECT_THAT(by(SortKey::bandwidth), ElementsAre(2, 1, 3));
  EXPECT_THAT(by(SortKey::encoder), ElementsAre(3, 1, 2));
  EXPECT_THAT(by(SortKey::decoder), ElementsAre(2, 1, 3));
  EXPECT_THAT(by(SortKey::resident), ElementsAre(3, 1, 2));
}

TEST(Top, AnyOtherKeyThanYesSendsNothing) {
  for (const char* key : {"n", "q", " ", "k", "t"}) {
    const State state = typed(typed(server(), "kt"), key);
    EXPECT_THAT(state.wanted, IsEmpty()) << key;
    EXPECT_FALSE(state.question) << key;
    EXPECT_FALSE(state.quits) << key;
  }
  EXPECT_THAT(update(typed(server(), "kt"), named(Key::Name::enter)).wanted, IsEmpty());
}

TEST(Top, AnswerGoesToTheProcessThatWasAskedAbout) {
  State state = typed(server(), "kk");
  state = update(std::move(state), Looked{std::make_shared<const Seen>(Snapshot{})});
  state = typed(std::move(state), "y");
  ASSERT_EQ(state.wanted.size(), 1U);
  EXPECT_EQ(std::get<SendSignal>(state.wanted[0]).to[0].process.pid, 4711);
}

TEST(Top, OtherUsersProcessIsRefusedBeforeAsking) {
  State state = update(update(server(), named(Key::Name::down)), named(Key::Name::down));
  ASSERT_EQ(selected_row(state)->use->pid, 5100);
  state = typed(std::move(state), "kk");
  EXPECT_FALSE(state.question);
  ASSERT_TRUE(state.message);
  EXPECT_FALSE(state.message->good);
  EXPECT_THAT(state.message->text, HasSubstr("dave"));
}

TEST(Top, RootMaySignalEverybody) {
  State state = update(update(server(), named(Key::Name::down)), named(Key::Name::down));
  state.viewer.uid = 0;
  EXPECT_TRUE(typed(std::move(state), "kk").question);
}

TEST(Top, ProcessWhoseOwnerIsUnknownIsLeftAlone) {
  State state = shown(example::server());  // nobody's uid is known
  EXPECT_FALSE(typed(std::move(state), "kt").question);
}

TEST(Top, ProcessThatCannotBeToldFromALaterOneIsLeftAlone) {
  Snapshot host = example::server();
  for (HostProcess& process : host.processes) {
    process.uid = uid_t{1000};
    process.id.start_ticks = 0;
  }
  EXPECT_FALSE(typed(shown(std::move(host)), "kt").question);
}

TEST(Top, ProcessOfTheDriversNumberThatNobodyHereIsKnownToBeIsLeftAlone) {
  for (const char* view : {"namespace", "wsl"}) {
    Snapshot host = example::server();
    host.host.process_view = std::string(view);
    for (HostProcess& process : host.processes) {
      process.uid = Absent::failed;
      process.user = Absent::failed;
      process.id.start_ticks = 0;
    }
    for (const uid_t viewer : {0U, 1000U}) {
      State state = shown(host);
      state.viewer.uid = viewer;
      const State asked = typed(state, "kt");
      EXPECT_FALSE(asked.question);
      ASSERT_TRUE(asked.message);
      EXPECT_THAT(asked.message->text, HasSubstr("is the driver's number"));
      EXPECT_FALSE(typed(state, "r5").question);
      const State opened = update(state, named(Key::Name::enter));
      EXPECT_EQ(opened.panel, Panel::details);
      EXPECT_THAT(opened.wanted, IsEmpty()) << "another's files would be read";
    }
  }
}

TEST(Top, NobodyIsSignalledInARecording) {
  State state = server();
  state.viewer.replay = true;
  EXPECT_FALSE(typed(std::move(state), "kt").question);
}

TEST(Top, OfASimulatedServerOnlyAJobIsSignalled) {
  Snapshot host = example::server();
  host.simulated = "example";
  host.claims.clear();
  for (HostProcess& process : host.processes) process.uid = uid_t{1000};
  const State made_up = typed(shown(host), "kt");
  EXPECT_FALSE(made_up.question);
  ASSERT_TRUE(made_up.message);
  EXPECT_THAT(made_up.message->text, HasSubstr("is simulated: there is nobody to signal"));
  EXPECT_FALSE(typed(shown(host), "r5").question);
  Claim claim;
  claim.job = shown(host).rows.at(0).process->id;
  host.claims.push_back(claim);
  EXPECT_TRUE(typed(shown(std::move(host)), "kt").question) << "a job of a lease is a real process";
}

TEST(Top, OneProcessOfAnotherUserAmongTheMarkedStopsAll) {
  State state = typed(server(), "    kt");
  EXPECT_EQ(state.marked.size(), 4U);
  EXPECT_FALSE(state.question);
}

TEST(Top, MarkedProcessesAreSignalledTogether) {
  State state = typed(server(), "  kty");
  ASSERT_EQ(state.wanted.size(), 1U);
  EXPECT_EQ(std::get<SendSignal>(state.wanted[0]).to.size(), 2U);
}

TEST(Top, FreezingAFrozenProcessContinuesIt) {
  Snapshot host = example::server();
  host.processes[0].uid = uid_t{1000};
  host.processes[0].state = std::string("T");
  const State state = typed(shown(std::move(host)), "zy");
  ASSERT_EQ(state.wanted.size(), 1U);
  EXPECT_EQ(std::get<SendSignal>(state.wanted[0]).signal, SIGCONT);
}

TEST(Top, NiceValueIsAskedForAndChecked) {
  State state = update(typed(server(), "r15"), named(Key::Name::enter));
  ASSERT_TRUE(state.question);
  state = typed(std::move(state), "y");
  ASSERT_EQ(state.wanted.size(), 1U);
  EXPECT_EQ(std::get<Renice>(state.wanted[0]).nice, 15);
  EXPECT_FALSE(update(typed(server(), "r99"), named(Key::Name::enter)).question);
}

TEST(Top, PausedPictureStandsStill) {
  State state = typed(server(), "p");
  state = update(std::move(state), Looked{std::make_shared<const Seen>(Snapshot{})});
  EXPECT_EQ(state.rows.size(), 4U);
  state = typed(std::move(state), "p");
  state = update(std::move(state), Looked{std::make_shared<const Seen>(Snapshot{})});
  EXPECT_THAT(state.rows, IsEmpty());
}

TEST(Top, StepsOfARecordingPauseIt) {
  State state = server();
  state.viewer.replay = true;
  state = typed(std::move(state), "].");
  EXPECT_TRUE(state.paused);
  EXPECT_THAT(state.wanted, ElementsAre(Command(SkipSnapshots{10}), Command(SkipSnapshots{1})));
}

TEST(Top, ClickSelectsAndSecondClickOpens) {
  State state = server();
  const Layout layout = layout_of(state);
  const Mouse click{.column = 10, .row = layout.table_row + 2};
  state = update(std::move(state), click);
  EXPECT_EQ(state.cursor, 2U);
  state = update(std::move(state), click);
  EXPECT_EQ(state.panel, Panel::details);
  EXPECT_THAT(state.wanted, ElementsAre(Command(ReadDetails{{5100, 1}})));
}

TEST(Top, AClickIntoAPanelThatCoversTheMetersChoosesNoDevice) {
  State state = server();
  state.size = {.columns = 80, .rows = 10};
  state.panel = Panel::help;
  const Layout layout = layout_of(state);
  const Mouse click{.column = 10, .row = layout.meters_row + 1};
  EXPECT_EQ(update(state, click).focus, state.focus);
  state.panel = Panel::none;
  EXPECT_NE(update(state, click).focus, state.focus);
}

TEST(Top, ClickOnAColumnsHeadSortsByIt) {
  State state = server();
  const Layout layout = layout_of(state);
  state = update(std::move(state), Mouse{.column = 6, .row = layout.header_row});
  EXPECT_EQ(state.sort.front().key, SortKey::pid);
}

TEST(Top, CtrlCQuitsWhateverIsAsked) {
  EXPECT_TRUE(update(typed(server(), "kt"), named(Key::Name::interrupt)).quits);
}

TEST(Top, KeyQClosesAPanelFirst) {
  State state = typed(server(), "?q");
  EXPECT_FALSE(state.quits);
  EXPECT_EQ(state.panel, Panel::none);
  EXPECT_TRUE(typed(std::move(state), "q").quits);
}

TEST(Top, CursorStaysInSightInALongList) {
  SnapshotBuilder builder;
  builder.gpu("A", 10_GiB);
  for (int pid = 1; pid <= 500; ++pid) builder.process(pid, "x", 1_GiB);
  State state = update(shown(builder.build()), named(Key::Name::end));
  const auto room = static_cast<std::size_t>(layout_of(state).table_rows);
  EXPECT_EQ(state.cursor, 499U);
  EXPECT_EQ(state.first_row, 500 - room);
}

}  // namespace
}  // namespace berth::top
