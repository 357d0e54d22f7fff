#include "view/postmortem_text.h"

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "diagnose/postmortem/postmortem.h"
#include "view/findings_text.h"
#include "view/paint.h"
#include "view/runs_text.h"
#include "view/values.h"

namespace berth {

namespace {

std::string heading(const Explained& what, const Moment& now, const Style& style) {
  Line line(style);
  if (what.run == nullptr) return "";
  const RunRecord& run = *what.run;
  if (run.manifest.given.simulated) {
    // Never translated: the mark on a screenshot must be understood by everybody.
    line.add("SIMULATED " + outside(*run.manifest.given.simulated, style), Paint::yellow).add("  ");
  }
  line.add(outside(run.manifest.id, style), Paint::bold).add("  ");
  std::string state = state_text(run);
  if (const auto took = lasted(run, now)) state += " " + trf("after {}", short_duration(*took));
  line.add(own(state, style));
  std::string text = line.text();
  if (!run.manifest.command.empty()) {
    text += wrapped("  ", outside(shell_joined(run.manifest.command), style), 4, style, Paint::dim);
  }
  if (has_invented_figures(run)) {
    text += warning_line(own(invented_figures_text(), style), style);
  }
  return text + "\n";
}

std::string nothing_found(const Explained& what, const Style& style) {
  if (what.run != nullptr && ended_in_order(*what.run)) {
    const std::string_view told = ending_of(*what.run) == JobEnding::gave_back
                                      ? tr("It gave its devices back: there is nothing to explain.")
                                      : tr("It ended well: there is nothing to explain.");
    return wrapped("", own(told, style), 2, style, Paint::green);
  }
  if (what.run == nullptr) {
    return wrapped("", own(tr("No error that berth knows stands in this log."), style), 2, style);
  }
  return wrapped("", own(tr("Nothing that is known of the run says why."), style), 2, style);
}

}  // namespace

std::string render_explanation(const Explained& what, const Findings& findings, const Moment& now,
                               const Style& style) {
  std::string text = heading(what, now, style);
  text += findings.empty() ? nothing_found(what, style) : render_findings(findings, style);
  const bool well = what.run != nullptr && ended_in_order(*what.run);
  if (!what.why_no_log.empty() && !well) {
    text += "\n" + warning_line(own(what.why_no_log, style), style);
  }
  if (what.log_cut) {
    text +=
        "\n" +
        warning_line(own(tr("The log is larger than 8 MiB: only its end was read."), style), style);
  }
  return text;
}

std::string explanation_json(const Explained& what, const Findings& findings) {
  std::optional<std::string> run;
  std::optional<std::string> simulated;
  std::optional<bool> well;
  if (what.run != nullptr) {
    run = what.run->manifest.id;
    simulated = what.run->manifest.given.simulated;
    const JobEnding ending = ending_of(*what.run);
    const bool is_told = what.run->state != RunState::running && ending != JobEnding::gave_back;
    if (is_told) well = ending == JobEnding::with_0;
  }
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_explain", 1);
                      archive.derived("run", run);
                      archive.derived("simulated", simulated);
                      archive.derived("log", what.log, Form::nullable);
                      archive.derived("log_cut", what.log_cut);
                      archive.derived("ended_well", well);
                      archive.derived("findings", findings);
                    }) +
         "\n";
}

std::string render_cause_line(const Finding& cause, const RunRecord& run, const Style& style) {
  std::string text;
  if (run.manifest.given.simulated) text += "SIMULATED ";
  text += own(trf("why: {} (more: berth explain {})", cause.title.shown(), run.manifest.id), style);
  return outside(text, style) + "\n";
}

std::string render_output_not_kept(const Style& style) {
  return own(tr("its output was not kept: berth run -d keeps it, berth explain --log FILE reads a "
                "copy"),
             style) +
         "\n";
}

}  // namespace berth
