#pragma once
// What to say where no memory is to be had. A server's shell often has a limit (ulimit -d, ulimit
// -v, a batch system's). "std::bad_alloc" does not tell that this limit is used up, and not the
// machine's memory.

#include <string_view>

#include "base/sentence.h"

namespace berth {

/// A sentence for people, with the limits that hold here. Takes no memory of its own; holds until
/// the next call.
[[nodiscard]] std::string_view memory_ran_out();
/// The same once there is memory again, as an error to pass on.
[[nodiscard]] Sentence out_of_memory();

/// For memory that runs out inside a function that may not throw. Says so and ends the process with
/// this code instead of aborting it. std::terminate() for any other reason stays as it was.
void end_with_words_where_memory_runs_out(int code);

}  // namespace berth
