#include "probe/nvml/api.h"

#include <dlfcn.h>

namespace berth::nvml {

// POSIX promises that dlsym's pointer may be used as a function; C++ wants the cast said aloud.
void* look_up(void* library, const char* symbol) { return dlsym(library, symbol); }

std::vector<std::string_view> symbols() {
#define BERTH_NVML_NAME(name, ...) #name,
  return {BERTH_NVML_FUNCTIONS(BERTH_NVML_NAME)};
#undef BERTH_NVML_NAME
}

void Library::Close::operator()(void* handle) const { dlclose(handle); }

std::expected<Library, LoadFailure> Library::open(const std::string& path) {
  Library library;
  library.handle_.reset(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL));
  if (!library.handle_) {
    const char* said = dlerror();
    Sentence message =
        said != nullptr ? Sentence::as_is(said) : sentence("{}: cannot be loaded", path);
    const bool absent = message.english().find("No such file or directory") != std::string::npos;
    return std::unexpected(LoadFailure{absent, std::move(message)});
  }
#define BERTH_NVML_RESOLVE(name, ...) library.api_.name.call.look_in(library.handle_.get(), #name);
  BERTH_NVML_FUNCTIONS(BERTH_NVML_RESOLVE)
#undef BERTH_NVML_RESOLVE
  return library;
}

}  // namespace berth::nvml
