#pragma once
// What a run says on stderr: its start, what its user should know meanwhile, why it got no device.

#include <optional>
#include <string>
#include <vector>

#include "run/run.h"

namespace berth {

/// The devices, the reasons, and the wait: one line with its line break. `simulated`: the server's
/// name, where it is one.
[[nodiscard]] std::string render_started(const RunStarted& started,
                                         const std::optional<std::string>& simulated);

/// "limited by the watchdog: it warns"
[[nodiscard]] std::string held_text(const RunCap& cap);
/// "kernel: …; mps: …": why no stronger tier holds the job. Empty: there is none.
[[nodiscard]] std::string stronger_tiers_text(const RunCap& cap);
/// What the tier had to do or could not; empty: nothing.
[[nodiscard]] std::string said_text(const RunCap& cap);

/// If the job is isolated: says so, by what, and its costs. A cost that nobody meets soon is said
/// only `with_all`.
[[nodiscard]] std::string sentence_of_isolation(const RunStarted& started, bool with_all);

/// What was put into the command of a container of this engine.
[[nodiscard]] std::string sentence_of_container(const std::string& engine,
                                                const std::vector<std::string>& words);

/// Whole sentences, each for a line of its own.
[[nodiscard]] std::vector<std::string> sentences_of(const RunNews& news);

/// A detached job that waits: how it is found again.
[[nodiscard]] std::string sentence_of(const RunWaits& waits);

/// Advice if no device was got; empty: the user has ended it.
[[nodiscard]] std::string advice_after(const NotAcquired& refusal, const JobSpec& job);

}  // namespace berth
