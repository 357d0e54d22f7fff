#include "run/unrecorded.h"

#include <unistd.h>

#include "base/text.h"
#include "record/record_writer.h"
#include "run/tree.h"

namespace berth {

RunRecord run_of_claim(const Claim& claim) {
  RunRecord run;
  run.manifest.id = claim.run;
  run.manifest.uid = claim.uid;
  run.manifest.user = claim.user;
  run.manifest.keeper = claim.keeper.value_or(ProcessId{});
  run.manifest.job = claim.job;
  run.manifest.lease = claim.id;
  run.state = RunState::running;
  return run;
}

RunRecord known_of(const Manifest& manifest, const Exit& exit, const std::string& because,
                   Duration lasted) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(lasted).count();
  RunRecord known;
  known.manifest = manifest;
  known.state = RunState::ended;
  known.end = RunEnd{.at = {manifest.started.unix_ms + ms},
                     .exit = exit,
                     .lasted_ms = ms,
                     .because = because,
                     .released = std::nullopt,
                     .cpu_ms = std::nullopt};
  return known;
}

Result<RunRecord> unrecorded_run(std::string_view name, const std::vector<Claim>& claims,
                                 const std::string& proc) {
  std::vector<const Claim*> found;
  for (const Claim& claim : claims) {
    // What another user's lease says of processes is theirs to say, and not to be acted on.
    if (name.empty() || claim.run.empty() || claim.uid != ::getuid()) continue;
    if (claim.run == name) return run_of_claim(claim);
    if (claim.run.starts_with(name) || claim.run.ends_with(name)) found.push_back(&claim);
  }
  if (found.size() == 1) return run_of_claim(*found.front());
  if (found.size() > 1) {
    return fail(ErrorCode::invalid, "\"{}\" means several runs ({}, {}): give more of the id", name,
                found[0]->run, found[1]->run);
  }
  if (!name.empty() && !processes_named_for(name, ::getpid(), proc).empty()) {
    Claim own;
    own.run = name;
    own.uid = ::getuid();
    return run_of_claim(own);
  }
  return fail(ErrorCode::not_found, "no run \"{}\" of yours is under way either", name);
}

Result<std::string> go_without_record(const RunOptions& options, Manifest& manifest,
                                      const Error& why, bool is_container,
                                      const std::function<void(const RunNews&)>& tell) {
  if (is_container) {
    return fail(ErrorCode::io,
                "this run cannot be recorded ({}), and a container that no record names could "
                "outlive its lease: make room there",
                why.said());
  }
  if (manifest.waiting) {
    return fail(ErrorCode::io,
                "this run cannot be recorded ({}), and what waits detached without a record nobody "
                "could stop: make room there",
                why.said());
  }
  if (options.detach && !options.log && options.retry_of.empty()) {
    return fail(
        why.code() == ErrorCode::not_found ? ErrorCode::io : why.code(),
        "the job was not started: this run cannot be recorded ({}), and detached its output would "
        "be lost. Make room there, or name a file elsewhere: `berth run -d --log FILE`",
        why.said());
  }
  tell(
      RunUnrecorded{.id = manifest.id,
                    .why = why.said(),
                    .detached = options.detach,
                    .is_noted_as_last = note_unrecorded_run(options.state_directory, manifest.id)});
  if (options.detach && !options.log) manifest.log = "/dev/null";
  return std::string("/dev/null");
}

}  // namespace berth
