#pragma once
// What to say where no memory is to be had. A server's shell often has a limit (ulimit -d, ulimit
// -v, a batch system's), and "std::bad_alloc" tells nobody that it is the limit, and not the
// machine's memory, that is used up.

#include <string_view>

#include "base/sentence.h"

namespace berth {

/// A sentence for people, with the limits that hold here. Takes no memory of its own; holds until
/// the next call.
[[nodiscard]] std::string_view memory_ran_out();
/// The same once there is memory again, for who passes it on.
[[nodiscard]] Sentence out_of_memory();

/// Where it runs out in the middle of what may not throw, says so and ends the process with this
/// code, where std::terminate() would abort it. Any other end of this kind stays as it was.
void end_with_words_where_memory_runs_out(int code);

}  // namespace berth
