#include "base/memory_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/tr.h"

namespace berth {

namespace {

using MemoryWords = std::array<char, 400>;

constexpr std::string_view without_limit = as_key("memory ran out: berth could get no more of it");
constexpr std::string_view under_limit = as_key(
    "memory ran out under the limit that this process was started with ({}{}{}). Raise it, or "
    "start berth where there is none");

/// In KiB, as ulimit counts; nothing: there is none.
std::optional<std::uint64_t> limit_of(__rlimit_resource_t what) {
  struct rlimit limit{};
  if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur / 1024;
}

template <class... Args>
std::string_view put_words(MemoryWords& into, std::string_view pattern, const Args&... values) {
  const auto end = fmt::format_to_n(into.data(), into.size(), fmt::runtime(pattern), values...);
  return {into.data(), std::min(end.size, into.size())};
}

std::terminate_handler usual_end = nullptr;
int code_of_end = 1;

/// write() alone: what else there is may want memory.
void say_bare(std::string_view text) { static_cast<void>(!::write(2, text.data(), text.size())); }

[[noreturn]] void end_with_words() {
  if (const auto thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      say_bare("berth: ");
      say_bare(memory_ran_out());
      say_bare("\n");
      end_process_now(code_of_end);
    } catch (...) {  // NOLINT(bugprone-empty-catch): told by the usual end
    }
  }
  if (usual_end != nullptr) usual_end();
  std::abort();
}

}  // namespace

std::string_view memory_ran_out() {
  static MemoryWords words;
  MemoryWords data;
  MemoryWords space;
  const auto of_data = limit_of(RLIMIT_DATA);
  const auto of_space = limit_of(RLIMIT_AS);
  const std::string_view d =
      of_data ? put_words(data, "ulimit -d {}", *of_data) : std::string_view();
  const std::string_view v =
      of_space ? put_words(space, "ulimit -v {}", *of_space) : std::string_view();
  if (!of_data && !of_space) return tr(without_limit);
  return put_words(words, tr(under_limit), d, of_data && of_space ? ", " : "", v);
}

Sentence out_of_memory() {
  std::vector<std::string> limits;
  if (const auto of_data = limit_of(RLIMIT_DATA))
    limits.push_back(fmt::format("ulimit -d {}", *of_data));
  if (const auto of_space = limit_of(RLIMIT_AS))
    limits.push_back(fmt::format("ulimit -v {}", *of_space));
  if (limits.empty()) return Sentence(without_limit);
  const auto value = [](std::string text) { return Sentence::as_is(std::move(text)); };
  return {under_limit,
          {value(limits.front()), value(limits.size() > 1 ? ", " : ""),
           value(limits.size() > 1 ? limits.back() : "")}};
}

void end_with_words_where_memory_runs_out(int code) {
  code_of_end = code;
  usual_end = std::set_terminate(end_with_words);
}

}  // namespace berth
