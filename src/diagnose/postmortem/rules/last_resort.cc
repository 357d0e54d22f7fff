// What is left where nothing says why: the signal, other ranks, the last lines.

#include <algorithm>
#include <array>
#include <csignal>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/explain_log.h"
#include "diagnose/postmortem/postmortem.h"

namespace berth {

namespace {

struct SignalMeaning {
  int signal;
  std::string_view rule;
  Severity severity;
  std::string_view title;
  std::string_view meaning;
  std::string_view step;
  std::string_view command;
  std::string_view doubt;
};

constexpr std::string_view who_sent_it =
    as_key("a signal does not say who sent it: a person, a scheduler, another program");

constexpr auto meanings = std::to_array<SignalMeaning>({
    {SIGSEGV, "segmentation_fault", Severity::error,
     as_key("segmentation fault: compiled code touched memory that is not its own"),
     as_key("Not Python itself: an extension, a library of another version, or a full stack."),
     as_key("let Python say where"), "export PYTHONFAULTHANDLER=1", ""},
    {SIGBUS, "bus_error", Severity::error, as_key("bus error: a page of memory could not be had"),
     as_key("Mostly the shared memory (/dev/shm) is full, else a file that was mapped has become "
            "shorter or its disk fails."),
     as_key("see how full it is"), "df -h /dev/shm", ""},
    {SIGILL, "cpu_illegal_instruction", Severity::error,
     as_key("the program uses an instruction that this CPU lacks"),
     as_key("It was built for a newer CPU (AVX2, AVX-512) than the machine has."),
     as_key("install a build for older CPUs, or use another machine"), "", ""},
    {SIGFPE, "arithmetic_error", Severity::error,
     as_key("arithmetic error: compiled code divided by zero"),
     as_key("An integer division in an extension; floating point does not do this."),
     as_key("let Python say where"), "export PYTHONFAULTHANDLER=1", ""},
    {SIGABRT, "aborted", Severity::warning, as_key("it aborted itself"),
     as_key(
         "A C++ exception that nobody caught, a failed check, or a watchdog of NCCL. Its message "
         "went to where its output went."),
     as_key("run it detached: then its output is kept and read"),
     "berth run --detach -- python train.py", ""},
    {SIGKILL, "killed", Severity::warning, as_key("it was killed (SIGKILL)"),
     as_key("Mostly the kernel does this when the main memory is used up. A scheduler or a person "
            "can do it, too. The program itself could say nothing."),
     as_key("ask the kernel whether it was for want of memory"),
     "dmesg -T | grep -i 'killed process'", who_sent_it},
    {SIGTERM, "terminated", Severity::warning, as_key("it was asked to end (SIGTERM)"),
     as_key("Not by berth: neither a time limit nor berth stop."), "", "", who_sent_it},
    {SIGINT, "interrupted", Severity::hint, as_key("somebody interrupted it (Ctrl-C)"),
     as_key("SIGINT came from its terminal, or from a launcher that ends its children."), "", "",
     ""},
    {SIGHUP, "terminal_closed", Severity::warning, as_key("its terminal was closed"),
     as_key("The connection broke or the window was shut, and the job went with it."),
     as_key("leave it running, also after logout"), "berth run --detach -- python train.py", ""},
    {SIGPIPE, "reader_gone", Severity::warning, as_key("the reader of its output went away"),
     as_key("It wrote into a pipe that nobody reads any more (head, a pager that was left)."), "",
     "", ""},
    {SIGXCPU, "cpu_time_limit", Severity::error, as_key("its CPU time was used up"),
     as_key("A limit of the shell or of the system (ulimit -t) ended it."), as_key("see the limit"),
     "ulimit -t", ""},
    {SIGXFSZ, "file_size_limit", Severity::error, as_key("a file became larger than it may be"),
     as_key("A limit of the shell or of the system (ulimit -f) ended it."), as_key("see the limit"),
     "ulimit -f", ""},
});

Finding finding_of(const SignalMeaning& meaning, const RunRecord& run) {
  Finding finding{.rule = std::string(meaning.rule),
                  .severity = meaning.severity,
                  .title = Sentence(meaning.title),
                  .meaning = Sentence(meaning.meaning),
                  .doubt = Sentence(meaning.doubt)};
  finding.evidence.push_back(
      run.end->exit.signal != 0
          ? sentence("it was ended by {}", signal_name(meaning.signal))
          : sentence("it exited with {}, as a shell does whose program was ended by {}",
                     run.end->exit.code, signal_name(meaning.signal)));
  if (run.end->exit.dumped) finding.evidence.push_back(sentence("its memory was dumped (core)"));
  if (!meaning.step.empty()) {
    finding.steps.push_back({Sentence(meaning.step), std::string(meaning.command)});
  }
  return finding;
}

/// Ended by a signal, and nothing else says why. Says what that signal mostly means, and who may
/// have sent it.
Findings ended_by_signal(const PostmortemEvidence& evidence) {
  if (!has_failed(evidence.run)) return {};
  const int signal = signal_of(evidence.run);
  for (const SignalMeaning& meaning : meanings) {
    if (meaning.signal == signal) return {finding_of(meaning, evidence.run)};
  }
  if (evidence.run.end->exit.signal == 0) return {};
  return {{.rule = "signal",
           .severity = Severity::warning,
           .title = sentence("it was ended by {}", signal_name(signal)),
           .evidence = {sentence("the record of the run")},
           .meaning = sentence("berth sent no such signal."),
           .doubt = Sentence(who_sent_it)}};
}

/// Ranks that one launcher ends together are this close to each other, and clocks of two machines
/// may differ.
std::int64_t apart_ms(const RunRecord& a, const RunRecord& b) {
  return a.manifest.machine_id == b.manifest.machine_id ? 2'000 : 30'000;
}

bool ended_before(const RunRecord& a, const RunRecord& b) {
  return !b.end || a.end->at.unix_ms + apart_ms(a, b) <= b.end->at.unix_ms;
}

/// The rank that failed before this one and before all that failed besides.
const SiblingRank* first_to_fail(const PostmortemEvidence& evidence) {
  const SiblingRank* first = nullptr;
  for (const SiblingRank& one : evidence.siblings) {
    // One that was stopped, or whose time was over, failed at nothing.
    if (!has_failed(one.run) || !one.run.end->because.empty()) continue;
    if (first == nullptr || one.run.end->at.unix_ms < first->run.end->at.unix_ms) first = &one;
  }
  if (first == nullptr || !ended_before(first->run, evidence.run)) return nullptr;
  const bool is_alone = std::ranges::all_of(evidence.siblings, [&](const SiblingRank& one) {
    return &one == first || !has_failed(one.run) || ended_before(first->run, one.run);
  });
  return is_alone ? first : nullptr;
}

Sentence how_it_ended(const SiblingRank& sibling, std::int64_t seconds) {
  const int signal = signal_of(sibling.run);
  const std::string id = printable(sibling.run.manifest.id);
  return signal != 0 ? sentence("rank {} (run {}) was ended by {}, {} s before this one",
                                sibling.rank, id, signal_name(signal), seconds)
                     : sentence("rank {} (run {}) ended with exit code {}, {} s before this one",
                                sibling.rank, id, sibling.run.end->exit.code, seconds);
}

bool was_sent_from_outside(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGKILL;
}

/// Another rank of the job ended first, by its own record: this one then waited for it in vain.
Findings rank_ended_first(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || !run.end->because.empty()) return {};
  const SiblingRank* first = first_to_fail(evidence);
  const auto place = rank_place_of(run.manifest);
  if (first == nullptr || !place) return {};
  const std::int64_t seconds = (run.end->at.unix_ms - first->run.end->at.unix_ms) / 1000;
  Finding finding{
      .rule = "rank_ended_first",
      .severity = Severity::warning,
      .title = sentence("another rank of the job ended first: rank {}", first->rank),
      .evidence = {how_it_ended(*first, seconds)},
      .meaning = sentence("The ranks that are left wait for it in vain, until NCCL's time is over "
                          "or the connection breaks."),
      .steps = {{sentence("see why that one died"),
                 "berth explain " + printable(first->run.manifest.id)}}};
  if (was_sent_from_outside(signal_of(first->run))) {
    finding.doubt = sentence("somebody ended it, and perhaps this one too");
  }
  const std::uint64_t known = evidence.siblings.size() + 1;
  if (known < place->ranks) {
    finding.doubt =
        sentence("only {} of {} ranks have a record here: one of the others may have ended before",
                 known, place->ranks);
  }
  return {std::move(finding)};
}

/// It was held to its share of memory and failed; its output, which would say whether for that,
/// does not.
Findings share_refused(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (!has_failed(run) || !run.end->because.empty() || evidence.refusals == 0) return {};
  return {{.rule = "share_refused",
           .severity = Severity::warning,
           .title = sentence("it wanted more memory than its share"),
           .evidence = {sentence("what holds it to its share refused allocations: {}",
                                 evidence.refusals)},
           .meaning = sentence("Most programs end with an error of CUDA's then: out of memory."),
           .steps = {{sentence("ask for as much memory as it needs"),
                      "berth run --memory …G -- python train.py"},
                     {sentence("run it detached: then its output is kept and read"),
                      "berth run --detach -- python train.py"}},
           .doubt = sentence("a program may go on after a refusal, and end for another reason")}};
}

Finding end_finding() {
  return {
      .rule = "end_unknown",
      .severity = Severity::warning,
      .title = sentence("how it ended is not recorded"),
      .evidence = {sentence("its keeper has gone without writing the end")},
      .meaning = sentence("The machine went down, the disk was full, or somebody killed berth's "
                          "own processes."),
      .steps = {{sentence("see when the machine was started last"), "uptime -s"}}};
}

/// How it ended is not recorded.
Findings end_unknown(const PostmortemEvidence& evidence) {
  const RunRecord& run = evidence.run;
  if (run.end && run.end->known) return {};
  Finding finding = end_finding();
  Finding no_container{.rule = "end_unknown",
                       .severity = Severity::warning,
                       .title = finding.title,
                       .meaning = sentence("The run ends with its container, and there was none."),
                       .steps = {{sentence("see what the engine's command does here"), ""}}};
  add_events("container_not_made", evidence, no_container);
  return {no_container.evidence.empty() ? std::move(finding) : std::move(no_container)};
}

/// Nothing says why: then the last lines of its log, where there is one.
Findings last_lines(const PostmortemEvidence& evidence) {
  constexpr std::size_t most_lines = 12;
  if (evidence.log == nullptr || evidence.log->size() == 0) return {};
  Finding finding{.rule = "last_lines",
                  .severity = Severity::hint,
                  .title = sentence("the last lines of its log"),
                  .meaning = sentence("Nothing surer is known: they may tell more.")};
  for (const std::string& line : last_lines(*evidence.log, most_lines)) {
    finding.evidence.push_back(Sentence::as_is(line));
  }
  return {std::move(finding)};
}

}  // namespace

std::span<const PostmortemRule> last_resort_rules() {
  static constexpr PostmortemRule rules[] = {
      {.find = ended_by_signal,
       .asked = PostmortemRule::Asked::without_cause,
       .reports = {{"segmentation_fault, bus_error, cpu_illegal_instruction, arithmetic_error, "
                    "cpu_time_limit, file_size_limit",
                    "error", "the signal, also where a shell made 128 + n of it", "yes"},
                   {"aborted, terminal_closed, reader_gone", "warning",
                    "the signal; whose it was is known or does not matter", "–"},
                   {"interrupted", "hint", "the signal; whose it was is known or does not matter",
                    "–"},
                   {"killed, terminated, signal", "warning", "the signal; berth did not send it",
                    "doubt: a signal does not say who sent it"}}},
      {.find = share_refused,
       .asked = PostmortemRule::Asked::without_error,
       .reports = {{"share_refused", "warning",
                    "the account of its memory cap: allocations were refused",
                    "doubt: programs may go on after it"}}},
      {.find = rank_ended_first,

       .reports = {{"rank_ended_first", "warning",
                    "[another rank's own record](#which-rank-stopped-first) says that it had "
                    "failed before",
                    "doubt where a rank has no record here"}}},
      {.find = end_unknown,
       .asked = PostmortemRule::Asked::without_error,
       .reports = {{"end_unknown", "warning", "the keeper has gone without writing the end", "–"}}},
      {.find = last_lines,
       .asked = PostmortemRule::Asked::without_error,
       .reports = {{"last_lines", "hint", "nothing surer is known and there is a log",
                    "no cause: exit code 1"}}},
  };
  return rules;
}

}  // namespace berth
