#include "probe/replay/replay.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <thread>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "snapshot/builder.h"
#include "snapshot/json.h"

namespace berth {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::Not;

Snapshot at_second(std::int64_t second) {
  Snapshot host = SnapshotBuilder().gpu("A", 24_GiB).build();
  host.taken = {1'760'000'000'000 + second * 1000};
  return host;
}

std::string three_lines() {
  std::string text;
  for (const int second : {0, 1, 5}) text += to_json(at_second(second), JsonLayout::compact) + "\n";
  return text;
}

std::string error_of(const Result<Recording>& result) {
  return result ? "none" : result.error().message();
}

TEST(Recording, OneIndentedSnapshotIsARecordingOfOne) {
  const auto recording =
      Recording::parse(to_json(at_second(3), JsonLayout::indented), Sentence("f"));
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->size(), 1U);
  EXPECT_EQ(*recording->at(0), at_second(3));
}

TEST(Recording, LinesAreSnapshotsAndEmptyOnesAreNot) {
  const auto recording =
      Recording::parse("\n" + three_lines() + "\n \n", Sentence("f"), {.first = 3});
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->size(), 3U);
  EXPECT_EQ(*recording->at(recording->first()), at_second(5));
}

TEST(Player, TimesThatNoDifferenceFitsEndWithTheLast) {
  std::string text;
  using Limits = std::numeric_limits<std::int64_t>;
  for (const std::int64_t taken : {Limits::min(), std::int64_t{0}, Limits::max()}) {
    Snapshot snapshot = at_second(0);
    snapshot.taken = {taken};
    text += to_json(snapshot, JsonLayout::compact) + "\n";
  }
  auto recording = Recording::parse(text, Sentence("f"));
  ASSERT_TRUE(recording) << recording.error().message();
  Player player(std::move(*recording));
  EXPECT_EQ(player.look({-5}).taken.unix_ms, Limits::min());
  EXPECT_EQ(player.look({1000}).taken.unix_ms, Limits::min());
  EXPECT_EQ(player.look({Limits::max()}).taken.unix_ms, Limits::max());
}

TEST(Recording, FileAndNumberAreReadFromTheSpec) {
  const TemporaryDirectory directory;
  const std::string path = directory / "recording#x.jsonl";
  ASSERT_TRUE(write_file_atomically(path, three_lines()));
  const auto whole = Recording::open(path);
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(whole->first(), 0U);
  const auto second = Recording::open(path + "#2");
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(*second->at(second->first()), at_second(1));
}

/// A reader of another program's text: "DUMP 41 42" are looks at 41 and at 42 degrees. The second
/// word of "DUMP load 77" is a phase.
std::optional<Result<std::vector<Snapshot>>> read_foreign(std::string_view text,
                                                          std::string_view phase) {
  const std::size_t at = text.find("DUMP ");
  if (at == std::string_view::npos) return std::nullopt;
  if (!phase.empty() && text.find(phase) == std::string_view::npos) {
    return fail(ErrorCode::not_found, "it has no phase {}", phase);
  }
  std::vector<Snapshot> snapshots;
  for (const std::string_view word : split(text.substr(at), ' ')) {
    const auto degrees = parse_unsigned(trimmed(word));
    if (!degrees) continue;
    snapshots.push_back(at_second(static_cast<std::int64_t>(snapshots.size())));
    snapshots.back().devices.at(0).temperature = Celsius(static_cast<std::int64_t>(*degrees));
  }
  return snapshots;
}
constexpr RecordingPart with_foreign{.foreign = read_foreign};

TEST(Recording, WhatAnotherProgramPrintedIsARecordingToo) {
  const auto recording =
      Recording::parse("DUMP 41 42", Sentence("f"), {.first = 2, .foreign = read_foreign});
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->size(), 2U);
  EXPECT_EQ(recording->at(recording->first())->devices.at(0).temperature,
            Reading<Celsius>(42_celsius));
  EXPECT_THAT(
      error_of(Recording::parse("DUMP 41", Sentence("f"), {.first = 2, .foreign = read_foreign})),
      HasSubstr("f holds 1 snapshots, there is no number 2"));
  EXPECT_THAT(error_of(Recording::parse("DUMP 41", Sentence("f"))),
              HasSubstr("it is none of the files"));
}

TEST(Player, PlaysWhatAnotherProgramPrinted) {
  auto recording = Recording::parse("DUMP 41 42", Sentence("f"), with_foreign);
  ASSERT_TRUE(recording) << recording.error().message();
  Player player(std::move(*recording));
  EXPECT_EQ(player.look({0}).devices.at(0).temperature, Reading<Celsius>(41_celsius));
  EXPECT_EQ(player.look({1000}).devices.at(0).temperature, Reading<Celsius>(42_celsius));
}

TEST(Recording, PhaseOfACaptureFileIsReadFromTheSpec) {
  const TemporaryDirectory folder;
  const std::string path = folder / "capture.txt";
  ASSERT_TRUE(write_file_atomically(path, "DUMP load 77"));
  const auto load = Recording::open(path + "#load", std::nullopt, read_foreign);
  ASSERT_TRUE(load) << load.error().message();
  EXPECT_EQ(load->at(0)->devices.at(0).temperature, Reading<Celsius>(77_celsius));
  EXPECT_THAT(error_of(Recording::open(path + "#boot", std::nullopt, read_foreign)),
              HasSubstr("cannot replay " + path + ": it has no phase boot"));
  EXPECT_THAT(error_of(Recording::parse(three_lines(), Sentence("f"), {.phase = "idle"})),
              HasSubstr("no phase"));
}

/// As PowerShell's > writes it, the low byte first.
std::string utf16(std::string_view text) {
  std::string bytes = "\xff\xfe";
  for (const char c : text) bytes += {c, '\0'};
  return bytes;
}

TEST(Recording, FilesOfWindowsAreReadAsWhatTheyAre) {
  for (const std::string_view text : {"DUMP 41", "PS C:\\> other -q\r\nDUMP 41\r\n"}) {
    for (const std::string& bytes : {"\xef\xbb\xbf" + std::string(text), utf16(text)}) {
      const auto recording = Recording::parse(bytes, Sentence("f"), with_foreign);
      ASSERT_TRUE(recording) << recording.error().message();
      EXPECT_EQ(recording->at(0)->devices.at(0).temperature, Reading<Celsius>(41_celsius));
    }
  }
  const auto recorded = Recording::parse(utf16(three_lines()), Sentence("f"));
  ASSERT_TRUE(recorded) << recorded.error().message();
  EXPECT_EQ(recorded->size(), 3U);
}

TEST(Recording, WhatIsNoneOfTheFilesIsToldInPlainWords) {
  for (const std::string_view text :
       {"hello", "\x1f\x8b\x08", "Mon Nov 22 2026\n| NVIDIA-SMI 595 |\n"}) {
    const std::string said = error_of(Recording::parse(std::string(text), Sentence("f")));
    EXPECT_THAT(said, HasSubstr("cannot replay f: "));
    EXPECT_THAT(said, HasSubstr("nvidia-smi -q -x"));
    EXPECT_THAT(said, testing::Not(HasSubstr("JSON")));
  }
  // The rest of a recording that lost its beginning can be asked for.
  const std::string cut = "ame\": 1}\n" + three_lines();
  EXPECT_THAT(error_of(Recording::parse(cut, Sentence("f"))),
              HasSubstr("f, line 1: it is no snapshot"));
  EXPECT_TRUE(Recording::parse(cut, Sentence("f"), {.first = 2}));
}

TEST(Recording, MistakesNameFileLineAndReason) {
  EXPECT_THAT(error_of(Recording::open("/nowhere/x.json")), HasSubstr("/nowhere/x.json"));
  EXPECT_THAT(error_of(Recording::open("/nowhere/x.json#0")), HasSubstr("from 1"));
  EXPECT_THAT(error_of(Recording::parse("", Sentence("f"))), HasSubstr("empty"));
  EXPECT_THAT(error_of(Recording::parse(three_lines(), Sentence("f"), {.first = 4})),
              HasSubstr("no number 4"));
  EXPECT_THAT(error_of(Recording::parse("{\"berth_snapshot\": 99}", Sentence("f"))),
              HasSubstr("f, line 1: "));
  const std::string broken = three_lines() + "{\"berth_snapshot\": 1,}\n";
  EXPECT_THAT(error_of(Recording::parse(broken, Sentence("f"), {.first = 4})),
              HasSubstr("f, line 4: not valid JSON"));
}

TEST(Player, ShowsWhatWasRecordedSoFarIntoIt) {
  auto recording = Recording::parse(three_lines(), Sentence("f"));
  ASSERT_TRUE(recording);
  Player player(std::move(*recording));
  const std::int64_t now = 1'900'000'000'000;
  EXPECT_EQ(player.look({now}), at_second(0));
  EXPECT_EQ(player.look({now + 900}), at_second(0));
  EXPECT_EQ(player.look({now + 1000}), at_second(1));
  EXPECT_EQ(player.look({now + 4999}), at_second(1));
  EXPECT_EQ(player.look({now + 60'000}), at_second(5));
}

TEST(Player, LeavesOutABrokenLineAndSaysSo) {
  auto recording = Recording::parse(to_json(at_second(0), JsonLayout::compact) + "\n{broken}\n" +
                                        to_json(at_second(1), JsonLayout::compact),
                                    Sentence("f"));
  ASSERT_TRUE(recording);
  Player player(std::move(*recording));
  const Snapshot first = player.look({0});  // looks one line ahead
  ASSERT_EQ(first.problems.size(), 1U);
  EXPECT_THAT(first.problems[0].message.english(), HasSubstr("line 2"));
  EXPECT_EQ(player.look({1000}), at_second(1));
}

TEST(Recording, LongerThanMemoryHoldsIsReadLineByLine) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/long.jsonl";
  const std::string before = three_lines();
  const std::string after = to_json(at_second(9), JsonLayout::compact) + "\n{torn";
  constexpr off_t hole = (off_t{1} << 30) + 12345;  // more than was ever read at once
  const auto file = open_fd(path, O_RDWR | O_CREAT, 0600);
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_all(file->get(), before));
  ASSERT_EQ(::lseek(file->get(), hole, SEEK_END), static_cast<off_t>(before.size()) + hole);
  ASSERT_TRUE(write_all(file->get(), "\n" + after));
  const auto recording = Recording::open(path);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->size(), 6U);
  EXPECT_EQ(*recording->at(0), at_second(0));
  EXPECT_EQ(*recording->at(2), at_second(5));
  EXPECT_FALSE(recording->at(3)) << "a hole is no snapshot";
  EXPECT_EQ(*recording->at(4), at_second(9));
  EXPECT_FALSE(recording->at(5)) << "torn";
  EXPECT_EQ(recording->last_line().number, 6U);
  const auto fifth = Recording::open(path + "#5");
  ASSERT_TRUE(fifth) << fifth.error().message();
  EXPECT_EQ(*fifth->at(fifth->first()), at_second(9));
  EXPECT_THAT(error_of(Recording::open(path + "#6")), HasSubstr("line 6: not valid JSON"));
}

TEST(Recording, ComesThroughAPipeAsSlowlyAsItsWriterIs) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    const auto out = open_fd(path, O_WRONLY);  // waits for the reader
    const std::string text = three_lines();
    (void)write_all(out->get(), text.substr(0, 10));
    (void)write_all(out->get(), text.substr(10));
  });
  const auto piped = piped_recording(path + "#2");
  writer.join();
  ASSERT_TRUE(piped);
  const auto recording = Recording::open(path + "#2", piped);
  ASSERT_TRUE(recording) << recording.error().message();
  EXPECT_EQ(recording->size(), 3U);
  EXPECT_EQ(*recording->at(recording->first()), at_second(1));
  EXPECT_FALSE(piped_recording(folder.path())) << "no pipe";
}

TEST(Recording, ADamagedLineIsNamedByItsPlaceAndNotInAParsersWords) {
  const std::string whole = to_json(at_second(0), JsonLayout::compact);
  const std::string said = error_of(Recording::parse(whole.substr(0, 40), Sentence("f")));
  EXPECT_THAT(said, HasSubstr("f, line 1: not valid JSON from column 41 on"));
  EXPECT_THAT(said, HasSubstr("Have it written again"));
  EXPECT_THAT(said, Not(HasSubstr("json.exception")));
}

/// Why nothing is recorded into a file that has this; empty: it is.
std::string refusal_to_record(const std::string& before, RecordInto into) {
  const TemporaryDirectory folder;
  const std::string path = folder / "a.jsonl";
  if (!before.empty()) EXPECT_TRUE(write_file_atomically(path, before));
  const auto opened = open_to_record(path, into);
  return opened ? "" : opened.error().message();
}

TEST(OpenToRecord, GoesOnWithNothingButAWholeRecording) {
  using enum RecordInto;
  EXPECT_EQ(refusal_to_record("", what_is_there), "");
  EXPECT_EQ(refusal_to_record(three_lines(), what_is_there), "");
  const std::string torn = three_lines() + R"({"taken)";
  EXPECT_THAT(refusal_to_record(torn, what_is_there),
              HasSubstr("breaks off in its last line, 4: nothing was added"));
  EXPECT_THAT(refusal_to_record(torn, what_is_there),
              HasSubstr("truncate -s " + std::to_string(three_lines().size()) + " "));
  const std::string unended = three_lines().substr(0, three_lines().size() - 1);
  EXPECT_THAT(refusal_to_record(unended, what_is_there), HasSubstr("is no whole recording"));
  EXPECT_THAT(refusal_to_record("a letter\n", what_is_there), HasSubstr("is no whole recording"));
}

TEST(OpenToRecord, OverwritesNothing) {
  const TemporaryDirectory folder;
  EXPECT_EQ(refusal_to_record("", RecordInto::new_file), "");
  EXPECT_THAT(refusal_to_record(three_lines(), RecordInto::new_file),
              HasSubstr("--append goes on with a file that is there"));
  for (const RecordInto into : {RecordInto::new_file, RecordInto::what_is_there}) {
    EXPECT_THAT(open_to_record(folder.path(), into).error().message(), HasSubstr("is a folder"));
    EXPECT_THAT(open_to_record("/dev/null", into).error().message(),
                HasSubstr("is no regular file"));
  }
}

}  // namespace
}  // namespace berth
