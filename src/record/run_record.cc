#include "record/run_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/lock.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/record_lines.h"
#include "record/record_writer.h"

namespace berth {

namespace {

Result<Fd> open_in(const RunRecord& run, std::string_view file) {
  return open_file_of(run.owner, run.directory, std::string(file));
}

Result<std::string> read_in(const RunRecord& run, std::string_view file, std::size_t limit) {
  return read_file_of(run.owner, run.directory, std::string(file), limit);
}

/// The job outlives a keeper that was killed together with its heir.
bool job_lives(const RunRecord& run) { return run.manifest.job && lives(*run.manifest.job); }

/// Another machine's record in a shared home, or one of an earlier boot of this one.
enum class Origin { here, earlier_boot, elsewhere };
Origin origin_of(const Manifest& manifest) {
  // A boot id is one kernel's alone. A machine id may be missing (containers): two missing ones are
  // not the same machine.
  const std::string boot = own_boot_id();
  if (!boot.empty() && boot == manifest.boot_id) return Origin::here;
  const std::string machine = own_machine_id();
  return !machine.empty() && machine == manifest.machine_id ? Origin::earlier_boot
                                                            : Origin::elsewhere;
}

/// What the samples alone tell of a run whose keeper has gone.
Result<RunEnd> unknown_end_of(const RunRecord& run) {
  RunEnd end{
      .at = run.manifest.started,
      .known = false,
      .because = std::string(as_key("the keeper has gone without saying how the job ended"))};
  if (run.manifest.waiting) {
    end.because = as_key("the process that waited for a device has gone without a word");
  }
  Summarizer summarizer;
  const auto read = for_each_sample(run, [&](const Sample& sample) {
    end.at = std::max(end.at, sample.at);
    summarizer.add(sample);
  });
  if (!read) return std::unexpected(read.error());
  end.summary = summarizer.summary();
  return end;
}

/// By what the record says of its end. False: it says none that can be read.
bool take_end(RunRecord& run) {
  const auto text = read_in(run, record_file::end, 1 << 20);
  if (!text) return false;
  auto end = end_from_json(*text);
  if (!end) {
    run.problems.push_back(std::move(end).error().because("reading its end").said());
    return false;
  }
  run.state = end->known ? RunState::ended : RunState::end_unknown;
  if (end->time_limit_ms) run.manifest.time_limit_ms = end->time_limit_ms;
  run.end = std::move(*end);
  return true;
}

bool has_end(const RunRecord& run) {
  return ::access((run.directory + "/" + std::string(record_file::end)).c_str(), F_OK) == 0;
}

bool is_handed_to_slurm(const RunRecord& run) {
  return ::access((run.directory + "/" + std::string(record_file::slurm)).c_str(), F_OK) == 0;
}

void settle_state(RunRecord& run) {
  if (take_end(run)) return;
  const bool unreadable = has_end(run);
  // Slurm has it, and starts it wherever it likes.
  if (!unreadable && run.manifest.waiting && is_handed_to_slurm(run)) {
    run.state = RunState::waiting;
    return;
  }
  const Origin origin = origin_of(run.manifest);
  if (origin == Origin::elsewhere) {
    run.state = RunState::elsewhere;
    return;
  }
  if (origin == Origin::here && (is_kept(run) || job_lives(run))) {
    run.state = run.manifest.waiting ? RunState::waiting : RunState::running;
    return;
  }
  run.state = RunState::end_unknown;
  // Its keeper may have written the end since, and gone.
  if (unreadable || take_end(run) || has_end(run)) return;
  auto end = unknown_end_of(run);
  if (!end) {
    // What is written stays: nothing, until the samples can be read.
    run.problems.push_back(std::move(end).error().because("reading its samples").said());
    return;
  }
  // The record may be on a read-only disk: then it reads as "end unknown" all the same.
  const OwnersRights rights(run.owner);
  if (rights.are_there()) (void)write_end_into(run.directory, *end);
  run.end = std::move(*end);
}

}  // namespace

std::string_view Manifest::spec_of(std::string_view key) const {
  const auto found = std::ranges::find(spec, key, &std::pair<std::string, std::string>::first);
  return found == spec.end() ? std::string_view() : found->second;
}

std::string_view name_of(RunState state) {
  switch (state) {
    case RunState::waiting:
      return "waiting";
    case RunState::running:
      return "running";
    case RunState::ended:
      return "ended";
    case RunState::end_unknown:
      return "end unknown";
    case RunState::elsewhere:
      return "elsewhere";
  }
  return "end unknown";
}

bool is_kept(const RunRecord& run) {
  const auto lock = open_in(run, record_file::keeper_lock);
  if (lock) {
    const auto locked = is_ofd_locked(lock->get());
    if (locked) return *locked;
  }
  return lives(run.manifest.keeper);  // where locks cannot be asked
}

JobEnding ending_of(const RunRecord& run) {
  if (!run.end || !run.end->known) return JobEnding::unknown;
  if (run.end->gave_back) return JobEnding::gave_back;
  return run.end->exit.code == 0 && run.end->exit.signal == 0 ? JobEnding::with_0
                                                              : JobEnding::badly;
}

bool ended_well(const RunRecord& run) {
  return run.state == RunState::ended && ending_of(run) == JobEnding::with_0 &&
         run.end->because.empty();
}

bool was_never_started(const RunRecord& run) {
  if (!run.end || !run.manifest.waiting) return false;  // else a full disk kept the start from it
  const std::string& because = run.end->because;
  return !run.end->known || because == end_cause::no_device || because == end_cause::left_queue ||
         because == end_cause::not_started;
}

bool has_no_job(const RunRecord& run) {
  return run.state == RunState::waiting || was_never_started(run);
}

std::chrono::milliseconds waited(const RunRecord& run, const Moment& now) {
  std::int64_t ms = run.manifest.waited_ms;
  if (run.state == RunState::waiting) {
    // Numbers of a hostile file must not overflow.
    (void)__builtin_sub_overflow(time_in(run.manifest, now).unix_ms, run.manifest.started.unix_ms,
                                 &ms);
  }
  return std::chrono::milliseconds(std::max<std::int64_t>(ms, 0));
}

bool is_ended_by_warning(const RunRecord& run) {
  if (!run.end || run.end->because != end_cause::time_limit || run.end->exit.signal == 0) {
    return false;
  }
  const auto limit = run.manifest.time_limit_ms;
  return limit && run.end->lasted_ms && *run.end->lasted_ms < *limit;
}

std::string runs_directory(const std::string& state_directory) { return state_directory + "/runs"; }

std::string state_directory_of(const std::string& run_directory) {
  const std::string runs = run_directory.substr(0, run_directory.rfind('/'));
  return runs.ends_with("/runs") ? runs.substr(0, runs.rfind('/')) : std::string();
}

std::string make_run_id(std::string_view machine_id, std::string_view boot_id, WallTime now,
                        pid_t pid) {
  constexpr std::string_view letters = "abcdefghijkmnpqrstuvwxyz23456789";  // no l 1 o 0
  static_assert(letters.size() == 32);
  std::uint64_t hash = hash_of(fmt::format("{}/{}/{}/{}", machine_id, boot_id, now.unix_ms, pid));
  std::string tail;
  for (int at = 0; at < 6; ++at) {
    tail += letters[hash % letters.size()];
    hash /= letters.size();
  }
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(now.unix_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}{:02}{:02}-{:02}{:02}{:02}-{}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(), tail);
}

namespace {
/// A hundred thousand lines and more: a program that writes nothing but marks, or not marks.
constexpr std::size_t most_marks = 4 << 20;

void note_many_marks(RunRecord& run) {
  const auto marks = open_in(run, record_file::marks);
  struct stat facts{};
  if (!marks || ::fstat(marks->get(), &facts) != 0) return;
  if (facts.st_size <= static_cast<off_t>(most_marks)) return;
  run.problems.push_back(sentence("its marks take {}: those in the first {} are read",
                                  short_size(Bytes(static_cast<std::uint64_t>(facts.st_size))),
                                  short_size(Bytes(most_marks))));
}

/// The beginning of its marks; nothing where there are none.
std::string beginning_of_marks(const RunRecord& run, std::size_t most) {
  const auto fd = open_in(run, record_file::marks);
  std::string text(most, '\0');
  std::size_t have = 0;
  while (fd && have < most) {
    const ssize_t got = ::read(fd->get(), text.data() + have, most - have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}
}  // namespace

Result<RunRecord> read_run(const std::string& directory) {
  const auto owner = owner_of_folder(directory);
  if (!owner) return std::unexpected(owner.error());
  return read_run(directory, *owner);
}

Result<RunRecord> read_run(const std::string& directory, const FileOwner& owner) {
  RunRecord run{.directory = directory, .owner = owner};
  const auto text = read_in(run, record_file::manifest, 16 << 20);
  if (!text) return std::unexpected(text.error());
  auto manifest = manifest_from_json(*text);
  if (!manifest) {
    return std::unexpected(std::move(manifest).error().because("reading the record {}", directory));
  }
  run.manifest = std::move(*manifest);
  settle_state(run);
  note_many_marks(run);
  return run;
}

WallTime time_in(const Manifest& manifest, const Moment& now) {
  if (!manifest.started_steady_ms) return now.wall;
  return {manifest.started.unix_ms +
          std::max<std::int64_t>(steady_ms(now.steady) - *manifest.started_steady_ms, 0)};
}

std::optional<std::chrono::milliseconds> lasted(const RunRecord& run, const Moment& now) {
  // Numbers of a hostile file must not overflow.
  constexpr std::uint64_t hundred_years = 3'155'760'000'000;
  if (!run.end && run.state != RunState::running) return std::nullopt;
  if (was_never_started(run)) return std::nullopt;
  if (run.end && run.end->lasted_ms)
    return std::chrono::milliseconds(std::max<std::int64_t>(*run.end->lasted_ms, 0));
  const WallTime until = run.end ? run.end->at : time_in(run.manifest, now);
  if (until < run.manifest.started) return std::chrono::milliseconds(0);
  const std::uint64_t lasted = static_cast<std::uint64_t>(until.unix_ms) -
                               static_cast<std::uint64_t>(run.manifest.started.unix_ms);
  return std::chrono::milliseconds(std::min(lasted, hundred_years));
}

namespace {
/// What the samples know of when a piece of the marks file was written.
MarkTimes mark_times_of(const RunRecord& run) {
  MarkTimes times{.before_all = run.manifest.started};
  (void)for_each_sample(
      run, [&](const Sample& sample) { times.seen.push_back({sample.marks_bytes, sample.at}); });
  times.after_all = run.end              ? run.end->at
                    : times.seen.empty() ? run.manifest.started
                                         : times.seen.back().at;
  return times;
}

}  // namespace

std::vector<Mark> marks_of(const RunRecord& run) {
  const std::string text = beginning_of_marks(run, most_marks);
  if (text.empty()) return {};
  return parse_marks(text, mark_times_of(run));
}

std::vector<RunEvent> events_of(const RunRecord& run) {
  const auto text = read_in(run, record_file::events, 16 << 20);
  if (!text) return {};
  return parse_events(*text);
}

namespace {
/// Two months of eight devices, at 800 bytes a second.
constexpr std::uint64_t most_samples_of_others = std::uint64_t{4} << 30;

/// Holes cost their owner nothing, and another reader a second for each gigabyte. No
/// file system squeezes samples to a sixty-fourth.
bool is_mostly_holes(int fd) {
  struct stat facts{};
  constexpr off_t block = 512;
  return ::fstat(fd, &facts) == 0 && facts.st_size > (off_t{1} << 20) &&
         facts.st_blocks < facts.st_size / block / 64;
}

std::unexpected<Error> too_much_for_others(const RunRecord& run) {
  return fail(ErrorCode::invalid,
              "the samples of {} are more than is read of another user's: ask as them",
              run.directory);
}
}  // namespace

Result<SamplesRead> for_each_sample(const RunRecord& run,
                                    const std::function<void(const Sample&)>& each) {
  const auto fd = open_in(run, record_file::samples);
  if (!fd) {
    if (fd.error().code() == ErrorCode::not_found) return SamplesRead{};  // none was taken
    return std::unexpected(fd.error());
  }
  const bool is_ours = run.owner.uid == ::geteuid();
  if (!is_ours && is_mostly_holes(fd->get())) return too_much_for_others(run);
  SampleReader reader;
  std::array<char, 16384> piece{};
  std::uint64_t left = is_ours ? UINT64_MAX : most_samples_of_others;
  for (;;) {
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0) return fail_system(errno, "read the samples of {}", run.directory);
    if (got == 0) return SamplesRead{.torn_lines = reader.torn_lines()};
    if (static_cast<std::uint64_t>(got) > left) return too_much_for_others(run);
    left -= static_cast<std::uint64_t>(got);
    reader.feed({piece.data(), static_cast<std::size_t>(got)}, each);
  }
}

Result<Fd> open_log(const RunRecord& run) {
  if (!run.manifest.log) {
    return fail(ErrorCode::unsupported,
                "the output of run {} went to where it was started: only detached runs have a log",
                run.manifest.id);
  }
  // The path is what the user has put into his record: it may be anything.
  const std::string_view path = *run.manifest.log;
  const std::string folder = run.directory + "/";
  const bool is_inside =
      path.starts_with(folder) && path.find('/', folder.size()) == std::string_view::npos;
  auto fd = open_file_of(run.owner, run.directory,
                         std::string(is_inside ? path.substr(folder.size()) : path));
  // What stood there before is not this run's. A file that has been cut since has nothing before.
  struct stat facts{};
  const std::uint64_t from = run.manifest.log_from.value_or(0);
  const bool has_it = from > 0 && fd && ::fstat(fd->get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                      static_cast<std::uint64_t>(facts.st_size) >= from;
  if (has_it) (void)::lseek(fd->get(), static_cast<off_t>(from), SEEK_SET);
  return fd;
}

Summary summary_of(const RunRecord& run) {
  if (run.end) return run.end->summary;
  Summarizer summarizer;
  (void)for_each_sample(run, [&](const Sample& sample) { summarizer.add(sample); });
  return summarizer.summary();
}

Summary summary_lately(const RunRecord& run) {
  if (run.end) return run.end->summary;
  Summarizer summarizer;
  const auto fd = open_file_of(run.owner, run.directory, std::string(record_file::samples));
  struct stat status{};
  if (!fd || ::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  constexpr off_t some_minutes = 256 << 10;
  std::string text(static_cast<std::size_t>(std::min(status.st_size, some_minutes)), '\0');
  const off_t from = status.st_size - static_cast<off_t>(text.size());
  const ssize_t got = ::pread(fd->get(), text.data(), text.size(), from);
  if (got <= 0) return {};
  text.resize(static_cast<std::size_t>(got));
  SampleReader reader;
  if (from > 0) {
    text.erase(0, text.find('\n') + 1);  // a line that is cut
    // The first line names the columns.
    std::string first(std::size_t{16} << 10, '\0');
    const ssize_t had = ::pread(fd->get(), first.data(), first.size(), 0);
    first.resize(had > 0 ? static_cast<std::size_t>(had) : 0);
    first.resize(std::min(first.size(), first.find('\n') + 1));
    reader.feed(first, [](const Sample&) {});
  }
  reader.feed(text, [&](const Sample& sample) { summarizer.add(sample); });
  return summarizer.summary();
}

Summary summary_until(const RunRecord& run, WallTime ended) {
  Summarizer summarizer;
  (void)for_each_sample(run, [&](const Sample& sample) { summarizer.add(sample); });
  summarizer.end(ended);
  return summarizer.summary();
}

Result<void> append_mark(const std::string& marks_path, WallTime now, std::string_view text) {
  if (trimmed(text).empty()) return fail(ErrorCode::invalid, "a mark needs a text: epoch=3");
  const auto fd = open_fd(marks_path, O_WRONLY | O_APPEND | O_NOFOLLOW);
  if (!fd) return std::unexpected(fd.error());
  return write_all(fd->get(), mark_line(now.unix_ms, text));
}

}  // namespace berth
