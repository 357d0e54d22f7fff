// Ended by a signal, where nothing else says why: what that signal mostly means, and whose it can
// have been.

#include <array>
#include <csignal>

#include "base/tr.h"
#include "diagnose/death/rules.h"

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
     as_key("Mostly the kernel does this when the main memory is used up; a scheduler or a person "
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
    {SIGPIPE, "reader_gone", Severity::warning, as_key("whoever read its output went away"),
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
                  .title = Sentence(meaning.title, {}),
                  .evidence = {},
                  .meaning = Sentence(meaning.meaning, {}),
                  .steps = {},
                  .doubt = Sentence(meaning.doubt, {})};
  finding.evidence.push_back(
      run.end->exit.signal != 0
          ? sentence("it was ended by {}", signal_name(meaning.signal))
          : sentence("it exited with {}, as a shell does whose program was ended by {}",
                     run.end->exit.code, signal_name(meaning.signal)));
  if (run.end->exit.dumped) finding.evidence.push_back(sentence("its memory was dumped (core)"));
  if (!meaning.step.empty()) {
    finding.steps.push_back({Sentence(meaning.step, {}), std::string(meaning.command)});
  }
  return finding;
}

}  // namespace

Findings ended_by_signal(const DeathEvidence& evidence) {
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
           .steps = {},
           .doubt = Sentence(who_sent_it, {})}};
}

}  // namespace berth
