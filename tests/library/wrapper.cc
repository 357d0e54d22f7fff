// Uses all of berth.hpp on a simulated server and prints what was wrong; 0: nothing was. It
// compiles as C++17 and newer, with and without exceptions.

#include <berth/berth.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int wrong = 0;

void expect(bool holds, const char* what, int line) {
  if (holds) return;
  ++wrong;
  std::fprintf(stderr, "line %d: %s\n", line, what);
}
#define EXPECT(claim) expect((claim), #claim, __LINE__)

/// As on a file system that became read-only.
bool nothing_can_be_removed = false;

/// The value, or the end of this program with the error's text.
template <class T>
T taken(berth::Result<T> result, int line) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "line %d: %s\n", line, result.error().message().c_str());
  std::exit(1);
}
#define TAKE(call) taken((call), __LINE__)

void values() {
  const berth::Result<int> seven = 7;
  EXPECT(seven && *seven == 7 && seven.value() == 7);
  const berth::Result<int> none = berth::Error(BERTH_E_BUSY, "taken");
  EXPECT(!none && none.error().code() == BERTH_E_BUSY && none.error().message() == "taken");
  const berth::Reading<berth::Celsius> cold = berth::Celsius(0);
  EXPECT(cold.has() && *cold == berth::Celsius(0) && cold.why() == BERTH_PRESENT);
  const berth::Reading<berth::Celsius> missing = BERTH_ABSENT_NO_PERMISSION;
  EXPECT(!missing.has() && missing.why() == BERTH_ABSENT_NO_PERMISSION);
  EXPECT(std::string_view(berth::name_of(missing.why())) == "no permission");
  EXPECT(berth::Bytes(1) + berth::Bytes(2) == berth::Bytes(3));
  EXPECT(berth::Percent(0.5) < berth::Percent(1) && berth::Percent(1) >= berth::Percent(1));
#ifdef __cpp_exceptions
  std::string said;
  try {
    (void)none.value();
  } catch (const berth::Failure& failure) {
    said = failure.what();
    EXPECT(failure.error().code() == BERTH_E_BUSY);
  }
  EXPECT(said == "taken");
  said.clear();
  try {
    (void)*missing;
  } catch (const berth::Failure& failure) {
    said = failure.what();
  }
  EXPECT(said == "no reading: no permission");
#endif
#ifdef __cpp_lib_expected
  std::expected<int, berth::Error> expected = berth::Result<int>(7);
  EXPECT(expected && *expected == 7);
  expected = berth::Result<int>(berth::Error(BERTH_E_IO, "x"));
  EXPECT(!expected && expected.error().code() == BERTH_E_IO);
  const std::expected<void, berth::Error> done = berth::Result<void>();
  EXPECT(done.has_value());
#endif
}

void looking(berth::Berth& berth) {
  const berth::Look look = TAKE(berth.look(BERTH_EVERYTHING));
  const std::vector<berth::Device> devices = look.devices();
  EXPECT(devices.size() == 8);
  const berth::Device& first = devices.front();
  EXPECT(first.index == 0 && first.name == "NVIDIA H100 80GB HBM3" && !first.id.empty());
  EXPECT(first.memory_total.has() && *first.memory_total > berth::Bytes(std::uint64_t{70} << 30));
  EXPECT(first.compute == std::make_pair(9, 0));
  const auto column = TAKE(look.column("memory_total_bytes"));
  EXPECT(column.size() == 8);
  EXPECT(column[0].has() &&
         static_cast<std::uint64_t>(*column[0]) == (*first.memory_total).count());
  const auto unknown = look.column("no_such_field");
  EXPECT(!unknown && unknown.error().code() == BERTH_E_INVALID);
  EXPECT(unknown.error().message().find("no_such_field") != std::string::npos);
  EXPECT(!look.processes().empty() && look.processes().front().device.has_value());
  EXPECT(look.json().front() == '{');
  EXPECT(look.taken_since_1970() > std::chrono::hours(24 * 365 * 50));
}

void looking_in_steps(berth::Berth& berth) {
  berth::Berth::UnderWay under_way = TAKE(berth.begin_look());
  std::optional<berth::Look> look;
  while (!look) {
    pollfd ready = {under_way.descriptor, POLLIN, 0};
    poll(&ready, 1, static_cast<int>(under_way.due.count()));
    look = TAKE(berth.advance_look(under_way));
  }
  EXPECT(look->devices().size() == 8);
  under_way = TAKE(berth.begin_pick(berth::Request()));
  std::optional<berth::Answer> answer;
  while (!answer) {
    pollfd ready = {under_way.descriptor, POLLIN, 0};
    poll(&ready, 1, static_cast<int>(under_way.due.count()));
    answer = TAKE(berth.advance_pick(under_way));
  }
  EXPECT(answer->is_satisfied());
}

void choosing(berth::Berth& berth) {
  berth::Request request;
  EXPECT(TAKE(berth.pick(request)).is_satisfied());
  request.devices = 9;
  const berth::Answer never = TAKE(berth.pick(request));
  EXPECT(!never.is_satisfied() && !never.is_possible() && never.json().front() == '{');
  std::optional<berth::Answer> why;
  const auto refused = berth.acquire(request, &why);
  EXPECT(!refused && refused.error().code() == BERTH_E_NEVER && why && !why->is_possible());
  request = berth::Request();
  request.memory = "a lot";
  const auto senseless = berth.acquire(request);
  EXPECT(!senseless && senseless.error().code() == BERTH_E_INVALID);
}

std::string variable_of(const berth::Lease& lease, std::string_view name) {
  for (const auto& [key, value] : lease.variables()) {
    if (key == name) return value;
  }
  return "";
}

void claiming(berth::Berth& berth) {
  berth::Request two;
  two.devices = 2;
  two.name = "wrapper";
  berth::Lease lease = TAKE(berth.acquire(two));
  const auto devices = lease.devices();
  EXPECT(devices.size() == 2 && devices[0].id != devices[1].id);
  EXPECT(!lease.id().empty() && !lease.run().empty() && lease.descriptor() >= 100);
  const auto busy = TAKE(berth.look()).devices();
  EXPECT(busy[static_cast<std::size_t>(*devices[0].index)].state == BERTH_LEASED);
  const std::string visible = variable_of(lease, "CUDA_VISIBLE_DEVICES");
  EXPECT(!visible.empty() && std::getenv("CUDA_VISIBLE_DEVICES") == nullptr);
  EXPECT(bool(lease.apply()));
  EXPECT(std::getenv("CUDA_VISIBLE_DEVICES") == visible);
  berth::Lease moved = std::move(lease);
  EXPECT(moved.devices().size() == 2);
  nothing_can_be_removed = true;
  const auto refused = moved.release();
  nothing_can_be_removed = false;
  EXPECT(!refused && refused.error().code() == BERTH_E_NO_PERMISSION);
  EXPECT(moved.descriptor() >= 100);  // it still holds, and may be ended again
  EXPECT(bool(moved.release()) && moved.descriptor() == -1);
  const auto after = TAKE(berth.look()).devices();
  EXPECT(after[static_cast<std::size_t>(*devices[0].index)].state == BERTH_FREE);
  unsetenv("CUDA_VISIBLE_DEVICES");
}

/// Steps until the lease is there or the wait has failed.
berth::Result<berth::Lease> waited(berth::Wait& wait) {
  while (true) {
    pollfd ready = {wait.descriptor(), POLLIN, 0};
    poll(&ready, 1, -1);
    auto step = wait.step();
    if (!step) return step.error();
    if (*step) return std::move(**step);
  }
}

void waiting(berth::Berth& berth) {
  berth::Request all_free;
  all_free.devices = 5;
  std::optional<berth::Lease> lease = TAKE(berth.acquire(all_free));
  berth::Wait wait = TAKE(berth.wait(berth::Request(), std::chrono::milliseconds(1)));
  const auto late = waited(wait);
  EXPECT(!late && late.error().code() == BERTH_E_NONE_FREE);
  wait = TAKE(berth.wait(berth::Request()));  // the place before is left
  lease.reset();
  EXPECT(TAKE(waited(wait)).devices().size() == 1);
}

}  // namespace

/// In place of the C library's, for libberth too.
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  if (!nothing_can_be_removed) {
    return static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
  }
  errno = EROFS;
  return -1;
}

int main() {
  values();
  int notes = 0;
  berth::Options options;
  options.on_note = [&notes](std::string_view text) { notes += text.empty() ? 0 : 1; };
  berth::Berth berth = TAKE(berth::Berth::open(std::move(options)));
  EXPECT(berth.program().has_value());
  looking(berth);
  looking_in_steps(berth);
  choosing(berth);
  claiming(berth);
  waiting(berth);
  EXPECT(berth_cuda_state() == BERTH_CUDA_NOT_LOADED);
  const auto marked = berth::mark("epoch=1");
  EXPECT(!marked && marked.error().code() == BERTH_E_NOT_FOUND);
  return wrong;
}
