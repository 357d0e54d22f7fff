#pragma once
// From argv to one verb: finds it, declares only its options, parses, runs.

#include <memory>
#include <string>
#include <vector>

#include "app/context.h"
#include "app/verb.h"

namespace berth {

/// The whole program but for main's error handling. Returns the exit code.
[[nodiscard]] int run_command_line(Context& context, const std::vector<std::string>& arguments);

/// The options of one verb, for parsing, --help, completions and the manual.
[[nodiscard]] std::unique_ptr<CLI::App> declare_options(const VerbEntry& entry, Verb& verb,
                                                        GlobalOptions& globals);

}  // namespace berth
