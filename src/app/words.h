#pragma once
// The words of a command line before an option is parsed. Finds the verb, the beginning of a job's
// command, and the optional values that are left out.

#include <optional>
#include <string>
#include <vector>

#include "app/context.h"
#include "app/verb.h"

namespace berth {

[[nodiscard]] const VerbEntry* find_verb(std::string_view name);

/// Index of the verb's name: the first word that is not a global option. Nothing: `berth -w`,
/// `berth --json`: the status. A "--sim" before it that names no server is given one.
[[nodiscard]] std::optional<std::size_t> find_verb_position(std::vector<std::string>& words);

/// Takes --sim, --replay and --lang out of somebody else's words, none of which is called so.
[[nodiscard]] GlobalOptions taken_globals(std::vector<std::string>& words);

/// Why what --sim was given names no simulated server, for people; nothing: it does, or it is
/// empty. A word behind it that was meant for the verb is the usual one.
[[nodiscard]] std::optional<std::string> mistake_in_server(const std::string& sim);

/// An option may stand without its optional value. This adds the value that it then means, up to
/// the end of the verb's own options. A job's words are its own. `app` knows the options.
[[nodiscard]] std::vector<std::string> with_optional_values(const std::vector<std::string>& words,
                                                            const CLI::App& app, const Verb& verb);

}  // namespace berth
