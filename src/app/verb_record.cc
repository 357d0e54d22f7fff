// `berth record FILE`: what the machine does, one snapshot a line, for `--replay FILE`.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <tuple>

#include "app/live.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/sentence.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/replay/replay.h"
#include "snapshot/json.h"

namespace berth {

namespace {

class RecordVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.required_word("file", file_, "the file to write; - is stdout", "FILE");
    options.filled_value("-d,--delay", delay_, "look again every so often (1s)", "TIME");
    options.filled_value("--for", for_, "stop after so long (until Ctrl-C)", "TIME");
    options.flag("-a,--append", append_, "go on with a recording that is there");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    const auto delay = parse_duration(delay_);
    if (!delay) return report(Error(delay.error()).at("-d"), exit_code::usage);
    std::optional<std::chrono::milliseconds> length;
    if (!for_.empty()) {
      const auto parsed = parse_duration(for_);
      if (!parsed) return report(Error(parsed.error()).at("--for"), exit_code::usage);
      length = *parsed;
    }
    const std::string begins =
        length ? std::string()
               : trf("recording to {} until Ctrl-C", file_ == "-" ? "stdout" : printable(file_));
    const bool was_there = is_there(file_);
    auto out = open_file();
    if (!out) return report(out.error());
    const int code = record_to(context, *out, *delay, length, begins);
    struct stat facts{};
    const bool is_empty = ::fstat(out->get(), &facts) == 0 && facts.st_size == 0;
    // An empty file would stand in the way of the next try.
    if (code != exit_code::ok && is_empty && file_ != "-" && !was_there) ::unlink(file_.c_str());
    return code;
  }

 private:
  int record_to(Context& context, const Fd& out, Duration delay, std::optional<Duration> length,
                const std::string& begins) const {
    auto signals = SignalQueue::open();
    if (!signals) return report(signals.error());
    auto live = Live::start(context);
    if (!live) return report(live.error());
    if (!begins.empty() && ::isatty(STDERR_FILENO) == 1) complain(begins);
    return record(context, *live, *signals, out.get(),
                  std::max<Duration>(delay, std::chrono::milliseconds(100)), length);
  }

  [[nodiscard]] Result<Fd> open_file() const {
    if (file_ == "-") return Fd(::dup(STDOUT_FILENO));
    return open_to_record(file_, append_ ? RecordInto::what_is_there : RecordInto::new_file);
  }

  int record(Context& context, Live& live, SignalQueue& signals, int out, Duration delay,
             std::optional<Duration> length) const {
    const Instant began = context.clock().now();
    Instant next = began;
    std::size_t count = 0;
    SaidProblems said;
    while (true) {
      const off_t whole = ::lseek(out, 0, SEEK_END);  // -1: no file
      const Snapshot snapshot = live.look(Depth::everything);
      for (const Problem& problem : snapshot.problems) {
        if (said.is_new(problem)) complain(printable(problem.message.shown()));
      }
      // A whole line in one write: a reader of the file sees no half of one.
      const auto written = write_all(out, to_json(snapshot, JsonLayout::compact) + "\n");
      if (!written) {
        if (whole >= 0) std::ignore = ::ftruncate(out, whole);  // the half of our line
        return report(gave_up(written.error(), count));
      }
      ++count;
      next = std::max(next + delay, context.clock().now());
      if (length && next - began >= *length) break;
      if (ends(context, signals, next)) break;
    }
    complain(count == 1 ? std::string(tr("1 snapshot was recorded"))
                        : trf("{} snapshots were recorded", count));
    return exit_code::ok;
  }

  [[nodiscard]] Error gave_up(const Error& why, std::size_t count) const {
    if (file_ == "-") return Error(why).because(sentence("snapshot {}", count + 1));
    const std::string file = printable(file_);
    return {why.code(), count == 0
                            ? sentence("{}: {}: nothing was recorded", file, why.said())
                            : sentence("{}: {}; the snapshots before ({}) are kept whole: --append "
                                       "goes on with them",
                                       file, why.said(), count)};
  }

  /// Waits; true: somebody wants us to stop.
  static bool ends(Context& context, SignalQueue& signals, Instant next) {
    while (context.clock().now() < next) {
      static_cast<void>(wait_readable({signals.descriptor()}, next - context.clock().now()));
      while (const auto signal = signals.next()) {
        const int number = signal->number;
        if (number == SIGTSTP || number == SIGTTIN || number == SIGTTOU) stop_self(number);
        if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
          return true;
        }
      }
    }
    return false;
  }

  std::string file_, for_;
  std::string delay_ = "1s";
  bool append_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_record() { return std::make_unique<RecordVerb>(); }

}  // namespace berth
