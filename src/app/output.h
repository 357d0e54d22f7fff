#pragma once
// What a verb says: its answer on stdout, and beside it on stderr what stdout has no place for.

#include <optional>
#include <string>
#include <string_view>

#include "app/context.h"
#include "base/result.h"
#include "place/policy.h"

namespace berth {

/// Prints to stdout; what cannot be written is noticed by finish_output().
void print(std::string_view text);
/// One line on stderr, prefixed "berth: ".
void complain(std::string_view text);
/// Flushes stdout. False (and a complaint): the answer did not arrive, e.g. the disk is full.
/// Says so once, however often it is called.
[[nodiscard]] bool finish_output();
/// "berth: <message>", and the code to exit with.
[[nodiscard]] int report(const Error& error, int code = exit_code::failed);

/// "SIMULATED: name"; nothing: the machine is real.
void say_simulated(const std::optional<std::string>& server);

/// What an administrator may want to look at again in a policy that is right: who and what it names
/// that this machine does not have.
void say_remarks(Context& context, const Policy& policy);

}  // namespace berth
