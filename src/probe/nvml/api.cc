#include "probe/nvml/api.h"

#include <dlfcn.h>

namespace berth::nvml {

namespace {

// POSIX promises that dlsym's pointer may be used as a function; C++ wants the cast said aloud.
template <class... Parameters>
void resolve(void* library, Function<Parameters...>& function) {
  function.call = reinterpret_cast<typename Function<Parameters...>::Pointer>(
      dlsym(library, function.symbol.data()));
}

}  // namespace

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
    std::string message = said != nullptr ? said : path + ": cannot be loaded";
    const bool absent = message.find("No such file or directory") != std::string::npos;
    return std::unexpected(LoadFailure{absent, std::move(message)});
  }
#define BERTH_NVML_RESOLVE(name, ...) resolve(library.handle_.get(), library.api_.name);
  BERTH_NVML_FUNCTIONS(BERTH_NVML_RESOLVE)
#undef BERTH_NVML_RESOLVE
  return library;
}

}  // namespace berth::nvml
