#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

/// How asking it ended; empty: it was not asked, or it answered.
Sentence end_of_asking(const InterpreterAnswer& answer) {
  switch (answer.end) {
    case InterpreterEnd::not_asked:
    case InterpreterEnd::answered:
      return {};
    case InterpreterEnd::took_too_long:
      return sentence("asked for its version it had not answered after 5 s and was ended");
    case InterpreterEnd::crashed:
      return sentence("asked for its version it ended by signal {}", answer.code);
    case InterpreterEnd::failed:
      return sentence("asked for its version it ended with exit code {}", answer.code);
    case InterpreterEnd::not_python:
      return sentence("asked for its version it ended without saying one, as no Python does");
    case InterpreterEnd::not_started:
      return sentence("it could not be started");
  }
  return {};
}

}  // namespace

Findings interpreter_silent(const Examined& host) {
  if (!host.world.python) return {};
  const PythonWorld& python = *host.world.python;
  Sentence end = end_of_asking(python.answer);
  if (end.empty()) return {};
  std::vector<Sentence> evidence = {std::move(end)};
  if (!python.answer.wrote.empty()) {
    evidence.push_back(sentence("it wrote: {}", python.answer.wrote));
  }
  // Somebody meant that one; what merely stands first in PATH may be nobody's.
  const bool is_named = python.found_by == "--python";
  return {{.rule = "interpreter_silent",
           .severity = is_named ? Severity::error : Severity::warning,
           .title = sentence("{} does not answer as a Python interpreter does", python.interpreter),
           .evidence = std::move(evidence),
           .meaning = sentence("What programs find that are started with it is not known."),
           .steps = {
               {sentence("see what it says"), "timeout 10 " + shell_quoted(python.interpreter) +
                                                  " -c 'import sys; print(sys.version)'"},
               {sentence("name the interpreter or environment that you use with --python"), ""}}}};
}

}  // namespace berth::doctor
