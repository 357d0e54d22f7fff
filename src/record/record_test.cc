#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "record/record_writer.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

class Record : public testing::Test {
 protected:
  Manifest manifest() const {
    Manifest manifest;
    const WallTime now{1'763'690'000'000};
    manifest.machine_id = std::string("here");
    if (const auto id = read_file("/etc/machine-id")) manifest.machine_id = id->substr(0, 32);
    if (const auto boot = read_file("/proc/sys/kernel/random/boot_id")) {
      manifest.boot_id = boot->substr(0, 36);
    }
    manifest.id = make_run_id(manifest.machine_id, manifest.boot_id, now, 1);
    manifest.command = {"python", "train.py"};
    manifest.started = now;
    manifest.given = SnapshotBuilder().gpu("GPU-A", 24_GiB).build();
    manifest.promised = {10_GiB};
    manifest.cap = RunCap{.tier = CapTier::shim,
                          .stops = true,
                          .not_held_by = {{"kernel", "no dmem"}},
                          .outcome = {}};
    manifest.machine.cpu_count = 64;
    manifest.machine.container = Absent::no_permission;
    manifest.variables = {{"CUDA_VISIBLE_DEVICES", "0"}};
    return manifest;
  }
  TemporaryDirectory directory_;
  std::string state_ = directory_ / "state";
};

Sample sample_at(std::int64_t ms) {
  Sample sample{.at = {ms}};
  sample.devices.resize(1);
  sample.devices[0].utilization_gpu = 50_percent;
  sample.devices[0].memory_used = 5_GiB;
  sample.devices[0].energy = Absent::unsupported;
  sample.devices[0].power_draw = 200_watts;
  sample.processes.push_back({.device = 0, .pid = 7, .memory = 4_GiB});
  sample.others.push_back({.device = 0, .user = "bob", .memory = 1_GiB});
  sample.others.push_back({.device = 0, .user = "c\"\n", .memory = Absent::unsupported});
  sample.tree.read = Absent::no_permission;
  return sample;
}

TEST_F(Record, ReadsBackWhatWasWritten) {
  const Manifest written = manifest();
  const auto writer = RecordWriter::create(state_, written);
  ASSERT_TRUE(writer) << writer.error().message();
  const auto run = load_run(state_, "last");
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->manifest.command, written.command);
  EXPECT_EQ(run->manifest.given.devices, written.given.devices);
  EXPECT_EQ(run->manifest.promised, written.promised);
  EXPECT_EQ(run->manifest.cap, written.cap);
  EXPECT_EQ(run->manifest.machine.cpu_count, written.machine.cpu_count);
  EXPECT_EQ(run->manifest.machine.container.why(), Absent::no_permission);
  EXPECT_EQ(run->manifest.variables, written.variables);
  EXPECT_EQ(run->state, RunState::running) << "this process holds the keeper's lock";
}

TEST_F(Record, NamesTheRunThatItFollowsAndAnOlderOneNone) {
  Manifest written = manifest();
  EXPECT_EQ(manifest_from_json(manifest_to_json(written))->retry_of, "");
  written.retry_of = "20251121-014946-k3f9q2";
  std::string text = manifest_to_json(written);
  EXPECT_EQ(manifest_from_json(text)->retry_of, written.retry_of);
  const std::string key = "\"retry_of\": \"20251121-014946-k3f9q2\",";
  ASSERT_NE(text.find(key), std::string::npos);
  text.erase(text.find(key), key.size());
  const auto older = manifest_from_json(text);
  ASSERT_TRUE(older) << older.error().message();
  EXPECT_EQ(older->retry_of, "");
}

TEST_F(Record, WaitsAsLongAsItsWaiterLivesAndWasThenNeverStarted) {
  Manifest written = manifest();
  written.waiting = true;
  std::string directory;
  {
    const auto writer = RecordWriter::create(state_, written, 2);
    ASSERT_TRUE(writer) << writer.error().message();
    directory = writer->directory();
    EXPECT_EQ(read_run(directory)->state, RunState::waiting);
    EXPECT_TRUE(has_no_job(*read_run(directory)));
    EXPECT_EQ(name_of(RunState::waiting), "waiting");
    written.waiting = false;
    ASSERT_TRUE(writer->write_manifest(written));
    EXPECT_EQ(read_run(directory)->state, RunState::running);
    written.waiting = true;
    ASSERT_TRUE(writer->write_manifest(written));
  }
  const auto killed = read_run(directory);
  EXPECT_EQ(killed->state, RunState::end_unknown);
  EXPECT_TRUE(was_never_started(*killed));
  ASSERT_TRUE(write_end_into(
      directory, {.exit = {.code = 124}, .because = std::string(end_cause::no_device)}));
  EXPECT_TRUE(was_never_started(*read_run(directory)));
  EXPECT_TRUE(has_no_job(*read_run(directory)));
  EXPECT_EQ(lasted(*read_run(directory), {}), std::nullopt) << "there was nothing to last";
  ASSERT_TRUE(write_end_into(directory, {.exit = {.code = 1}, .because = ""}));
  EXPECT_FALSE(was_never_started(*read_run(directory))) << "its start could not be written";
}

TEST_F(Record, OfAnOlderBerthNeitherWaitsNorSaysWhatWasSet) {
  Manifest written = manifest();
  written.waiting = true;
  written.variables_set = {{"OMP_NUM_THREADS", "8"}};
  std::string text = manifest_to_json(written);
  const auto read = manifest_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->waiting);
  EXPECT_EQ(read->variables_set, written.variables_set);
  for (const char* key : {"waiting", "variables_set"}) {
    const std::size_t at = text.find(fmt::format("\"{}\"", key));
    ASSERT_NE(at, std::string::npos) << key;
    text.replace(at + 1, 1, "x");
  }
  const auto older = manifest_from_json(text);
  ASSERT_TRUE(older) << older.error().message();
  EXPECT_FALSE(older->waiting);
  EXPECT_TRUE(older->variables_set.empty());
}

TEST_F(Record, WithoutItsKeeperIsClosedAsEndUnknown) {
  {
    const auto writer = RecordWriter::create(state_, manifest());
    ASSERT_TRUE(writer);
    const auto samples = writer->open_samples();
    ASSERT_TRUE(write_all(samples->get(), to_line(sample_at(1'763'690'005'000))));
  }
  const auto run = load_run(state_, "last");
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->state, RunState::end_unknown);
  ASSERT_TRUE(run->end);
  EXPECT_EQ(run->end->at.unix_ms, 1'763'690'005'000) << "the last sign of life";
  EXPECT_TRUE(std::filesystem::exists(run->directory + "/end.json"));
  EXPECT_EQ(read_run(run->directory)->state, RunState::end_unknown);
}

TEST_F(Record, OfAReservationOfAnEarlierBootIsOverWhoeverHasItsKeepersNumberNow) {
  Manifest reservation = manifest();
  reservation.command = {"/usr/bin/berth", "reserve", "--hold"};
  reservation.keeper = own_process_id();
  const auto here = RecordWriter::create(state_, reservation);
  ASSERT_TRUE(here) << here.error().message();
  EXPECT_EQ(read_run(here->directory())->state, RunState::running);
  reservation.boot_id = "another";
  ASSERT_TRUE(here->write_manifest(reservation));
  const bool is_known = read_file("/etc/machine-id").has_value();
  EXPECT_EQ(read_run(here->directory())->state,
            is_known ? RunState::end_unknown : RunState::elsewhere);
}

TEST_F(Record, IsNotClosedWhileItsSamplesCannotBeRead) {
  std::string directory;
  std::string samples;
  {
    const auto writer = RecordWriter::create(state_, manifest());
    ASSERT_TRUE(writer);
    directory = writer->directory();
    samples = writer->path_of(record_file::samples);
    std::filesystem::create_symlink("nowhere", samples);
  }
  const auto blind = read_run(directory);
  ASSERT_TRUE(blind);
  EXPECT_EQ(blind->state, RunState::end_unknown);
  EXPECT_FALSE(blind->end) << "a summary of samples that nobody has read";
  EXPECT_THAT(blind->problems.at(0).english(), testing::HasSubstr("its samples"));
  EXPECT_THAT(to_json(*blind), testing::HasSubstr("reading its samples"));
  std::filesystem::remove(samples);
  EXPECT_TRUE(read_run(directory)->end) << "nothing was written for good";
}

TEST_F(Record, TruncatedAnywhereKeepsEverySampleBeforeTheTear) {
  std::string text = samples_header();
  for (int at = 0; at < 3; ++at) text += to_line(sample_at(1000 * (at + 1)));
  for (std::size_t length = 0; length <= text.size(); ++length) {
    std::size_t whole = 0;
    for (std::size_t at = 0; at < length; ++at) whole += text[at] == '\n' ? 1U : 0U;
    SampleReader reader;
    std::vector<Sample> read;
    reader.feed(text.substr(0, length), [&](const Sample& one) { read.push_back(one); });
    ASSERT_EQ(read.size(), whole == 0 ? 0 : whole - 1) << "cut after " << length << " bytes";
    for (std::size_t at = 0; at < read.size(); ++at) {
      ASSERT_EQ(read[at], sample_at(1000 * static_cast<std::int64_t>(at + 1)));
    }
  }
}

TEST_F(Record, SamplesSurviveATornLineInTheMiddle) {
  SampleReader reader;
  int read = 0;
  const std::string line = to_line(sample_at(1));
  reader.feed(samples_header() + line.substr(0, 20) + "\n" + samples_header() + line,
              [&](const Sample&) { ++read; });
  EXPECT_EQ(read, 1);
  EXPECT_EQ(reader.torn_lines(), 1U);
}

TEST_F(Record, SamplesWithNumbersThatCannotBeAreTorn) {
  SampleReader reader;
  std::vector<Sample> read;
  reader.feed(R"({"device_columns":["memory_used_bytes"]}
{"t":1,"d":[[-5]],"p":[],"tree":[1,2,3,4,5,6],"marks":0}
{"t":2,"d":[[1]],"p":[[0,99999999999,1]],"tree":[1,2,3,4,5,6],"marks":0}
{"t":3,"d":[[1]],"p":[],"tree":[-1,2,3,4,5,6],"marks":0}
)",
              [&](const Sample& one) { read.push_back(one); });
  ASSERT_EQ(read.size(), 1U) << "a reading that cannot be costs itself alone, the rest its line";
  EXPECT_EQ(read[0].devices.at(0).memory_used.why(), Absent::failed);
  EXPECT_EQ(reader.torn_lines(), 2U);
}

TEST_F(Record, SampleLinesStayAsTheyAre) {
  EXPECT_EQ(samples_header(),
            R"({"format":"berth-samples","version":1,"device_columns":["utilization_gpu_percent",)"
            R"("utilization_memory_percent","memory_used_bytes","power_draw_milliwatts",)"
            R"("temperature_celsius","clock_sm_megahertz","clock_memory_megahertz",)"
            R"("pcie_sent_bytes","pcie_received_bytes","energy_millijoules"]})"
            "\n");
  Sample sample{.at = {1'763'690'005'000}, .marks_bytes = 20};
  sample.devices = {{.utilization_gpu = Percent(60),
                     .utilization_memory = Percent(12.5),
                     .memory_used = 1024_B,
                     .power_draw = Absent::failed,
                     .temperature = Celsius(-4),
                     .clock_sm = Absent::no_permission,
                     .energy = Absent::unsupported}};
  sample.processes = {{.device = 0, .pid = 4711, .memory = Absent::not_sampled}};
  sample.tree = {.processes = 3, .cpu = Milliseconds(5200), .memory_resident = 1024_B};
  sample.tree.read = 4096_B;
  const std::string alone = to_line(sample);
  EXPECT_EQ(alone,
            R"({"t":1763690005000,"d":[[60,12.5,1024,"failed",-4,"no permission","not sampled",)"
            R"("not sampled","not sampled","unsupported"]],"p":[[0,4711,"not sampled"]],)"
            R"("tree":[3,5200,1024,4096,"not sampled","not sampled"],"marks":20})"
            "\n");
  sample.others = {{.device = 0, .user = "a\"b\xff", .memory = 5_B}};
  sample.tree.gpu_contexts = std::uint64_t{2};
  EXPECT_THAT(to_line(sample), testing::HasSubstr("\"o\":[[0,\"a\\\"b\xEF\xBF\xBD\",5]],"));
  EXPECT_THAT(to_line(sample), testing::HasSubstr(R"("not sampled",2],"marks":20})"));
}

TEST_F(Record, SamplesTellOfOthersOnlyWhereSomebodyIsThere) {
  Sample alone = sample_at(1);
  alone.others.clear();
  EXPECT_EQ(to_line(alone).find("\"o\""), std::string::npos);
  SampleReader reader;
  std::vector<Sample> read;
  reader.feed(samples_header() + to_line(alone) +
                  R"({"t":2,"d":[],"p":[],"o":[[0,7,1]],"tree":[1,2,3,4,5,6],"marks":0})" + "\n",
              [&](const Sample& one) { read.push_back(one); });
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0], alone);
  EXPECT_EQ(reader.torn_lines(), 1U) << "a user is a text";
}

TEST_F(Record, EndlessLineOfSamplesIsTornAndTheNextIsRead) {
  SampleReader reader;
  int read = 0;
  const auto count = [&](const Sample&) { ++read; };
  reader.feed(samples_header(), count);
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 8; ++i) reader.feed(piece, count);
  EXPECT_EQ(reader.torn_lines(), 1U);
  reader.feed("\n" + to_line(sample_at(1)), count);
  EXPECT_EQ(read, 1);
  EXPECT_EQ(reader.torn_lines(), 1U);
  std::string crowd = R"({"t":1,"d":[[])";
  for (int i = 0; i < 5000; ++i) crowd += ",[]";
  reader.feed(crowd + "],\"p\":[],\"tree\":[1,2,3,4,5,6],\"marks\":0}\n", count);
  EXPECT_EQ(read, 1) << "no machine has so many devices";
}

TEST_F(Record, SamplesOfANewerFormatLoseOnlyTheColumnsWeDoNotKnow) {
  SampleReader reader;
  std::vector<Sample> read;
  reader.feed(R"({"device_columns":["future_thing","memory_used_bytes"]}
{"t":5,"d":[[99,1024]],"p":[],"tree":[1,2,3,4,5,6],"marks":0}
)",
              [&](const Sample& one) { read.push_back(one); });
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].devices.at(0).memory_used, Reading<Bytes>(1024_B));
  EXPECT_EQ(read[0].devices.at(0).temperature.why(), Absent::not_sampled);
}

TEST_F(Record, DatesAMarkWithoutATimeByTheNextSample) {
  const auto writer = RecordWriter::create(state_, manifest());
  ASSERT_TRUE(writer);
  const std::string marks = writer->path_of(record_file::marks);
  ASSERT_TRUE(append_mark(marks, {1'763'690'001'500}, "epoch=1 loss=0.5"));
  ASSERT_TRUE(write_all(open_fd(marks, O_WRONLY | O_APPEND)->get(), "epoch=2\ntorn"));
  const auto samples = writer->open_samples();
  Sample before = sample_at(1'763'690'002'000);
  before.marks_bytes = 20;
  Sample after = sample_at(1'763'690'003'000);
  after.marks_bytes = 1000;
  ASSERT_TRUE(write_all(samples->get(), to_line(before) + to_line(after)));
  const auto run = load_run(state_, "last");
  const auto found = marks_of(*run);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "epoch=1 loss=0.5");
  EXPECT_EQ(found[0].at.unix_ms, 1'763'690'001'500);
  EXPECT_EQ(found[1].text, "epoch=2");
  EXPECT_EQ(found[1].at.unix_ms, 1'763'690'003'000);
  EXPECT_FALSE(found[1].exact);
}

TEST_F(Record, EndReadsBackWithItsSummary) {
  Summarizer summarizer;
  for (int at = 0; at < 11; ++at) summarizer.add(sample_at(1000 * at));
  RunEnd end{.at = {5}, .exit = {.signal = 9}, .because = "time limit", .stopped_by = "ana"};
  end.time_limit_ms = 7'200'000;
  end.summary = summarizer.summary();
  const auto read = end_from_json(end_to_json(end));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->exit, end.exit);
  EXPECT_EQ(read->because, end.because);
  EXPECT_EQ(read->stopped_by, "ana");
  EXPECT_EQ(read->time_limit_ms, end.time_limit_ms);
  EXPECT_EQ(read->summary, end.summary);
}

TEST_F(Record, ProgramThatGaveItsDevicesBackHasNoExitCode) {
  const std::string text = end_to_json({.at = {5}, .gave_back = true});
  EXPECT_THAT(text, testing::HasSubstr("\"ended\": \"gave_back\""));
  EXPECT_THAT(text, testing::HasSubstr("\"exit_code\": null"));
  EXPECT_THAT(text, testing::HasSubstr("\"exit_code\": \"unsupported\""));
  // What berth 0.1.0 takes for an end that nobody knows: with "known" it wants a code or a signal.
  EXPECT_THAT(text, testing::HasSubstr("\"known\": false"));
  const auto read = end_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->gave_back);
  EXPECT_TRUE(read->known);
}

TEST_F(Record, EndOfAnOlderBerthIsNoGivingBack) {
  std::string text = end_to_json({.at = {5}, .exit = {.code = 7}});
  const std::string ended = " \"ended\": null,\n";
  ASSERT_NE(text.find(ended), std::string::npos) << text;
  text.erase(text.find(ended), ended.size());
  const auto read = end_from_json(text);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_FALSE(read->gave_back);
  EXPECT_EQ(read->exit.code, 7);
}

TEST_F(Record, EndThatDoesNotSayHowIsNoSuccess) {
  std::string text = end_to_json({.at = {5}, .exit = {.code = 7}});
  const std::string code = "\"exit_code\": 7";
  ASSERT_NE(text.find(code), std::string::npos);
  text.replace(text.find(code), code.size(), "\"exit_code\": null");
  const auto read = end_from_json(text);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), testing::HasSubstr("exit_code"));
}

TEST_F(Record, RunsKeepTheirOrderWhereTheDateWasSetBackBetweenThem) {
  constexpr std::int64_t hour_ms = 3'600'000;
  for (int run = 0; run < 3; ++run) {
    Manifest one = manifest();
    one.started_steady_ms = 1000 + run * 60'000;
    one.started.unix_ms += run == 0 ? 0 : -5 * hour_ms + run * 60'000;
    one.id = make_run_id("", "", one.started, run);
    one.command = {std::to_string(run)};
    ASSERT_TRUE(RecordWriter::create(state_, one));
  }
  const auto list = list_runs(state_);
  ASSERT_EQ(list->runs.size(), 3U);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(list->runs[at].manifest.command.front(), std::to_string(2 - at));
  }
  EXPECT_EQ(load_run(state_, "last")->manifest.command.front(), "2");
}

TEST_F(Record, HasNoSecretOfAMark) {
  const auto writer = RecordWriter::create(state_, manifest());
  const std::string marks = writer->path_of(record_file::marks);
  ASSERT_TRUE(append_mark(marks, {1'763'690'001'500}, "loss=0.5 token=abc password=hunter2"));
  EXPECT_THAT(*read_file(marks, 1 << 20), ::testing::EndsWith("loss=0.5 token=*** password=***\n"));
  // As older programs and the job itself write it.
  ASSERT_TRUE(write_all(open_fd(marks, O_WRONLY | O_APPEND)->get(), "step=2 password=hunter2\n"));
  const auto found = marks_of(*load_run(state_, "last"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].text, "step=2 password=***");
}

TEST_F(Record, OfMegabytesOfMarksReadsTheBeginningAndSaysSo) {
  const auto writer = RecordWriter::create(state_, manifest());
  const auto marks = open_fd(writer->path_of(record_file::marks), O_WRONLY | O_APPEND);
  const std::string line = std::string(1023, 'x') + "\n";
  std::string mebibyte;
  for (int i = 0; i < 1024; ++i) mebibyte += line;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(write_all(marks->get(), mebibyte));
  EXPECT_THAT(load_run(state_, "last")->problems, testing::IsEmpty());
  ASSERT_TRUE(write_all(marks->get(), mebibyte));
  const auto run = load_run(state_, "last");
  EXPECT_EQ(marks_of(*run).size(), 4096U);
  EXPECT_THAT(run->problems.at(0).english(), testing::HasSubstr("those in the first 4 MiB"));
}

TEST_F(Record, DatesAMarkBySamplesWhereTheDateWasSetMeanwhile) {
  const auto writer = RecordWriter::create(state_, manifest());
  const auto samples = writer->open_samples();
  ASSERT_TRUE(append_mark(writer->path_of(record_file::marks), {1'763'000'000'000}, "epoch=1"));
  Sample after = sample_at(1'763'690'003'000);
  after.marks_bytes = 1000;
  ASSERT_TRUE(write_all(samples->get(), to_line(after)));
  const auto found = marks_of(*load_run(state_, "last"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text, "epoch=1");
  EXPECT_EQ(found[0].at, after.at);
  EXPECT_FALSE(found[0].exact);
}

TEST_F(Record, DurationsComeFromTheSteadyClockAndAreNeverNegative) {
  RunRecord run;
  run.manifest = manifest();
  run.manifest.started_steady_ms = 5000;
  run.state = RunState::running;
  const WallTime long_ago{0};
  EXPECT_EQ(lasted(run, {long_ago, Instant{std::chrono::seconds(65)}}), std::chrono::minutes(1));
  EXPECT_EQ(lasted(run, {long_ago, Instant{}}), std::chrono::seconds(0));
  run.end = RunEnd{.at = long_ago, .lasted_ms = 90'000};
  EXPECT_EQ(lasted(run, {}), std::chrono::seconds(90));
  run.end->lasted_ms.reset();
  EXPECT_EQ(lasted(run, {}), std::chrono::seconds(0)) << "an older record";
}

/// A directory in the way of the temporary file: nothing new can be written, as on a full disk.
void block_new_end(const RecordWriter& writer) {
  const std::string temporary = writer.path_of(record_file::end) + ".new.";
  std::filesystem::create_directory(temporary + std::to_string(::getpid()));
}

TEST_F(Record, EndIsWrittenIntoItsRoomWhereNothingNewCanBe) {
  const auto writer = RecordWriter::create(state_, manifest());
  ASSERT_TRUE(writer);
  block_new_end(*writer);
  RunEnd end{.at = {1'763'690'009'000}, .exit = {.code = 3}};
  end.summary.devices.resize(1);
  ASSERT_TRUE(writer->write_end(end));
  EXPECT_EQ(read_run(writer->directory())->end->exit.code, 3);
  EXPECT_FALSE(std::filesystem::exists(writer->path_of(record_file::end_room)));
  end.released = WallTime{1'763'690'010'000};
  ASSERT_TRUE(writer->write_end(end)) << "its second version, over the first";
  EXPECT_EQ(read_run(writer->directory())->end->released, end.released);
}

TEST_F(Record, EndLeavesNoRoomBehind) {
  const auto writer = RecordWriter::create(state_, manifest());
  ASSERT_TRUE(std::filesystem::exists(writer->path_of(record_file::end_room)));
  ASSERT_TRUE(writer->write_end({.at = {1}, .released = WallTime{2}}));
  EXPECT_FALSE(std::filesystem::exists(writer->path_of(record_file::end_room)));
}

TEST_F(Record, ManifestCutAnywhereIsAnErrorAndNoCrash) {
  const std::string text = manifest_to_json(manifest());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_FALSE(manifest_from_json(text.substr(0, length))) << "cut after " << length << " bytes";
  }
}

TEST_F(Record, NumbersOutOfRangeAreRefusedAndNamed) {
  const std::string whole = manifest_to_json(manifest());
  for (const char* wrong : {"-5", "10.5", "1e30", "99999999999999999999", "true"}) {
    std::string text = whole;
    const std::string known = "\"promised_bytes\": [\n  10737418240";
    ASSERT_NE(text.find(known), std::string::npos);
    text.replace(text.find(known), known.size(), "\"promised_bytes\": [\n  " + std::string(wrong));
    const auto read = manifest_from_json(text);
    ASSERT_FALSE(read) << wrong;
    EXPECT_THAT(read.error().message(), testing::HasSubstr("promised_bytes")) << wrong;
  }
}

TEST_F(Record, EndlessNestingIsRefused) {
  const std::string deep(1 << 20, '[');
  std::string text = manifest_to_json(manifest());
  text.insert(text.find("\"format\""), "\"future\": " + deep + std::string(1 << 20, ']') + ",");
  EXPECT_FALSE(manifest_from_json(text));
  SampleReader reader;
  reader.feed(samples_header() + deep + "\n", [](const Sample&) {});
  EXPECT_EQ(reader.torn_lines(), 1U);
}

TEST_F(Record, NewerFormatIsRefusedWithAReason) {
  std::string text = manifest_to_json(manifest());
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 9");
  const auto read = manifest_from_json(text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::unsupported);
}

TEST_F(Record, RunIdsDifferByMachineBootTimeAndPid) {
  const WallTime now{1'763'690'000'000};
  const std::string id = make_run_id("a", "b", now, 1);
  EXPECT_TRUE(id.starts_with("20251121-015320-")) << id;
  EXPECT_NE(id, make_run_id("x", "b", now, 1));
  EXPECT_NE(id, make_run_id("a", "x", now, 1));
  EXPECT_NE(id, make_run_id("a", "b", {now.unix_ms + 1}, 1));
  EXPECT_NE(id, make_run_id("a", "b", now, 2));
}

TEST(Summary, IntegratesPowerWhereThereIsNoEnergyCounterAndSaysSo) {
  Summarizer summarizer;
  for (int at = 0; at < 11; ++at) summarizer.add(sample_at(1000 * at));
  const Summary summary = summarizer.summary();
  EXPECT_EQ(summary.energy, Reading<Millijoules>(Millijoules(2'000'000)));  // 200 W for 10 s
  EXPECT_EQ(summary.energy_source, EnergySource::integrated_power);
  EXPECT_EQ(summary.devices.at(0).memory_peak, Reading<Bytes>(4_GiB));
  EXPECT_EQ(summary.devices.at(0).memory_source, MemorySource::own_processes);
  EXPECT_EQ(summary.mean_utilization, Reading<Percent>(50_percent));
}

TEST(Summary, CounterThatWasResetMeanwhileIsNoMeasureOfEnergy) {
  Summarizer summarizer;
  Summarizer powerless;
  std::int64_t at = 0;
  for (const std::uint64_t joules : {1000U, 1200U, 100U, 1500U}) {  // ends above its start
    Sample sample = sample_at(1000 * at++);
    sample.devices[0].energy = Millijoules(joules * 1000);
    summarizer.add(sample);
    sample.devices[0].power_draw = Absent::unsupported;
    powerless.add(sample);
  }
  const Summary summary = summarizer.summary();
  EXPECT_EQ(summary.energy, Reading<Millijoules>(Millijoules(600'000)));  // 200 W for 3 s
  EXPECT_EQ(summary.energy_source, EnergySource::integrated_power);
  EXPECT_FALSE(powerless.summary().energy.has_value()) << "what the reset has lost is not known";
}

TEST(Summary, TimesAndPowersBeyondAllNumbersIntegrateToNothingOrTheMost) {
  Summarizer far;
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t at : {Limits::min(), Limits::max()}) far.add(sample_at(at));
  EXPECT_FALSE(far.summary().energy.has_value());
  Summarizer hot;
  for (int at = 0; at < 31; ++at) {
    Sample sample = sample_at(1000 * at);
    sample.devices[0].power_draw = Milliwatts(std::numeric_limits<std::uint64_t>::max());
    hot.add(sample);
  }
  EXPECT_FALSE(hot.summary().energy.has_value()) << "more than any number: not known";
}

TEST(Summary, SaysForHowLongADeviceWasNotRead) {
  Summarizer summarizer;
  summarizer.add(sample_at(0));
  EXPECT_EQ(summarizer.summary().devices.at(0).not_read, Reading<Milliseconds>(Milliseconds(0)));
  for (int at = 1; at <= 5; ++at) {
    Sample unread = sample_at(1000 * at);
    unread.devices = {DeviceSample{}};
    summarizer.add(unread);
  }
  summarizer.add(sample_at(6000));
  EXPECT_EQ(summarizer.summary().devices.at(0).not_read, Reading<Milliseconds>(Milliseconds(5000)));
  summarizer.add(sample_at(36'000));  // nobody looked meanwhile
  EXPECT_EQ(summarizer.summary().devices.at(0).not_read,
            Reading<Milliseconds>(Milliseconds(35'000)));
  const WallTime last = sample_at(36'000).at;
  summarizer.end({last.unix_ms + 2000});
  EXPECT_EQ(summarizer.summary().devices.at(0).not_read,
            Reading<Milliseconds>(Milliseconds(35'000)));
  summarizer.end({last.unix_ms + 20'000});
  EXPECT_EQ(summarizer.summary().devices.at(0).not_read,
            Reading<Milliseconds>(Milliseconds(55'000)));
}

TEST(Summary, SaysInHowManyLooksNoDeviceFileWasOpen) {
  Summarizer summarizer;
  const auto add = [&](const Reading<std::uint64_t>& open, const Reading<std::uint64_t>& listed) {
    Sample sample;
    sample.tree.device_files_open = open;
    sample.tree.gpu_contexts = listed;
    SampleReader reader;
    reader.feed(samples_header() + to_line(sample),
                [&](const Sample& one) { summarizer.add(one); });
  };
  add(0U, Absent::failed);
  add(2U, 0U);
  add(0U, 0U);
  add(Absent::not_sampled, Absent::not_sampled);
  const RunEnd end{.exit = {}, .summary = summarizer.summary()};
  const auto read = end_from_json(end_to_json(end));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->summary.device_files_open, Reading<std::uint64_t>(2U));
  EXPECT_EQ(read->summary.device_files_looks, Reading<std::uint64_t>(3U));
  EXPECT_EQ(read->summary.gpu_contexts, Reading<std::uint64_t>(0U));
  EXPECT_EQ(read->summary.gpu_contexts_looks, Reading<std::uint64_t>(2U));
}

TEST_F(Record, FifoInThePlaceOfTheSamplesIsRefusedAndNotWaitedFor) {
  ASSERT_TRUE(RecordWriter::create(state_, manifest()));
  const auto run = load_run(state_, "last");
  ASSERT_TRUE(run);
  const std::string fifo = run->directory + "/samples";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto read = for_each_sample(*run, [](const Sample&) { FAIL() << "there is none"; });
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), testing::HasSubstr(fifo + " is no regular file"));
  EXPECT_TRUE(load_run(state_, "last")) << "the rest of the record is readable";
}

TEST_F(Record, RunsThatMayNotBeListedAreNotSaidToBeNone) {
  EXPECT_EQ(load_run(state_, "2025").error().code(), ErrorCode::not_found);
  ASSERT_TRUE(make_directories(state_));
  std::filesystem::create_symlink("runs", runs_directory(state_));  // for root too
  for (const char* name : {"2025", "last"}) {
    const auto run = load_run(state_, name);
    ASSERT_FALSE(run);
    EXPECT_NE(run.error().code(), ErrorCode::not_found) << name;
    EXPECT_THAT(run.error().message(), testing::HasSubstr(runs_directory(state_))) << name;
    EXPECT_THAT(run.error().message(), testing::HasSubstr("levels of symbolic links")) << name;
  }
}

TEST_F(Record, RunWithoutAKeeperRunsAsLongAsItsMainProcessDoes) {
  const auto child = fork_process([] {
    ::pause();
    return 0;
  });
  ASSERT_TRUE(child);
  Manifest kept = manifest();
  kept.job = *identify_process(*child);
  {
    const auto writer = RecordWriter::create(state_, kept);  // its lock goes with it
    ASSERT_TRUE(writer);
  }
  EXPECT_EQ(load_run(state_, "last")->state, RunState::running);
  ASSERT_TRUE(signal_child(*child, SIGKILL));
  ASSERT_TRUE(await_end(*child));
  EXPECT_EQ(load_run(state_, "last")->state, RunState::end_unknown) << "a zombie runs no more";
  ASSERT_TRUE(reap(*child));
}

TEST_F(Record, LastIsNoEarlierRunThanOneWithoutARecord) {
  ASSERT_TRUE(RecordWriter::create(state_, manifest()));
  ASSERT_TRUE(note_unrecorded_run(state_, "20991121-000000-aaaaaa"));
  EXPECT_EQ(unrecorded_last_run(state_), "20991121-000000-aaaaaa");
  const auto last = load_run(state_, "last");
  ASSERT_FALSE(last);
  EXPECT_THAT(last.error().message(), testing::HasSubstr("20991121-000000-aaaaaa, has no record"));
  Manifest next = manifest();
  next.id = "20991121-000001-bbbbbb";
  ASSERT_TRUE(RecordWriter::create(state_, next));
  EXPECT_EQ(load_run(state_, "last")->manifest.id, next.id);
  EXPECT_EQ(unrecorded_last_run(state_), std::nullopt);
}

TEST(Summary, OfNothingIsAbsentNotZero) {
  EXPECT_FALSE(Summarizer().summary().device_files_looks.has_value());
  const Summary summary = Summarizer().summary();
  EXPECT_FALSE(summary.mean_utilization.has_value());
  EXPECT_FALSE(summary.energy.has_value());
  EXPECT_FALSE(summary.tree_memory_peak.has_value());
}

TEST_F(Record, OfARunThatGoesOnTheLastMinutesAreReadHoweverLongItHasRun) {
  RunRecord run;
  run.owner = FileOwner::ourselves();
  run.directory = state_;
  std::string text = samples_header();
  for (std::int64_t second = 0; text.size() < (std::size_t{1} << 20); ++second) {
    Sample sample = sample_at(1'763'690'000'000 + second * 1000);
    sample.tree.memory_resident = second == 0 ? Bytes(9'000'000) : Bytes(4'000'000);
    text += to_line(sample);
  }
  ASSERT_TRUE(make_directories(state_));
  ASSERT_TRUE(write_file_atomically(state_ + "/" + std::string(record_file::samples), text));
  EXPECT_EQ(summary_of(run).tree_memory_peak, Bytes(9'000'000));
  EXPECT_EQ(summary_lately(run).tree_memory_peak, Bytes(4'000'000));
  run.end = RunEnd{};
  run.end->summary.tree_memory_peak = Bytes(7);
  EXPECT_EQ(summary_lately(run).tree_memory_peak, Bytes(7)) << "its record has it";
}

}  // namespace
}  // namespace berth
