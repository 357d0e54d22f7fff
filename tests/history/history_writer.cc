// history_writer write FILE FROM TO
//   a look a second of a made-up time, each one committed; prints the number of each that the store
//   has taken
// history_writer check FILE FROM TO
//   each of these seconds is there once, with the right number
// history_writer load FILE SECONDS
//   ExampleLoad up to now, for `berth history` to read
//
// Notes of the store go to stderr.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "record/history/example_load.h"
#include "record/history/reader.h"
#include "record/history/store.h"
#include "snapshot/builder.h"

namespace {

using namespace berth;
using namespace berth::literals;

constexpr std::int64_t start = 1'760'000'400'000 / 3'600'000 * 3'600'000;

std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

Snapshot look_at(std::int64_t second) {
  Snapshot snapshot =
      SnapshotBuilder().gpu("GPU-a", 80_GiB).claim("alice").process(4711, "alice", 9_GiB).build();
  snapshot.taken = {start + second * 1000};
  snapshot.claims[0].since = {start};
  snapshot.devices[0].power_draw = Milliwatts(static_cast<std::uint64_t>(second) * 7);
  return snapshot;
}

void tell(HistoryStore& store) {
  for (const std::string& note : store.take_notes()) std::fprintf(stderr, "%s\n", note.c_str());
}

std::int64_t after_the_last(const std::string& path) {
  auto reader = HistoryReader::open(path);
  const auto facts = reader ? reader->facts() : Result<HistoryFacts>(HistoryFacts{});
  if (!facts || !facts->last_sample) return 0;
  return (facts->last_sample->unix_ms - start) / 1000 + 1;
}

int write(const std::string& path, std::int64_t from, std::int64_t to) {
  SystemClock clock;
  auto store = HistoryStore::open(path, {.commit_every = std::chrono::milliseconds(0)}, clock);
  if (!store) return complain(store.error());
  int code = 0;
  for (std::int64_t second = from; second < to; ++second) {
    const auto done = store->append(look_at(second));
    tell(*store);
    if (!done) {
      code = 3;  // and go on: so does a server
      continue;
    }
    std::printf("%lld\n", static_cast<long long>(second));
    std::fflush(stdout);
  }
  std::fprintf(stderr, "lost %llu\n", static_cast<unsigned long long>(store->lost_samples()));
  return code;
}

int check(const std::string& path, std::int64_t from, std::int64_t to) {
  SystemClock clock;
  {
    auto store = HistoryStore::open(path, {}, clock);
    if (!store) return complain(store.error());
    const auto verified = store->verify();
    if (!verified) return complain(verified.error());
    const auto notes = store->take_notes();
    if (!notes.empty()) return complain(Error(ErrorCode::invalid, Sentence(notes.front())));
  }
  auto reader = HistoryReader::open(path);
  if (!reader) return complain(reader.error());
  const auto series = reader->series({.devices = {DeviceId("GPU-a")},
                                      .metric = "power_draw_milliwatts",
                                      .since = {start + from * 1000},
                                      .until = {start + to * 1000},
                                      .points = static_cast<std::size_t>(to - from)});
  if (!series) return complain(series.error());
  std::int64_t second = from;
  for (const SeriesPoint& point : series->front().points) {
    const bool is_right = point.at.unix_ms == start + second * 1000 && point.samples == 1 &&
                          point.mean == static_cast<double>(second * 7);
    if (!is_right) {
      std::fprintf(stderr, "second %lld is not there, or wrong\n", static_cast<long long>(second));
      return 1;
    }
    ++second;
  }
  std::printf("%lld\n", static_cast<long long>(second - from));
  return series->front().damaged_blocks == 0 && second == to ? 0 : 1;
}

int load(const std::string& path, std::int64_t seconds) {
  SystemClock clock;
  auto store = HistoryStore::open(path, {}, clock);
  if (!store) return complain(store.error());
  history::ExampleLoad load;
  const WallTime first{clock.wall_now().unix_ms - seconds * 1000};
  for (std::int64_t second = 0; second < seconds; ++second) {
    Snapshot look = load.look(first, second);
    look.simulated = "example";
    Claim claim{.id = "lease-1",
                .run = "20251121-014946-k3f9q2",
                .user = "alice",
                .command = "python train.py",
                .since = first};
    claim.devices.push_back({look.devices[0].id, std::nullopt});
    look.claims.push_back(claim);
    const auto done = store->append(look);
    if (!done) return complain(done.error());
  }
  tell(*store);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 2 ? argv[1] : "";
  if (verb == "write" && argc == 5) {
    const bool goes_on = std::string_view(argv[3]) == "next";
    const std::int64_t from = goes_on ? after_the_last(argv[2]) : number_in(argv[3]);
    return write(argv[2], from, number_in(argv[4]));
  }
  if (verb == "check" && argc == 5) return check(argv[2], number_in(argv[3]), number_in(argv[4]));
  if (verb == "load" && argc == 4) return load(argv[2], number_in(argv[3]));
  std::fprintf(stderr, "usage: history_writer write|check FILE FROM TO | load FILE SECONDS\n");
  return 2;
}
