// Placements, waits, leases and runs in words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include <fmt/format.h>

#include "base/sentence.h"
#include "base/text.h"
#include "view/example_server.h"
#include "view/isolate_text.h"
#include "view/leases_text.h"
#include "view/manifest_text.h"
#include "view/placement_text.h"
#include "view/runs_text.h"
#include "view/topology_text.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime now{example::taken_ms};

void expect_fits(const std::string& text, int width) {
  for (const std::string_view line : split(text, '\n')) {
    EXPECT_LE(display_width(line), width) << line;
    EXPECT_EQ(printable(line), line);
  }
}

Placement refused_placement() {
  Placement placement;
  placement.refused.push_back(
      {.device = DeviceId("GPU-0a"),
       .index = 0,
       .rule = Rule::leased,
       .text = Sentence("leased whole"),
       .holders = {{"alice", 4711, "python train.py", WallTime{now.unix_ms - 7'380'000}}},
       .is_leased_whole = true});
  placement.refused.push_back({.device = DeviceId("GPU-5f"),
                               .index = 5,
                               .rule = Rule::lost,
                               .text = Sentence("fell off\033[2J the bus"),
                               .holders = {},
                               .may_change = false});
  return placement;
}

TEST(PlacementText, RefusalNamesTheRuleAndTheHolder) {
  const std::string text = render_refusals(refused_placement(), example::server(), {.width = 120});
  EXPECT_THAT(text,
              HasSubstr("GPU 0  H100 80GB HBM3  leased to alice since 06:50 (python train.py, "
                        "pid 4711)\n"));
  EXPECT_THAT(text, HasSubstr("GPU 5  H100 80GB HBM3  fell off\\x1B[2J the bus\n"));
  for (const int width : {40, 80}) {
    expect_fits(render_refusals(refused_placement(), example::server(), {.width = width}), width);
  }
}

TEST(PlacementText, WhatIsSaidOfSeveralCardsInARowIsSaidOnce) {
  Placement placement;
  for (const int index : {0, 1, 2, 4, 5}) {
    placement.refused.push_back({.device = DeviceId(fmt::format("GPU-{}", index)),
                                 .index = index,
                                 .rule = Rule::memory,
                                 .text = Sentence(index < 5 ? "too small" : "not that small"),
                                 .holders = {},
                                 .may_change = false});
  }
  const std::string text = render_refusals(placement, example::server(), {.width = 120});
  EXPECT_THAT(text, HasSubstr("GPU 0-2  too small\n  GPU 4    too small\n  GPU 5    not that"));
}

TEST(PlacementText, AgainstThePolicyNoOtherRequestIsAdvised) {
  Placement placement;
  placement.possible = false;
  placement.refused.push_back(
      {.device = DeviceId("GPU-0a"),
       .index = 0,
       .rule = Rule::not_permitted,
       .text = Sentence("not among the devices that the policy allows this user"),
       .holders = {},
       .may_change = false});
  const std::string text = render_refusals(placement, example::server(), {.width = 120});
  EXPECT_THAT(text, HasSubstr("`berth policy` shows its rules"));
  EXPECT_THAT(text, Not(HasSubstr("--min-compute")));
  placement.refused[0].rule = Rule::memory;
  EXPECT_FALSE(is_forbidden_by_policy(placement));
}

TEST(PlacementText, WhatIsNotKnownOfAChipIsNotSaidToBeNever) {
  Snapshot host = example::server();
  Placement placement = {.possible = false};
  placement.refused.push_back({.device = host.devices[0].id,
                               .rule = Rule::lacks_feature,
                               .text = Sentence("whether it has bf16 is not known"),
                               .may_change = false});
  EXPECT_THAT(render_refusals(placement, host, {.width = 120}), HasSubstr("can never satisfy it"));
  host.devices[0].kind = DeviceKind::ascend_npu;
  placement.refused.push_back({.device = host.devices[1].id,
                               .rule = Rule::not_listed,
                               .text = Sentence("not in --only"),
                               .may_change = false});
  EXPECT_THAT(render_refusals(placement, host, {.width = 120}),
              HasSubstr("no device here is known to have what --need asks for"));
}

TEST(PlacementText, SaysWhenWaitingWillNotHelp) {
  Placement placement = refused_placement();
  EXPECT_THAT(render_refusals(placement, example::server(), {}), Not(HasSubstr("will not help")));
  placement.possible = false;
  EXPECT_THAT(render_refusals(placement, example::server(), {}), HasSubstr("will not help"));
}

TEST(PlacementText, DryRunShowsChoiceReasonAndThatNothingWasTaken) {
  Placement placement = refused_placement();
  placement.chosen.push_back({DeviceId("GPU-2c"), 2, 10_GiB, Sentence("free, least left over")});
  Snapshot host = example::server();
  host.simulated = "h100x8";
  const std::string text = render_placement(placement, Request{}, host, {.width = 100});
  EXPECT_TRUE(text.starts_with("SIMULATED h100x8\n"));
  EXPECT_THAT(text,
              HasSubstr("Would get:\n  GPU 2  H100 80GB HBM3  free, least left over; 10.0 GiB "
                        "promised\n"));
  EXPECT_THAT(text, HasSubstr("Refused:\n  GPU 0"));
  EXPECT_TRUE(text.ends_with("Nothing was taken.\n"));
}

TEST(PlacementText, WaitingIsOneLineThatFits) {
  WaitingNews news;
  news.position = 2;
  news.placement = refused_placement();
  news.snapshot = example::server();
  news.waited = std::chrono::seconds(75);
  news.gives_up_in = std::chrono::minutes(20);
  EXPECT_EQ(render_waiting_line(news, {.width = 120}),
            "waiting 1m15s (gives up in 20m00s), place 2 in the queue; in the way: 0 alice");
  for (const int width : {20, 40, 60}) {
    const std::string line = render_waiting_line(news, {.width = width});
    EXPECT_LT(display_width(line), width);
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(PlacementText, NoticeForAPipeDoesNotChangeByItself) {
  WaitingNews news;
  news.placement = refused_placement();
  news.snapshot = example::server();
  const std::string first = render_waiting_notice(news, {});
  news.waited = std::chrono::hours(1);
  EXPECT_EQ(render_waiting_notice(news, {}), first);
  EXPECT_TRUE(first.starts_with("waiting, next in the queue\n")) << first;
}

TEST(PlacementText, AChangeWhileWaitingIsOneLineThatSaysWhatChanged) {
  WaitingNews before;
  before.position = 2;
  before.devices = 2;
  before.placement = refused_placement();
  before.snapshot = example::server();
  WaitingNews now = before;
  EXPECT_EQ(render_waiting_change(before, now, {}), "");
  now.waited = std::chrono::hours(1);
  now.placement.refused.front().holders.front().pid = 1;  // told a moment after the lease
  EXPECT_EQ(render_waiting_change(before, now, {}), "");
  const Refusal freed = now.placement.refused.front();
  now.placement.refused.erase(now.placement.refused.begin());
  now.placement.available.push_back({freed.device, freed.index, std::nullopt, Sentence("free")});
  EXPECT_EQ(render_waiting_change(before, now, {}), "waiting; GPU 0: would do, 1 of 2 wanted\n");
  EXPECT_EQ(render_waiting_change(now, before, {}).find("waiting; GPU 0: leased to alice"), 0U);
  now.position = 1;
  EXPECT_EQ(render_waiting_change(before, now, {}),
            "waiting, next in the queue; GPU 0: would do, 1 of 2 wanted\n");
  EXPECT_THAT(render_waiting_notice(now, {}), HasSubstr("would do, 1 of 2 wanted: free"));
}

TEST(PlacementText, JsonHasTheRuleByNameAndClaimsNothing) {
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"CUDA_VISIBLE_DEVICES", "2"}};
  const std::string json =
      placement_json(refused_placement(), as_typed(Request{}), example::server(), variables);
  EXPECT_THAT(json, HasSubstr("\"claimed\": false"));
  EXPECT_THAT(json, HasSubstr("\"CUDA_VISIBLE_DEVICES\": \"2\""));
  EXPECT_THAT(json, HasSubstr("\"rule\": \"leased\""));
  EXPECT_THAT(json, HasSubstr("\"satisfied\": false"));
}

TEST(LeasesText, ListsLeasesQueueAndWhoSharesTheLedger) {
  const LedgerPlace shared{"/run/berth", LedgerPlace::Kind::shared};
  const std::string text = render_leases(example::server(), shared, {.width = 120});
  EXPECT_THAT(text, HasSubstr("0    alice  whole"));
  EXPECT_THAT(text, HasSubstr("1    bob    20.0 GiB"));
  EXPECT_THAT(text, HasSubstr("frank"));
  EXPECT_THAT(text, HasSubstr("Ledger /run/berth, shared by everybody"));
  for (const int width : {40, 80}) {
    expect_fits(render_leases(example::server(), shared, {.width = width}), width);
  }
  const LedgerPlace own{"/var/tmp/berth-1000", LedgerPlace::Kind::own};
  const std::string nobody = render_leases(Snapshot{}, own, {});
  EXPECT_THAT(nobody, HasSubstr("Nobody holds a lease."));
  EXPECT_THAT(nobody, HasSubstr("yours alone"));
}

TEST(LeasesText, JsonHoldsTheSnapshotsObjects) {
  Snapshot server = example::server();
  server.waiters[0].run = "20251009-065020-k3f9q2";
  const std::string json = leases_json(server, LedgerPlace{"/x", LedgerPlace::Kind::named});
  EXPECT_THAT(json, HasSubstr("\"ledger_kind\": \"named\""));
  EXPECT_THAT(json, HasSubstr("\"promised_bytes\": 21474836480"));
  EXPECT_THAT(json, HasSubstr("\"wants\": \"-n 4\""));
  EXPECT_THAT(json, HasSubstr("\"run\": \"20251009-065020-k3f9q2\""));
}

TEST(LeasesText, QueueNamesTheRunAndWhatIsReservedForIt) {
  Snapshot server = example::server();
  server.waiters[0].run = "20251009-065020-k3f9q2";
  server.waiters[0].reserved = {{server.devices[2].id, std::nullopt}};
  const LedgerPlace shared{"/run/berth", LedgerPlace::Kind::shared};
  const std::string text = render_leases(server, shared, {.width = 120});
  EXPECT_THAT(text, HasSubstr("Place  User   Wants  Waited  Reserved GPUs  Run "));
  EXPECT_THAT(text, HasSubstr("2              20251009-065020-k3f9q2  python big.py"));
}

TEST(LeasesText, ARecordingHasNoLedgerHere) {
  const std::string text = render_leases(example::server(), std::nullopt, {});
  EXPECT_THAT(text, HasSubstr("From the recording"));
  EXPECT_THAT(text, Not(HasSubstr("Ledger")));
  EXPECT_THAT(render_leases(Snapshot{}, std::nullopt, {}),
              HasSubstr("The recording holds no leases."));
  EXPECT_THAT(leases_json(example::server(), std::nullopt), HasSubstr("\"ledger\": null"));
}

RunRecord never_started(std::string_view because) {
  RunRecord run;
  run.manifest.waiting = true;
  run.manifest.waited_ms = 12'000;
  run.manifest.devices_wanted = 1;
  run.state = RunState::ended;
  run.end = RunEnd{.exit = {.signal = SIGTERM}, .because = std::string(because)};
  return run;
}

TEST(RunText, OfARunThatNeverStartedThereIsOneTruth) {
  RunRecord run = never_started(end_cause::left_queue);
  EXPECT_EQ(state_text(run), "never started: waited 12s for 1 GPU, ended by SIGTERM (15)");
  run.end->stopped_by = "ana";
  EXPECT_EQ(state_text(run), "never started: waited 12s for 1 GPU, stopped by ana");
  run = never_started(end_cause::no_device);
  run.manifest.devices_wanted = 4;
  EXPECT_EQ(state_text(run), "never started: waited 12s for 4 GPUs, no device came");
  run.manifest.devices_wanted = std::nullopt;
  run.end->because = end_cause::not_started;
  EXPECT_EQ(state_text(run), "never started: waited 12s for a GPU, its log says what failed");
  EXPECT_EQ(lasted(run, {}), std::nullopt);
  EXPECT_EQ(facts_missing_text(run), "");
  run.manifest.waiting = false;
  EXPECT_THAT(facts_missing_text(run), HasSubstr("over before they were gathered"));
}

RunRecord ended_run() {
  RunRecord run;
  run.manifest.id = "20251009-065020-k3f9q2";
  run.manifest.command = {"python", "train.py"};
  run.manifest.started = {now.unix_ms - 7'380'000};
  run.manifest.given = example::devices();
  run.manifest.given.devices.resize(1);
  run.manifest.promised = {20_GiB};
  run.manifest.complete = true;
  run.state = RunState::ended;
  run.end = RunEnd{};
  run.end->at = now;
  DeviceSummary device;
  device.memory_peak = 12_GiB;
  device.mean_utilization = 87_percent;
  run.end->summary.devices = {device};
  run.end->summary.mean_utilization = 87_percent;
  run.end->summary.energy = Millijoules(3'600'000'000);
  return run;
}

TEST(RunsText, EndLineSaysHowLongOnWhatAndWhatWasUsed) {
  RunRecord run = ended_run();
  EXPECT_EQ(render_end_line(run, {}),
            "ended with 0 after 2h03m on GPU 0 (NVIDIA H100 80GB HBM3); memory peak 12.0 GiB of "
            "20.0 GiB promised; GPU busy 87%; 1.00 kWh\n");
  run.end->exit.signal = 9;
  EXPECT_TRUE(render_end_line(run, {}).starts_with("killed by SIGKILL (9) after"));
  run.end->lasted_ms = 61'000;
  EXPECT_THAT(render_end_line(run, {}), HasSubstr(" after 1m01s on ")) << "the date was set";
  run.end->known = false;
  run.manifest.given.simulated = "x";
  EXPECT_TRUE(render_end_line(run, {}).starts_with("SIMULATED end unknown after"));
  EXPECT_TRUE(
      render_end_line(run, {}).ends_with("kWh; figures invented by the simulated server\n"));
}

TEST(TopologyText, StandsBeneathItselfWhereNothingIsKnown) {
  const Snapshot host = SnapshotBuilder().gpu("A", 80_GiB).gpu("B", 80_GiB).build();
  EXPECT_THAT(render_topology(host, {}, {}, {}), HasSubstr("  GPU     0     1  NUMA CPUs\n"
                                                           "    0     X     –     – –\n"
                                                           "    1     –     X     – –\n"));
}

std::vector<std::string> labels_of(const Manifest& manifest, std::string_view heading) {
  std::vector<std::string> labels;
  for (const ManifestSection& section : manifest_sections(manifest, {})) {
    if (section.heading != heading) continue;
    for (const ManifestRow& row : section.rows) labels.push_back(row.label);
  }
  return labels;
}

TEST(ManifestText, ABuildForAnotherMakerIsNotOneWithoutCuda) {
  Manifest manifest = ended_run().manifest;
  manifest.python = PythonFacts{};
  const auto labels_with = [&](const char* version) {
    manifest.python->frameworks = {{.name = "torch", .version = version, .cuda = std::string()}};
    return labels_of(manifest, "Software");
  };
  for (const char* other : {"2.8.0+rocm6.4", "2.8.0+xpu"}) {
    EXPECT_THAT(labels_with(other), Not(Contains("CUDA of torch"))) << other;
  }
  for (const char* cudas : {"2.8.0+cpu", "2.8.0+cu128", "2.8.0"}) {
    EXPECT_THAT(labels_with(cudas), Contains("CUDA of torch")) << cudas;
  }
}

TEST(RunsText, WhatASimulatedServerInventedIsNotToldAsMeasured) {
  RunRecord run = ended_run();
  const std::string sentence = "invented by the simulated server: nothing was measured";
  EXPECT_THAT(render_run(run, {}, {now}, {}), Not(HasSubstr("invented")));
  EXPECT_THAT(render_runs({{run}, {}}, {now}, {.width = 132}), Not(HasSubstr("invented")));
  run.manifest.given.simulated = "x";
  EXPECT_THAT(render_run(run, {}, {now}, {.width = 132}), HasSubstr(sentence));
  EXPECT_THAT(render_runs({{run}, {}}, {now}, {.width = 132}), HasSubstr(sentence));
  run.manifest.given.devices.clear();
  EXPECT_THAT(render_run(run, {}, {now}, {.width = 132}), Not(HasSubstr("invented")));
}

TEST(RunsText, TableKeepsTheIdWholeAndFits) {
  RunRecord odd = ended_run();
  odd.manifest.command = {"\033[2J", "训练"};
  const RunList list{{ended_run(), odd}, {Sentence("a record\ncannot be read")}};
  for (const int width : {40, 80, 132}) {
    const std::string text = render_runs(list, {now}, {.width = width});
    EXPECT_THAT(text, HasSubstr("20251009-065020-k3f9q2"));
    expect_fits(text, width);
  }
  EXPECT_THAT(render_runs({}, {now}, {}), HasSubstr("No runs yet"));
}

TEST(RunsText, JsonNamesWhatCouldNotBeRead) {
  const RunList list{.runs = {}, .problems = {Sentence("the record \"a\" is torn")}};
  const std::string text = runs_json(list);
  EXPECT_THAT(text, HasSubstr(R"("runs": [)"));
  EXPECT_THAT(text, HasSubstr(R"("the record \"a\" is torn")"));
}

TEST(RunsText, ShowDrawsChartsMarksAndAbsentReasons) {
  RunDetails details;
  details.summary = ended_run().end->summary;
  details.marks = {{{now.unix_ms - 60'000}, true, "epoch=3 loss=0.12"}};
  for (int i = 0; i < 3000; ++i) {
    Sample sample;
    sample.devices.resize(1);
    sample.devices[0].utilization_gpu = Percent(i < 1500 ? 0.0 : 100.0);
    details.series.add(sample);
  }
  EXPECT_LE(details.series.utilization(0).size(), 512U);
  const std::string text = render_run(ended_run(), details, {now}, {});
  EXPECT_THAT(text, HasSubstr("20251009-065020-k3f9q2  ended with 0 after 2h03m"));
  EXPECT_THAT(text, HasSubstr("▁▁██"));
  EXPECT_THAT(text, HasSubstr("mean of the run 87%"));
  EXPECT_THAT(text, HasSubstr("08:52  epoch=3 loss=0.12"));
  details.summary.devices[0].memory_peak = Absent::unsupported;
  EXPECT_THAT(render_run(ended_run(), details, {now}, {}),
              HasSubstr("not supported by this device"));
  for (const int width : {40, 80, 132}) {
    expect_fits(render_run(ended_run(), details, {now}, {.width = width}), width);
  }
}

TEST(RunTexts, OfARunOnTheCpuClaimNoMoreThanWasSeen) {
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(kept_off_texts({}), IsEmpty());
  Summary seen{.device_files_open = std::uint64_t{0}};
  EXPECT_THAT(kept_off_texts(seen), ElementsAre("no GPU device file was open when looked at"))
      << "an older record";
  seen.device_files_looks = std::uint64_t{3};
  seen.gpu_contexts = Absent::failed;
  EXPECT_THAT(kept_off_texts(seen), ElementsAre("no GPU device file was open (3 samples)"));
  seen.gpu_contexts = std::uint64_t{0};
  seen.gpu_contexts_looks = std::uint64_t{3};
  EXPECT_THAT(kept_off_texts(seen), ElementsAre("no GPU device file was open, none of its "
                                                "processes was on a GPU (3 samples)"));
  seen.device_files_open = std::uint64_t{2};
  EXPECT_THAT(kept_off_texts(seen), ElementsAre("processes that had a GPU device file open: 2",
                                                "none of its processes was on a GPU (3 samples)"));
}

IsolationReport isolation_report() {
  using Answer = IsolationCheck::Answer;
  IsolationReport report;
  report.checks = {{Answer::yes, "new_files", "write a new file", Sentence("/tmp")},
                   {Answer::no, "move_files", "move files", Sentence("no permission")},
                   {Answer::unknown, "own_device", "open its own", Sentence("there is none")}};
  report.costs = {Sentence("it cannot use sudo")};
  return report;
}

TEST(IsolateText, SaysOfEachThingWhetherItCanBeDoneAndWhatItCosts) {
  EXPECT_EQ(render_isolation(isolation_report()),
            "Can an isolated job …\n"
            "  write a new file: yes (/tmp)\n"
            "  move files: no (no permission)\n"
            "  open its own: cannot be shown (there is none)\n"
            "What it costs: it cannot use sudo\n");
}

TEST(IsolateText, AsJsonHasTheWordsForPrograms) {
  const std::string text = isolation_json(isolation_report());
  for (const char* part :
       {"\"berth_isolate\": 1", "\"is_well\": false", "\"name\": \"move_files\"",
        "\"answer\": \"unknown\"", "\"detail\": \"no permission\"", "\"it cannot use sudo\""}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace berth
