#pragma once
// The words of a command line before an option is parsed: where the verb stands, where a job's
// command begins, and which optional values are left out; and what somebody meant who typed a word
// that is none: another tool's word for it, or the nearest by its letters.

#include <optional>
#include <string>
#include <string_view>
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

/// Of these the nearest; empty: none is so near that it was meant.
[[nodiscard]] std::string_view nearest_of(std::string_view typed,
                                          const std::vector<std::string>& words);

/// The verb that does what this word asks for, as people know it from kill, squeue, jobs, watch.
/// Empty: no such word.
[[nodiscard]] std::string_view verb_called(std::string_view typed);

/// The option of `berth run` and `pick` that other tools call so: "--gpus" is "-n". Empty: none.
[[nodiscard]] std::string_view option_called(std::string_view typed);

}  // namespace berth
