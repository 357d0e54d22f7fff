// What berth.h asks of this process alone: whether CUDA has started in it, and its run's marks.

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "lib/objects.h"

namespace berth::lib {

namespace {

/// The process in which CUDA was last seen to have started. In a child forked since, the driver's
/// library works no more, and answers as if it had never started.
pid_t seen_started_in = 0;

/// Where the driver's library is mapped from; empty: nowhere. dlopen would look for one that is not
/// loaded in every folder of LD_LIBRARY_PATH.
std::string loaded_driver() {
  std::string path;
  const auto note = [](dl_phdr_info* one, std::size_t, void* found) {
    const std::string_view name = one->dlpi_name == nullptr ? "" : one->dlpi_name;
    if (!name.substr(name.rfind('/') + 1).starts_with("libcuda.so")) return 0;
    *static_cast<std::string*>(found) = name;
    return 1;
  };
  ::dl_iterate_phdr(note, &path);
  return path;
}

berth_cuda cuda_state() {
  // cuDeviceGetCount starts nothing: CUDA_ERROR_NOT_INITIALIZED before cuInit.
  constexpr int not_initialised = 3;
  const std::string path = loaded_driver();
  void* library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return BERTH_CUDA_NOT_LOADED;
  const auto count = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDeviceGetCount"));
  int devices = 0;
  const int answer = count == nullptr ? not_initialised : count(&devices);
  ::dlclose(library);  // the reference that dlopen took
  if (seen_started_in != 0 && seen_started_in != ::getpid()) return BERTH_CUDA_INHERITED;
  if (answer == not_initialised) return BERTH_CUDA_NOT_STARTED;
  seen_started_in = ::getpid();
  return BERTH_CUDA_STARTED;
}

Outcome mark(const char* text) {
  const char* path = std::getenv("BERTH_MARKS");
  if (path == nullptr || *path == '\0') {
    return Failure(BERTH_E_NOT_FOUND,
                   "marking progress: this is no run (BERTH_MARKS is not set); start the program "
                   "with `berth run`, or lease with a record");
  }
  if (text == nullptr || trimmed(text).empty()) {
    return Failure(BERTH_E_INVALID, "a mark needs a text: epoch=3");
  }
  const auto fd = open_fd(path, O_WRONLY | O_APPEND | O_NOFOLLOW);
  if (!fd) return Failure(fd.error());
  const auto written = write_all(fd->get(), mark_line(SystemClock().wall_now().unix_ms, text));
  if (!written) return Failure(written.error());
  return std::nullopt;
}

}  // namespace

}  // namespace berth::lib

extern "C" {

berth_cuda berth_cuda_state() {
  berth_cuda state = BERTH_CUDA_NOT_LOADED;
  (void)berth::lib::at_border(nullptr, [&]() -> berth::lib::Outcome {
    state = berth::lib::cuda_state();
    return std::nullopt;
  });
  return state;
}

berth_code berth_mark(const char* text, berth_error** error) {
  return berth::lib::at_border(error, [&] { return berth::lib::mark(text); });
}
}
